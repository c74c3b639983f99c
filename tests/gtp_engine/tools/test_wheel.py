"""`make wheel`: the wheel with compiled kernels says what it is for. `make campaign-packaging` builds and uses one."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from gtp_engine.errors import UserError
from gtp_engine.tools.wheel import pack_again

PLAIN = "nobi-0.1.0-py3-none-any.whl"
FILES = {
    "nobi-0.1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n",
    "nobi-0.1.0.dist-info/METADATA": "Name: nobi\nRequires-Dist: numpy>=1.26\nRequires-Dist: numba>=0.61\n\n# Nobi\n",
    "nobi-0.1.0.dist-info/RECORD": "an older one",
    "go_rules/compilation/kernels/x86-64-v3/a.kernel": "code",
}


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """What a small wheel would hold."""
    for name, content in FILES.items():
        (tmp_path / "unpacked" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "unpacked" / name).write_text(content)
    return tmp_path / "unpacked"


def test_a_wheel_with_kernels_is_for_this_python_and_this_numba(unpacked: Path, tmp_path: Path) -> None:
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
