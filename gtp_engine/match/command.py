"""`nobi match`: two engines, and the match that the options describe."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtp_engine.configuration.parameters import Count
from gtp_engine.match.conditions import Conditions, condition_options, read_conditions
from gtp_engine.match.engines import engine_command
from gtp_engine.match.play import AfterGame, Contest, Series
from gtp_engine.match.record import SIDES, has_faults
from gtp_engine.match.table import print_result, status, summary
from nobi_machine.interruption import interruptible
from nobi_machine.locks import folder_for_one
from nobi_machine.streams import print_json
from nobi_machine.text import printable

if TYPE_CHECKING:
    from gtp_engine.cluster.client import Cluster

EXIT_FAULTS = 3
"""All games were played, but an engine misbehaved or the engines' scores differed."""


@click.command()
@click.argument("engine_a", metavar="ENGINE_A")
@click.argument("engine_b", metavar="ENGINE_B")
@click.option("--games", "-n", type=Count(1), default=20, show_default=True, help="How many to play.")
@condition_options
@click.option(
    "--handicap", type=Count(2, 9), metavar="N", help="Stones that ENGINE_B begins with, as black in all games."
)
@click.option("--name-a", help="What to call the first engine.  [default: what it says]")
@click.option("--name-b", help="What to call the second.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the record, the SGF files and the "
    "engines' stderr; a match found there goes on.  [default: match-DATE-TIME]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object instead of a table.")
def match(
    engine_a: str,
    engine_b: str,
    games: int,
    name_a: str | None,
    name_b: str | None,
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Let two GTP engines play a match and judge it.

    ENGINE_A and ENGINE_B are quoted commands, such as "gnugo --mode gtp --chinese-rules". The word nobi stands for this
    installation's `nobi gtp`: "nobi --net FILE --visits 200".

    Colours alternate and each opening is played from both sides; with --handicap, ENGINE_B has black and the stones of
    the fixed pattern, komi is 0.5, and there are no openings. The referee keeps its own board and clock; illegal
    moves, crashes, floods and hangs lose the game and are counted; no engine can hold the match up beyond --start and
    --hang. The exit code is 0, or 3 if there were any or if the engines did not agree on a score.
    """
    conditions = read_conditions(**options)
    commands = [engine_command(text) for text in (engine_a, engine_b)]
    names = conditions.names(commands, [f"engine {side}" for side in SIDES], [name_a, name_b])
    if names[0] == names[1]:
        names = [f"{name} ({side})" for name, side in zip(names, SIDES, strict=True)]
    folder = out or Path(time.strftime("match-%Y%m%d-%H%M%S"))
    with folder_for_one(folder):
        contest = Contest(folder, (0, 1), commands, names, conditions)
        what = f"{names[0]} against {names[1]}; record"
        play_all("match", what, [contest], conditions, games, folder, status(names, games))
    finished = sorted(contest.record.games, key=lambda game: game.game)
    if as_json:
        print_json(summary(contest.record.terms, finished, conditions.sprt))
    else:
        print_result(contest.record.terms, finished, conditions.sprt)
    return EXIT_FAULTS if has_faults(finished) else 0


def play_all(
    command: str,
    what: str,
    contests: Sequence[Contest],
    conditions: Conditions,
    games: int,
    folder: Path,
    progress: AbstractContextManager[AfterGame],
    cluster: Cluster | None = None,
) -> None:
    """Play the games that the records of matches do not have yet, and tell how it goes on stderr.

    `command` is the name of the subcommand, `what` says what lies in `folder`, and `progress` is told of each game.
    Raises UserError, and KeyboardInterrupt after a signal to end; the records are complete then.
    """
    shown = printable(str(folder))
    click.echo(f"{command}: {what} in {shown}", err=True)
    with interruptible() as stop, progress as after_game:
        Series(contests, conditions, games, cluster, stop).run(after_game)
    if stop.is_set():
        if any(contest.record.games for contest in contests):
            click.echo(f"{command}: interrupted; go on with the same command and --out {shown}", err=True)
        raise KeyboardInterrupt
