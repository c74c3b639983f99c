"""A series of matches as a command plays it: with a bar on the terminal, and ended by signals without a loss."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gtp_engine.match.conditions import Conditions, termination_interrupts
from gtp_engine.tournament.series import Contest, Series
from nobi_machine.terminal import amount, progress_bar
from nobi_machine.text import printable


def play_series(
    command: str, title: str, contests: Sequence[Contest], conditions: Conditions, games: int, folder: Path
) -> None:
    """Play the games that the records of the contests do not have yet, and tell how it goes on stderr.

    `command` is the name of the subcommand, and `folder` that of all records. Raises UserError, and KeyboardInterrupt
    after SIGINT and SIGTERM; the records are complete then.
    """
    played = sum(len(contest.record.games) for contest in contests)
    shown = printable(str(folder))
    click.echo(f"{command}: {title}, {amount(len(contests), 'pair')}; records in {shown}", err=True)

    def after_game(contest: Contest) -> None:
        first, second = contest.sides
        advance(f"{first + 1}-{second + 1}: {contest.record.games[-1].result}")

    try:
        with termination_interrupts(), progress_bar(command, games * len(contests), played) as advance:
            Series(contests, conditions, games).run(after_game)
    except KeyboardInterrupt:
        click.echo(f"{command}: interrupted; go on with the same command and --out {shown}", err=True)
        raise
