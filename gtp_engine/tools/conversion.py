"""`nobi convert` and `nobi quantize`: a KataGo network written as an ONNX file."""

from __future__ import annotations

from pathlib import Path

import click

from go_rules.machine.files import PUBLIC, write_whole
from gtp_engine.errors import UserError
from gtp_engine.stderr import note


@click.command()
@click.argument("source", metavar="IN", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite OUT.")
def convert(source: Path, target: Path, force: bool) -> None:
    """Convert a KataGo network (.bin.gz, .txt.gz) to ONNX.

    Not needed for playing: `nobi gtp --net` takes KataGo's files and keeps the conversion.
    """
    _check_target(target, force)
    from nets.open import load_onnx

    _write(target, load_onnx(source))


@click.command()
@click.argument("source", metavar="IN", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite OUT.")
def quantize(source: Path, target: Path, force: bool) -> None:
    """Write the 8-bit version of a KataGo network (.bin.gz, .txt.gz) as ONNX, and say what it loses.

    Not needed for playing: `nobi gtp --net` does this by itself, once, and keeps the result.
    """
    _check_target(target, force)
    from nets.network_file import NetworkFile
    from nets.precision.int8 import NotQuantizable, summary

    file = NetworkFile(source)
    if not file.is_katago:
        raise UserError(f"{source}: only KataGo's files can be quantized")
    try:
        model = file.int8(note)
    except NotQuantizable as reason:
        raise UserError(f"{source}: {reason}") from None
    _write(target, model)
    note(summary(model))


def _check_target(target: Path, force: bool) -> None:
    if target.suffix != ".onnx":
        raise UserError(f"{target}: the converted network's name must end in .onnx")
    if target.exists() and not force:
        raise UserError(f"{target}: exists; --force overwrites it")


def _write(target: Path, model: bytes) -> None:
    write_whole(target, model, PUBLIC)
    click.echo(f"{target}: {len(model) / 1e6:.1f} MB", err=True)
