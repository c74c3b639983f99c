"""The games that are kept in the user's data folder: each is written after every move, and can be gone on with."""

from __future__ import annotations

import contextlib
import errno
import re
import time
from pathlib import Path
from typing import Any

import msgspec

from go_rules.sgf.grammar import MAX_BYTES, SgfError
from go_rules.sgf.reader import parse_sgf
from gtp_engine.web.refusals import Refusal
from nobi_machine.cache import NOWHERE, data_root
from nobi_machine.files import read_regular

MOST_LISTED = 200
_NAME = re.compile(r"[0-9]{8}-[0-9]{6}(-[0-9]{1,4})?")
"""What identifies a game: when it began."""


class Situation(msgspec.Struct):
    """What an SGF file has no words for: how a game is played that is kept. It is a private property of the root."""

    mode: str
    at: int
    """The place of the position among the file's nodes."""
    person: int
    level: int
    teaching: bool
    limit: float
    to_place: int = 0


PROPERTY = "NOBI"


def folder_of_ours(folder: Path) -> Path:
    """Return a folder below the user's data folder, which is made if need be. Raises OSError."""
    if NOWHERE in folder.parents:
        raise OSError(errno.ENOENT, "no home is known: let NOBI_DATA_DIR name a folder")
    folder.mkdir(0o700, parents=True, exist_ok=True)
    return folder


class Games:
    """The folder of games. Without a home there is none, and nothing is kept."""

    def __init__(self) -> None:
        self.folder = data_root() / "games"
        self._given: set[str] = set()
        self._summaries: dict[Path, tuple[tuple[int, int], dict[str, Any]]] = {}
        """What was last read from a file, and its time and size then."""

    def new_name(self) -> str:
        """Return what identifies a game that begins now."""
        now = time.strftime("%Y%m%d-%H%M%S")
        names = (now, *(f"{now}-{number}" for number in range(2, 10_000)))
        name = next(each for each in names if each not in self._given and not self._file(each).exists())
        self._given.add(name)
        return name

    def path_of(self, name: str) -> Path:
        """Return the path to keep a game at, whose folder is made. Raises OSError."""
        folder_of_ours(self.folder)
        return self._file(name)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.sgf"

    def path(self, name: str) -> Path:
        """Return the path of a game. Raises Refused for a text that names none."""
        path = self._file(name)
        if not _NAME.fullmatch(name) or not path.is_file():
            raise Refusal("no_such_game")
        return path

    def listed(self) -> list[dict[str, Any]]:
        """Return what pages are told of the latest games, the last one first."""
        found = []
        with contextlib.suppress(OSError):
            paths = (path for path in self.folder.iterdir() if path.suffix == ".sgf" and _NAME.fullmatch(path.stem))
            for path in sorted(paths, reverse=True)[:MOST_LISTED]:
                with contextlib.suppress(OSError):
                    found.append(self._summary(path))
        return found

    def _summary(self, path: Path) -> dict[str, Any]:
        status = path.stat()
        state = status.st_mtime_ns, status.st_size
        if path not in self._summaries or self._summaries[path][0] != state:
            self._summaries[path] = state, self._read(path)
        return self._summaries[path][1]

    @staticmethod
    def _read(path: Path) -> dict[str, Any]:
        date = f"{path.stem[:4]}-{path.stem[4:6]}-{path.stem[6:8]} {path.stem[9:11]}:{path.stem[11:13]}"
        summary: dict[str, Any] = {"id": path.stem, "name": "", "date": date}
        try:
            game = parse_sgf(read_regular(path, MAX_BYTES))
        except SgfError as error:
            return {**summary, "name": str(error), "black": "", "white": "", "size": "", "result": "", "moves": 0}
        return {
            **summary,
            "black": game.black,
            "white": game.white,
            "size": f"{game.width}x{game.height}",
            "result": game.result,
            "moves": len(game.moves),
        }
