"""`nobi tournament`: a round-robin between any GTP engines."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtp_engine.cluster.options import cluster_option, opened_cluster
from gtp_engine.configuration.parameters import Count
from gtp_engine.match.command import EXIT_FAULTS, play_all
from gtp_engine.match.conditions import Conditions, condition_options, read_conditions
from gtp_engine.match.engines import engine_command
from gtp_engine.match.play import AfterGame, Contest, open_contest
from gtp_engine.tournament.report import print_results, write_results
from gtp_engine.tournament.results import Results, as_json
from nobi_machine.locks import folder_for_one
from nobi_machine.progress import ProgressBar, in_pieces
from nobi_machine.streams import print_json
from nobi_machine.terminal import amount
from nobi_machine.text import printable

if TYPE_CHECKING:
    from gtp_engine.cluster.client import Cluster

NAMED = re.compile(r"([^\s=/\\]{1,60})=(.+)", re.DOTALL)
"""An engine with a name of the user's: `NAME=COMMAND`."""
MOST_ENGINES = 99


@click.command()
@click.argument("engines", metavar="ENGINE...", nargs=-1, required=True)
@click.option("--games", "-n", type=Count(1), default=20, show_default=True, help="How many each pair plays.")
@condition_options
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the records and the results; a tournament found there goes on.  [default: tournament-DATE-TIME]",
)
@click.option("--json", "prints_json", is_flag=True, help="Print the results as one JSON object instead of tables.")
@cluster_option
def tournament(
    engines: tuple[str, ...], games: int, out: Path | None, prints_json: bool, cluster: str | None, **options: Any
) -> int:
    """Let every two of several GTP engines play a match, and rate all of them.

    An ENGINE is a quoted command as `nobi match` takes it, such as "gnugo --mode gtp --chinese-rules" or
    "nobi --player uct". With NAME= before it, it is called that: "uct=nobi --player uct".

    Matches advance in turns, some games of each. Each has its record in a folder of its own inside --out. The same
    command with the same --out goes on where it was; it may ask for more games and, if all engines have names from you,
    for more engines at the end.
    results.html there has the table and the cross-table, results.json the same figures. With --sprt a pair stops once
    its test has decided. The exit code is 0, or 3 if an engine misbehaved or two engines did not agree on a score.
    """
    given = [_named(text) for text in engines]
    if not 2 <= len(given) <= MOST_ENGINES:
        raise click.UsageError(f"a tournament has 2 to {MOST_ENGINES} engines")
    conditions = read_conditions(**options)
    commands = [engine_command(text) for _, text in given]
    labels = [f"engine {number + 1}" for number in range(len(given))]
    said = conditions.names(commands, labels, [name for name, _ in given])
    names = distinct(said, [text for _, text in given])
    folder = out or Path(time.strftime("tournament-%Y%m%d-%H%M%S"))
    pairs = itertools.combinations(range(len(names)), 2)
    elsewhere = contextlib.nullcontext() if cluster is None else opened_cluster(cluster)
    what = f"{len(names)} engines"
    with folder_for_one(folder), elsewhere as connected:
        found = play_pairs("tournament", what, pairs, commands, names, conditions, games, folder, connected)
    if prints_json:
        print_json(as_json(found))
    else:
        print_results(found)
        click.echo(f"tournament: the page is {printable(str(folder / 'results.html'))}", err=True)
    return EXIT_FAULTS if found.has_faults else 0


def play_pairs(
    command: str,
    title: str,
    pairs: Iterable[tuple[int, int]],
    commands: Sequence[list[str]],
    names: Sequence[str],
    conditions: Conditions,
    games: int,
    folder: Path,
    cluster: Cluster | None = None,
) -> Results:
    """Play the matches of these pairs of engines as far as `folder` does not have them, here or on a cluster, and write
    the results there.

    `command` is the name of the subcommand, `title` what it plays. Raises UserError, and KeyboardInterrupt, after which
    the same call goes on.
    """
    contests = [open_contest(folder, pair, commands, names, conditions) for pair in pairs]
    what = f"{title}, {amount(len(contests), 'pair')}; records"
    try:
        bar = _bar(command, contests, games, cluster)
        play_all(command, what, contests, conditions, games, folder, bar, cluster)
    finally:
        results = write_results(folder, names, commands, contests, conditions.sprt)
    return results


@contextlib.contextmanager
def _bar(command: str, contests: Sequence[Contest], games: int, cluster: Cluster | None) -> Iterator[AfterGame]:
    """A bar on a terminal. The body calls what it gets after each game."""
    played = sum(len(contest.record.games) for contest in contests)
    with ProgressBar(command, games * len(contests), played, in_pieces) as bar:

        def advance(contest: Contest) -> None:
            first, second = contest.sides
            game = f"{first + 1}-{second + 1}: {contest.record.games[-1].result}"
            bar.advance(1, f"{cluster.words()}, {game}" if cluster else game)

        bar.advance(0)
        yield advance


def distinct(names: list[str], commands: list[str]) -> list[str]:
    """Make names different: those that are equal become the engine's command, and then get a number."""
    counted = [names.count(name) for name in names]
    named = [
        name if count == 1 else printable(text) for name, count, text in zip(names, counted, commands, strict=True)
    ]
    while len(set(named)) < len(named):  # a name with a number may be that which another engine has
        named = [name if named.count(name) == 1 else f"{name} ({number + 1})" for number, name in enumerate(named)]
    return named


def _named(text: str) -> tuple[str | None, str]:
    """An engine's name, if it was given one, and its command."""
    match = NAMED.fullmatch(text)
    return (match[1].strip(), match[2]) if match else (None, text)
