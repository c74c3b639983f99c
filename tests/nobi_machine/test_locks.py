"""Locks between processes: one makes a file, the others wait for it; nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from nobi_machine import locks
from nobi_machine.locks import acquire, folder_for_one, release
from tests.systems import PATIENCE

HOLD = """
import sys
from pathlib import Path
from nobi_machine.locks import acquire, release
path = Path(sys.argv[1])
acquire(path)
print("taken", flush=True)
sys.stdin.readline()
path.write_text("made")
release(path)
"""


def holder(path: Path, code: str = HOLD) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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
    acquire(path)
    assert path.read_text() == "made"
    release(path)
    assert process.wait(PATIENCE) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["kernel"]


def test_a_process_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kernel"
    process = holder(path)
    process.kill()
    process.wait()
    acquire(path)
    release(path)
    assert not path.exists()


def test_nobody_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = tmp_path / "kernel", tmp_path / "other"
    processes = [holder(path), holder(other)]
    monkeypatch.setattr(locks, "waited_in_vain", False)
    monkeypatch.setattr(locks, "LONGEST", 0.1)
    started = time.monotonic()
    acquire(path)
    assert time.monotonic() - started >= 0.1
    assert capsys.readouterr().err.startswith("nobi: another process has been preparing the same")
    release(path)  # which was never ours
    monkeypatch.setattr(locks, "LONGEST", 100 * PATIENCE)
    acquire(other)  # whose process may be stopped, too
    assert capsys.readouterr().err == ""
    for process in processes:
        process.kill()
        process.wait()
    acquire(path)
    release(path)
    assert [each.name for each in tmp_path.iterdir()] == ["other.lock"]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    acquire(tmp_path / "file" / "kernel")
    release(tmp_path / "file" / "kernel")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


# --- Folders ----------------------------------------------------------------------------------------------------------

WORK = """
import sys
from pathlib import Path
from nobi_machine.locks import folder_for_one
with folder_for_one(Path(sys.argv[1])):
    print("taken", flush=True)
    sys.stdin.readline()
"""


def test_a_folder_is_for_one_process_until_it_ends(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    process = holder(folder, WORK)
    with pytest.raises(OSError, match="another process is working in this folder") as caught, folder_for_one(folder):
        pass
    assert caught.value.filename == str(folder)
    assert folder.is_dir()  # whoever is refused leaves it alone, empty as it is
    process.kill()
    process.wait()
    with folder_for_one(folder):
        (folder / "file").touch()


def test_a_folder_that_was_made_for_nothing_is_removed(tmp_path: Path) -> None:
    with pytest.raises(KeyError), folder_for_one(tmp_path / "new"):
        raise KeyError
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with folder_for_one(tmp_path / "old"):
        pass
    assert (tmp_path / "old").is_dir()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError), folder_for_one(tmp_path / "file"):
        pass
