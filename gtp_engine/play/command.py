"""`nobi play`: a game against the engine in a terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtp_engine.configuration.configuration import tell
from gtp_engine.configuration.parameters import Count, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from nobi_machine.text import printable_path

if TYPE_CHECKING:
    from gtp_engine.configuration.configuration import Configuration
    from gtp_engine.play.beginning import Beginning

COLOURS = ("black", "white")
MOST_STONES = 9
"""Of a fixed handicap."""
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

    Type moves as D4, or pass, undo, hint, score; help lists what can be said. Ctrl-C ends Nobi's thinking. The game is
    kept in GAME.sgf after each move, and the same command goes on with it later. Weaker opponents are the players rave,
    uct, mc and random (--player), in this order.
    """
    configuration = load(config_file, settings, options)
    if source is None and move is not None:
        raise UserError("--move needs --from")
    for name, value in (("handicap", handicap), ("size", options["size"])):
        if source is not None and value is not None:
            raise UserError(f"--{name} is for a game that begins with its first move, not by --from")
    from gtp_engine.play.beginning import Wanted, begin, go_on
    from gtp_engine.players import check, compile_beside
    from gtp_engine.session.loading import warm_up_rules
    from gtp_engine.session.records import followed, is_writable

    configuration = check(configuration)
    tell(configuration)
    target = None if record is None else followed(record)
    if target is not None and target.suffix.lower() != ".sgf":
        raise UserError(f"{printable_path(target)}: the game must be kept in a file .sgf")
    warm_up_rules(lambda: compile_beside(configuration))
    wanted = Wanted(configuration, options, colour, handicap, source, move)
    if record is None or target is None or not os.path.lexists(target):
        beginning = begin(wanted)
    else:
        beginning = go_on(wanted, record)
        if not is_writable(target):
            raise UserError(f"{printable_path(record)}: not writable, so the game cannot be kept there")
    _converse(configuration, beginning, target)


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
