"""The newest and the oldest packages that Nobi allows: installed into empty environments, played with and tested.

    python -m tests.campaigns.versions [pinned] [oldest] [newest] [beyond] [--python PROGRAM] [--tests PATH...]

`make gtp` and `make test` install what constraints.txt names, and so hide what others would break.

    pinned   the versions of constraints.txt: are there wheels of them for every Python, on the systems of SYSTEMS?
    oldest   the lower bounds of setup.cfg, where there are wheels of them for this Python (until Python 3.12)
    newest   what the registry has now, within the bounds: what a user gets who installs a wheel
    beyond   the same without the upper bounds: can they be raised? Skipped where it has nothing beyond them

For each of the last three the checkout is installed into an empty environment. There it plays and examines itself with
an empty cache, and those tests run that meet the packages most; --tests names others, such as `tests` for all. Prints a
line for each check, and what was installed, and exits with 1 if one failed.
"""

from __future__ import annotations

import argparse
import configparser
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

from tests.campaigns.packaging import Report, environment, expect, frozen, run, used
from tests.conftest import REPOSITORY

KINDS = ("pinned", "oldest", "newest", "beyond")
SYSTEMS = (*("x86_64-manylinux_2_28", "aarch64-manylinux_2_28"), *("x86_64-pc-windows-msvc", "aarch64-apple-darwin"))
"""By uv's names for them. The last is macOS 14 or later."""
TESTS = (
    *("tests/nobi_machine", "tests/go_rules/sgf", "tests/nets/graph"),
    *("tests/nets/test_golden_networks.py", "tests/search/nobi/test_search.py"),
    *("tests/gtp_engine/configuration", "tests/gtp_engine/json_engine", "tests/gtp_engine/tools"),
)
"""What meets numba, numpy, onnx, onnxruntime, sgfmill, click, rich, msgspec and tomlkit."""
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "setuptools")
"""What the tests need."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make campaign-versions", description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"some of {', '.join(KINDS)}; all if none is named")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="makes the environments")
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="PATH", help="what pytest runs")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.kinds) - set(KINDS))
    if unknown:
        parser.error(f"{unknown[0]}: known are {', '.join(KINDS)}")
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        for kind in arguments.kinds or KINDS:
            folder = Path(name).resolve() / kind
            folder.mkdir()
            fresh = environment(arguments.python, folder / "environment")
            if kind == "pinned":
                have_wheels(fresh, report)
            elif installed(kind, fresh, report):
                used(fresh.with_name("nobi"), folder, kind, report)
                tested(kind, fresh, arguments.tests, folder / "cache", report)
    print(f"{report.passed} checks passed, {report.failed} failed, {report.skipped} skipped")
    return int(report.failed > 0)


# --- What setup.cfg says --------------------------------------------------------------------------------------------


def setup_file() -> configparser.ConfigParser:
    """Read setup.cfg."""
    setup = configparser.ConfigParser()
    setup.read(REPOSITORY / "setup.cfg", encoding="utf-8")
    return setup


def pythons() -> list[str]:
    """Return the versions of Python that Nobi is for, such as 3.10, the oldest first."""
    return re.findall(r"Python :: (3\.\d+)$", setup_file()["metadata"]["classifiers"], re.MULTILINE)


def requirements() -> list[Requirement]:
    """Return what an installation needs."""
    return [Requirement(line) for line in setup_file()["options"]["install_requires"].strip().splitlines()]


def extra(name: str) -> list[Requirement]:
    """Return what one of the extras needs."""
    return [Requirement(line) for line in setup_file()["options.extras_require"][name].strip().splitlines()]


def lower_bounds() -> list[str]:
    """Return the oldest packages that are allowed, as lines of a file of constraints."""
    bounds = [(each, bound) for each in requirements() for bound in each.specifier if bound.operator == ">="]
    return [f"{each.name}=={bound.version}" for each, bound in bounds]


# --- Installing and testing -----------------------------------------------------------------------------------------


def have_wheels(python: Path, report: Report) -> None:
    """Check that all packages of constraints.txt can be installed without a compiler. Nothing is installed."""
    expect(pip(python, "uv"))
    variables = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}
    options = ["--quiet", "--no-python-downloads", "--only-binary", ":all:", REPOSITORY / "constraints.txt"]
    for version in pythons():
        for system in SYSTEMS:
            place = ["--python-version", version, "--python-platform", system]
            done = run([python.with_name("uv"), "pip", "compile", *options, *place], env=variables)
            report.check(f"pinned: wheels for Python {version}, {system}", done.returncode == 0, done.stderr)


def installed(kind: str, python: Path, report: Report) -> bool:
    """Install the checkout and what its tests need. Returns whether there is something to be tested."""
    constraints = python.with_name("constraints.txt")
    constraints.write_text("".join(f"{line}\n" for line in lower_bounds()) if kind == "oldest" else "")
    tools = [each for each in extra("dev") if each.name in TOOLS]
    done = pip(python, "--constraint", constraints, "--editable", REPOSITORY, *tools)
    if kind == "oldest" and "No matching distribution" in done.stderr:
        report.skip(f"{kind}: there are no wheels for this Python: {done.stderr.strip().splitlines()[-1]}")
        return False
    direct = [each for each in requirements() if each.name in frozen(python)]
    if done.returncode == 0 and kind == "beyond":
        done = pip(python, "--upgrade", *[each.name for each in direct])
    if not report.check(f"{kind}: packages are installed", done.returncode == 0, done.stderr):
        return False
    versions = frozen(python)
    if kind == "beyond" and all(versions[each.name] in each.specifier for each in direct):
        report.skip(f"{kind}: the registry has nothing newer than setup.cfg allows")
        return False
    print(f"     {kind}: {', '.join(f'{name} {version}' for name, version in versions.items())}", flush=True)
    return True


def pip(python: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Install into an environment what needs no compiler."""
    options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    return run([python, "-m", "pip", "install", *options, *arguments])


def tested(kind: str, python: Path, paths: Sequence[str], cache: Path, report: Report) -> None:
    """Run tests with the packages of an environment."""
    variables = {**os.environ, "NOBI_CACHE_DIR": str(cache)}
    done = run([python, "-m", "pytest", "-n", "2", *paths], cwd=REPOSITORY, env=variables)
    last = done.stdout.strip().rpartition("\n")[2]
    report.check(f"{kind}: tests: {last}", done.returncode == 0, done.stdout + done.stderr)


if __name__ == "__main__":
    sys.exit(main())
