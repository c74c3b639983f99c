"""The networks at hand, by name: the one that comes along, those that were fetched, and those of other Go programs.

A network's name is that of its file without the ending. One that KataGo has published has its published name, whatever
its file is called. A listing reads the first bytes of files and no more, because `nobi gtp --net NAME` waits for it.
Imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import site
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nets.embedded import DEPARTED, EMBEDDED, NO_NETWORK, embedded_network
from nobi_machine.cache import data_root
from nobi_machine.files import opened_regular, read_regular
from nobi_machine.text import shown

KATAGO_SUFFIXES = (".bin.gz", ".txt.gz", ".bin", ".txt")
ONNX_SUFFIX = ".onnx"
SUFFIXES = (*KATAGO_SUFFIXES, ONNX_SUFFIX)
"""The endings that a network's file may have."""
LICENCE = "https://katagotraining.org/network_license/"
"""Under what KataGo's networks are published."""
FOR_PROCESSORS = "b10c384h6nbttflrs"
"""The published network that makes Nobi strongest on a processor, of those that were compared."""

COMES_ALONG, FETCHED = "Nobi", "fetched"
HEADER_BYTES = 400
"""Decompressed bytes in which a KataGo file says its name, its version and its shape."""

_GITHUB = "https://github.com/lightvector/KataGo"


# --- What KataGo has published ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WheelMember:
    """A file in a wheel of a package index: a second source for those whom the first does not reach."""

    project: str
    """The package's name in its index."""
    wheel: str
    """The name of the wheel's file."""
    path: str
    """The file's path in the wheel."""


@dataclass(frozen=True)
class Published:
    """A network that KataGo has published, and where `nobi networks get` finds it."""

    name: str
    what: str
    """A few words for the user."""
    size: int
    """Bytes of the file."""
    sha256: str
    addresses: tuple[str, ...]
    """Where it is, by https; the first is asked first."""
    member: WheelMember | None = None

    @property
    def file_name(self) -> str:
        """The name of the file that Nobi keeps it in."""
        return f"{self.name}.bin.gz"

    def is_in(self, file: Path) -> bool:
        """Return whether a file holds this network, by its size and its SHA-256; false where it cannot be read."""
        import hashlib

        try:
            has_size = file.stat().st_size == self.size
            return has_size and hashlib.sha256(read_regular(file, self.size)).hexdigest() == self.sha256
        except OSError:
            return False


PUBLISHED = (
    Published(
        FOR_PROCESSORS,
        "for processors",
        38_245_488,
        "0ba27eced5180b3e3d0b898b280c541112989765e789d1eb6cd0d31b2b2c1229",
        (f"{_GITHUB}/releases/download/v1.17.1/b10c384h6nbttflrs.bin.gz",),
        WheelMember("katrain", "katrain-1.20.0-py3-none-any.whl", "katrain/models/b10c384h6nbttflrs.bin.gz"),
    ),
    Published(
        "b10c512h8nbt3tflrs-fson-silu-rsnh",
        "stronger, slower: for GPUs",
        94_281_753,
        "c04db4a503721d948bb720324f3cbdac6088cc9eb243632f020e4b6846f58995",
        (f"{_GITHUB}/releases/download/v1.17.1/b10c512h8nbt3tflrs-fson-silu-rsnh.bin.gz",),
    ),
    Published(
        "b11c768h12nbt3tflrs-fson-silu",
        "the strongest and slowest: for strong GPUs",
        211_660_960,
        "1881600caab9e9d85a3dd6a019e9b8e7d2c237b5f984e13ed49a8645be3077c6",
        (f"{_GITHUB}/releases/download/v1.17.1/b11c768h12nbt3tflrs-fson-silu.bin.gz",),
    ),
    Published(
        "b18c384nbt-humanv0",
        "for people's moves: --human-profile rank_5k",
        99_066_230,
        "637746e44f0efe00ad1245a50aa9bbf0716efe364c43965ead97bd6835d84ab5",
        (
            f"{_GITHUB}/releases/download/v1.15.0/b18c384nbt-humanv0.bin.gz",
            "https://media.katagotraining.org/uploaded/networks/models_extra/b18c384nbt-humanv0.bin.gz",
        ),
    ),
    Published(
        "g170-b6c96-s175395328-d26788732",
        "small and old",
        3_827_339,
        "f5d32604e3675c480c7c8f6aa579a1ea857135628a0afccc8fa56330fbacd38d",
        (f"{_GITHUB}/raw/v1.17.1/cpp/tests/models/g170-b6c96-s175395328-d26788732.bin.gz",),
    ),
)


def published_as(name: str, table: tuple[Published, ...] = PUBLISHED) -> Published | None:
    """Return the published network of this name, or of the only name that begins so; None if there is none."""
    for each in table:
        if each.name == name:
            return each
    beginning = [each for each in table if name and each.name.startswith(name)]
    return beginning[0] if len(beginning) == 1 else None


# --- Which is the strongest ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranked:
    """A network that was compared with others by games (docs/strength.md)."""

    name: str
    enough: int
    """Evaluations a move on 19x19 with which it beats those behind it, which make as many as they can in that time."""
    enough_small: int
    """The same on boards of SMALL points and fewer."""


SMALL = 9 * 9
RANKED = (
    Ranked(FOR_PROCESSORS, 3, 10),
    Ranked(EMBEDDED, 0, 0),
)
"""The strongest first."""


def strongest(rates: Mapping[str, float], seconds: float, points: int) -> str | None:
    """Return the name of the network in RANKED that plays best with so much time for a move on a board of these points.

    `rates`: the evaluations a second on that board of the networks there are, by name. None if none of them is ranked.
    """
    for each in RANKED:
        enough = each.enough_small if points <= SMALL else each.enough
        if each.name in rates and rates[each.name] * seconds >= enough:
            return each.name
    return None


# --- What is on this machine --------------------------------------------------------------------------------------


class AmbiguousName(ValueError):
    """A name with which the names of several networks at hand begin. The text is one line for the user."""


@dataclass(frozen=True)
class Header:
    """What the first bytes of a KataGo file say; all of it is text from a file that anybody may have made."""

    name: str
    version: int
    blocks: int | None
    channels: int | None
    """None, as `blocks` is, where the file does not say it so early."""
    imitates_people: bool
    """Whether it is a HumanSL network, which needs a profile."""


@dataclass(frozen=True)
class AtHand:
    """A network on this machine."""

    name: str
    path: Path
    place: str
    """Whose it is: COMES_ALONG, FETCHED, or the program's name."""
    size: int
    """Bytes of the file."""
    header: Header | None
    """None for an ONNX file, and for a file that is no network of KataGo's."""

    @property
    def published(self) -> Published | None:
        """The published network of this name, whose file it may be."""
        return next((each for each in PUBLISHED if each.name == self.name), None)

    @property
    def is_whole(self) -> bool:
        """Whether it has the size of the published network of its name; true where there is none."""
        return self.published is None or self.published.size == self.size

    @property
    def damage(self) -> str:
        """Say in a few words what shows at once to be wrong with the file; '' where nothing does."""
        if self.published is not None and not self.is_whole:
            return f"not the published file, which has {self.published.size:,} bytes"
        if self.place == FETCHED and self.header is None and not self.path.name.endswith(ONNX_SUFFIX):
            return "no network of KataGo's, or damaged"
        return ""


def fetched_folder() -> Path:
    """Return the folder of the networks that were fetched, which need not exist."""
    return data_root() / "networks"


def read_header(path: Path) -> Header | None:
    """Read what the first bytes of a KataGo file say; None for any other file, and for one that cannot be read."""
    try:
        with opened_regular(path) as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            start = gzip.GzipFile(fileobj=file).read(HEADER_BYTES) if is_gzip else file.read(HEADER_BYTES)
    except (OSError, EOFError, zlib.error):
        return None
    words = [word.decode("ascii", "replace") for word in start.partition(b"@BIN@")[0].split()]
    if len(words) < 4 or not all(word.isascii() and word.isdigit() and len(word) <= 4 for word in words[1:4]):
        return None
    version = int(words[1])
    encoder = 11 if version >= 15 else len(words)  # after the inputs come seven multipliers
    sizes = words[words.index("trunk") + 1 :][:2] if "trunk" in words else []
    blocks, channels = (int(size) if size.isascii() and size.isdigit() else None for size in [*sizes, "", ""][:2])
    return Header(words[0], version, blocks, channels, words[encoder : encoder + 1] == ["1"])


def at_hand(table: tuple[Published, ...] = PUBLISHED) -> list[AtHand]:
    """List the networks on this machine. Of those with the same name only the first is there."""
    found: dict[str, AtHand] = {}
    for place, path in _files():
        try:
            status = path.stat()
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            continue
        header = None if path.name.lower().endswith(ONNX_SUFFIX) else read_header(path)
        if header is None and place not in (COMES_ALONG, FETCHED):
            continue  # other programs have files of other kinds with the same endings
        name = path.name[: -len(next(filter(path.name.lower().endswith, SUFFIXES)))]
        if place == COMES_ALONG:
            name = name.removeprefix("nobi-")
        elif header is not None:
            name = next((each.name for each in table if each.size == status.st_size), name)
        if place != COMES_ALONG and not is_name(name):
            continue
        found.setdefault(name, AtHand(name, path, place, status.st_size, header))
    return list(found.values())


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a network at hand: it is not the path of a file, and means neither
    the network that comes along, nor one that did, nor none."""
    is_path = os.path.basename(text) != text or text.lower().endswith(SUFFIXES)
    return bool(text) and not is_path and text not in (EMBEDDED, *DEPARTED, NO_NETWORK)


def network_named(name: str) -> AtHand | None:
    """Return the network at hand of this name, or the only one whose name begins so; None if there is none.

    Raises AmbiguousName.
    """
    beginning = [each for each in at_hand() if each.name.startswith(name)]
    if len(beginning) > 1 and not any(each.name == name for each in beginning):
        names = ", ".join(shown(each.name) for each in sorted(beginning, key=lambda each: each.name))
        raise AmbiguousName(f"{shown(name)} is the beginning of several networks' names: {names}")
    return min(beginning, key=lambda each: len(each.name), default=None)


def how_to_get(name: str) -> str:
    """Say in a few words, which follow an error, how to get a network that is not at hand; '' for a file's path."""
    if not is_name(name):
        return ""
    known = published_as(name)
    return (
        "; `nobi networks` lists those at hand" if known is None else f"; `nobi networks get {known.name}` fetches it"
    )


def _files() -> Iterator[tuple[str, Path]]:
    """The files that may be networks, and whose they are."""
    if (path := embedded_network()) is not None:
        yield COMES_ALONG, path
    yield from ((FETCHED, path) for path in _networks_in(fetched_folder()))
    with contextlib.suppress(RuntimeError):  # a user without a home
        home = Path.home()
        for place, folders in _programs(home) if home.is_absolute() else ():
            for folder in folders:
                yield from ((place, path) for path in _networks_in(folder) if path.name.endswith(".gz"))


def _networks_in(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.lower().endswith(SUFFIXES))
    except OSError:
        return []


def _programs(home: Path) -> Iterator[tuple[str, list[Path]]]:
    """Where other programs keep networks, the usual place of each first. No folder depends on the current one."""
    environments = [Path(sys.prefix)]
    for tools in (".local/share/pipx/venvs", ".local/pipx/venvs", "pipx/venvs", ".local/share/uv/tools"):
        environments.append(home / tools / "katrain")
    for variable, tools in (("APPDATA", "uv/tools"), ("LOCALAPPDATA", "pipx/pipx/venvs")):
        if os.environ.get(variable):
            environments.append(Path(os.environ[variable]) / tools / "katrain")
    packages = [Path(site.getusersitepackages())]
    for each in environments:
        packages += [each / "Lib" / "site-packages", *sorted(each.glob("lib/python3.*/site-packages"))]
    yield "KaTrain", [*(each / "katrain" / "models" for each in packages), home / ".katrain"]

    beside = []
    for folder in map(Path, os.get_exec_path()):
        for program in ("katago", "katago.exe"):
            if folder.is_absolute() and os.path.isfile(folder / program):
                real = Path(os.path.realpath(folder / program)).parent
                beside += [folder, real, real.parent / "share" / "katago"]
    yield "KataGo", [home / ".katago", *beside]

    lizzie = []
    for folder in (home, Path("/opt")):
        with contextlib.suppress(OSError):
            lizzie += sorted(folder.glob("[Ll]izzie*"))
    yield "Lizzie", [each / part for each in lizzie for part in ("", "weights")]
