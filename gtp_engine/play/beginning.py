"""Where a game in a terminal begins: on an empty board, in a game record, or where it was left."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
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
_NOTHING_SAID = {"komi": None, "rules": None}


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
    """The first position of a game, which is made once the rules are compiled."""

    board: tuple[int, int]
    """Its width and height."""
    make: Callable[[], Game]
    """Raises UserError."""
    komi: float
    person: int | None = None
    """The person's colour; None where it follows from the position."""
    result: str = UNDECIDED
    content: bytes | None = None
    """What the file to keep the game in has already; None where there is no such file."""


def begin(wanted: Wanted) -> Beginning:
    """Begin a game that nobody has begun. Raises UserError, OSError."""
    beginning = _new_game(wanted) if wanted.source is None else _position_of(wanted, wanted.source)
    person = None if wanted.colour is None else _COLOURS[wanted.colour]
    return dataclasses.replace(beginning, person=person)


def go_on(wanted: Wanted, path: Path) -> Beginning:
    """Go on with a game that `nobi play` kept in a file, and nobody else wrote to.

    What the command line says has to agree with it. If it does not, and nothing was played yet, another game begins.
    Raises UserError, OSError.
    """
    record = read_record(path, wanted.configuration, _NOTHING_SAID)
    beginning = _resumed(record)
    contradiction = _contradiction(wanted, record, beginning)
    if contradiction is None:
        return beginning
    if record.game.moves or record.game.result:
        raise UserError(f"{contradiction} to go on with it, or name another file")
    another = begin(wanted)

    def make() -> Game:
        beginning.make()  # which finds out whether the file is ours
        return another.make()

    return dataclasses.replace(another, make=make, content=record.content)


def usual_colour(game: Game) -> int:
    """Return the colour that a person has who names none: black at the beginning of a game, else the one to move."""
    return BLACK if not game.moves and (game.handicap or not game.setup) else game.to_play


def _new_game(wanted: Wanted) -> Beginning:
    engine, stones = wanted.configuration.engine, wanted.handicap
    rules, komi = conditions(wanted.configuration)
    if stones is not None and engine.komi is None:
        komi = HANDICAP_KOMI

    def make() -> Game:
        game = Game(*engine.board, rules, komi)
        if stones is not None:
            try:
                game.place_handicap(fixed_handicap(stones, *engine.board))
            except HandicapError as error:
                raise UserError(f"--handicap: {error}") from None
        return game

    return Beginning(engine.board, make, komi + 0.0)  # no negative zero


def _position_of(wanted: Wanted, source: Path) -> Beginning:
    record, moves = read_record(source, wanted.configuration, wanted.options), wanted.move
    length = len(record.game.moves)
    if moves is not None and moves > length:
        raise record.error(f"the game has {amount(length, 'move')}, not {moves}")
    return _of(record, lambda: record.to_game(None if moves is None else moves + 1))


def _resumed(record: Record) -> Beginning:
    game = record.game
    refusal = record.error("not kept by `nobi play`; begin with it by --from, and keep the game in a new file")
    if PERSON not in (game.black, game.white) or not _RESULT.fullmatch(game.result):
        raise refusal
    person = BLACK if game.black == PERSON else WHITE

    def make() -> Game:
        made = record.to_game()
        if game_record(made, person, game.result, _komi(record)).encode() != record.content:
            raise refusal
        return made

    found = _of(record, make)
    return dataclasses.replace(found, person=person, result=game.result, content=record.content)


def _of(record: Record, make: Callable[[], Game]) -> Beginning:
    return Beginning((record.game.width, record.game.height), make, _komi(record))


def _komi(record: Record) -> float:
    komi = record.game.komi_to_play
    return (record.komi if komi is None else komi) + 0.0  # no negative zero


def _contradiction(wanted: Wanted, record: Record, beginning: Beginning) -> str | None:
    """Say what the game is, and which option is for another one; None if all options agree with the game."""
    engine, said = wanted.configuration.engine, wanted.configuration.by_hand
    (width, height), komi, stones = beginning.board, beginning.komi, record.game.handicap
    rules, person = record.game.rules or record.rules, COLOUR_NAMES[beginning.person or BLACK]
    terms = (
        ("size", "size" in said and engine.board != beginning.board, f"on {width}x{height}"),
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
