"""A person at `nobi play`: lines that are typed, and what happens between them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from go_rules.game import Game
from go_rules.points import BLACK, COLOUR_LETTERS, to_vertex
from go_rules.sgf.reader import SgfGame, parse_sgf
from gtp_engine.command_line import nobi
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.errors import explain
from gtp_engine.play.conversation import Conversation
from gtp_engine.play.words import UNDECIDED
from gtp_engine.session.records import GameFiles
from gtp_engine.session.session import Session
from tests.gtp_engine.fakes import FakePlayer

ANYTHING = ("--net", "none", "--player", "random", "--seed", "1", "--size", "7")
QUICK = ("--visits", "50", "--set", "workers=1", "--seed", "1")
STONES = "AB[bc][ab][ca][cb][cc][cd][ce]AW[da][db][dc][dd][de][ba]"
FINISHED = f"(;SZ[5]KM[7.5]RU[Japanese]{STONES}PL[B])"
"""The white stone at B5 is dead. White wins by 5 + 7.5 - 9 points."""
PASSED = f"(;SZ[5]KM[7.5]RU[Japanese]{STONES}PL[B];B[];W[])"

Step = str | Callable[[], object]


def play(*arguments: str | Path, text: str | bytes = "") -> str:
    """Run the command with lines for its stdin. Returns what it shows."""
    done = CliRunner().invoke(nobi, ["play", *map(str, arguments)], input=text)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def refused(*arguments: str | Path) -> str:
    """Run a command that cannot begin. Returns the reason."""
    done = CliRunner().invoke(nobi, ["play", *map(str, arguments)])
    assert done.exception is not None, done.output
    assert "you (" not in done.output
    return explain(done.exception)


def converse(
    monkeypatch: pytest.MonkeyPatch,
    *steps: Step,
    player: FakePlayer | None = None,
    game: Game | None = None,
    person: int = BLACK,
    files: GameFiles | None = None,
    result: str = UNDECIDED,
) -> str:
    """Let a person type lines, and do what else happens between them, against a player that does as it is told.

    Returns what is shown. The player plays the first points of the board, unless it has another script.
    """
    waiting = iter(steps)

    def answers(_prompt: str, _console: Console) -> Iterator[str]:
        for step in waiting:
            if isinstance(step, str):
                yield step
            else:
                step()

    monkeypatch.setattr("gtp_engine.play.conversation.answers", answers)
    fake, shown, board = player or FakePlayer(), io.StringIO(), game or Game(7, 7)
    session = Session(EngineSettings(size=f"{board.width}x{board.height}"), lambda: fake)
    session.loader.begin()
    session.replace_game(board, board.komi)
    console = Console(file=shown, highlight=False, markup=False, emoji=False, soft_wrap=True)
    try:
        Conversation(session, person, console, files or GameFiles(), result).run()
    finally:
        session.close()
    return shown.getvalue()


def read(path: Path) -> SgfGame:
    """Read a kept game."""
    return parse_sgf(path.read_bytes())


def moves(path: Path) -> list[str]:
    """List the moves of a kept game: `B E5`."""
    game = read(path).to_game()
    return [f"{COLOUR_LETTERS[move.colour]} {to_vertex(move.point, game.height)}" for move in game.moves]


def only_words(shown: str) -> list[str]:
    """List the lines that are no part of a board."""
    return [line for line in shown.splitlines() if not is_board(line)]


def is_board(line: str) -> bool:
    """Return whether a line is a part of a board."""
    return line.startswith("    A B") or line[:3].strip().isdigit()


def lines(*texts: str) -> str:
    """Write lines for a stdin."""
    return "".join(f"{text}\n" for text in texts)


def game_of(record: str) -> Game:
    """Play a record."""
    return parse_sgf(record.encode()).to_game()
