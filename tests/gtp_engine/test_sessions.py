"""Whole sessions leave nothing behind but what was asked for, open no socket, and run nothing from where they start.

Each is a process of its own in a fresh home and a current directory full of traps.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from nobi_machine.cache import cache_root
from tests.conftest import REPOSITORY, SMALL_NETWORK
from tests.gtp_engine.socket_guard import CANNOT_GUARD
from tests.planted import Planted
from tests.systems import IS_WINDOWS, PATIENCE

GUARD = (sys.executable, str(REPOSITORY / "tests" / "gtp_engine" / "socket_guard.py"))


@dataclass(frozen=True)
class Session:
    """Arguments of `nobi`, lines for its stdin, and what must be in what it writes to stdout."""

    name: str
    arguments: tuple[str, ...]
    lines: tuple[str, ...] = ()
    answer: str = ""
    code: int = 0


PLAY = (
    *("boardsize 9", "komi 7", "genmove b", "kata-genmove_analyze w", "kata-analyze b 10 maxmoves 2", "final_score"),
    *(
        "kata-raw-nn 0",
        "time_settings 10 0 0",
        "genmove b",
        "printsgf {out}/game.sgf",
        "loadsgf {out}/game.sgf",
        "quit",
    ),
)
GTP = ("gtp", "--visits", "10", "--size", "9")

SESSIONS = (
    Session("play", (*GTP, "--ponder"), PLAY, "= "),
    Session(
        "play with another network", (*GTP, "--net", str(SMALL_NETWORK)), ("kata-get-models", "genmove b"), "random"
    ),
    Session("play by onnxruntime", (*GTP, "--precision", "fp32", "--set", "log={out}/dialogue.log"), PLAY, "= "),
    Session(
        "match",
        (
            *("match", "nobi --precision fp32", "nobi", "--size", "5", "--visits", "2", "--games", "1"),
            *("--openings", "none", "--max-moves", "4", "--score", "board", "--out", "{out}/match"),
        ),
        answer="Nobi",
    ),
    Session("doctor", ("doctor",), answer="Nobi can play here."),
    Session("benchmark", ("benchmark", "--seconds", "1", "--size", "9", "--precision", "int16,fp32"), answer="int16"),
    Session("picture", ("picture", "{out}/picture.svg", "--size", "9", "--visits", "10")),
    Session("a file that is no network", (*GTP, "--net", "{out}/picture.svg"), code=1),
    Session("networks", ("networks",), answer="b10c384h6nbttflrs"),
    Session("configuration", ("config", "--write")),
)


class Stage:
    """Folders for sessions: an empty home, a place for temporary files, and `out` for what is asked for by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.planted = Planted(folder)
        self.home, self.temporary, self.out = (self._make(name) for name in ("home", "temporary", "out"))
        self._traps = self._files(self.planted.traps)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
        self.environment |= {
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "NOBI_CACHE_DIR": str(cache_root()),  # the user's: compiling anew would take a minute
            "PYTHONPATH": self.planted.path,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if IS_WINDOWS:  # where no variable says which home is the user's
            self.environment["NOBI_CONFIG_DIR"] = str(self.home / ".config" / "nobi")

    def run(self, session: Session, before: Sequence[str]) -> str:
        """Run one session with these words before its command, and say what went wrong: nothing, in the best case."""
        fill = {"out": str(self.out)}
        command = [*self.planted.nobi, *(word.format(**fill) for word in session.arguments)]
        try:
            done = subprocess.run(
                [*before, *command],
                input="".join(line.format(**fill) + "\n" for line in session.lines),
                cwd=self.planted.traps,
                env=self.environment,
                capture_output=True,
                encoding="utf-8",
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{session.name}: took more than {PATIENCE:g} s"
        if done.returncode != session.code or session.answer not in done.stdout or "Traceback" in done.stderr:
            return f"{session.name}: exit code {done.returncode}, {done.stdout[-300:]!r}, {done.stderr[-300:]!r}"
        return ""

    def strays(self) -> list[str]:
        """The files that sessions left where none belong: all that `out` and the configuration do not hold."""
        traps = self._files(self.planted.traps) ^ self._traps
        others = self._files(self.home) | self._files(self.temporary)
        wanted = {self.home / ".config" / "nobi" / "config.toml"}
        return sorted(map(str, (traps | others) - wanted))

    def _make(self, name: str) -> Path:
        (self.folder / name).mkdir()
        return self.folder / name

    @staticmethod
    def _files(folder: Path) -> set[Path]:
        return {path for path in folder.rglob("*") if not path.is_dir()}


@dataclass(frozen=True)
class Played:
    """What was seen of all sessions."""

    failures: list[str]
    stage: Stage
    sockets: list[str] | None
    """The calls that asked for a socket; None where the system cannot tell."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("sessions")
    stage = Stage(folder)
    is_guarded = guarded([sys.executable, "-c", "pass"], folder / "none").returncode != CANNOT_GUARD
    report = folder / "report"

    before = [*GUARD, str(report)] if is_guarded else []
    failures = [failure for session in SESSIONS if (failure := stage.run(session, before))]
    calls = report.read_text().splitlines() if report.exists() else []
    return Played(failures, stage, calls if is_guarded else None)


def guarded(command: list[str], report: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    environment |= {"PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(
        [*GUARD, str(report), *command], env=environment, capture_output=True, timeout=PATIENCE, check=False
    )


def test_sessions_do_what_they_should(played: Played) -> None:
    assert played.failures == []


def test_nothing_from_the_current_directory_is_run(played: Played) -> None:
    assert played.stage.planted.sprung() == []


def test_files_are_written_nowhere_else(played: Played) -> None:
    assert played.stage.strays() == []
    names = {path.name for path in played.stage.out.iterdir()}
    assert names == {"game.sgf", "dialogue.log", "match", "picture.svg"}


def test_no_socket_is_opened(played: Played) -> None:
    if played.sockets is None:
        pytest.skip("this system does not tell of sockets")
    assert played.sockets == []
