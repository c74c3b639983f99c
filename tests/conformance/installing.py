"""Where the clients' own code is from, and how it gets ready to run.

PyPI and npm have some of them; each is installed into a folder of its own. GoGui, CGOS and gtp2ogs are in no registry:
who has checkouts of their repositories names the folder above them by `--sources`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class Missing(Exception):
    """What is needed for a client cannot be had here: its text says what, and how to get it."""


@dataclass(frozen=True)
class Places:
    """Where things are."""

    installed: Path
    sources: Path | None
    python2: str

    def checkout(self, name: str, repository: str, file: str) -> Path:
        """The folder of a checkout, known by one of its files."""
        if self.sources is None:
            raise Missing(f"in no registry: --sources FOLDER with a checkout of {repository} as {name}")
        folder = (self.sources / name).resolve()
        if not (folder / file).exists():
            raise Missing(f"{folder} is no checkout of {repository}")
        return folder


@dataclass(frozen=True)
class Client:
    """A program whose own code talks to Nobi."""

    name: str
    title: str
    script: str
    """A file of this folder. It prints a line for each case, which begins with `ok` or `FAIL`."""
    install: Callable[[Places], list[str]]
    """Makes it ready and returns what runs the script. Raises Missing."""
    wants_game: bool = False
    """Whether the script wants a game to analyse."""
    arguments: Callable[[Places], list[str]] = lambda places: []
    """What the script wants to know besides the path of `nobi`, the game and the visits."""


def python_with(name: str, *calls: tuple[str, ...], oldest: tuple[int, int] = (3, 10)) -> Callable[[Places], list[str]]:
    """The Python of an environment with packages from PyPI: one call of pip each."""

    def install(places: Places) -> list[str]:
        if sys.version_info[:2] < oldest:
            raise Missing(f"it needs Python {oldest[0]}.{oldest[1]}")
        folder = places.installed / name
        python = str(folder / "bin" / "python")
        if not (folder / ".installed").exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            for packages in calls:
                run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], "pip")
            (folder / ".installed").touch()
        return [python]

    return install


def node_with(name: str, *packages: str) -> Callable[[Places], list[str]]:
    """Node, with packages from npm in a folder that the script gets as its last argument."""

    def install(places: Places) -> list[str]:
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            raise Missing("it needs node and npm")
        folder = places.installed / name
        if not (folder / ".installed").exists():
            folder.mkdir(parents=True, exist_ok=True)
            run([npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), *packages], "npm")
            (folder / ".installed").touch()
        return [node]

    return install


def run(command: list[str], what: str, folder: Path | None = None) -> None:
    """Run a step of an installation. Raises Missing with the last line of its complaint."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing((done.stderr.strip().splitlines() or [f"{what} failed"])[-1])


def gomill(places: Places) -> list[str]:
    """The Python that runs our script; the ringmaster itself needs a Python 2.7, for which it was written."""
    done = subprocess.run([places.python2, "--version"], capture_output=True, check=False) if _exists(places) else None
    if done is None or done.returncode:
        raise Missing("it needs Python 2.7: --python2 PATH")
    folder = places.installed / "gomill"
    if not (folder / "ringmaster").exists():
        folder.mkdir(parents=True, exist_ok=True)
        # Its setup needs modules that Python 3.12 lost, so nothing is installed: the archive is enough.
        run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary",
                ":all:",
                "-d",
                str(folder),
                "gomill",
            ],
            "pip",
        )
        (archive,) = folder.glob("gomill-*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        for part in next(folder.glob("gomill-*/")).iterdir():
            part.rename(folder / part.name)
    return [sys.executable]


def _exists(places: Places) -> bool:
    return shutil.which(places.python2) is not None


def gogui(places: Places) -> list[str]:
    """GoGui's tools without a window, compiled."""
    java, javac = shutil.which("java"), shutil.which("javac")
    if java is None or javac is None:
        raise Missing("it needs java and javac")
    source = places.checkout("gogui", "Remi-Coulom/gogui", "src/net/sf/gogui/tools/twogtp/Main.java") / "src"
    classes = places.installed / "gogui"
    if not (classes / ".installed").exists():
        made = classes / "made" / "net" / "sf" / "gogui" / "version"
        made.mkdir(parents=True, exist_ok=True)
        template = source / "net" / "sf" / "gogui" / "version" / "Version.java.in"
        text = template if template.exists() else template.with_suffix("")
        (made / "Version.java").write_text(text.read_text().replace("@VERSION@", "checkout"))
        tools = [str(source / "net/sf/gogui/tools" / name / "Main.java") for name in ("twogtp", "regress")]
        paths = [str(classes / "made"), str(source)]
        command = [javac, "-nowarn", "-encoding", "UTF-8", "-d", str(classes), "-sourcepath", ":".join(paths), *tools]
        run(command, "javac")
        (classes / ".installed").touch()
    return [sys.executable]


def cgos(places: Places) -> list[str]:
    """The Python of an environment with what its server needs."""
    places.checkout("cgos", "zakki/cgos", "server-python/cgos/server.py")
    return python_with("cgos", ("passlib==1.7.4",))(places)


def gtp2ogs(places: Places) -> list[str]:
    places.checkout("gtp2ogs", "online-go/gtp2ogs", "src/Bot.ts")
    return node_with("gtp2ogs", "typescript@5", "split2@4", "eventemitter3@5")(places)


CLIENTS = (
    # KaTrain's window is not opened, so what it needs for that is left out. Its 105 MB hold a network and KataGo.
    Client(
        "katrain",
        "KaTrain's engine and game (PyPI)",
        "katrain_client.py",
        python_with("katrain", ("--no-deps", "katrain"), ("pysgf",), oldest=(3, 11)),
        wants_game=True,
    ),
    Client(
        "katagoanal",
        "KataGoAnal's driver (PyPI)",
        "katagoanal_client.py",
        python_with("katagoanal", ("--no-deps", "katagoanal")),
        wants_game=True,
    ),
    Client(
        "sabaki",
        "Sabaki's @sabaki/gtp (npm)",
        "sabaki_client.js",
        node_with("sabaki", "@sabaki/gtp@3", "@sabaki/go-board@1"),
        arguments=lambda places: [str(places.installed / "sabaki")],
    ),
    Client(
        "gomill",
        "gomill's ringmaster (PyPI)",
        "gomill_client.py",
        gomill,
        arguments=lambda places: [places.python2, str(places.installed / "gomill")],
    ),
    Client(
        "gogui",
        "gogui-twogtp and -regress (checkout)",
        "gogui_client.py",
        gogui,
        arguments=lambda places: [str(places.installed / "gogui")],
    ),
    Client(
        "cgos",
        "CGOS server and client (checkout)",
        "cgos_client.py",
        cgos,
        arguments=lambda places: [str(places.checkout("cgos", "zakki/cgos", "README.md"))],
    ),
    Client(
        "gtp2ogs",
        "gtp2ogs's Bot (checkout)",
        "gtp2ogs_client.js",
        gtp2ogs,
        arguments=lambda places: [
            str(places.installed / "gtp2ogs"),
            str(places.checkout("gtp2ogs", "online-go/gtp2ogs", "src/Bot.ts")),
        ],
    ),
)
"""In the order in which they run."""
