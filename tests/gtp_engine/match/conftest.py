"""Engines that do what a test tells them to."""

from __future__ import annotations

import functools
import io
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from go_rules.rule_names import preset
from gtp_engine import command_line
from gtp_engine.match.client import ErrorLog
from gtp_engine.match.engines import Engine, Terms
from gtp_engine.match.openings import NO_OPENING, Opening
from gtp_engine.match.record import GameRecord
from gtp_engine.match.referee import Conduct, Referee

STUB = Path(__file__).with_name("stub_engine.py")


def stub_command(*options: str) -> list[str]:
    """The command of a stub engine; `-I -S` make Python start in 15 ms."""
    return [sys.executable, "-I", "-S", str(STUB), *options]


def stub(*options: str) -> str:
    """The same as one word of a command line."""
    return shlex.join(stub_command(*options))


Match = Callable[..., tuple[int, str, str]]


def nobi(subcommand: str) -> Callable[..., tuple[int, str, str]]:
    """What runs a subcommand: it returns the exit code, and what was written to stdout and stderr."""

    def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
        code = command_line.run([subcommand, *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def match(capsys: pytest.CaptureFixture[str]) -> Match:
    """Runs `nobi match`."""
    return functools.partial(nobi("match"), capsys)


class Terminal(io.StringIO):
    """Takes what is written, as a terminal does."""

    def isatty(self) -> bool:
        return True


def terms(**changes: object) -> Terms:
    facts: dict[str, object] = {
        "width": 5,
        "height": 5,
        "komi": 0.5,
        "rules_name": "chinese",
        "rules": preset("chinese")[0],
        "control": None,
        "visits": None,
    }
    return Terms(**{**facts, **changes})  # type: ignore[arg-type]


@pytest.fixture
def referee_game(tmp_path: Path) -> Iterator[Callable[..., GameRecord]]:
    """Plays one game between two stubs given by their options, A black; engines are closed at the end."""
    engines: list[Engine] = []

    def play(
        a: list[str],
        b: list[str],
        conduct: Conduct | None = None,
        opening: Opening = NO_OPENING,
        black: int = 0,
        **changes: object,
    ) -> GameRecord:
        pair = (
            Engine(stub_command(*a), "A", ErrorLog(tmp_path / "a.txt")),
            Engine(stub_command(*b), "B", ErrorLog(tmp_path / "b.txt")),
        )
        engines.extend(pair)
        return Referee(0, pair, black, terms(**changes), conduct or Conduct(), opening).play()

    yield play
    for engine in engines:
        engine.discard()
