"""Game records that a command analyses, and the komi and rules that its user gives."""

from __future__ import annotations

import dataclasses
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
from nobi_machine.files import read_regular
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
