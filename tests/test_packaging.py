"""What a user meets first: make, the installed command, and a README that tells the truth about both."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import click
import pytest
import tomlkit
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gtp_engine import command_line
from gtp_engine.configuration.edit import document
from gtp_engine.gtp.command import gtp
from nobi_machine.launch import PACKAGES
from tests.campaigns.versions import extra, lower_bounds, pythons, requirements, setup_file
from tests.conftest import REPOSITORY

needs_make = pytest.mark.skipif(shutil.which("make") is None or sys.platform == "win32", reason="make is missing")


def make(folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run make as from a terminal, even where a make runs the tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True, timeout=60)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what make reads, and nothing else."""
    for name in ("Makefile", "setup.cfg", "pyproject.toml", "constraints.txt"):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    return tmp_path


def fake_command(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@needs_make
@pytest.mark.parametrize("quiet", [["-s"], []])
def test_make_gtp_prints_nothing_but_gtp(checkout: Path, quiet: list[str]) -> None:
    python = checkout / ".venv" / "bin" / "python"
    fake_command(python, "echo chatter; echo chatter >&2; cat >/dev/null")  # plays pip: noisy, and reads its stdin
    fake_command(checkout / ".venv" / "bin" / "nobi", 'echo "= $*"; cat')
    done = make(checkout, *quiet, "gtp", "ARGS=--visits 5", text="name\nquit\n")
    assert done.stdout == "= gtp --visits 5\nname\nquit\n"
    assert "installing into .venv" in done.stderr
    again = make(checkout, *quiet, "gtp", text="quit\n")
    assert (again.stdout, again.stderr) == ("= gtp\nquit\n", "")


@needs_make
def test_make_says_what_is_missing(checkout: Path) -> None:
    done = make(checkout, "-s", "gtp", "CANDIDATES=false no-such-python")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "no Python 3.10 to 3.14 with the venv module found" in done.stderr


@needs_make
def test_a_failed_installation_is_tried_again(checkout: Path) -> None:
    fake_command(checkout / ".venv" / "bin" / "python", "exit 1")
    assert make(checkout, "-s", "gtp").returncode != 0
    assert not (checkout / ".venv" / ".installed").exists()


def test_the_pythons_that_are_named_are_those_that_pip_takes() -> None:
    allowed = SpecifierSet(setup_file()["options"]["python_requires"])
    named = pythons()
    assert named == [f"3.{minor}" for minor in range(100) if f"3.{minor}.1" in allowed]
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"Python {named[0]} to {named[-1]} is needed" in text
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f'--pythons {" ".join(named)}"' in text


CONSTRAINTS = REPOSITORY / "constraints.txt"
SYSTEMS = ("linux", "win32", "darwin")


def environment(python: str, system: str) -> dict[str, str]:
    """What markers ask about a Python and a system."""
    return {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": system}


def constraints(python: str, system: str) -> dict[str, str]:
    """The version of each package that constraints.txt names for a Python and a system."""
    place = environment(python, system)
    pins: dict[str, str] = {}
    for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            pin = Requirement(line)
            (exact,) = pin.specifier
            assert exact.operator == "==", line
            if pin.marker is None or pin.marker.evaluate(place):
                assert pins.setdefault(canonicalize_name(pin.name), exact.version) == exact.version, line
    return pins


@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize("system", SYSTEMS)
def test_constraints_have_every_requirement_within_its_bounds(python: str, system: str) -> None:
    project = tomlkit.parse((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")).unwrap()
    built_with = map(Requirement, project["build-system"]["requires"])
    wanted = [*requirements(), *extra("dev"), *extra("review"), *extra("cluster"), *built_with]
    pins = constraints(python, system)
    place = environment(python, system)
    asked = [each for each in wanted if each.marker is None or each.marker.evaluate(place)]
    outside = [str(each) for each in asked if pins.get(canonicalize_name(each.name), "0") not in each.specifier]
    assert outside == [], "run `make pins`"


def test_a_new_minor_version_of_numba_is_taken_when_it_was_tested() -> None:
    """Numba changes in minor versions what it compiles and how its cache is asked, and llvmlite moves with it."""
    (numba,) = [each for each in requirements() if each.name == "numba"]
    newest = max(Version(constraints(python, "linux")["numba"]) for python in pythons())
    assert f"<{newest.major}.{newest.minor + 1}" in str(numba.specifier).split(",")


def test_every_requirement_has_a_bound_on_both_sides() -> None:
    assert [line.partition("==")[0] for line in lower_bounds()] == [each.name for each in requirements()]
    assert [str(each) for each in requirements() if "<" not in {bound.operator for bound in each.specifier}] == []


def test_whoever_installs_the_sources_is_told_the_constraints() -> None:
    """All commands that install what lies in the current folder: `pip install .`, `pip install ".[train]"`."""
    for page, count in (("README.md", 4), ("docs/training.md", 1)):
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        commands = re.findall(r'\b(?:pip|pipx|uv tool) install\b[^\n`]* "?\.(?:\[\w+\])?"?(?=[`\s])', text)
        assert len(commands) == count
        assert [command for command in commands if "-c constraints.txt" not in command] == []
    recipes = (REPOSITORY / "Makefile").read_text(encoding="utf-8").splitlines()
    assert [line for line in recipes if "--editable" in line and "$(INSTALL)" not in line] == []
    (install,) = [line for line in recipes if line.startswith("INSTALL :=")]
    assert install.endswith(" --constraint constraints.txt")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str], Path]:
    """What git has; what is in a source distribution of that; and a folder with what would be installed."""
    pytest.importorskip("setuptools", reason="setuptools is missing")
    folder = tmp_path_factory.mktemp("packages")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no checkout of git")
    tracked = {name for name in listed.stdout.split("\0") if name and (REPOSITORY / name).is_file()}
    for name in tracked:
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, folder / "source" / name)
    command = [sys.executable, "-c", "import setuptools; setuptools.setup()", "--quiet", "sdist", "--formats=tar"]
    command += ["--dist-dir", str(folder), "build", "--build-lib", str(folder / "installed")]
    subprocess.run(command, cwd=folder / "source", capture_output=True, check=True, timeout=300)
    with tarfile.open(next(folder.glob("*.tar"))) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    return tracked, packed, folder / "installed"


def test_a_source_distribution_has_every_file_that_git_has(built: tuple[set[str], set[str], Path]) -> None:
    tracked, packed, _ = built
    assert len(tracked) > 500
    assert tracked - packed == set(), "MANIFEST.in leaves them out"


def test_an_installation_has_the_packages_and_the_network_and_nothing_else(
    built: tuple[set[str], set[str], Path],
) -> None:
    tracked, _, installed = built
    files = [path for path in installed.rglob("*") if path.is_file()]
    expected = {name for name in tracked if name.split("/")[0] in PACKAGES}
    assert {path.relative_to(installed).as_posix() for path in files} == expected
    assert "nets/weights/nobi-strong.bin.gz" in expected
    assert sum(path.stat().st_size for path in files) < 20_000_000, "a user downloads this"


CONTAINER = REPOSITORY / "docs" / "container"


def test_the_container_has_the_packages_of_the_constraints_with_their_hashes() -> None:
    text = (CONTAINER / "requirements.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    pins = {}
    for line in text.splitlines():
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+( +--hash=sha256:[0-9a-f]{64})+ *", line), line
        name, version = line.split()[0].split("==")
        assert pins.setdefault(name, version) == version
    known = constraints("3.13", "linux")
    assert [f"{name}=={version}" for name, version in pins.items() if known[name] != version] == [], "run `make pins`"
    assert {each.name for each in requirements() if each.marker is None} <= pins.keys()


def test_the_container_installs_what_was_pinned_and_runs_without_rights() -> None:
    lines = (CONTAINER / "Containerfile").read_text(encoding="utf-8").splitlines()
    installing = [line for line in lines if "pip install" in line]
    assert len(installing) == 2
    assert all("--require-hashes" in line or "--no-index --no-deps" in line for line in installing)
    assert [line for line in lines if line.startswith("USER ")] == ["USER nobi"]
    assert lines.index("USER nobi") < lines.index('ENTRYPOINT ["/opt/nobi/bin/nobi", "gtp"]')


def test_the_readme_knows_every_command_and_option() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for name in command_line.SUBCOMMANDS:
        assert f"nobi {name}" in readme
    for option in gtp.params:
        assert isinstance(option, click.Option)
        assert option.opts[0] in readme


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    """The code block as it stands there, in a process of its own."""
    (code,) = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    head, *moves, played = done.stdout.splitlines()
    assert re.fullmatch(r"white to play: \d+\.\d %, [+-]\d+\.\d points, 200 visits", head)
    for line in moves:
        assert re.fullmatch(r" +[A-HJ][1-9] +\d+\.\d % +[+-]\d+\.\d +\d+ visits  [A-HJ][1-9].*", line), line
    assert re.fullmatch(r"[A-HJ][1-9]", played)


def test_the_document_of_parameters_is_current() -> None:
    path = REPOSITORY / "docs" / "parameters.md"
    assert path.read_text(encoding="utf-8") == document(), "a parameter changed: run `make docs`"


def test_links_in_the_documents_lead_somewhere() -> None:
    documents = [
        *REPOSITORY.glob("*.md"),
        *(REPOSITORY / "docs").rglob("*.md"),
        *(REPOSITORY / "benchmarks").glob("*.md"),
        *(REPOSITORY / "nets" / "weights").glob("*.md"),
    ]
    for page in documents:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


DOCUMENTS = ("architecture", "clients", "cluster", "gtp", "mcts", "mcts.zh", "security", "strength", "training")
PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{name}.md" for name in DOCUMENTS), "benchmarks/README.md")


@pytest.mark.parametrize("page", PAGES)
def test_what_the_documents_name_exists(page: str) -> None:
    """Files and folders, campaigns, and the programs that measured."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    named = re.findall(rf"`((?:{'|'.join(PACKAGES)}|tests|docs|benchmarks)/[\w/.]*)`", text)
    named += [f"tests/campaigns/{name}.py" for name in re.findall(r"make campaign-([a-z]\w+)", text)]
    named += [f"benchmarks/{name}.py" for name in re.findall(r"-m benchmarks\.(\w+)", text)]
    if page == "docs/architecture.md":
        walk = text.split("\n## The walk of a leaf\n")[1]
        assert len(named) > 80
        named += [f"search/nobi/{path}" for path in re.findall(r" ((?:tree|leaves)/\w+\.py)", walk)]
    assert [path for path in named if not (REPOSITORY / path).exists()] == []


def test_the_limits_named_in_the_page_on_security_are_those_of_the_code() -> None:
    page = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+)\.py` ((?:[A-Z_]+ = \d+(?:, )?)+)", page)
    assert len(named) >= 15
    for path, constants in named:
        module = importlib.import_module(path.replace("/", "."))
        for name, value in re.findall(r"([A-Z_]+) = (\d+)", constants):
            assert getattr(module, name) == int(value), f"{path}.py: {name}"


def test_the_map_has_every_folder_and_the_files_to_start_with() -> None:
    table = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8").split("\n## The map\n")[1]
    rows = re.findall(r"^\| `([\w/]+)/` \|.*\|(.*)\|$", table.split("\n## ")[0], re.MULTILINE)
    sources = [path.relative_to(REPOSITORY) for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py")]
    assert {folder for folder, _ in rows} == {path.parent.as_posix() for path in sources} | {"nets/weights", "tests"}
    starts = [f"{folder}/{file}" for folder, files in rows for file in re.findall(r"`([\w.]+)`", files)]
    assert [path for path in starts if not (REPOSITORY / path).exists()] == []
