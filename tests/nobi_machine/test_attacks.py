"""The campaign against the cache, on three tiny kernels: starts at once, kills, damage, swaps."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.campaigns.caches import DAMAGES, Program, damaged, entries, killed, learn, starts_at_once, swapped
from tests.systems import IS_WINDOWS

TINY = """
from go_rules.random import below, next_u64, seed_state, uniform
print(int(next_u64(seed_state(1))), float(uniform(seed_state(2))), int(below(seed_state(3), 1000)))
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def tiny(cache: Path) -> Program:
    return learn(Program((sys.executable, "-c", TINY)), cache)


def test_starts_at_once(tiny: Program, tmp_path: Path) -> None:
    assert list(starts_at_once(tiny, tmp_path, 3)) == ["", "", ""]
    assert len(entries(tmp_path)) == 3


def test_kills(tiny: Program, cache: Path) -> None:
    assert killed(tiny, cache, random.Random(1), longest=2.0, forgotten=2) == ""


@pytest.mark.parametrize("first", range(0, len(DAMAGES), 3))
def test_damage(tiny: Program, cache: Path, first: int) -> None:
    assert damaged(tiny, entries(cache), cache, first, random.Random(first)) == ""
    assert len(entries(cache)) == 3


def test_swaps(tiny: Program, cache: Path) -> None:
    assert swapped(tiny, entries(cache), cache) == ""


@pytest.mark.skipif(IS_WINDOWS, reason="the obstacles are POSIX")
@pytest.mark.parametrize("obstacle", ["read-only", "full", "no inodes", "size limit", "file", "dangling"])
def test_folders_where_nothing_can_be_kept(tiny: Program, cache: Path, tmp_path: Path, obstacle: str) -> None:
    """The answer is the same, one line says why it takes longer, and nothing half-written is left."""
    command = list(tiny.command)
    folder = tmp_path / "cache"
    options = {"read-only": "size=9m,ro", "full": "size=4k", "no inodes": "size=9m,nr_inodes=2"}.get(obstacle)
    if obstacle == "size limit":
        pytest.importorskip("resource")
        command[-1] = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99))\n" + TINY
    elif obstacle == "file":
        folder.touch()
    elif obstacle == "dangling":
        folder.symlink_to(tmp_path / "nowhere")
    program = Program(command, expected=tiny.expected)
    with mounted(folder, options) if options else nullcontext():
        process = program.start(folder)
        out, err = process.communicate()
        assert (process.returncode, out) == (0, tiny.expected)
        assert err.startswith("nobi: the cache cannot be used, so every start takes longer: /")
        assert err.count("\n") == 1
        assert not list(folder.rglob("*.kernel")) if folder.is_dir() else True
        assert not list(folder.rglob(".new-*")) if folder.is_dir() else True


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A file system in memory; the test is skipped where mounting is not allowed."""
    folder.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a file system is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
