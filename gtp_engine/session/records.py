"""Game records: one that a command analyses or goes on with, and the files that a game is kept in. None of these is
written over that anybody else has changed meanwhile.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from go_rules.game import Game
from go_rules.rule_names import DEFAULT_PRESET, rules_and_komi
from go_rules.rules import Rules
from go_rules.sgf.grammar import MAX_BYTES, SgfError
from go_rules.sgf.reader import SgfGame, parse_sgf
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import UserError
from nobi_machine.files import create_whole, read_regular, written_beside
from nobi_machine.streams import note
from nobi_machine.text import printable_path

DEFAULT_VISITS = 500
"""Of a position, where nobody says how many."""
ABSENT = {
    "visits": str(DEFAULT_VISITS),
    "komi": "the record's, else customary",
    "rules": f"the record's, else {DEFAULT_PRESET}",
}
"""What a command goes by where its options do not say it."""


def conditions(configuration: Configuration) -> tuple[Rules, float]:
    """Return the rules and the komi of games that say nothing of their own."""
    engine = configuration.engine
    rules, customary_komi = rules_and_komi(engine.rules)
    return rules, customary_komi if engine.komi is None else engine.komi


@dataclasses.dataclass(frozen=True)
class Record:
    """A game record that can be played on a board."""

    path: Path
    content: bytes
    game: SgfGame
    """Its komi and rules are those of the command's options, where they were given."""
    rules: Rules
    """Where `game` names none; the same goes for the komi."""
    komi: float

    def to_game(self, before_move: int | None = None) -> Game:
        """Play the game up to a move, as `SgfGame.to_game` does. Raises UserError."""
        try:
            return self.game.to_game(before_move, self.rules, self.komi)
        except SgfError as error:
            raise self.error(str(error)) from None

    def error(self, reason: str) -> UserError:
        """Return an error that names the record."""
        return UserError(f"{printable_path(self.path)}: {reason}")


def read_record(path: Path, configuration: Configuration, options: Mapping[str, Any]) -> Record:
    """Read the first game of an SGF file. A note says what of it is not understood. Raises UserError, OSError.

    `options` are those of the command line: its `komi` and `rules` go before what the record says.
    """
    content = read_regular(path, MAX_BYTES)
    rules, komi = conditions(configuration)
    try:
        loaded = parse_sgf(content)
    except SgfError as error:
        raise UserError(f"{printable_path(path)}: {error}") from None
    if loaded.ignored:
        note(f"{printable_path(path)}: {' and '.join(loaded.ignored)} not understood")
    game = dataclasses.replace(
        loaded,
        komi=loaded.komi if options["komi"] is None else komi,
        rules=loaded.rules if options["rules"] is None else rules,
    )
    return Record(path, content, game, rules, komi)


_ANYBODY_MAY_WRITE = 0o222


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

    def keep(self, content: bytes) -> None:
        """Write the game to the file that it is kept in, if there is one. Raises OSError, also where the file is gone
        or is not as this session left it."""
        if self.kept is None or self._known.get(self.kept) == content:
            return
        if self.kept in self._known:
            _replace(self.kept, self._known[self.kept], content)
        else:
            create_whole(self.kept, content)
        self._known[self.kept] = content

    def save(self, path: Path, content: bytes) -> None:
        """Write the game to a new file, or again to one that this session has written. Raises OSError."""
        target = followed(path)
        if target in self._known and os.path.lexists(target):
            _replace(target, self._known[target], content)
        else:
            create_whole(path, content)
        self._known[target] = content

    def have(self, content: bytes) -> bool:
        """Return whether one of the files has been given this game."""
        return content in self._known.values()


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
