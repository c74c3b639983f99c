"""What must hold for the reply to any line, and what a refusal must leave as it was: everything."""

from __future__ import annotations

import json
import random
import re

from go_rules.game import Game
from go_rules.points import BLACK, PASS, point_at, to_vertex
from go_rules.sgf.reader import parse_sgf
from gtp_engine.gtp.commands import GROUP_OF, UNLISTED
from gtp_engine.gtp.protocol import parse_line
from search.request import SearchRequest
from search.result import RESIGN, SearchResult
from tests.gtp_engine.fakes import Dialogue, FakePlayer

REPLY = re.compile(r"[=?][0-9]{0,10}( [^\n]*)?\n([^\n]+\n)*\n")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


class RandomPlayer(FakePlayer):
    """A player that takes no time and chooses any move, now and then to pass or to resign."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = random.Random(seed)

    def search(self, request: SearchRequest) -> SearchResult:
        self.searches.clear()
        return super().search(request)

    def choose(self, game: Game, result: SearchResult) -> int:
        dice = self.rng.random()
        if dice < 0.1:
            return RESIGN if dice < 0.02 else PASS
        return self.rng.choice([move.point for move in result.moves] + game.legal_moves(result.colour)[:-1])


def state(dialogue: Dialogue) -> tuple[object, ...]:
    """All that a session knows: game, terms, clocks, parameters, what was thought last. Equal states are equal."""
    engine = dialogue.session
    game, clock = engine.game, engine.clock
    return (
        game.identity(),
        game.handicap,
        tuple(game.moves),
        game.length,
        game.record.item(),
        game.stack[: game.length].tobytes()
        if game.length < 30
        else game.stack[game.length - 3 : game.length].tobytes(),
        game.keys.tobytes(),
        game.is_over,
        game.is_no_result,
        game.legal_moves(BLACK),
        game.legal_moves(3 - BLACK),
        engine.komi,
        engine.settings,
        clock.control,
        dict(clock.left),
        id(engine.decision),
        engine.estimated,
        engine.shutting_down,
        dialogue.player.parameters,
    )


def check(dialogue: Dialogue, line: str) -> str:
    """Send a line, not `quit`; returns the reply. AssertionError if it is not what the protocol demands."""
    line = line.replace("\n", "")
    command = parse_line(line)
    before = state(dialogue)
    reply = dialogue.send(line)
    if command is None:
        assert reply == "", f"{line!r} has a reply: {reply!r}"
        assert state(dialogue) == before, f"{line!r} changed something"
        return reply
    assert REPLY.fullmatch(reply), f"{line!r}: {reply!r}"
    assert not CONTROL.search(reply), f"{line!r}: {reply!r}"
    assert re.match(rf"[=?]{command.id or ''}[ \n]", reply), f"{line!r}: {reply!r}"
    assert "internal error" not in reply, f"{line!r}: {reply!r}"
    if reply.startswith("?"):
        changed = [number for number, (a, b) in enumerate(zip(before, state(dialogue), strict=True)) if a != b]
        assert not changed, f"{line!r} failed ({reply!r}) and changed something: parts {changed} of the state"
    return reply


def check_consistency(dialogue: Dialogue) -> None:
    """Queries agree with each other and with a game that is played again. AssertionError if not."""
    game = dialogue.session.game
    again = Game(game.width, game.height, game.rules, game.komi)
    if game.handicap:
        again.place_handicap(game.handicap)
    else:
        again.set_position([(stone.colour, stone.point) for stone in game.setup], int(game.stack[0]["to_play"]))
    for move in game.moves:
        again.play_lenient(move.colour, move.point)
    assert again.position.tobytes() == game.position.tobytes(), "the game played again ends otherwise"
    assert again.record.item() == game.record.item()
    assert again.legal_moves(game.to_play) == game.legal_moves(game.to_play)

    lines = dialogue.ask("showboard").split("\n")
    assert lines[0] == f"Moves: {len(game.moves)}"
    board = game.position["board"]
    for y, shown in enumerate(lines[2 : 2 + game.height]):
        row, cells = int(shown[1:3]), shown[4:].ljust(2 * game.width)[::2]
        assert row == game.height - y
        for x, cell in enumerate(cells):
            point = point_at(x, y)
            assert cell == ".XO"[int(board[point])], f"showboard differs at {to_vertex(point, game.height)}"

    assert float(dialogue.ask("get_komi")) == dialogue.session.komi
    assert json.loads(dialogue.ask("kata-get-rules")) == game.rules.to_json()
    for name, value in json.loads(dialogue.ask("kata-get-params")).items():
        shown = dialogue.ask(f"kata-get-param {name}")
        assert shown.lower() == str(value).lower(), f"{name}: {shown} and {value}"
    assert set(dialogue.ask("list_commands").split("\n")) == set(GROUP_OF) - UNLISTED
    loaded = parse_sgf(dialogue.ask("printsgf").encode()).to_game(None, game.rules, game.komi)
    assert loaded.position["board"].tobytes() == board.tobytes(), "the position of printsgf differs"


def check_it_still_plays(dialogue: Dialogue) -> None:
    """A whole small game with a result. AssertionError if something fails."""
    dialogue.ask("kata-set-rules chinese", "boardsize 5", "komi 7.5", "time_settings 0 0 0")
    colours = "bw" * 40
    for colour in colours:
        if dialogue.ask(f"genmove {colour}") == "resign":
            break
    for colour in "bwbwbw":
        dialogue.ask(f"play {colour} pass")
    assert re.fullmatch(r"[BW]\+[0-9.]+|0", dialogue.ask("final_score"))
