"""Turns between processes: one makes a file, the others wait for it; nothing makes anyone wait for ever."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from go_rules.machine import turns
from go_rules.machine.turns import end_turn, take_turn

pytestmark = pytest.mark.skipif(turns.fcntl is None, reason="this system has no such locks")

HOLD = """
import sys
from pathlib import Path
from go_rules.machine.turns import end_turn, take_turn
path = Path(sys.argv[1])
take_turn(path)
print("taken", flush=True)
sys.stdin.readline()
path.write_text("made")
end_turn(path)
"""


def holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "taken\n"
    return process


def test_the_others_wait(tmp_path: Path) -> None:
    path = tmp_path / "kernel"
    process = holder(path)
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    take_turn(path)
    assert path.read_text() == "made"
    end_turn(path)
    assert process.wait(10) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["kernel"]


def test_a_process_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kernel"
    process = holder(path)
    process.kill()
    process.wait()
    take_turn(path)
    end_turn(path)
    assert not path.exists()


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kernel"
    process = holder(path)
    monkeypatch.setattr(turns, "LONGEST", 0.1)
    started = time.monotonic()
    take_turn(path)
    assert time.monotonic() - started >= 0.1
    end_turn(path)  # which was never ours
    process.kill()
    process.wait()


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    take_turn(tmp_path / "file" / "kernel")
    end_turn(tmp_path / "file" / "kernel")
    monkeypatch.setattr(turns, "fcntl", None)
    take_turn(tmp_path / "kernel")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
