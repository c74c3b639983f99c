"""`nobi play`: a game against the engine in a terminal, which begins on an empty board, or where it was left."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gtp_engine.configuration.configuration import Configuration, tell
from gtp_engine.configuration.parameters import Count, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from nobi_machine.streams import note
from nobi_machine.text import printable_path

if TYPE_CHECKING:
    from go_rules.game import Game

COLOURS = ("black", "white")
MOST_STONES = 9
"""Of a fixed handicap."""
OF_A_NEW_GAME = ("size", "komi", "rules")
"""Parameters that a game which goes on has already."""


class Beginning(NamedTuple):
    """The first position of a game."""

    game: Game
    komi: float
    person: int
    """The person's colour."""
    result: str
    content: bytes | None
    """What the file to keep the game in has already; None where there is no such file."""


@click.command()
@click.argument("record", metavar="[GAME.sgf]", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--colour", "--color", type=click.Choice(COLOURS), help="Your side.  [default: black]")
@click.option("--handicap", type=Count(2, MOST_STONES), metavar="N", help="Stones that black begins with.")
@parameter_options("play")
@config_options
def play(
    record: Path | None,
    colour: str | None,
    handicap: int | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    **options: Any,
) -> None:
    """Play against Nobi in this terminal.

    Type moves as D4, or pass, undo, hint, score; help lists what can be said. Ctrl-C ends Nobi's thinking. The game is
    kept in GAME.sgf after each move, and the same command goes on with it later. Weaker opponents are the players rave,
    uct, mc and random (--player), in this order.
    """
    configuration = load(config_file, settings, options)
    from gtp_engine.players import check, compile_beside
    from gtp_engine.session.loading import warm_up_rules
    from gtp_engine.session.records import followed, is_writable

    configuration = check(configuration)
    tell(configuration)
    target = None if record is None else followed(record)
    if target is not None and target.suffix.lower() != ".sgf":
        raise UserError(f"{printable_path(target)}: the game must be kept in a file .sgf")
    warm_up_rules(lambda: compile_beside(configuration))
    if record is None or target is None or not os.path.lexists(target):
        _converse(configuration, _new_game(configuration, colour, handicap), target)
        return
    beginning = _resumed(configuration, record)
    if not is_writable(target):
        raise UserError(f"{printable_path(record)}: not writable, so the game cannot be kept there")
    given = [name for name, value in (("colour", colour), ("handicap", handicap)) if value is not None]
    if given := [*(name for name in OF_A_NEW_GAME if name in configuration.by_hand), *given]:
        note(f"{printable_path(record)} goes on as it began: --{', --'.join(given)} would be for a new game")
    _converse(configuration, beginning, target)


def _new_game(configuration: Configuration, colour: str | None, stones: int | None) -> Beginning:
    """Begin on an empty board, or one with black's handicap stones. Raises UserError."""
    from go_rules.game import Game
    from go_rules.handicap import HANDICAP_KOMI, HandicapError, fixed_handicap
    from go_rules.points import BLACK, WHITE
    from gtp_engine.play.words import UNDECIDED
    from gtp_engine.session.records import conditions

    engine = configuration.engine
    rules, komi = conditions(configuration)
    if stones is not None and engine.komi is None:
        komi = HANDICAP_KOMI
    game = Game(*engine.board, rules, komi)
    if stones is not None:
        try:
            game.place_handicap(fixed_handicap(stones, *engine.board))
        except HandicapError as error:
            raise UserError(f"--handicap: {error}") from None
    return Beginning(game, komi + 0.0, WHITE if colour == "white" else BLACK, UNDECIDED, None)  # no negative zero


def _resumed(configuration: Configuration, path: Path) -> Beginning:
    """Go on with a game that `nobi play` kept and nobody else wrote to, and no other. Raises UserError and OSError."""
    from go_rules.points import BLACK, WHITE
    from gtp_engine.play.words import DRAW, NO_RESULT, PERSON, game_record
    from gtp_engine.session.records import read_record

    record = read_record(path, configuration, {"komi": None, "rules": None})
    loaded = record.game
    is_result = re.fullmatch(rf"|{DRAW}|{NO_RESULT}|[BW]\+(R|[0-9]+(\.[0-9]+)?)", loaded.result)
    if PERSON in (loaded.black, loaded.white) and is_result:
        game, person = record.to_game(), BLACK if loaded.black == PERSON else WHITE
        komi = record.komi if loaded.komi_to_play is None else loaded.komi_to_play + 0.0
        if game_record(game, person, loaded.result, komi) == record.content:
            return Beginning(game, komi, person, loaded.result, record.content)
    raise record.error("not kept by `nobi play`; play in a new file, or open this one by `nobi web`")


def _converse(configuration: Configuration, beginning: Beginning, record: Path | None) -> None:
    """Make the engine and play. Raises UserError, EvaluatorError, OSError."""
    from rich.console import Console

    from gtp_engine.networks import advice
    from gtp_engine.play.conversation import Conversation
    from gtp_engine.play.words import game_record
    from gtp_engine.session.records import GameFiles
    from gtp_engine.session.session import Session

    game, person = beginning.game, beginning.person
    session = Session.of(configuration, game.width, game.height)
    session.load()
    session.replace_game(game, beginning.komi)
    files = GameFiles(record, beginning.content)
    files.keep(game_record(game, person, beginning.result, beginning.komi))
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if session.player.evaluator is not None and (hint := advice(configuration)):
        console.print(hint)
    try:
        Conversation(session, person, console, files, beginning.result).run()
    finally:
        session.close()
