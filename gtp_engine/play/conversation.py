"""A game between a person and the engine: what the person says, and what is answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from go_rules.game import Game
from go_rules.machine.files import PUBLIC, write_whole
from go_rules.machine.printable import printable
from go_rules.points import BLACK, COLOUR_LETTERS, COLOUR_NAMES, WHITE, VertexError, from_vertex, opponent, to_vertex
from go_rules.sgf.writer import to_sgf, write_sgf
from gtp_engine.commands.play import take_back
from gtp_engine.commands.scoring import final_score
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import Command
from gtp_engine.errors import UserError, explain
from gtp_engine.play.board import LETTERS, board_text
from gtp_engine.terminal import answers
from gtp_engine.thinking.decide import decide, play_decision, pv_text
from gtp_engine.thinking.estimate import estimate, is_finished, short_search
from search.result import RESIGN

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

PERSON = "Person"
"""The person's name in game records."""
HINTS = 3
"""Moves that `hint` shows."""
LONGEST_LINE_OF_PLAY = 8
"""Moves of a variation that `hint` shows."""
UNDECIDED = ""
"""The result of a game that goes on."""
RESIGNED = "+R"
HELP = """\
D4, pass         play
undo             take your last move back, and the answer to it
hint             what Nobi would play in your place
score            who is ahead, and which stones are dead
board            the board again
resign           give the game up
save FILE.sgf    write the game to a new file
quit             leave"""


class Conversation:
    """A game between a person and the engine, who play in turns. The person's lines come from stdin."""

    result: str
    """As in SGF: `B+3.5`, `W+R`, `0`; UNDECIDED while the game goes on."""

    def __init__(self, engine: Engine, person: int, console: Console, record: Path | None, result: str) -> None:
        """`person` is the colour of the person, `record` the file that the game is kept in after each move, `result`
        that of a game that was over before."""
        self._engine = engine
        self._person = person
        self._console = console
        self._record = record
        self.result = result
        self._commands: dict[str, Callable[[str], None]] = {
            "undo": self._undo,
            "hint": self._hint,
            "score": self._score,
            "board": self._show_board,
            "resign": self._resign,
            "save": self._save,
            "help": self._help,
        }

    @property
    def _game(self) -> Game:
        return self._engine.game

    def run(self) -> None:
        """Play until the person leaves or the input ends. Raises EvaluatorError, OSError."""
        self._show_board()
        while True:
            if self.result == UNDECIDED and self._game.to_play != self._person:
                self._reply()
            elif not self._listen():
                return

    # --- The person's turn ------------------------------------------------------------------------------------

    def _listen(self) -> bool:
        """Take the person's next line, and do as it says. Returns False where the person leaves."""
        side = f"{COLOUR_NAMES[self._person]}, {LETTERS[self._person]}"
        prompt = f"you ({side}): " if self.result == UNDECIDED else "the game is over (undo, save FILE.sgf, quit): "
        for line in answers(prompt, self._console):
            word, _, rest = line.partition(" ")
            if word.lower() in ("quit", "exit"):
                return False
            try:
                if command := self._commands.get(word.lower()):
                    command(rest.strip())
                else:
                    self._play(line)
            except UserError as error:
                self._say(str(error))
            return True
        return False

    def _play(self, text: str) -> None:
        game = self._game
        if self.result != UNDECIDED:
            raise UserError("the game is over; undo takes the last move back")
        try:
            point = from_vertex(text, game.width, game.height)
        except VertexError:
            raise UserError(f"{printable(text, 20)} is neither a move nor a command; help lists them") from None
        reason = game.violation(self._person, point)
        if reason is not None:
            raise UserError(f"{to_vertex(point, game.height)} is not allowed: {reason}")
        game.play(self._person, point)
        self._moved()

    def _undo(self, _rest: str) -> None:
        if self.result == f"{COLOUR_LETTERS[opponent(self._person)]}{RESIGNED}":
            self._decide(UNDECIDED)
            return
        moves = self._game.moves
        own = [number for number, move in enumerate(moves) if move.colour == self._person]
        if not own:
            raise UserError("there is no move of yours to take back")
        take_back(self._game, len(moves) - own[-1])
        self._decide(UNDECIDED)
        self._show_board()

    def _hint(self, _rest: str) -> None:
        game = self._game
        if self.result != UNDECIDED:
            raise UserError("the game is over")
        with self._thinking():
            found = short_search(self._engine, _call("hint"), game, self._person)
        for move in [move for move in found.moves if move.visits][:HINTS]:
            line = pv_text(move.pv, game.height, LONGEST_LINE_OF_PLAY)
            self._say(f"{to_vertex(move.point, game.height):4s} wins {move.winrate:4.0%}, {_margin(move.lead)}: {line}")

    def _score(self, _rest: str) -> None:
        with self._thinking():
            found = estimate(self._engine, _call("score"))
        self._console.print(board_text(self._game, found.dead))
        side = COLOUR_NAMES[WHITE if found.white_lead > 0 else BLACK]
        self._say(f"{side} is {_margin(abs(found.white_lead))}" + (", small letters are dead" if found.dead else ""))

    def _show_board(self, _rest: str = "") -> None:
        game, captured = self._game, self._game.position["captured"]
        self._console.print(board_text(game))
        # What a side has lost is counted at that side.
        self._say(f"captured by black: {captured[WHITE]}, by white: {captured[BLACK]}")

    def _resign(self, _rest: str) -> None:
        if self.result != UNDECIDED:
            raise UserError("the game is over")
        self._decide(f"{COLOUR_LETTERS[opponent(self._person)]}{RESIGNED}")

    def _save(self, rest: str) -> None:
        path = Path(rest)
        if path.suffix.lower() != ".sgf":
            raise UserError("save needs the name of a file .sgf")
        try:
            write_sgf(path, self._as_sgf())
        except Exception as error:
            raise UserError(explain(error)) from None
        self._say("written")

    def _help(self, _rest: str) -> None:
        self._say(HELP)

    # --- The engine's turn ------------------------------------------------------------------------------------

    def _reply(self) -> None:
        call, colour = _call("genmove"), self._game.to_play
        with self._thinking():
            decision = decide(self._engine, call, colour)
        move = play_decision(self._engine, call, decision)
        self._say(f"Nobi ({COLOUR_NAMES[colour]}, {LETTERS[colour]}): {move}")
        if decision.point == RESIGN:
            self._decide(f"{COLOUR_LETTERS[self._person]}{RESIGNED}")
        else:
            self._moved()
            if self.result == UNDECIDED:
                self._show_board()

    # --- Both -------------------------------------------------------------------------------------------------

    def _moved(self) -> None:
        """Do what follows a move of either side."""
        if not is_finished(self._game):
            self._decide(UNDECIDED)
            return
        with self._thinking():
            call = _call("final_score")
            result = final_score(self._engine, call)
            dead = estimate(self._engine, call).dead
        self._console.print(board_text(self._game, dead))
        self._decide(result)
        if dead:
            self._say("small letters are dead; if you do not agree, undo and play on")

    def _decide(self, result: str) -> None:
        """Note the result, say it, and keep the game."""
        self.result = result
        if result != UNDECIDED:
            self._say("the game is a draw" if result == "0" else f"result: {result}")
        if self._record is not None:
            write_whole(self._record, self._as_sgf().encode(), PUBLIC)

    def _as_sgf(self) -> str:
        return game_record(self._game, self._person, self.result, self._engine.komi)

    def _say(self, text: str) -> None:
        self._console.print(text)

    def _thinking(self) -> Status:
        return self._console.status("thinking")


def game_record(game: Game, person: int, result: str, komi: float) -> str:
    """Write a game of a person, whose colour is `person`, as SGF text."""
    names = {person: PERSON, opponent(person): "Nobi"}
    return to_sgf(game, black=names[BLACK], white=names[WHITE], result=result, komi=komi)


def _call(name: str) -> Call:
    """A call that nobody stops, for what GTP commands do."""
    return Call(Command(None, name))


def _margin(lead: float) -> str:
    """A lead in points in words, as its side sees it."""
    return f"{abs(lead):.1f} points {'ahead' if lead >= 0 else 'behind'}"
