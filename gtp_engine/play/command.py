"""`nobi play`: a game against the engine in a terminal."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from go_rules.machine.printable import printable_path
from gtp_engine.configuration.options import Count, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError

if TYPE_CHECKING:
    from gtp_engine.configuration.configuration import Configuration
    from gtp_engine.dialogue.engine import Engine
    from gtp_engine.play.beginning import Beginning

COLOURS = ("black", "white")
MOST_STONES = 9
"""Of a fixed handicap."""
TERMS = ("size", "komi", "rules")
"""The options of a new game that are parameters."""
ABSENT = {name: f"{usual}; with --from, the record's" for name, usual in (("komi", "customary"), ("size", "19"))}
"""What the command goes by where its options do not say it."""


@click.command()
@click.argument("record", metavar="[GAME.sgf]", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--colour", "--color", type=click.Choice(COLOURS), help="Your side.  [default: black, or who is to move]")
@click.option("--handicap", type=Count(2, MOST_STONES), metavar="N", help="Stones that black begins with.")
@click.option("--from", "source", metavar="FILE.sgf", type=click.Path(dir_okay=False, path_type=Path),
              help="Begin with a position of this game.")  # fmt: skip
@click.option(
    "--move", type=Count(0), metavar="N", help="With --from, the position after N moves.  [default: the last]"
)
@parameter_options("play", absent=ABSENT)
@config_options
def play(
    record: Path | None,
    colour: str | None,
    handicap: int | None,
    source: Path | None,
    move: int | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    **options: Any,
) -> None:
    """Play against Nobi in this terminal.

    Type moves as D4, or pass, undo, hint, score; help lists what can be said. The game is kept in GAME.sgf after each
    move, and the same command goes on with it later. Weaker opponents are the players rave, uct, mc and random
    (--player), in this order.
    """
    configuration = load(config_file, settings, options)
    begun = record is not None and os.path.lexists(record)
    _require_sense(begun, colour=colour, handicap=handicap, source=source, move=move, **options)
    if record is not None and record.suffix.lower() != ".sgf":
        raise UserError(f"{printable_path(record)}: the game must be kept in a file .sgf")
    from gtp_engine.play.beginning import new_game, position_of, resumed
    from gtp_engine.players import check
    from gtp_engine.tools.records import read_record

    check(configuration)
    if record is not None and begun:
        beginning = resumed(read_record(record, configuration, options))
    elif source is not None:
        beginning = position_of(read_record(source, configuration, options), move)
    else:
        beginning = new_game(configuration, handicap)
    _converse(configuration, beginning, colour, record, begun)


def _require_sense(begun: bool, **options: Any) -> None:
    """Raise UserError for options that say nothing beside each other. `begun`: whether the game goes on."""
    given = {name: value for name, value in options.items() if value is not None}
    names = {"source": "--from"} | {name: f"--{name}" for name in ("colour", "handicap", "move", *TERMS)}
    for name in given.keys() & names.keys():
        if begun:
            raise UserError(f"{names[name]} is for a new game, and this one has begun")
    for name in ("handicap", "size"):
        if name in given and "source" in given:
            raise UserError(f"{names[name]} is for a game that begins with its first move, not by --from")
    if "move" in given and "source" not in given:
        raise UserError("--move needs --from")


def _converse(
    configuration: Configuration, beginning: Beginning, colour: str | None, record: Path | None, begun: bool
) -> None:
    """Make the engine and play. Raises UserError, EvaluatorError, OSError."""
    from rich.console import Console

    from go_rules.points import BLACK, WHITE
    from go_rules.sgf.writer import write_sgf
    from gtp_engine.dialogue.engine import Engine
    from gtp_engine.play.conversation import Conversation, game_record
    from gtp_engine.players import compile_beside, make_player

    width, height = beginning.board
    engine = Engine(
        dataclasses.replace(configuration.engine, size=f"{width}x{height}"),
        lambda: make_player(configuration),
        lambda: compile_beside(configuration),
    )
    _load(engine)
    game = beginning.make()
    engine.replace_game(game, beginning.komi)
    person = beginning.person
    if person is None:
        is_new = not game.moves and not game.setup
        person = {None: BLACK if is_new or game.handicap else game.to_play, "black": BLACK, "white": WHITE}[colour]
    if record is not None and not begun:
        write_sgf(record, game_record(game, person, beginning.result, beginning.komi))
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    try:
        Conversation(engine, person, console, record, beginning.result).run()
    finally:
        engine.close()


def _load(engine: Engine) -> None:
    """Load the rules and the player. Raises what prevented it."""
    from gtp_engine.dialogue.protocol import GtpFatalError

    failures: list[BaseException] = []
    engine.loader.on_failure = failures.append
    engine.loader.begin()
    try:
        engine.loader.await_player()
    except GtpFatalError:
        raise failures[0] from None
