"""Kernels for other processors: compiled under the keys that those will ask for, and never run here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nobi_machine import jit
from nobi_machine.launch import python_command
from nobi_machine.shipped import FAMILIES, Family

PROGRAM = "from go_rules.random import next_u64, seed_state; next_u64(seed_state(1))"


def target(family: Family, cache: Path) -> dict[str, str]:
    return {**os.environ, **family.target(), "NOBI_CACHE_DIR": str(cache)}


def cross_compile(folder: Path, family: Family, cache: Path) -> dict[str, int]:
    """Compile the kernels in `folder` for a family. Returns the files' names and inodes."""
    command = python_command("gtp_engine.tools.wheel", "--compile", *map(str, folder.iterdir()))
    done = subprocess.run(command, env=target(family, cache), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return {path.name: path.stat().st_ino for path in (cache / "kernels").iterdir()}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Family, Path]:
    """The family of this processor, and a folder with a kernel that was run on it."""
    found = jit.shippable()
    if found is None:
        pytest.skip("this processor is of no family that kernels are shipped for")
    cache = tmp_path_factory.mktemp("own")
    subprocess.run([sys.executable, "-c", PROGRAM], env=target(found[0], cache), check=True)
    return found[0], cache / "kernels"


def test_for_this_family_it_is_what_running_compiles(own: tuple[Family, Path], tmp_path: Path) -> None:
    family, folder = own
    names = [path.name for path in folder.iterdir()]
    assert len(names) == 1
    assert list(cross_compile(folder, family, tmp_path)) == names


@pytest.mark.parametrize("number", [0, -1])
def test_every_family_has_keys_of_its_own(own: tuple[Family, Path], tmp_path: Path, number: int) -> None:
    family, folder = own
    other = FAMILIES[number]
    if other == family:
        pytest.skip("this processor's own")
    made = cross_compile(folder, other, tmp_path)
    assert len(made) == 1
    assert made.keys().isdisjoint(path.name for path in folder.iterdir())
    assert cross_compile(folder, other, tmp_path) == made, "a process for that family finds them, and compiles nothing"
