"""`make wheel`: the wheel with compiled kernels says what it is for, and what is installed from it loads them.

`make campaign-packaging` does the same with all kernels, and plays.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distributions, version
from pathlib import Path

import numpy
import pytest
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from gtp_engine.errors import UserError
from gtp_engine.tools.wheel import KERNELS, CompilingSession, add_kernels, pack_again
from gtp_engine.version import VERSION
from nobi_machine import jit
from nobi_machine.shipped import FAMILIES
from tests.conftest import REPOSITORY

PLAIN = "nobi-0.1.0-py3-none-any.whl"
FILES = {
    "nobi-0.1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n",
    "nobi-0.1.0.dist-info/METADATA": "Name: nobi\nRequires-Dist: numpy>=1.26\nRequires-Dist: numba>=0.61\n\n# Nobi\n",
    "nobi-0.1.0.dist-info/RECORD": "an older one",
    f"{KERNELS}/x86-64-v3.tar.xz": "code",
}


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """What a small wheel would hold."""
    for name, content in FILES.items():
        (tmp_path / "unpacked" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "unpacked" / name).write_text(content)
    return tmp_path / "unpacked"


def test_a_wheel_with_kernels_is_for_this_python_and_this_numba(unpacked: Path, tmp_path: Path) -> None:
    (unpacked / "go_rules" / "__pycache__").mkdir(parents=True)  # as the runs that compile the kernels leave it
    (unpacked / "go_rules" / "__pycache__" / "board.cpython-311.pyc").write_text("bytecode")
    made = pack_again(tmp_path / PLAIN, unpacked)
    assert made.parent == tmp_path
    tags = parse_wheel_filename(made.name)[3]
    assert set(sys_tags()) & tags, "pip would not install it here"
    assert {(tag.abi, tag.platform) for tag in tags}.isdisjoint({("none", "any")})
    with zipfile.ZipFile(made) as wheel:
        content = {name: wheel.read(name) for name in wheel.namelist()}
    assert set(content) == set(FILES)
    metadata = content["nobi-0.1.0.dist-info/METADATA"].decode().splitlines()
    required = [line.partition(" ")[2] for line in metadata if line.startswith("Requires-Dist: ")]
    assert required == ["numpy>=1.26", f"numba=={version('numba')}", f"llvmlite=={version('llvmlite')}"]
    about = content["nobi-0.1.0.dist-info/WHEEL"].decode().splitlines()
    assert [line for line in about if line.startswith("Tag: ")] == [f"Tag: {made.stem.split('-', 2)[2]}"]
    assert "Root-Is-Purelib: false" in about
    listed = {}
    for line in content.pop("nobi-0.1.0.dist-info/RECORD").decode().splitlines():
        name, checksum, size = line.rsplit(",", 2)
        listed[name] = checksum, size
    assert listed.pop("nobi-0.1.0.dist-info/RECORD") == ("", "")
    for name, each in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(each).digest()).decode().rstrip("=")
        assert listed.pop(name) == (f"sha256={digest}", str(len(each)))
    assert listed == {}


def test_a_wheel_that_asks_for_no_numba_is_refused(unpacked: Path, tmp_path: Path) -> None:
    (unpacked / "nobi-0.1.0.dist-info" / "METADATA").write_text("Name: nobi\n")
    with pytest.raises(UserError, match="METADATA: 0 lines match"):
        pack_again(tmp_path / PLAIN, unpacked)
    assert list(tmp_path.glob("*.whl")) == []


@pytest.mark.parametrize("content", [None, b"no wheel"])
def test_what_is_no_wheel_is_refused_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / PLAIN).write_bytes(content)
    command = [sys.executable, "-m", "gtp_engine.tools.wheel", str(tmp_path / PLAIN)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("nobi: ")
    assert "internal error" not in done.stderr


ROOMS = ("nobi_machine", "go_rules", "nets", "search", "gtp_engine", "training", "nobi")
ONE_KERNEL = CompilingSession(
    ("-n", "1", "-r", "1", "-s", "from go_rules.random import next_u64, seed_state", "next_u64(seed_state(1))"),
    module="timeit",
)
FOUND = """
import json
from nobi_machine import jit
from go_rules.random import next_u64, seed_state
next_u64(seed_state(1))
print(json.dumps([str(jit.shipped_kernels and jit.shipped_kernels.path), jit.compilations]))
"""


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """The wheel of a copy of this checkout."""
    versions = {each.name: each.version for each in distributions()}
    if "pip" not in versions or Version(versions.get("setuptools", "0")) < Version("70.1"):
        pytest.skip("pip, or a setuptools that makes wheels by itself, is missing")
    source = tmp_path / "source"
    for room in ROOMS:
        shutil.copytree(REPOSITORY / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    return wheel


def empty_environment(folder: Path) -> Path:
    """Make an environment that has what Nobi needs, but no Nobi. Returns its Python."""
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("[Ll]ib/**/site-packages")
    # A path in a .pth file is not searched for .pth files, such as that of an editable installation.
    (packages / "needed.pth").write_text(str(Path(numpy.__file__).parents[1]), encoding="utf-8")
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def test_what_is_installed_from_a_wheel_with_kernels_compiles_nothing(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if jit.shippable() is None:
        pytest.skip("this processor is of no family that kernels are shipped for")
    monkeypatch.setattr("gtp_engine.tools.wheel.SESSIONS", [ONE_KERNEL])
    made = add_kernels(plain, [])
    with zipfile.ZipFile(made) as wheel:
        packed = [name for name in wheel.namelist() if name.startswith(f"{KERNELS}/")]
    assert len(packed) == len(FAMILIES)

    folder = tmp_path / "an environment 围棋"
    python = empty_environment(folder)
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", *options, str(made)]
    subprocess.run(command, check=True, timeout=300)
    variables = {**os.environ, "NOBI_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([python, "-I", "-c", FOUND], env=variables, capture_output=True, text=True, check=True)
    archive, compiled = json.loads(done.stdout)
    assert Path(archive).is_relative_to(folder)
    assert compiled == 0
    assert not (tmp_path / "cache" / "kernels").exists()
    said = subprocess.run([python.with_name("nobi"), "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"nobi {VERSION}\n"
