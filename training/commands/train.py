"""`nobi train` and `nobi learn`: training a network, from a teacher or from its own games.

PyTorch is imported only when a command runs.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nobi_machine.locks import folder_for_one
from nobi_machine.memory import usable_cores
from training.commands.options import (
    Duration,
    config_option,
    existing_network,
    folder,
    nice_option,
    read_settings,
    set_option,
    threads_option,
)
from training.errors import TrainingError, require_torch

if TYPE_CHECKING:
    from training.config import TrainingConfig


@click.command()
@click.argument("run", type=folder, required=False)
@config_option
@set_option
@click.option("--budget", type=Duration(), default="25m", show_default=True, help="Wall-clock time of a new leg.")
@click.option(
    "--from", "source", type=existing_network,
    help="Begin with a network: a student.bin.gz, another KataGo file, or the embedded one, strong.",
)  # fmt: skip
@click.option(
    "--without", default="", metavar="6,7,8", help="Leave these blocks of that network's trunk out, counted from 0."
)
@click.option("--pause-after", type=Duration(), help="Save and end after this time, in the middle of a leg.")
@nice_option
@click.option("--defaults", is_flag=True, help="Print a configuration file with every value explained, and end.")
def train(
    run: Path | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    budget: float,
    source: Path | None,
    without: str,
    pause_after: float | None,
    defaults: bool,
) -> None:
    """Train a network in the folder RUN, or go on with it.

    A leg lasts as long as --budget says, the command's start included, and ends with the learning rate's decay; the
    network it leaves is RUN/student.bin.gz. What was interrupted goes on where it stopped, with the budget it has; a
    finished run begins another leg.
    """
    began = time.monotonic()
    if defaults:
        from training.config import describe

        click.echo(describe(), nl=False)
        return
    if run is None:
        raise click.UsageError("Missing argument 'RUN'.")
    if without and source is None:
        raise TrainingError("--without needs --from")
    require_torch()
    from training.run.checkpoint import has_checkpoint
    from training.run.folder import CHECKPOINT
    from training.run.loop import TrainingTime, open_run
    from training.student.beginning import read_student

    with folder_for_one(run):
        if source is not None and has_checkpoint(run / CHECKPOINT):
            click.echo(f"nobi: {run} has begun already; it goes on, --from has no effect", err=True)
            source = None
        begun = None if source is None else (read_student(source, without), source)
        config = _settings(run, config_file, settings, source)
        opened = open_run(run, config, None if settings else config_file, begun)
        opened.train(TrainingTime(budget, pause_after, began))


@click.command()
@click.argument("run", type=folder)
@config_option
@set_option
@click.option("--generations", type=click.IntRange(1), default=1, show_default=True)
@click.option("--budget", type=Duration(), default="25m", show_default=True, help="Training time of a generation.")
@threads_option
@nice_option
def learn(
    run: Path,
    config_file: Path | None,
    settings: tuple[str, ...],
    generations: int,
    budget: float,
    threads: int | None,
) -> None:
    """Let the network in RUN play itself and learn from that; keep what wins a match against the best so far."""
    require_torch()
    from training.run.learn import learn as run_generations

    with folder_for_one(run):
        config = _settings(run, config_file, settings)
        run_generations(run, config, generations, budget, threads or usable_cores())


def _settings(
    run: Path, config_file: Path | None, settings: tuple[str, ...], source: Path | None = None
) -> TrainingConfig:
    """Return the configuration of a run, whose own file counts where no other is named. `source` is a network that it
    is to begin with. Raises TrainingError."""
    from training.run.folder import CONFIG, kept_shape
    from training.run.trained_network import start_of

    shaping = [setting for setting in settings if setting.strip().startswith("network.")]
    if shaping and (source or start_of(run)):
        raise TrainingError(f"{shaping[0]}: the student has the shape of the network that it begins with")
    if config_file is None and (run / CONFIG).exists():
        config_file = run / CONFIG
    return read_settings(config_file, settings, kept_shape(run))
