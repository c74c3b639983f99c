"""The games that are kept in the user's data folder: each is written after every move, and can be gone on with."""

from __future__ import annotations

import contextlib
import errno
import functools
import re
import time
from pathlib import Path
from typing import Any

from go_rules.sgf.grammar import MAX_BYTES, SgfError
from go_rules.sgf.reader import parse_sgf
from gtp_engine.web.refusals import Refusal
from nobi_machine.cache import NOWHERE, data_root
from nobi_machine.files import read_regular

MOST_LISTED = 200
_NAME = re.compile(r"[0-9]{8}-[0-9]{6}(-[0-9]{1,4})?")
"""What identifies a game: when it began."""


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
                    status = path.stat()
                    found.append(_summary(path, status.st_mtime_ns, status.st_size))
        return found


@functools.lru_cache(2 * MOST_LISTED)
def _summary(path: Path, _time: int, _size: int) -> dict[str, Any]:
    """What pages are told of a file, which is read once for each time of its last change and size."""
    date = f"{path.stem[:4]}-{path.stem[4:6]}-{path.stem[6:8]} {path.stem[9:11]}:{path.stem[11:13]}"
    summary: dict[str, Any] = {"id": path.stem, "name": "", "date": date}
    try:
        game = parse_sgf(read_regular(path, MAX_BYTES))
    except SgfError as error:
        return {**summary, "name": str(error), "black": "", "white": "", "size": "", "result": "", "moves": 0}
    size = f"{game.width}x{game.height}"
    told = {"black": game.black, "white": game.white, "size": size, "result": game.result, "moves": len(game.moves)}
    return {**summary, **told}
