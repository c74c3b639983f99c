"""The packages that users install: built, compared with the sources, installed where nothing is, and played with.

    python -m tests.campaigns.packaging --pythons 3.10 3.13 [--dist FOLDER]

What is committed is copied, `python -m build` makes a source distribution of it and a wheel of that. The source
distribution must have every file that git has, the wheel every module and the network and nothing else, and the same as
a wheel that is made of the checkout directly; `twine check` must pass both. Then the wheel is installed into an empty
environment of each Python that can be found, and what was installed plays, analyses and examines itself, in an empty
folder with an empty cache. Where the processor allows it, that Python makes a wheel with compiled kernels of it, as
`make wheel` does, and an installation of that is used in the same way: it must compile nothing, and a damaged file must
do no harm. At last the plain wheel is installed by pipx, where that is installed. FOLDER keeps the packages.

Packages come from the registry that pip is set up for. Prints a line for each check, with the processor seconds of the
first move and of the next start, and exits with 1 if one failed.
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
from collections.abc import Sequence
from pathlib import Path

from go_rules.compilation.shipped import FAMILIES
from gtp_engine.version import VERSION
from tests.conftest import REPOSITORY

ROOMS = ("go_rules", "nets", "search", "gtp_engine", "training")
LONGEST = 3600.0
"""Seconds after which a command counts as hung."""
MOST_BYTES = 7_000_000
"""The largest wheel that we publish; the networks are five million of them."""
MOST_BYTES_WITH_KERNELS = 13_000_000
ANALYSE = ("--visits", "50", "--size", "9")
QUERY = {"id": "a", "moves": [["B", "E5"]], "rules": "chinese", "komi": 7, "boardXSize": 9, "boardYSize": 9}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make campaign-packaging", description=__doc__)
    parser.add_argument("--pythons", nargs="+", default=["3.10", "3.13"], help="versions such as 3.12, or programs")
    parser.add_argument("--dist", type=Path, help="where the packages are put")
    arguments = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        wheel = packages(folder, arguments.dist or folder / "dist", report)
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
        by_pipx(wheel, folder / "pipx", report)
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


def packages(folder: Path, dist: Path, report: Report) -> Path:
    """Build both packages into `dist`, and compare them with the sources. Returns the wheel."""
    source = folder / "source"
    tracked = committed(source)
    tools = environment(Path(sys.executable), folder / "tools")
    expect(run([tools, "-m", "pip", "install", "--quiet", "build", "twine"]))
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
    done = run([fresh, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel])
    if not report.check(f"{version}: {wheel.name} is installed", done.returncode == 0, done.stderr):
        return None
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
        run(
            [fresh, "-I", "-c", "from go_rules.compilation.jit import shipped_kernels as s; print(s.path)"]
        ).stdout.strip()
    )
    families = [names_in(archive) for archive in used_archive.parent.iterdir()]
    count = len(families[0])
    report.check(f"kernels for {len(FAMILIES)} families", [len(each) for each in families] == [count] * len(FAMILIES))
    report.check(f"{count} kernels are installed for each", count > 20)
    used_archive.write_bytes(used_archive.read_bytes()[:-1000])
    variables = {**os.environ, "NOBI_CACHE_DIR": str(folder / "another cache")}
    done = run([fresh.with_name("nobi"), "gtp", "--visits", "50"], input="genmove b\nquit\n", env=variables)
    good = done.returncode == 0 and done.stdout.startswith("= ")
    report.check(f"with a damaged {used_archive.name} it compiles", good, done.stdout + done.stderr)
    compiled = sorted((folder / "another cache" / "kernels").glob("*.kernel"))
    report.check("and keeps that in the cache", len(compiled) > 20, str(compiled[:5]))


def names_in(archive: Path) -> list[str]:
    """Return the names of the kernels in an archive."""
    with tarfile.open(archive) as kernels:
        return kernels.getnames()


def used(nobi: Path, folder: Path, version: str, report: Report) -> None:
    """Have the command play, analyse and examine itself, with an empty cache and home, in an empty folder."""
    here = folder / "here"
    here.mkdir()
    variables = {"PATH": os.environ["PATH"], "HOME": str(here), "NOBI_CACHE_DIR": str(folder / "cache")}

    def nobi_run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return run([nobi, *arguments], input=text, cwd=here, env=variables)

    said = nobi_run("--version").stdout
    report.check(f"{version}: nobi --version", said == f"nobi {VERSION}\n", said)
    for start in ("first move", "first move of the next start"):
        before, began = processor_seconds(), time.monotonic()
        done = nobi_run("gtp", "--visits", "50", text="genmove b\nquit\n")
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


def processor_seconds() -> float:
    """What all processes that have ended below this one have used."""
    times = os.times()
    return times.children_user + times.children_system


def by_pipx(wheel: Path, folder: Path, report: Report) -> None:
    """Install the wheel with pipx, into a home of its own, and play one move."""
    if shutil.which("pipx") is None:
        report.skip("pipx: it is not installed here")
        return
    folder.mkdir()
    variables = {**os.environ, "PIPX_HOME": str(folder / "home"), "PIPX_BIN_DIR": str(folder / "bin")}
    done = run(["pipx", "install", wheel], env=variables)
    if report.check("pipx install", done.returncode == 0, done.stderr):
        variables["NOBI_CACHE_DIR"] = str(folder / "cache")
        done = run(
            [folder / "bin" / "nobi", "gtp", "--visits", "50"], input="genmove b\nquit\n", env=variables, cwd=folder
        )
        report.check("pipx: a move", done.returncode == 0 and done.stdout.startswith("= "), done.stdout + done.stderr)


if __name__ == "__main__":
    sys.exit(main())
