"""Kernels that a wheel brings along: loaded where everything fits, and never where anything does not."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from nobi_machine import jit
from nobi_machine.cache import is_private
from nobi_machine.shipped import FAMILIES, Archive, family_of, write_archive

NAMED = {family.name: family for family in FAMILIES}
V3, V4 = (dict.fromkeys(NAMED[name].features, True) for name in ("x86-64-v3", "x86-64-v4"))


@pytest.mark.parametrize(
    ("features", "name"),
    [
        ({**V3, "sha": True}, "x86-64-v3"),
        ({**V3, "avxvnni": True}, "x86-64-v3-vnni"),
        ({**V3, "avx512f": True, "avx512vnni": True}, "x86-64-v3"),
        (V4, "x86-64-v4"),
        ({**V4, "avx512vnni": True, "avxvnni": True}, "x86-64-v4-vnni"),
        ({**V4, "avx512vnni": True, "amx-tile": True, "amx-int8": True, "amx-bf16": True}, "x86-64-v4-vnni-tiles"),
        ({**V4, "avx512vnni": True, "amx-tile": True, "amx-int8": False}, "x86-64-v4-vnni"),
        ({**V4, "avx512vnni": False, "avxvnni": True}, "x86-64-v4"),
        ({**V4, "fma": False}, None),
        ({**V3, "avx2": False}, None),
        ({"neon": True, "dotprod": True}, None),
        ({}, None),
    ],
)
def test_a_processor_belongs_to_the_best_family_that_it_contains(features: dict[str, bool], name: str | None) -> None:
    family = family_of(features)
    assert (family and family.name) == name


PROGRAM = """
import os, pathlib
from nobi_machine import shipped
shipped.SHIPPED = pathlib.Path(os.environ["SHIPPED"])
from nobi_machine import jit
from go_rules.random import next_u64, seed_state
print(int(next_u64(seed_state(1))), jit.compilations, jit.shipped_kernels is not None)
"""


class Installation:
    """An archive of shipped kernels, and what a process with them and an empty cache finds."""

    def __init__(self, folder: Path) -> None:
        found = jit.shippable()
        if found is None:
            pytest.skip("this processor is of no family that kernels are shipped for")
        self.family, name = found
        self.folder = folder
        self.shipped = folder / "shipped" / name

    def run(self, cache: str, **environment: str) -> tuple[int, int, bool]:
        """Run a kernel. Returns its result, how many were compiled, and whether the process uses shipped kernels."""
        variables = {"NOBI_CACHE_DIR": str(self.folder / cache), "SHIPPED": str(self.shipped.parent), **environment}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        value, compiled, uses = done.stdout.split()
        return int(value), int(compiled), uses == "True"

    def kernel(self, cache: str) -> Path:
        """The one kernel in a cache."""
        (path,) = (self.folder / cache / "kernels").iterdir()
        return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The kernel compiled for the family, and shipped."""
    made = Installation(tmp_path_factory.mktemp("built"))
    assert made.run("build", **made.family.target())[1:] == (1, False)
    made.shipped.parent.mkdir()
    write_archive(made.shipped, [made.kernel("build")])
    return made


@pytest.fixture
def installation(built: Installation, tmp_path: Path) -> Installation:
    """A copy of it, to be damaged."""
    shutil.copytree(built.shipped.parent, tmp_path / "shipped")
    return Installation(tmp_path)


def test_a_process_with_shipped_kernels_compiles_nothing_and_keeps_nothing(installation: Installation) -> None:
    before = installation.shipped.stat()
    value, *others = installation.run("empty")
    assert others == [0, True]
    assert not (installation.folder / "empty").exists()
    assert installation.shipped.stat().st_mtime_ns == before.st_mtime_ns
    # Who asks numba for another processor gets it, and its code is no substitute for what was shipped.
    assert installation.run("other", NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="") == (value, 1, False)
    write_archive(installation.shipped, [installation.kernel("other")])
    assert installation.run("cache") == (value, 1, True)


@pytest.mark.parametrize("wrong", ["cut short", "one byte", "no archive", "of other kernels", "others may write"])
def test_what_cannot_be_used_is_compiled_for_the_same_family(
    built: Installation, installation: Installation, tmp_path: Path, wrong: str
) -> None:
    archive, content, own = installation.shipped, built.shipped.read_bytes(), built.kernel("build")
    if wrong == "cut short":
        archive.write_bytes(content[: len(content) // 2])
    elif wrong == "one byte":
        archive.write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
    elif wrong == "no archive":
        archive.write_bytes(own.read_bytes())
    elif wrong == "of other kernels":
        other = tmp_path / own.name
        other.write_bytes(own.read_bytes()[:-1])
        write_archive(archive, [other])
    elif hasattr(os, "geteuid"):
        archive.chmod(0o666)
    else:
        pytest.skip("this system tells no owners")
    assert installation.run("cache")[1:] == (1, True)
    assert installation.kernel("cache").name == own.name, "its name says what it was compiled for: the same"


@pytest.mark.parametrize("wrong", ["another version", "others may write the folder"])
def test_an_archive_that_is_not_for_us_is_ignored(installation: Installation, wrong: str) -> None:
    if wrong == "another version":
        installation.shipped.rename(installation.shipped.with_name(f"1-{installation.shipped.name}"))
    elif hasattr(os, "geteuid"):
        installation.shipped.parent.chmod(0o777)
    else:
        pytest.skip("this system tells no owners")
    assert installation.run("cache")[1:] == (1, False)


def test_the_same_kernels_are_the_same_archive(tmp_path: Path) -> None:
    kernels = []
    for name in ("a.kernel", "b.kernel"):
        kernels.append(tmp_path / name)
        kernels[-1].write_text(name * 1000)
    write_archive(tmp_path / "1.tar.xz", kernels)
    for path in kernels:
        os.utime(path, (1, 1))
    write_archive(tmp_path / "2.tar.xz", kernels)
    assert (tmp_path / "1.tar.xz").read_bytes() == (tmp_path / "2.tar.xz").read_bytes()
    assert Archive(tmp_path / "1.tar.xz").name == "1"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system tells no owners")
@pytest.mark.parametrize(
    ("group", "mode", "members", "expected"),
    [
        (70001, 0o644, ["stranger"], True),
        (70002, 0o664, ["stranger"], False),
        (70003, 0o664, [], True),
        (70004, 0o666, [], False),
    ],
)
def test_files_that_an_installer_left_to_the_users_own_group_are_private(
    monkeypatch: pytest.MonkeyPatch, group: int, mode: int, members: list[str], expected: bool
) -> None:
    monkeypatch.setattr("grp.getgrgid", lambda gid: SimpleNamespace(gr_name="me", gr_mem=members))
    monkeypatch.setattr("pwd.getpwuid", lambda uid: SimpleNamespace(pw_name="me", pw_gid=group))
    status = os.stat_result((stat.S_IFREG | mode, 1, 1, 1, os.geteuid(), group, 0, 0, 0, 0))
    assert is_private(status) == expected
