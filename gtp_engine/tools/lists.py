"""`nobi players`, `nobi config` and `nobi version`: what can be chosen, and what is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gtp_engine.configuration.configuration import tell
from gtp_engine.configuration.edit import changed, document, template
from gtp_engine.configuration.parameters import TABLES, config_options, parameters
from gtp_engine.configuration.sources import file_to_change, load, user_file
from gtp_engine.errors import UserError
from gtp_engine.version import GTP_VERSION, VERSION
from nobi_machine.files import create_whole
from nobi_machine.parameters import Parameter, declared_by, toml_value
from nobi_machine.streams import print_json
from nobi_machine.text import printable_path


@click.command()
def version() -> None:
    """Say which Nobi this is, and whose protocols it speaks.

    KataGo has this subcommand, and programs that were written for KataGo ask it before they use an engine.
    """
    click.echo(f"Nobi v{VERSION}, which speaks the protocols of KataGo v{GTP_VERSION}")


@click.command()
def players() -> None:
    """List the searches that --player can name."""
    from gtp_engine.players import PLAYERS

    width = max(map(len, PLAYERS))
    for name, kind in PLAYERS.items():
        click.echo(f"{name.ljust(width)}  {kind.description}")


@click.command()
@config_options
@click.option("--write", is_flag=True, help="Write a file to edit: every parameter, commented out but for --set.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", is_flag=True, help="Print the document docs/parameters.md.")
def config(config_file: Path | None, settings: tuple[str, ...], write: bool, as_json: bool, markdown: bool) -> None:
    """Show every parameter: value, bounds and what it is for.

    Values come from the configuration file and --set, so this also tells what the engine would use. A star marks those
    that differ from the default. --write creates the user's configuration file, or the one --config names.
    """
    path = config_file or user_file()
    if write:
        path = file_to_change(config_file)
        text = changed(template(), load(path, settings, {}, is_to_be_made=True).values)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            create_whole(path, text.encode("utf-8"))
        except FileExistsError:
            raise UserError(f"{printable_path(path)}: exists already; edit it, or remove it first") from None
        click.echo(f"wrote {printable_path(path)}", err=True)
        return
    if markdown:
        click.echo(document(), nl=False)
        return
    configuration = load(config_file, settings, {})
    tell(configuration)
    values = configuration.values
    # A path may have bytes that are no text.
    given = {name: printable_path(value) if isinstance(value, str) else value for name, value in values.items()}
    if as_json:
        print_json({p.name: given.get(p.name, p.default) for p in parameters()})
        return
    state = "" if path.is_file() else ", which does not exist (`nobi config --write` creates it)"
    click.echo(f"# Configuration file: {printable_path(path)}{state}")
    for table in TABLES:
        click.echo(f"\n[{table.section}]")
        for parameter in declared_by(table):
            click.echo(_line(parameter, given.get(parameter.name, parameter.default)))


def _line(parameter: Parameter, value: Any) -> str:
    mark = " " if value == parameter.default else "*"
    shown = f"({parameter.absent})" if value is None else toml_value(value)
    limits = parameter.limits()
    return f"{mark} {parameter.name:32} {shown:14} {parameter.help}" + (f" [{limits}]" if limits else "")
