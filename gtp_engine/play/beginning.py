"""Where a game in a terminal begins: on an empty board, in a game record, or where it was left."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from go_rules.game import Game
from go_rules.handicap import HANDICAP_KOMI, HandicapError, fixed_handicap
from go_rules.points import BLACK, COLOUR_NAMES, WHITE
from go_rules.rule_names import rules_to_sgf
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import UserError
from gtp_engine.play.words import DRAW, NO_RESULT, PERSON, UNDECIDED, game_record, handicap_text
from gtp_engine.session.records import Record, conditions, read_record
from nobi_machine.terminal import amount
from nobi_machine.text import printable_path

_COLOURS = {name: colour for colour, name in COLOUR_NAMES.items()}
_RESULT = re.compile(rf"|{DRAW}|{NO_RESULT}|[BW]\+(R|[0-9]+(\.[0-9]+)?)")
"""What RE may be in a file that `nobi play` kept."""


@dataclass(frozen=True)
class Wanted:
    """What the command line says of a game."""

    configuration: Configuration
    options: Mapping[str, Any]
    """Those of parameters, as click gives them."""
    colour: str | None = None
    """The person's."""
    handicap: int | None = None
    source: Path | None = None
    """A record to begin with."""
    move: int | None = None
    """After so many moves of it."""


@dataclass(frozen=True)
class Beginning:
    """The first position of a game."""

    game: Game
    komi: float
    person: int
    """The person's colour."""
    result: str = UNDECIDED
    content: bytes | None = None
    """What the file to keep the game in has already; None where there is no such file."""


def begin(wanted: Wanted) -> Beginning:
    """Begin a game that nobody has begun. Raises UserError, OSError.

    A person who names no colour has black at the beginning of a game, else that of the side to move.
    """
    game, komi = _new_game(wanted) if wanted.source is None else _position_of(wanted, wanted.source)
    is_new = not game.moves and (game.handicap or not game.setup)
    person = _COLOURS[wanted.colour] if wanted.colour is not None else BLACK if is_new else game.to_play
    return Beginning(game, komi, person)


def go_on(wanted: Wanted, path: Path) -> Beginning:
    """Go on with a game that `nobi play` kept in a file, and nobody else wrote to.

    What the command line says has to agree with it. If it does not, and nothing was played yet, another game begins.
    Raises UserError, OSError.
    """
    record = read_record(path, wanted.configuration, {"komi": None, "rules": None})
    beginning = _resumed(record)
    contradiction = _contradiction(wanted, record, beginning)
    if contradiction is None:
        return beginning
    if record.game.moves or record.game.result:
        raise UserError(f"{contradiction} to go on with it, or name another file")
    return dataclasses.replace(begin(wanted), content=record.content)


def _new_game(wanted: Wanted) -> tuple[Game, float]:
    engine, stones = wanted.configuration.engine, wanted.handicap
    rules, komi = conditions(wanted.configuration)
    if stones is not None and engine.komi is None:
        komi = HANDICAP_KOMI
    game = Game(*engine.board, rules, komi)
    if stones is not None:
        try:
            game.place_handicap(fixed_handicap(stones, *engine.board))
        except HandicapError as error:
            raise UserError(f"--handicap: {error}") from None
    return game, komi + 0.0  # no negative zero


def _position_of(wanted: Wanted, source: Path) -> tuple[Game, float]:
    record, moves = read_record(source, wanted.configuration, wanted.options), wanted.move
    length = len(record.game.moves)
    if moves is not None and moves > length:
        raise record.error(f"the game has {amount(length, 'move')}, not {moves}")
    return record.to_game(None if moves is None else moves + 1), _komi(record)


def _resumed(record: Record) -> Beginning:
    loaded = record.game
    if PERSON in (loaded.black, loaded.white) and _RESULT.fullmatch(loaded.result):
        game, komi, person = record.to_game(), _komi(record), BLACK if loaded.black == PERSON else WHITE
        if game_record(game, person, loaded.result, komi) == record.content:
            return Beginning(game, komi, person, loaded.result, record.content)
    raise record.error("not kept by `nobi play`; begin with it by --from, and keep the game in a new file")


def _komi(record: Record) -> float:
    komi = record.game.komi_to_play
    return (record.komi if komi is None else komi) + 0.0  # no negative zero


def _contradiction(wanted: Wanted, record: Record, beginning: Beginning) -> str | None:
    """Say what the game is, and which option is for another one; None if all options agree with the game."""
    engine, said = wanted.configuration.engine, wanted.configuration.by_hand
    game, komi, person = beginning.game, beginning.komi, COLOUR_NAMES[beginning.person]
    rules, stones = game.rules, record.game.handicap
    size = (game.width, game.height)
    terms = (
        ("size", "size" in said and engine.board != size, f"on {game.width}x{game.height}"),
        ("komi", "komi" in said and engine.komi != komi, f"with komi {komi:g}"),
        ("rules", "rules" in said and conditions(wanted.configuration)[0] != rules, f"by {rules_to_sgf(rules)} rules"),
        ("colour", wanted.colour not in (None, person), f"in which you are {person}"),
        ("handicap", wanted.handicap not in (None, stones), f"with {handicap_text(stones)}"),
        ("from" if wanted.move is None else "from and --move", wanted.source is not None, "that has begun"),
    )
    for name, is_other, what in terms:
        if is_other:
            return f"{printable_path(record.path)} is a game {what}; leave --{name} out"
    return None
