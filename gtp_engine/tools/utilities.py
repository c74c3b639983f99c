"""The small subcommands: `nobi convert`, `nobi quantize`, `nobi players`, `nobi config`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gtp_engine.configuration.options import config_options
from gtp_engine.configuration.parameters import TABLES, parameters
from gtp_engine.configuration.sources import load, user_file
from gtp_engine.configuration.texts import document, template
from gtp_engine.errors import UserError
from gtp_engine.stderr import note
from search.parameters import Parameter, declared
from search.toml import toml_value


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
    partial = target.with_name(target.name + ".part")
    try:
        partial.write_bytes(model)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    click.echo(f"{target}: {len(model) / 1e6:.1f} MB", err=True)


@click.command()
def players() -> None:
    """List the searches that --player can name."""
    from gtp_engine.players import PLAYERS

    width = max(map(len, PLAYERS))
    for name, kind in PLAYERS.items():
        click.echo(f"{name.ljust(width)}  {kind.description}")


@click.command()
@config_options
@click.option("--write", is_flag=True, help="Write a file with every parameter commented out, to be edited.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", is_flag=True, help="Print the document docs/parameters.md.")
def config(config_file: Path | None, settings: tuple[str, ...], write: bool, as_json: bool, markdown: bool) -> None:
    """Show every parameter: value, bounds and what it is for.

    Values come from the configuration file and --set, so this also tells what the engine would use. A star marks those
    that differ from the default. --write creates the user's configuration file, or the one --config names.
    """
    path = config_file or user_file()
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(template())
        except FileExistsError:
            raise UserError(f"{path}: exists already; edit it, or remove it first") from None
        click.echo(f"wrote {path}", err=True)
        return
    if markdown:
        click.echo(document(), nl=False)
        return
    values = load(config_file, settings, {})
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({p.name: values[p.name] for p in parameters()}).decode())
        return
    state = "" if path.is_file() else ", which does not exist (`nobi config --write` creates it)"
    click.echo(f"# Configuration file: {path}{state}")
    for table in TABLES:
        click.echo(f"\n[{table.section}]")
        for parameter in declared(table):
            click.echo(_line(parameter, values[parameter.name]))


def _line(parameter: Parameter, value: Any) -> str:
    mark = " " if value == parameter.default else "*"
    shown = f"({parameter.absent})" if value is None else toml_value(value)
    limits = parameter.limits()
    return f"{mark} {parameter.name:32} {shown:14} {parameter.help}" + (f" [{limits}]" if limits else "")
