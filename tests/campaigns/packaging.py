"""The packages that users install: built, compared with the sources, installed where nothing is, and played with.

    python -m tests.campaigns.packaging --pythons 3.10 3.13 [--dist FOLDER]

What is committed is copied, `python -m build` makes a source distribution of it and a wheel of that. The source
distribution must have every file that git has, the wheel every module and the network and nothing else, and the same as
a wheel that is made of the checkout directly; `twine check` must pass both. Then the wheel is installed into an empty
environment of each Python that can be found, with the packages of constraints.txt and no others. What was installed
plays, analyses and examines itself, in an empty folder with an empty cache. Where the processor allows it, that Python
makes a wheel with compiled kernels of it, as `make wheel` does, and an installation of that is used in the same way: it
must compile nothing, and a damaged file must do no harm. At last pip, pipx and uv install what an index on this machine
serves, and pipx, uv and make install the sources with constraints.txt. One move is played each time. FOLDER keeps the
packages.

All of this happens in a folder with a space and Chinese characters in its name. What was installed is used without a
compiler on PATH, and without a network where `unshare` can take it away. Packages come from the registry that pip is
set up for, pipx, uv, build and twine too. Prints a line for each check, with the processor seconds of the first move
and of the next start, and exits with 1 if one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gtp_engine.version import VERSION
from nobi_machine.shipped import FAMILIES
from tests.conftest import REPOSITORY

ROOMS = ("nobi_machine", "go_rules", "nets", "search", "gtp_engine", "training", "nobi")
CONSTRAINTS = REPOSITORY / "constraints.txt"
LONGEST = 3600.0
"""Seconds after which a command counts as hung."""
MOST_BYTES = 7_000_000
"""The largest wheel that we publish; the networks are five million of them."""
MOST_BYTES_WITH_KERNELS = 13_000_000
MOVE = ("gtp", "--visits", "50")
ANALYSE = ("--visits", "50", "--size", "9")
QUERY = {"id": "a", "moves": [["B", "E5"]], "rules": "chinese", "komi": 7, "boardXSize": 9, "boardYSize": 9}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make campaign-packaging", description=__doc__)
    parser.add_argument("--pythons", nargs="+", default=["3.10", "3.13"], help="versions such as 3.12, or programs")
    parser.add_argument("--dist", type=Path, help="where the packages are put")
    arguments = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "a place 围棋"
        folder.mkdir()
        tools = environment(Path(sys.executable), folder / "tools")
        expect(run([tools, "-m", "pip", "install", "--quiet", "build", "twine", "pipx", "uv"]))
        dist = (arguments.dist or folder / "dist").resolve()
        wheel = packages(tools, folder, dist, report)
        tried = 0
        for version in arguments.pythons:
            python = found_python(version)
            if python is None:
                report.skip(f"Python {version}: not found here")
                continue
            tried += 1
            fresh = installed(wheel, python, folder / f"environment-{tried}", report)
            if fresh is not None:
                with_kernels(wheel, fresh, python, folder / f"compiled-{tried}", report)
        report.check("some Python of those wanted is here", tried > 0)
        by_other_tools(tools, dist, folder / "source", folder / "by other tools", report)
    print(f"{report.passed} checks passed, {report.failed} failed, {report.skipped} skipped")
    return int(report.failed > 0)


class Report:
    """Counts and prints checks."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0

    def check(self, text: str, is_right: object, wrong: str = "") -> bool:
        """Print whether it is right, and what is wrong if not. Returns whether it is right."""
        self.passed += bool(is_right)
        self.failed += not is_right
        print(
            f"{'ok  ' if is_right else 'FAIL'} {text}{'' if is_right or not wrong else f': {wrong[-2000:]}'}",
            flush=True,
        )
        return bool(is_right)

    def skip(self, text: str) -> None:
        self.skipped += 1
        print(f"skip {text}", flush=True)


def run(command: Sequence[object], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end without a terminal. Its output is text."""
    return subprocess.run(  # type: ignore[call-overload]
        [str(part) for part in command], capture_output=True, text=True, timeout=LONGEST, check=False, **options
    )


# --- Building -------------------------------------------------------------------------------------------------------


def packages(tools: Path, folder: Path, dist: Path, report: Report) -> Path:
    """Build both packages into `dist`, and compare them with the sources. Returns the wheel."""
    source = folder / "source"
    tracked = committed(source)
    shutil.rmtree(dist, ignore_errors=True)
    expect(run([tools, "-m", "build", "--outdir", dist, source]))
    (archive,) = dist.glob("*.tar.gz")
    (wheel,) = dist.glob("*.whl")
    expect(run([tools, "-m", "build", "--wheel", "--outdir", folder / "direct", source]))
    (direct,) = (folder / "direct").glob("*.whl")

    with tarfile.open(archive) as opened:
        packed = {name.split("/", 1)[1] for name in opened.getnames() if "/" in name}
    lacks = sorted(tracked - packed)
    report.check(
        f"{archive.name} ({archive.stat().st_size:,} bytes) has the {len(tracked)} files of git", not lacks, str(lacks)
    )
    expected = {name for name in tracked if name.startswith(tuple(f"{room}/" for room in ROOMS))}
    content = contents(wheel)
    found = {name for name in content if ".dist-info/" not in name}
    report.check(
        f"{wheel.name} has the {len(expected)} files of the packages, no others",
        found == expected,
        str(found ^ expected),
    )
    report.check("a wheel made of the checkout is the same", contents(direct) == content)
    size = wheel.stat().st_size
    report.check(f"the wheel has {size:,} bytes, {MOST_BYTES:,} at most", size <= MOST_BYTES)
    done = run([tools, "-m", "twine", "check", "--strict", archive, wheel])
    report.check("twine check --strict", done.returncode == 0, done.stdout + done.stderr)
    return wheel


def committed(folder: Path) -> set[str]:
    """Copy what is committed to an empty folder. Returns the names of the files."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    expect(run(["git", "-C", REPOSITORY, "archive", "--output", archive, "HEAD"]))
    with tarfile.open(archive) as opened:
        opened.extractall(folder)
        return {member.name for member in opened.getmembers() if member.isfile()}


def contents(wheel: Path) -> dict[str, int]:
    """The checksums of a wheel's files by their names."""
    with zipfile.ZipFile(wheel) as opened:
        return {entry.filename: entry.CRC for entry in opened.infolist()}


# --- Installing and playing -----------------------------------------------------------------------------------------


def found_python(version: str) -> Path | None:
    """A program for a version such as 3.12: on PATH, or one of pyenv's."""
    named = shutil.which(version) or shutil.which(f"python{version}")
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for python in [*([Path(named)] if named else []), *sorted(root.glob(f"{version}*/bin/python"))]:
        if run([python, "-c", "import venv, ensurepip"]).returncode == 0:
            return python
    return None


def environment(python: Path, folder: Path) -> Path:
    """Make an empty environment. Returns its Python."""
    expect(run([python, "-m", "venv", folder]))
    return folder / "bin" / "python"


def expect(done: subprocess.CompletedProcess[str]) -> None:
    """End the campaign where a step fails that everything else needs."""
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, done.args))} failed:\n{(done.stdout + done.stderr)[-3000:]}")


def installed(wheel: Path, python: Path, folder: Path, report: Report) -> Path | None:
    """Install the wheel into an empty environment, and use what is there. Returns its Python; None if that failed."""
    version = run([python, "--version"]).stdout.strip()
    fresh = environment(python, folder)
    options = ["--quiet", "--disable-pip-version-check", "--constraint", CONSTRAINTS]
    done = run([fresh, "-m", "pip", "install", *options, wheel])
    if not report.check(f"{version}: {wheel.name} is installed", done.returncode == 0, done.stderr):
        return None
    others = differing(fresh)
    report.check(f"{version}: only packages of {CONSTRAINTS.name}", not others, str(others))
    report.check(f"{version}: pip check", run([fresh, "-m", "pip", "check"]).returncode == 0)
    used(fresh.with_name("nobi"), folder, version, report)
    where = run([fresh, "-I", "-c", "import gtp_engine.cli; print(gtp_engine.cli.__file__)"], cwd=folder).stdout
    report.check(f"{version}: it is the installed one that ran", where.startswith(str(folder)), where)
    return fresh


def with_kernels(plain: Path, builder: Path, python: Path, folder: Path, report: Report) -> None:
    """Have an installation make a wheel with compiled kernels of the plain one; install that elsewhere, and use it."""
    folder.mkdir()
    shutil.copy(plain, folder / plain.name)
    began = processor_seconds()
    done = run([builder, "-I", "-m", "gtp_engine.tools.wheel", folder / plain.name], cwd=folder)
    if "compiled ahead only for" in done.stderr:
        report.skip(f"a wheel with kernels: {done.stderr.strip()}")
        return
    if not report.check("a wheel with kernels is made", done.returncode == 0, done.stderr):
        return
    wheel = Path(done.stdout.strip())
    size = wheel.stat().st_size
    cost = f"{processor_seconds() - began:.0f} processor seconds"
    text = f"{wheel.name}, {cost}, has {size:,} bytes, {MOST_BYTES_WITH_KERNELS:,} at most"
    report.check(text, size <= MOST_BYTES_WITH_KERNELS)
    place = folder / "environment"
    fresh = installed(wheel, python, place, report)
    if fresh is None:
        return
    kernels = sorted(path for path in (place / "cache" / "kernels").glob("*.kernel"))
    report.check("it compiles nothing for a first move, analysis and an examination", not kernels, str(kernels[:5]))
    used_archive = Path(
        run([fresh, "-I", "-c", "from nobi_machine.jit import shipped_kernels as s; print(s.path)"]).stdout.strip()
    )
    families = [names_in(archive) for archive in used_archive.parent.iterdir()]
    count = len(families[0])
    report.check(f"kernels for {len(FAMILIES)} families", [len(each) for each in families] == [count] * len(FAMILIES))
    report.check(f"{count} kernels are installed for each", count > 20)
    used_archive.write_bytes(used_archive.read_bytes()[:-1000])
    variables = {**os.environ, "NOBI_CACHE_DIR": str(folder / "another cache")}
    done = run([fresh.with_name("nobi"), *MOVE], input="genmove b\nquit\n", env=variables)
    good = done.returncode == 0 and done.stdout.startswith("= ")
    report.check(f"with a damaged {used_archive.name} it compiles", good, done.stdout + done.stderr)
    compiled = sorted((folder / "another cache" / "kernels").glob("*.kernel"))
    report.check("and keeps that in the cache", len(compiled) > 20, str(compiled[:5]))


def names_in(archive: Path) -> list[str]:
    """Return the names of the kernels in an archive."""
    with tarfile.open(archive) as kernels:
        return kernels.getnames()


def used(nobi: Path, folder: Path, version: str, report: Report) -> None:
    """Have the command play, analyse and examine itself, with an empty cache and home, in an empty folder.

    No network and no program can be reached.
    """
    here = folder / "here"
    here.mkdir()
    variables = {"PATH": str(here), "HOME": str(here), "NOBI_CACHE_DIR": str(folder / "cache")}

    def nobi_run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return run([*without_network(), nobi, *arguments], input=text, cwd=here, env=variables)

    said = nobi_run("--version").stdout
    report.check(f"{version}: nobi --version", said == f"nobi {VERSION}\n", said)
    for start in ("first move", "first move of the next start"):
        before, began = processor_seconds(), time.monotonic()
        done = nobi_run(*MOVE, text="genmove b\nquit\n")
        cost = f"{processor_seconds() - before:.1f} processor seconds, {time.monotonic() - began:.1f} s"
        good = done.returncode == 0 and done.stdout.startswith("= ") and "?" not in done.stdout
        report.check(f"{version}: {start}, {cost}", good, done.stdout + done.stderr)
    done = nobi_run("gtp", *ANALYSE, text="kata-genmove_analyze b 10 ownership true\nlz-genmove_analyze w 10\nquit\n")
    good = done.stdout.count("\nplay ") == 2 and done.stdout.count("info move") >= 2 and "ownership" in done.stdout
    report.check(f"{version}: analysis for GUIs", good, done.stdout + done.stderr)
    done = nobi_run("analysis", text=json.dumps({**QUERY, "maxVisits": 50}) + "\n")
    good = '"rootInfo"' in done.stdout and '"error"' not in done.stdout and done.returncode == 0
    report.check(f"{version}: nobi analysis", good, done.stdout + done.stderr)
    done = nobi_run("doctor")
    report.check(f"{version}: nobi doctor", done.returncode == 0, done.stdout + done.stderr)
    left = [path.name for path in here.iterdir()]
    report.check(f"{version}: nothing was written to the folder or the home", not left, str(left))


def without_network() -> list[str]:
    """What stands before a command so that it has no network, where this user may take it away; nothing elsewhere."""
    program = shutil.which("unshare")
    taking = [program, "--net"] if program else []
    return taking if taking and run([*taking, sys.executable, "--version"]).returncode == 0 else []


def processor_seconds() -> float:
    """What all processes that have ended below this one have used."""
    times = os.times()
    return times.children_user + times.children_system


# --- From an index and from the sources -----------------------------------------------------------------------------


def by_other_tools(tools: Path, dist: Path, source: Path, folder: Path, report: Report) -> None:
    """Install by pip, pipx, uv and make, from an index and from the sources, and play a move each time.

    There is no compiler on PATH.
    """
    folder.mkdir()
    programs = folder / "programs"
    programs.mkdir()
    for name in ("dirname", "realpath"):  # by which a command that uv installs finds its Python
        (programs / name).symlink_to(str(shutil.which(name)))
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        **{"PATH": str(programs), "NOBI_CACHE_DIR": str(folder / "cache"), "UV_CACHE_DIR": str(folder / "uv cache")},
        **{"PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin"), "PIPX_MAN_DIR": str(folder / "man")},
        **{"UV_TOOL_DIR": str(folder / "uv"), "UV_TOOL_BIN_DIR": str(folder / "uv bin"), "UV_PYTHON": sys.executable},
        **{"PIPX_DEFAULT_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"},
    }
    pipx, uv = tools.with_name("pipx"), tools.with_name("uv")

    def installs(text: str, *command: object, python: Path, is_pinned: bool = False) -> None:
        """Install from the sources' folder, and play a move."""
        done = run(command, cwd=source, env=variables)
        if not report.check(text, done.returncode == 0, done.stdout + done.stderr):
            return
        if is_pinned:
            others = differing(python)
            report.check(f"{text}: only packages of {CONSTRAINTS.name}", not others, str(others))
        plays(text, *without_network(), python.with_name("nobi"), *MOVE)

    def plays(text: str, *command: object) -> None:
        done = run(command, input="genmove b\nquit\n", cwd=folder, env=variables)
        good = done.returncode == 0 and done.stdout.startswith("= ")
        report.check(f"{text}: a move", good, done.stdout + done.stderr)

    wanted = f"nobi=={VERSION}"
    with served(dist, folder / "index") as index:
        fresh = environment(Path(sys.executable), folder / "of the index")
        options = ["--quiet", "--extra-index-url", index, "--no-binary", "nobi"]
        installs("pip install of an index's sources", fresh, "-m", "pip", "install", *options, wanted, python=fresh)
        fresh = folder / "without pip" / "bin" / "python"
        expect(run([uv, "venv", "--quiet", folder / "without pip"], env=variables))
        options = ["--quiet", "--index", index, "--python", str(fresh)]
        installs("uv pip install of an index's wheel", uv, "pip", "install", *options, wanted, python=fresh)
        report.check("uv pip install: there is no pip", run([fresh, "-c", "import pip"]).returncode != 0)
        options = ["--pip-args", f"--extra-index-url {index}", "--spec", wanted]
        plays("pipx run", pipx, "run", *options, "nobi", *MOVE)
        plays("uvx", uv, "tool", "run", "--quiet", "--index", index, "--from", wanted, "nobi", *MOVE)
    made = folder / "pipx" / "venvs" / "nobi" / "bin" / "python"
    installs("pipx install", pipx, "install", "--pip-args=-c constraints.txt", ".", python=made, is_pinned=True)
    made = folder / "uv" / "nobi" / "bin" / "python"
    installs("uv tool install", uv, "tool", "install", "-c", "constraints.txt", ".", python=made, is_pinned=True)
    variables["PATH"] = os.environ["PATH"]
    made = source / ".venv" / "bin" / "python"
    installs("make install", "make", "install", f"PYTHON={sys.executable}", python=made, is_pinned=True)
    plays("make gtp", *without_network(), "make", "-C", source, "-s", "gtp", f"ARGS={' '.join(MOVE[1:])}")


@contextmanager
def served(dist: Path, folder: Path) -> Iterator[str]:
    """Serve packages as an index of the kind that PyPI is, to this machine alone. Yields its address."""
    shutil.copytree(dist, folder / "nobi")
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """Lists folders and sends files, and logs nothing."""

    def log_message(self, format: str, *values: object) -> None:
        pass


def frozen(python: Path) -> dict[str, str]:
    """The packages of an environment but Nobi and what installs others, with their versions."""
    program = (
        "import importlib.metadata as m, json; print(json.dumps([(d.name, d.version) for d in m.distributions()]))"
    )
    found = json.loads(run([python, "-I", "-c", program]).stdout)
    versions = {canonicalize_name(name): version for name, version in sorted(found)}
    return {name: version for name, version in versions.items() if name not in ("nobi", "pip", "setuptools")}


def differing(python: Path) -> list[str]:
    """What an environment of this Python has that constraints.txt does not name in that version."""
    program = "import platform; print(platform.python_version())"
    place = {"python_full_version": run([python, "-I", "-c", program]).stdout.strip()}
    lines = [line for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pins = [pin for pin in map(Requirement, lines) if pin.marker is None or pin.marker.evaluate(place)]
    named = {f"{pin.name}{pin.specifier}" for pin in pins}
    return [f"{name} {version}" for name, version in frozen(python).items() if f"{name}=={version}" not in named]


if __name__ == "__main__":
    sys.exit(main())
