"""Installed beside packages of the same names: ours are found where both can be, and where ours were written over it is
said whose they are now. Every command is a process of its own, in an environment without pip."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

from gtp_engine.installation import REMEDY
from nobi_machine.launch import PACKAGES
from tests.conftest import REPOSITORY
from tests.planted import ALL_BUT_THE_FIRST, SCRIPT, Planted
from tests.systems import IS_WINDOWS

STRANGER = "raise RuntimeError(__name__ + ' of a stranger')\n"
MOVE = "boardsize 5\ngenmove b\nquit\n"

pytestmark = pytest.mark.skipif(IS_WINDOWS, reason="an environment has other folders there")


class Environment:
    """An environment with all that Nobi needs, by the names of site-packages that the tests run with."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True)
        (self.site,) = (folder / "lib").glob("python*/site-packages")
        (self.site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.python = str(folder / "bin" / "python")
        self._script = folder / "bin" / "nobi"
        self._script.write_text(SCRIPT)

    def nobi(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in this environment."""
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NOBI_DEBUG")}
        return run([self.python, str(self._script), *arguments], self.site.parent, environment, text)

    def install(self, name: str, files: dict[str, bytes]) -> None:
        """Do what pip does: write the files over what is there, and a list of them."""
        for path, content in files.items():
            (self.site / path).parent.mkdir(parents=True, exist_ok=True)
            (self.site / path).write_bytes(content)
        about = self.site / f"{name}-2.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
        lines = [f"{path},sha256={digest(content)},{len(content)}\n" for path, content in files.items()]
        (about / "RECORD").write_text("".join([*lines, f"{about.name}/RECORD,,\n"]))

    def uninstall(self, name: str) -> None:
        """Do what pip does: remove the files on the list."""
        about = self.site / f"{name}-2.0.dist-info"
        for line in (about / "RECORD").read_text().splitlines():
            (self.site / line.split(",")[0]).unlink(missing_ok=True)
        shutil.rmtree(about)


def run(command: list[str], folder: Path, environment: dict[str, str], text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, input=text, capture_output=True, text=True, timeout=120, check=False
    )


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


@pytest.fixture
def checkout(tmp_path: Path) -> Environment:
    """An environment where Nobi is a checkout, which a .pth file names."""
    made = Environment(tmp_path / "environment")
    (made.site / "nobi.pth").write_text(f"{REPOSITORY}\n")
    return made


@pytest.fixture
def installed(tmp_path: Path) -> Environment:
    """An environment with the files of Nobi."""
    made = Environment(tmp_path / "environment")
    sources = [path for package in PACKAGES for path in (REPOSITORY / package).rglob("*") if path.is_file()]
    made.install(
        "nobi",
        {
            path.relative_to(REPOSITORY).as_posix(): path.read_bytes()
            for path in sources
            if "__pycache__" not in path.parts
        },
    )
    return made


def test_others_in_site_packages_do_not_hide_a_checkout(checkout: Environment) -> None:
    checkout.install("stranger", {f"{name}/__init__.py": STRANGER.encode() for name in ALL_BUT_THE_FIRST})
    done = checkout.nobi("gtp", "--visits", "2", "--size", "5", text=MOVE)
    assert (done.returncode, done.stdout.count("= ")) == (0, 3), done.stderr
    assert checkout.nobi("train", "--help").returncode == 0


def test_an_isolated_python_and_those_that_it_starts_look_nowhere_else(checkout: Environment, tmp_path: Path) -> None:
    """What docs/security.md offers where PYTHONPATH has the current directory in it."""
    planted = Planted(tmp_path / "folder")
    environment = {**os.environ, "PYTHONPATH": f"{os.pathsep}{planted.path}"}
    command = [checkout.python, "-I", "-m", "gtp_engine.cli", "doctor", "--net", "none"]
    done = run(command, planted.traps, environment, "")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "it starts, says its name and ends" in done.stdout
    assert planted.sprung() == []


def test_undamaged_it_plays_and_finds_no_fault_with_itself(installed: Environment) -> None:
    done = installed.nobi("gtp", "--visits", "2", "--size", "5", text=MOVE)
    assert (done.returncode, done.stdout.count("= ")) == (0, 3), done.stderr
    installed.install("neighbour", {"neighbour/__init__.py": b""})
    assert "files: no other package has written over Nobi's" in installed.nobi("doctor", "--net", "none").stdout


@pytest.mark.parametrize(
    "files",
    [
        {"search/__init__.py": STRANGER, "search/index.py": ""},
        {"nobi_machine/parameters.py": ""},
        {"gtp_engine/errors.py": "print 'of another language'\n"},
    ],
    ids=lambda files: ", ".join(files),
)
def test_who_has_overwritten_what(files: dict[str, str], installed: Environment) -> None:
    installed.install("stranger", {path: content.encode() for path, content in files.items()})
    done = installed.nobi("gtp", text=MOVE)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    told = f"nobi: the package stranger 2.0 has overwritten {next(iter(files))} of Nobi's; {REMEDY}"
    assert done.stderr.startswith(told)


def test_what_went_with_the_other_is_said_to_be_missing(installed: Environment) -> None:
    installed.install(
        "stranger", {"nobi_machine/parameters.py": b"", "search/player.py": b"", "nets/evaluator.py": b""}
    )
    installed.uninstall("stranger")
    done = installed.nobi("gtp", text=MOVE)
    assert (done.returncode, done.stdout) == (1, "")
    told = "nobi: Nobi is not as it was installed: nobi_machine/parameters.py and 2 other files changed or missing"
    assert done.stderr.startswith(f"{told}; {REMEDY}"), done.stderr


def test_the_doctor_finds_what_does_no_harm_yet(installed: Environment) -> None:
    installed.install("stranger", {"training/__init__.py": b"# harmless\n"})
    done = installed.nobi("doctor", "--net", "none")
    assert done.returncode == 1
    told = (
        f"FAILED  files: the package stranger 2.0 has overwritten training/__init__.py of Nobi's\n        -> {REMEDY}\n"
    )
    assert told in done.stdout
