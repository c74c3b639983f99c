"""Nobi never looks into the current directory for modules, and nowhere else than in its own folder for its packages:
neither a process that a user has started nor those that it starts itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gtp_engine.match.engines import engine_command
from nobi_machine.launch import ROOT, python_command
from tests.conftest import REPOSITORY
from tests.planted import ALL_BUT_THE_FIRST, Planted
from tests.systems import IS_WINDOWS


def run(command: list[str], folder: Path, path: str, text: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        command, cwd=folder, env=environment, input=text, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_traps_work(tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    for module in ("search", "tomllib" if sys.version_info >= (3, 11) else "fractions"):
        assert run([sys.executable, "-m", module], planted.traps, planted.path).returncode == 1
        assert planted.sprung()


def test_a_process_that_we_start_sees_no_trap(tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    done = run(python_command("gtp_engine.cli", "--version"), planted.traps, planted.path)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(engine_command("nobi --net none"), planted.traps, planted.path, "boardsize 5\ngenmove b\nquit\n")
    assert (done.returncode, done.stdout.count("= ")) == (0, 3)
    assert planted.sprung() == []


@pytest.mark.parametrize("start", ["", os.pathsep, f".{os.pathsep}"], ids=["plain", "empty entry", "dot"])
def test_what_is_imported_late_does_not_come_from_there(start: str, tmp_path: Path) -> None:
    """However Python came to have the current directory on its path, which is too late to mend for its own modules."""
    planted = Planted(tmp_path, standard_library=False, ours=ALL_BUT_THE_FIRST)
    config = tmp_path / "config.toml"
    config.write_text("visits = 5\n")
    show = ["config", "--config", str(config)]
    for command in (planted.nobi, [sys.executable, "-m", "gtp_engine.cli"], python_command("gtp_engine.cli")):
        done = run([*command, *show], planted.traps, start + planted.path)
        assert (done.returncode, done.stderr) == (0, "")
    assert planted.sprung() == []


MOVE = "boardsize 5\ngenmove b\nquit\n"


def test_packages_of_our_names_on_pythonpath_are_not_ours(tmp_path: Path) -> None:
    planted = Planted(tmp_path, standard_library=False, libraries=(), ours=ALL_BUT_THE_FIRST)
    path = os.pathsep.join((planted.traps.name, str(planted.traps), planted.path))
    for command in (planted.nobi, [sys.executable, "-m", "gtp_engine.cli"]):
        done = run([*command, "gtp", "--visits", "2", "--size", "5"], tmp_path, path, MOVE)
        assert (done.returncode, done.stdout.count("= ")) == (0, 3), done.stderr
        done = run([*command, "train", "--help"], tmp_path, path)
        assert (done.returncode, done.stderr) == (0, "")
    assert planted.sprung() == []


def test_a_process_that_we_start_has_all_our_packages(tmp_path: Path) -> None:
    """Even the first, which Python itself would look for elsewhere."""
    planted = Planted(tmp_path, standard_library=False, libraries=())
    path = f"{planted.traps}{os.pathsep}{planted.path}"
    done = run(python_command("gtp_engine.cli", "gtp", "--visits", "2", "--size", "5"), tmp_path, path, MOVE)
    assert (done.returncode, done.stdout.count("= ")) == (0, 3), done.stderr
    for module in ("search.nobi.compile_ahead", "gtp_engine.tools.wheel", "training.run.embed"):
        run(python_command(module), tmp_path, path)  # without arguments they do nothing
    assert planted.sprung() == []


def test_the_order_of_all_other_packages_stays(tmp_path: Path) -> None:
    """Where Nobi is installed, others lie beside it, and must not come before Python's own or those of PYTHONPATH."""
    script = tmp_path / "show.py"
    show = "import sys; before = sys.path[:]; from nobi_machine.launch import find_only_our_own as f; f()"
    script.write_text(f"{show}; print(sys.path == before)")
    done = run([sys.executable, str(script)], REPOSITORY.parent, f"{tmp_path}{os.pathsep}{REPOSITORY}")
    assert done.stdout == "True\n", done.stderr


@pytest.mark.skipif(IS_WINDOWS, reason="no relative path leads to another drive")
def test_the_way_to_our_packages_stays(tmp_path: Path) -> None:
    """Where the current directory holds them, or only a relative path leads there."""
    show = "import sys; from nobi_machine.launch import find_only_our_own as f; f(); print(sys.path)"
    for folder, path in ((REPOSITORY, ""), (tmp_path, os.path.relpath(REPOSITORY, tmp_path))):
        done = run([sys.executable, "-c", show], folder, path)
        assert str(REPOSITORY) in done.stdout, done.stderr
        assert "''" not in done.stdout
    assert Path(ROOT) == REPOSITORY


@pytest.mark.skipif(IS_WINDOWS, reason="a current directory cannot go")
def test_a_folder_that_is_gone_is_no_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = python_command("gtp_engine.cli", "--version")
    code = f"import os; os.rmdir({str(gone)!r}); os.execv({command[0]!r}, {command!r})"
    done = run([sys.executable, "-c", code], gone, str(REPOSITORY))
    assert done.stdout.startswith("nobi "), done.stderr


def test_what_python_was_told_to_leave_out_stays_out(tmp_path: Path) -> None:
    code = "from nobi_machine.launch import python_command; print(python_command('x'))"
    for flags in (["-s"], ["-B", "-E"]):
        done = run([sys.executable, *flags, "-c", code], REPOSITORY, "")
        assert all(repr(flag) in done.stdout for flag in flags)
