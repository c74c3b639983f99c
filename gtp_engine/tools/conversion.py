"""`nobi convert`: a KataGo network written as an ONNX file."""

from __future__ import annotations

from pathlib import Path

import click

from gtp_engine.errors import UserError
from nobi_machine.files import PUBLIC, write_whole


@click.command()
@click.argument("source", metavar="IN", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite OUT.")
def convert(source: Path, target: Path, force: bool) -> None:
    """Convert a KataGo network (.bin.gz, .txt.gz) to ONNX.

    Not needed for playing: `nobi gtp --net` takes KataGo's files and keeps the conversion.
    """
    if target.suffix != ".onnx":
        raise UserError(f"{target}: the converted network's name must end in .onnx")
    if target.exists() and not force:
        raise UserError(f"{target}: exists; --force overwrites it")
    from nets.open import load_onnx

    model = load_onnx(source)
    write_whole(target, model, PUBLIC)
    click.echo(f"{target}: {len(model) / 1e6:.1f} MB", err=True)
