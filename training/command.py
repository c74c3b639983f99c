"""The training commands of `nobi`: their options, and what they add up to. PyTorch is imported only when one runs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from go_rules.machine.cores import usable_cores
from training.errors import TrainingError, require_torch

if TYPE_CHECKING:
    from training.config import TrainingConfig
    from training.run.loop import Run

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
DEFAULT_COUNT = 100_000
"""Positions that `nobi label` labels where nothing else ends it."""

existing = click.Path(exists=True, dir_okay=False, path_type=Path)
folder = click.Path(file_okay=False, path_type=Path)
config_option = click.option("--config", "-c", "config_file", type=existing, help="A TOML file; --defaults shows one.")
set_option = click.option(
    "--set", "-s", "settings", multiple=True, metavar="NAME=VALUE", help="As in the file: run.batch=64."
)


class Duration(click.ParamType):  # type: ignore[type-arg]
    """`90s`, `25m` or `8h`; a bare number is seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip().lower()
        number, unit = (text[:-1], text[-1:]) if text[-1:] in UNITS else (text, "s")
        try:
            seconds = float(number) * UNITS[unit]
        except ValueError:
            seconds = 0.0
        if not 0.0 < seconds < 1e9:
            self.fail(f"{value} is no duration like 90s, 25m or 8h", param, ctx)
        return seconds


@click.command()
@click.argument("run", type=folder, required=False)
@config_option
@set_option
@click.option("--budget", type=Duration(), default="25m", show_default=True, help="Wall-clock time of a new leg.")
@click.option(
    "--from", "source", metavar="FILE", help="Begin with the weights of a student.bin.gz, or of the `embedded` network."
)
@click.option("--pause-after", type=Duration(), help="Save and end after this time, in the middle of a leg.")
@click.option("--defaults", is_flag=True, help="Print a configuration file with every value explained, and end.")
def train(
    run: Path | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    budget: float,
    source: str | None,
    pause_after: float | None,
    defaults: bool,
) -> None:
    """Train a network in the folder RUN, or go on with it.

    A leg lasts as long as --budget says and ends with the learning rate's decay; the network it leaves is
    RUN/student.bin.gz. What was interrupted goes on where it stopped, with the budget it has; a finished run begins
    another leg.
    """
    if defaults:
        from training.config import describe

        click.echo(describe(), nl=False)
        return
    if run is None:
        raise click.UsageError("Missing argument 'RUN'.")
    require_torch()
    from training.run.checkpoint import has_checkpoint
    from training.run.folder import CHECKPOINT, CONFIG
    from training.run.loop import Stint, open_run

    if config_file is None and (run / CONFIG).exists():
        config_file = run / CONFIG
    config = _config(config_file, settings)
    if source is not None and has_checkpoint(run / CHECKPOINT):
        click.echo(f"nobi: {run} has begun already; it goes on, --from has no effect", err=True)
        source = None
    if source is not None:
        opened = _begun_from(source, run, config)
    else:
        opened = open_run(run, config, None if settings else config_file)
    opened.train(Stint(budget, pause_after))


@click.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("sgf", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
def records(out: Path, sgf: tuple[Path, ...]) -> None:
    """Gather games on 19x19 out of SGF files, and folders of such, in OUT (.npz): what data.records.path names."""
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
@click.option("--student", type=existing, help="A network that moves in data.play.student of the games.")
@click.option(
    "--disagreement", type=click.FloatRange(0, 1, min_open=True),
    help="Keep this share of the positions: what the student disagrees about most.",
)  # fmt: skip
def label(
    out: Path,
    config_file: Path | None,
    settings: tuple[str, ...],
    count: int | None,
    seconds: float | None,
    student: Path | None,
    disagreement: float | None,
) -> None:
    """Write positions and the teacher's opinion of them to sample files in OUT, to be trained on many times."""
    require_torch()
    from training.teacher.labelling import Doubts
    from training.teacher.labelling import label as run

    if student is None and disagreement is not None:
        raise click.UsageError("--disagreement needs a --student to disagree")
    if count is None and seconds is None:
        count = DEFAULT_COUNT
    doubts = None if student is None else Doubts(student, disagreement or 1.0)
    run(out, _config(config_file, settings), count, seconds, doubts)


@click.command()
@click.argument("out", type=folder)
@click.option("--net", type=existing, required=True, help="The network that plays: a KataGo file or .onnx.")
@config_option
@set_option
@click.option("--games", type=click.IntRange(1), default=100, show_default=True, help="How many to play.")
@click.option("--threads", type=click.IntRange(1, 256), help="Games at the same time.  [default: one a core]")
@click.option("--precision", type=click.Choice(["auto", "int16", "int8", "fp32"]), default="auto", show_default=True)
@click.option("--seed", type=click.IntRange(0), help="Of all random choices.  [default: new each time]")
@click.option(
    "--teacher", type=existing, help="A network whose searches are learned from, in place of the player's own."
)
@click.option(
    "--disagreement", type=click.FloatRange(0, 1, min_open=True),
    help="Keep this share of the positions: what the player disagrees with the teacher about most.",
)  # fmt: skip
@click.option(
    "--leaves", type=click.FloatRange(0, 1, min_open=True),
    help="Have the teacher label, without searching, this share of all positions that the player's searches look at.",
)  # fmt: skip
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
) -> None:
    """Let a network play against itself, and write what its searches, or a teacher's, found out to sample files in
    OUT."""
    import os

    from nets.open import open_network
    from training.selfplay.play import Teacher
    from training.selfplay.play import selfplay as run

    if teacher is None and disagreement is not None:
        raise click.UsageError("--disagreement needs a --teacher to disagree with")
    if teacher is None and leaves is not None:
        raise click.UsageError("--leaves needs a --teacher to label them")
    evaluator = open_network(net, precision)
    labels = None if teacher is None else Teacher(open_network(teacher, precision), disagreement or 1.0, leaves)
    cores = threads or usable_cores()
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    run(out, evaluator, _config(config_file, settings).data, games, cores, seed, labels)


@click.command()
@click.argument("run", type=folder)
@config_option
@set_option
@click.option("--generations", type=click.IntRange(1), default=1, show_default=True)
@click.option("--budget", type=Duration(), default="25m", show_default=True, help="Training time of a generation.")
@click.option("--threads", type=click.IntRange(1, 256), help="Games at the same time.  [default: one a core]")
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
    from training.run.folder import CONFIG
    from training.run.learn import learn as go

    if config_file is None and (run / CONFIG).exists():
        config_file = run / CONFIG
    go(run, _config(config_file, settings), generations, budget, threads or usable_cores())


@click.command()
@click.argument("network", type=existing)
@click.argument("rows", type=click.Path(exists=True, path_type=Path))
@click.option("--precision", type=click.Choice(["auto", "int16", "int8", "fp32"]), default="auto", show_default=True)
def yardstick(network: Path, rows: Path, precision: str) -> None:
    """Measure NETWORK (a KataGo file or .onnx) on ROWS, a file of KataGo's training rows that nothing is trained on, or
    a folder of sample files."""
    from nets.open import open_network
    from training.run.yardstick import evaluate_function, load_yardstick, measure_rows, rows_of_samples

    evaluate = evaluate_function(open_network(network, precision=precision))
    if rows.is_dir():
        measures = tuple(measure_rows(rows_of_samples(rows, full), evaluate) for full in (True, False))
    else:
        measures = load_yardstick(rows).measure(evaluate)
    for name, measure in zip(("19x19", "small"), measures, strict=True):
        if measure.rows:
            click.echo(f"{name}  {measure.line()}")


@click.command()
@click.argument("run", type=folder)
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
def export(run: Path, out: Path) -> None:
    """Write the average of RUN's weights, as they are now, to OUT: .bin.gz, KataGo's format, or .onnx."""
    require_torch()
    from nets.conversion.to_onnx import prepared, to_onnx
    from training.files import write_whole
    from training.katago_file import encode_model, write_katago
    from training.run.product import product_of_run

    if not out.name.endswith((".bin.gz", ".onnx")):
        raise TrainingError(f"{out}: a network's file name ends in .bin.gz or .onnx")
    model, facts = product_of_run(run)
    if out.name.endswith(".onnx"):
        sha256 = hashlib.sha256(encode_model(model)).hexdigest()
        write_whole(out, to_onnx(prepared(model), sha256, facts=facts).SerializeToString())
    else:
        write_katago(model, out)


def _begun_from(source: str, folder: Path, config: TrainingConfig) -> Run:
    """A new run that begins with a network's weights, of that network's shape. Raises TrainingError."""
    import msgspec

    from nets.embedded import embedded_network
    from training.config import NetworkConfig
    from training.run.loop import open_run
    from training.run.product import learned_by
    from training.student.restore import read_network, shape_of

    path = embedded_network() if source == "embedded" else Path(source)
    if path is None:
        raise TrainingError("this installation lacks its network")
    model = read_network(path)
    shape = shape_of(model)
    if config.network not in (NetworkConfig(), shape):
        raise TrainingError(f"{path} has another shape than [network] says; leave that out, its own will be used")
    run = open_run(folder, msgspec.structs.replace(config, network=shape))
    run.begin_from(model, learned_by(model, path))
    return run


def _config(file: Path | None, settings: tuple[str, ...]) -> TrainingConfig:
    from training.config import TrainingConfig, override, read_config

    return override(read_config(file) if file is not None else TrainingConfig(), settings)
