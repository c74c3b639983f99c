"""Where a game in a terminal begins: on an empty board, in a game record, or where it was left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from go_rules.game import Game
from go_rules.handicap import HANDICAP_KOMI, HandicapError, fixed_handicap
from go_rules.points import BLACK, WHITE
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import UserError
from gtp_engine.play.conversation import PERSON, UNDECIDED, game_record
from gtp_engine.tools.records import Record, conditions


@dataclass(frozen=True)
class Beginning:
    """The first position of a game, which is made once the rules are compiled."""

    board: tuple[int, int]
    """Its width and height."""
    make: Callable[[], Game]
    """Raises UserError."""
    komi: float
    person: int | None = None
    """The person's colour; None where the command line says it."""
    result: str = UNDECIDED


def new_game(configuration: Configuration, stones: int | None) -> Beginning:
    """Begin on an empty board, or with `stones` of black's on the points of the fixed pattern."""
    engine = configuration.engine
    rules, komi = conditions(configuration)
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

    return Beginning(engine.board, make, komi)


def position_of(record: Record, moves: int | None) -> Beginning:
    """Begin with the position after so many moves of a record, or after all. Raises UserError."""
    length = len(record.game.moves)
    if moves is not None and moves > length:
        raise record.error(f"the game has {length} moves, not {moves}")
    return _of(record, lambda: record.to_game(None if moves is None else moves + 1))


def resumed(record: Record) -> Beginning:
    """Go on with a game that `nobi play` kept in a file, and nobody else wrote to."""
    game = record.game
    person = BLACK if game.black == PERSON else WHITE

    def make() -> Game:
        made = record.to_game()
        if game_record(made, person, game.result, _komi(record)).encode() != record.content:
            raise record.error("not kept by `nobi play`; begin with it by --from, and keep the game in a new file")
        return made

    return _of(record, make, person, game.result)


def _of(record: Record, make: Callable[[], Game], person: int | None = None, result: str = UNDECIDED) -> Beginning:
    return Beginning((record.game.width, record.game.height), make, _komi(record), person, result)


def _komi(record: Record) -> float:
    komi = record.game.komi_to_play
    return record.komi if komi is None else komi
