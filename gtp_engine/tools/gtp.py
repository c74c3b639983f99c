"""`nobi gtp`: play as a GTP engine."""

from __future__ import annotations

from pathlib import Path

import click

from gtp_engine.configuration.options import config_options, parameter_options
from gtp_engine.configuration.sources import load


@click.command()
@parameter_options("gtp")
@config_options
def gtp(config_file: Path | None, settings: tuple[str, ...], **options: object) -> int:
    """Play: a GTP engine on stdin and stdout.

    Start it from a Go program that speaks GTP. It plays with the network that comes with it, or with another of
    KataGo's (--net FILE). `--set name=value` reaches every parameter that `nobi config` lists.
    """
    configuration = load(config_file, settings, options)
    from gtp_engine.dialogue.loop import run_gtp
    from gtp_engine.players import check, compile_beside, make_player

    check(configuration)
    return run_gtp(configuration.engine, lambda: make_player(configuration), lambda: compile_beside(configuration))
