"""`nobi records`, `nobi label` and `nobi selfplay`: making positions to learn from."""

from __future__ import annotations

from pathlib import Path

import click

from nobi_machine.locks import folder_for_one
from nobi_machine.memory import usable_cores
from training.commands.options import (
    Duration,
    config_option,
    existing_network,
    folder,
    nice_option,
    precision_option,
    read_settings,
    set_option,
    threads_option,
)
from training.errors import TrainingError, require_torch

DEFAULT_COUNT = 100_000
"""How many positions `nobi label` labels where nothing else ends it."""


@click.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("sgf", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
def records(out: Path, sgf: tuple[Path, ...]) -> None:
    """Gather the 19x19 games of SGF files, and of folders of such files, in OUT (.npz) for data.records.path."""
    from training.positions.sgf_records import gather, sgf_files

    if out.suffix != ".npz":
        raise TrainingError(f"{out}: a file of game records ends in .npz")
    taken, left_out = gather(out, sgf_files(sgf))
    for reason, count in left_out.most_common():
        click.echo(f"{count:,} left out: {reason}", err=True)
    click.echo(f"{taken:,} games in {out}", err=True)


@click.command()
@click.argument("out", type=folder)
@config_option
@set_option
@click.option("--count", type=click.IntRange(1), help="Positions to label.  [default: 100,000 without --time]")
@click.option("--time", "seconds", type=Duration(), help="End after this time.")
@click.option("--student", type=existing_network, help="A network that moves in data.play.student of the games.")
@click.option(
    "--disagreement", type=click.FloatRange(0, 1, min_open=True),
    help="Keep this share of the positions: what the student disagrees about most.",
)  # fmt: skip
@click.option(
    "--screen", type=existing_network,
    help="A quicker network that plays the games and judges the disagreement: the teacher labels only what is kept.",
)  # fmt: skip
@nice_option
def label(
    out: Path,
    config_file: Path | None,
    settings: tuple[str, ...],
    count: int | None,
    seconds: float | None,
    student: Path | None,
    disagreement: float | None,
    screen: Path | None,
) -> None:
    """Write positions and the teacher's evaluation of them to sample files in OUT, to learn from them many times."""
    require_torch()
    from training.teacher.labelling import HardExampleMining
    from training.teacher.labelling import label as run

    if student is None and disagreement is not None:
        raise click.UsageError("--disagreement needs a --student to disagree")
    if screen is not None and disagreement is None:
        raise click.UsageError("--screen needs a --disagreement: the share of the positions that the teacher labels")
    if count is None and seconds is None:
        count = DEFAULT_COUNT
    mining = None if student is None else HardExampleMining(student, disagreement or 1.0, screen)
    with folder_for_one(out):
        run(out, read_settings(config_file, settings), count, seconds, mining)


@click.command()
@click.argument("out", type=folder)
@click.option(
    "--net",
    type=existing_network,
    required=True,
    help="The network that plays: a KataGo file, .onnx, or strong.",
)  # fmt: skip
@config_option
@set_option
@click.option("--games", type=click.IntRange(1), default=100, show_default=True, help="How many to play.")
@threads_option
@precision_option
@click.option("--seed", type=click.IntRange(0), help="Of all random choices.  [default: new each time]")
@click.option(
    "--teacher", type=existing_network, help="A network whose searches are learned from, in place of the player's own."
)
@click.option(
    "--disagreement", type=click.FloatRange(0, 1, min_open=True),
    help="Keep this share of the positions: what the player disagrees with the teacher about most.",
)  # fmt: skip
@click.option(
    "--leaves", type=click.FloatRange(0, 1, min_open=True),
    help="Have the teacher label, without searching, this share of all positions that the player's searches look at.",
)  # fmt: skip
@click.option(
    "--screen", type=existing_network,
    help="A quicker network that judges the disagreement about leaves: the teacher labels only what is kept.",
)  # fmt: skip
@nice_option
def selfplay(
    out: Path,
    net: Path,
    config_file: Path | None,
    settings: tuple[str, ...],
    games: int,
    threads: int | None,
    precision: str,
    seed: int | None,
    teacher: Path | None,
    disagreement: float | None,
    leaves: float | None,
    screen: Path | None,
) -> None:
    """Let a network play against itself, and write what its searches, or a teacher's, found out to sample files in
    OUT."""
    import os

    from nets.open import open_network
    from training.selfplay.play import Reanalysis
    from training.selfplay.play import selfplay as run

    if teacher is None and disagreement is not None:
        raise click.UsageError("--disagreement needs a --teacher to disagree with")
    if teacher is None and leaves is not None:
        raise click.UsageError("--leaves needs a --teacher to label them")
    if screen is not None and (leaves is None or disagreement is None):
        raise click.UsageError("--screen needs --leaves and --disagreement: what the teacher labels of them")
    evaluator = open_network(net, precision)
    reanalysis = None
    if teacher is not None:
        quick = None if screen is None else open_network(screen, precision)
        reanalysis = Reanalysis(open_network(teacher, precision), disagreement or 1.0, leaves, quick)
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    data = read_settings(config_file, settings).data
    run(out, evaluator, data, games, threads or usable_cores(), seed, reanalysis)
