"""Whole sessions leave nothing behind but what was asked for, open no socket, and run nothing from where they start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.gtp_engine.sessions import SESSIONS, Stage
from tests.gtp_engine.socket_guard import CANNOT_GUARD

GUARD = (sys.executable, str(REPOSITORY / "tests" / "gtp_engine" / "socket_guard.py"))


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

    def starter(command: Sequence[str], _name: str) -> list[str]:
        return [*GUARD, str(report), *command] if is_guarded else list(command)

    failures = [failure for session in SESSIONS if (failure := stage.run(session, starter))]
    calls = report.read_text().splitlines() if report.exists() else []
    return Played(failures, stage, calls if is_guarded else None)


def guarded(command: list[str], report: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    environment |= {"PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(
        [*GUARD, str(report), *command], env=environment, capture_output=True, timeout=300, check=False
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
