"""`nobi train` and `nobi learn`: training a network, from a teacher or from its own games.

PyTorch is imported only when a command runs.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from go_rules.machine.cores import usable_cores
from go_rules.machine.locks import folder_for_one
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
    from training.run.loop import Run


@click.command()
@click.argument("run", type=folder, required=False)
@config_option
@set_option
@click.option("--budget", type=Duration(), default="25m", show_default=True, help="Wall-clock time of a new leg.")
@click.option(
    "--from", "source", type=existing_network,
    help="Begin with the weights of a student.bin.gz, or of an embedded network, fast or strong; "
    "grown where [network] says so.",
)  # fmt: skip
@click.option("--pause-after", type=Duration(), help="Save and end after this time, in the middle of a leg.")
@click.option(
    "--beside", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="OTHER",
    help="A run that has begun: its student learns from the same labels, by its own [network], [loss] and [optimiser], "
    "but for that table's schedule.",
)  # fmt: skip
@nice_option
@click.option("--defaults", is_flag=True, help="Print a configuration file with every value explained, and end.")
def train(
    run: Path | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    budget: float,
    source: Path | None,
    pause_after: float | None,
    beside: Path | None,
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
    if beside is not None and beside.resolve() == run.resolve():
        raise TrainingError("--beside must name another run")
    require_torch()
    from training.run.checkpoint import has_checkpoint
    from training.run.folder import CHECKPOINT, CONFIG, kept_shape
    from training.run.loop import TrainingTime, open_run

    if config_file is None and (run / CONFIG).exists():
        config_file = run / CONFIG
    with folder_for_one(run), nullcontext() if beside is None else folder_for_one(beside):
        if source is not None and has_checkpoint(run / CHECKPOINT):
            click.echo(f"nobi: {run} has begun already; it goes on, --from has no effect", err=True)
            source = None
        if source is not None:
            opened = _begun_from(source, run, config_file, settings, beside)
        else:
            config = read_settings(config_file, settings, kept_shape(run))
            opened = open_run(run, config, None if settings else config_file, beside)
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
    from training.run.folder import CONFIG, kept_shape
    from training.run.learn import learn as run_generations

    if config_file is None and (run / CONFIG).exists():
        config_file = run / CONFIG
    with folder_for_one(run):
        config = read_settings(config_file, settings, kept_shape(run))
        run_generations(run, config, generations, budget, threads or usable_cores())


def _begun_from(
    source: Path, folder: Path, config_file: Path | None, settings: tuple[str, ...], beside: Path | None
) -> Run:
    """Create a run that begins with a network's weights and has that network's shape, or the larger one that the
    configuration names. Raises TrainingError."""
    from training.files import read_network
    from training.run.loop import open_run
    from training.run.trained_network import progress_of
    from training.student.growth import grow
    from training.student.restore import restore

    model = read_network(source)
    student = restore(model)
    config = read_settings(config_file, settings, student.config)
    student = grow(student, config.network)
    run = open_run(folder, config, beside=beside)
    run.begin_from(student, progress_of(model, source))
    return run
