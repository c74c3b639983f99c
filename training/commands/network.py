"""`nobi export`, `nobi average` and `nobi yardstick`: writing networks to files, and measuring one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click

from nobi_machine.text import printable_path
from training.commands.options import existing_network, folder, precision_option
from training.errors import TrainingError, require_torch


@click.command()
@click.argument("run", type=folder)
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
def export(run: Path, out: Path) -> None:
    """Write the average of RUN's weights, as they are now, to OUT: .bin.gz, KataGo's format, or .onnx."""
    require_torch()
    from nets.katago.writer import encode_model
    from training.files import write_whole
    from training.run.trained_network import read_trained_network

    if not out.name.endswith((".bin.gz", ".onnx")):
        raise TrainingError(f"{out}: a network's file name ends in .bin.gz or .onnx")
    model, facts = read_trained_network(run)
    if out.name.endswith(".onnx"):
        from nets.graph.convert import to_onnx
        from nets.graph.prepare import prepared

        sha256 = hashlib.sha256(encode_model(model)).hexdigest()
        write_whole(out, to_onnx(prepared(model), sha256, facts=facts).SerializeToString())
    else:
        write_whole(out, encode_model(model))


@click.command()
@click.argument("out", type=folder)
@click.argument("networks", nargs=-1, required=True, type=existing_network)
def average(out: Path, networks: tuple[Path, ...]) -> None:
    """Write the mean of the weights of NETWORKS, which have one shape, to OUT/student.bin.gz. It is often better than
    each, if they went on from the same weights."""
    require_torch()
    from training.files import make_folder
    from training.run.average import average_networks
    from training.run.folder import STUDENT
    from training.run.trained_network import write_trained_network

    if (out / STUDENT).exists():
        raise TrainingError(f"{out / STUDENT} exists already")
    trained = average_networks(networks)
    make_folder(out)
    write_trained_network(out, trained, None)


@click.command()
@click.argument("network", type=existing_network)
@click.argument("rows", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@precision_option
def yardstick(network: Path, rows: tuple[Path, ...], precision: str) -> None:
    """Measure NETWORK (a KataGo file, .onnx, or strong) on each of ROWS: a file of KataGo's training rows that
    nothing is trained on, a sample file, or a folder of such files."""
    from nets.open import open_network
    from training.run.measure import evaluate_function, measure_rows
    from training.run.yardstick import load_yardstick, rows_of_samples
    from training.samples.sample_files import SUFFIX

    evaluate = evaluate_function(open_network(network, precision=precision))
    for source in rows:
        if source.is_dir() or source.suffix == SUFFIX:
            measures = tuple(measure_rows(rows_of_samples(source, full), evaluate) for full in (True, False))
        else:
            measures = load_yardstick(source).measure(evaluate)
        if len(rows) > 1:
            click.echo(f"{printable_path(source)}:")
        for name, measure in zip(("19x19", "small"), measures, strict=True):
            if measure.rows:
                click.echo(f"{name}  {measure.line()}")
