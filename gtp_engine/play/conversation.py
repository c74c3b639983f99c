"""A game between a person and the engine: what the person says, and what is answered."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from go_rules.agreement import may_have_dead
from go_rules.game import Game
from go_rules.points import COLOUR_LETTERS, WHITE, opponent, to_vertex
from gtp_engine.errors import UserError, explain
from gtp_engine.play import words
from gtp_engine.play.words import NO_RESULT, RESIGNED, UNDECIDED, board_text, game_record
from gtp_engine.session.estimate import is_finished
from gtp_engine.session.records import GameFiles
from gtp_engine.session.session import Session
from gtp_engine.session.thinking import move_text, pv_text
from nobi_machine.cache import expand_home
from nobi_machine.interruption import interruptible
from nobi_machine.terminal import answers
from nobi_machine.text import printable_path
from search.result import RESIGN

if TYPE_CHECKING:
    from rich.console import Console

HINTS = 3
"""Moves that `hint` shows."""
LONGEST_LINE_OF_PLAY = 8
"""Moves of a variation that `hint` shows."""
SPINNER = "line"
"""What turns while Nobi thinks, by rich's name: of characters that every terminal has."""
OVER = "the game is over; undo takes the last move back"


class Conversation:
    """A game between a person and the engine, who play in turns. The person's lines come from stdin."""

    result: str
    """As in SGF: `B+3.5`, `W+R`, `0`, `Void`; UNDECIDED while the game goes on."""

    def __init__(self, session: Session, person: int, console: Console, files: GameFiles, result: str) -> None:
        """`person` is the colour of the person, `result` that of a game that was over before."""
        self._session = session
        self._person = person
        self._console = console
        self._files = files
        self.result = result
        self._as_it_began = self._record()
        self._has_left = False
        self._commands: dict[str, Callable[[], None]] = {
            "undo": self._undo,
            "hint": self._hint,
            "score": self._score,
            "board": self._show_board,
            "resign": self._resign,
            **dict.fromkeys(("help", "?"), lambda: self._say(words.HELP)),
            **dict.fromkeys(("quit", "q", "exit"), self._leave),
        }

    @property
    def _game(self) -> Game:
        return self._session.game

    def run(self) -> None:
        """Play until the person leaves or the input ends. Raises EvaluatorError."""
        self._open()
        while not self._has_left:
            if self.result == UNDECIDED and self._game.to_play != self._person:
                self._reply()
            else:
                self._listen()
        self._part()

    def _open(self) -> None:
        kept = self._files.kept
        self._say(words.terms_text(self._game, self._session.komi, self._person))
        place = "not kept in a file" if kept is None else f"kept in {printable_path(kept)}"
        self._say(f"{words.opponent_text(self._session)}; the game is {place}")
        if self.result != UNDECIDED:
            self._show_end()
        elif is_finished(self._game):
            self._end()
        else:
            self._show_board()

    def _part(self) -> None:
        """Say so if what was played is not in any file."""
        record = self._record()
        if record == self._as_it_began or self._files.have(record):
            return
        if self._files.kept is None:
            self._say("this game was not kept; `nobi play game.sgf` keeps the next one, or save FILE.sgf before quit")
        else:
            self._say(f"{printable_path(self._files.kept)} does not have the last moves")

    # --- The person's turn ------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Take the person's next line, and do as it says."""
        goes_on = self.result == UNDECIDED
        you = f"you ({words.side_text(self._person)}): "
        line = next(answers(you if goes_on else "the game is over (undo, save FILE.sgf, quit): ", self._console), None)
        if line is None:
            self._leave()
            return
        try:
            self._obey(line)
        except UserError as error:
            self._say(str(error))

    def _obey(self, line: str) -> None:
        name, _, rest = line.replace("\t", " ").partition(" ")
        if name.lower() == "save":
            self._save(rest.strip())
        elif name.lower() not in self._commands:
            self._play(line)
        elif rest:
            raise UserError(f"{name.lower()} is said alone, with nothing after it")
        else:
            self._commands[name.lower()]()

    def _play(self, line: str) -> None:
        self._require_undecided()
        self._session.play(self._person, words.point_of(line, self._game))
        self._moved()

    def _undo(self) -> None:
        was_over = self.result != UNDECIDED
        if self.result != self._loss_of(self._person):  # else resigning was the last of them
            own = [index for index, move in enumerate(self._game.moves) if move.colour == self._person]
            if not own:
                raise UserError("there is no move of yours to take back")
            self._session.undo(len(self._game.moves) - own[-1])
        self.result = UNDECIDED
        self._keep()
        if was_over:
            self._say("the game goes on")
        self._show_board()

    def _hint(self) -> None:
        self._require_undecided()
        game = self._game
        with self._thinking() as stop:
            found = self._session.glance(stop, colour=self._person)
        for move in [move for move in found.moves if move.visits][:HINTS] or found.moves[:1]:
            line = pv_text(move.pv, game.height, LONGEST_LINE_OF_PLAY)
            lead = f"{abs(move.lead):.1f} points {'ahead' if move.lead >= 0 else 'behind'}"
            self._say(f"{to_vertex(move.point, game.height):4s} wins {move.winrate:4.0%}, {lead}: {line}")

    def _score(self) -> None:
        if self.result != UNDECIDED:
            self._show_end()
            return
        with self._thinking() as stop:
            found = self._session.estimate(stop)
        dead = found.dead if may_have_dead(self._game.rules) else frozenset[int]()
        self._console.print(board_text(self._game, dead))
        self._say(words.lead_text(found.white_lead) + (", small letters are dead" if dead else ""))

    def _show_board(self) -> None:
        game, captured = self._game, self._game.position["captured"]
        self._console.print(board_text(game))
        # What a side has lost is counted at that side.
        self._say(f"captured by black: {captured[WHITE]}, by white: {captured[opponent(WHITE)]}")

    def _resign(self) -> None:
        self._require_undecided()
        self._lose(self._person)

    def _save(self, rest: str) -> None:
        path = expand_home(rest) if "\0" not in rest else None
        if path is None or path.suffix.lower() != ".sgf":
            raise UserError("save needs the name of a file .sgf")
        try:
            self._files.save(path, self._record())
        except OSError as error:
            raise UserError(explain(error)) from None
        self._say(f"written to {printable_path(path)}")

    def _leave(self) -> None:
        self._has_left = True

    def _require_undecided(self) -> None:
        if self.result != UNDECIDED:
            raise UserError(OVER)

    # --- The engine's turn ------------------------------------------------------------------------------------

    def _reply(self) -> None:
        colour = self._game.to_play
        with self._thinking() as stop:
            decision = self._session.think(colour, stop)
            self._session.play_decision(decision, stop)
        self._say(f"Nobi ({words.side_text(colour)}): {move_text(decision.point, self._game.height)}")
        if decision.point == RESIGN:
            self._lose(colour)
            return
        self._moved()
        if self.result == UNDECIDED:
            self._show_board()

    @contextmanager
    def _thinking(self) -> Iterator[threading.Event]:
        """Show that Nobi thinks, and give an event that a Ctrl-C sets."""
        with interruptible(signal.SIGINT) as stop, self._console.status("thinking (Ctrl-C to stop)", spinner=SPINNER):
            yield stop

    # --- Both -------------------------------------------------------------------------------------------------

    def _moved(self) -> None:
        """Do what follows a move of either side."""
        self._keep()
        if is_finished(self._game):
            self._end()

    def _end(self) -> None:
        """Count the game, which has just ended."""
        self.result, _ = self._counted()
        self._keep()
        self._show_end()

    def _counted(self) -> tuple[str, frozenset[int]]:
        """The result of a game that both have ended by passing, and the dead stones."""
        if self._game.is_no_result:
            return NO_RESULT, frozenset()
        # Cut short, it would be a guess. So it takes its few seconds whatever is pressed.
        with interruptible(signal.SIGINT), self._console.status("counting", spinner=SPINNER):
            never = threading.Event()
            dead = self._session.estimate(never).dead if may_have_dead(self._game.rules) else frozenset[int]()
            return self._session.score(never), dead

    def _show_end(self) -> None:
        """Show how the game has ended."""
        result, dead = self._counted() if is_finished(self._game) else (self.result, frozenset[int]())
        if result != self.result:
            dead = frozenset()  # another session has counted it, and found others dead
        self._console.print(board_text(self._game, dead))
        self._say(words.result_text(self.result, self._person))
        if dead:
            self._say("small letters are dead; if you do not agree, undo and play on")

    def _lose(self, colour: int) -> None:
        """End the game by resignation."""
        self.result = self._loss_of(colour)
        self._keep()
        self._say(words.result_text(self.result, self._person))

    @staticmethod
    def _loss_of(colour: int) -> str:
        return f"{COLOUR_LETTERS[opponent(colour)]}{RESIGNED}"

    def _keep(self) -> None:
        """Write the game to its file. The game is worth more than the file, so it goes on if that cannot be done."""
        try:
            self._files.keep(self._record())
        except OSError as error:
            self._say(f"not kept: {explain(error)}; the next move tries again, and save FILE.sgf keeps it elsewhere")

    def _record(self) -> bytes:
        return game_record(self._game, self._person, self.result, self._session.komi)

    def _say(self, text: str) -> None:
        self._console.print(text)
