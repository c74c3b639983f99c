"""The newest and the oldest packages that Nobi allows: installed into empty environments, played with and tested.

    python -m tests.campaigns.versions [oldest] [newest] [beyond] [--python PROGRAM] [--tests PATH...]

`make gtp` and `make test` install what constraints.txt names, and so hide what others would break. This installs the
checkout without it, into an environment for each of these:

    oldest   the lower bounds of setup.cfg, where there are wheels of them for this Python (until Python 3.12)
    newest   what the registry has now, within the bounds: what a user gets who installs a wheel
    beyond   the same without the upper bounds: whether they can be raised; skipped if it has nothing beyond them

There it plays and examines itself with an empty cache, and those tests run that meet the packages most; --tests names
others, such as `tests` for all. Prints a line for each check, and what was installed, and exits with 1 if one failed.
"""

from __future__ import annotations

import argparse
import configparser
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

from tests.campaigns.packaging import Report, environment, frozen, run, used
from tests.conftest import REPOSITORY

KINDS = ("oldest", "newest", "beyond")
TESTS = (
    *("tests/go_rules/compilation", "tests/go_rules/sgf", "tests/nets", "tests/search/puct"),
    *("tests/gtp_engine/configuration", "tests/gtp_engine/dialogue", "tests/gtp_engine/json_engine"),
    *("tests/gtp_engine/tools", "tests/test_packaging.py"),
)
"""What meets numba, numpy, onnx, onnxruntime, sgfmill, click, rich, msgspec and tomlkit."""
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "setuptools")


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
            constraints = folder / "constraints.txt"
            constraints.write_text("".join(f"{line}\n" for line in lower_bounds()) if kind == "oldest" else "")
            options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--constraint", constraints]
            done = run([fresh, "-m", "pip", "install", *options, "--editable", REPOSITORY, *TOOLS])
            if done.returncode == 0 and kind == "beyond":
                names = [each.name for each in requirements() if each.name in frozen(fresh)]
                done = run(
                    [fresh, "-m", "pip", "install", *options, "--upgrade", "--upgrade-strategy", "eager", *names]
                )
            if kind == "oldest" and "No matching distribution" in done.stderr:
                report.skip(f"{kind}: there are no wheels for this Python: {done.stderr.strip().splitlines()[-1]}")
                continue
            if not report.check(f"{kind}: packages are installed", done.returncode == 0, done.stderr):
                continue
            versions = frozen(fresh)
            if kind == "beyond" and all(
                each.specifier.contains(versions[each.name]) for each in requirements() if each.name in versions
            ):
                report.skip(f"{kind}: no package has a newer version than setup.cfg allows")
                continue
            print(f"     {kind}: {', '.join(f'{name} {version}' for name, version in versions.items())}", flush=True)
            used(fresh.with_name("nobi"), folder, kind, report)
            tested(fresh, arguments.tests, folder / "cache", kind, report)
    print(f"{report.passed} checks passed, {report.failed} failed, {report.skipped} skipped")
    return int(report.failed > 0)


def requirements() -> list[Requirement]:
    """What an installation needs, as setup.cfg says."""
    setup = configparser.ConfigParser()
    setup.read(REPOSITORY / "setup.cfg", encoding="utf-8")
    return [Requirement(line) for line in setup["options"]["install_requires"].strip().splitlines()]


def lower_bounds() -> list[str]:
    """The oldest packages that setup.cfg allows, as lines of a file of constraints."""
    bounds = [(each, bound) for each in requirements() for bound in each.specifier if bound.operator == ">="]
    return [f"{each.name}=={bound.version}" for each, bound in bounds]


def tested(python: Path, paths: Sequence[str], cache: Path, kind: str, report: Report) -> None:
    """Run tests with the packages of an environment."""
    variables = {**os.environ, "NOBI_CACHE_DIR": str(cache)}
    done = run([python, "-m", "pytest", "-n", "2", *paths], cwd=REPOSITORY, env=variables)
    last = done.stdout.strip().rpartition("\n")[2]
    report.check(f"{kind}: tests: {last}", done.returncode == 0, done.stdout + done.stderr)


if __name__ == "__main__":
    sys.exit(main())
