"""The files that have the game of a session. None is written over that anybody else has changed meanwhile."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, opponent
from go_rules.sgf.grammar import MAX_BYTES
from go_rules.sgf.writer import to_sgf
from nobi_machine.files import create_whole, read_regular, written_beside

PERSON = "Person"
"""The person's name in game records."""
UNDECIDED = ""
"""The result of a game that goes on."""
RESIGNED = "+R"
"""What follows the winner's letter."""
DRAW, NO_RESULT = "0", "Void"

_ANYBODY_MAY_WRITE = 0o222


def game_record(game: Game, person: int, result: str, komi: float) -> str:
    """Write a game of a person, whose colour is `person`, as SGF text."""
    names = {person: PERSON, opponent(person): "Nobi"}
    return to_sgf(game, black=names[BLACK], white=names[WHITE], result=result, komi=komi)


def followed(path: Path) -> Path:
    """Return where a path leads: what is written there leaves the symbolic links on the way as they are."""
    return Path(os.path.realpath(path))


def is_writable(path: Path) -> bool:
    """Return whether a file that exists may be replaced. What nobody may write to is kept from an administrator too."""
    allowed = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return allowed and bool(path.stat().st_mode & _ANYBODY_MAY_WRITE)


class GameFiles:
    """The file that a game is kept in, if there is one, and the files that it was saved to besides."""

    kept: Path | None

    def __init__(self, kept: Path | None = None, content: bytes | None = None) -> None:
        """`kept` is the file to keep the game in, as `followed` returns it. `content` is what was read from it, None if
        there is no such file."""
        self.kept = kept
        self._known: dict[Path, bytes] = {}
        """What this session has last written to each file, or read from it."""
        if kept is not None and content is not None:
            self._known[kept] = content

    def keep(self, text: str) -> None:
        """Write the game to the file that it is kept in, if there is one. Raises OSError, also where the file is gone
        or is not as this session left it."""
        content = text.encode()
        if self.kept is None or self._known.get(self.kept) == content:
            return
        if self.kept in self._known:
            _replace(self.kept, self._known[self.kept], content)
        else:
            create_whole(self.kept, content)
        self._known[self.kept] = content

    def save(self, path: Path, text: str) -> None:
        """Write the game to a new file, or again to one that this session has written. Raises OSError."""
        target, content = followed(path), text.encode()
        if target in self._known and os.path.lexists(target):
            _replace(target, self._known[target], content)
        else:
            create_whole(path, content)
        self._known[target] = content

    def have(self, text: str) -> bool:
        """Return whether one of the files has been given this game."""
        return text.encode() in self._known.values()


def _replace(path: Path, before: bytes, content: bytes) -> None:
    """Put `content` in place of `before`, and leave the file's permissions as they are. Raises OSError."""
    if read_regular(path, MAX_BYTES) != before:
        raise OSError(errno.EBUSY, "another program has changed this file", str(path))
    with written_beside(path, content, durable=True) as temporary:
        try:
            shutil.copymode(path, temporary)
            os.replace(temporary, path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
