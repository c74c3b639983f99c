"""`nobi gtp`: play as a GTP engine."""

from __future__ import annotations

from pathlib import Path

import click

from gtp_engine.configuration.options import config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.stderr import note


@click.command()
@parameter_options("gtp")
@config_options
@click.option("-model", "model", metavar="FILE", help="The same as --net, as KataGo has it.")
@click.option("-human-model", "human_model", metavar="FILE", help="The same as --human-net.")
@click.option("-config", "katago_config", type=click.Path(path_type=Path), metavar="FILE",
              help="A configuration file of KataGo's; what means nothing here is skipped.")  # fmt: skip
@click.option("-override-config", "overrides", multiple=True, metavar="NAME=VALUE,...",
              help="Settings that win over those of -config.")  # fmt: skip
def gtp(
    config_file: Path | None,
    settings: tuple[str, ...],
    model: str | None,
    human_model: str | None,
    katago_config: Path | None,
    overrides: tuple[str, ...],
    **options: object,
) -> int:
    """Play: a GTP engine on stdin and stdout.

    Start it from a Go program that speaks GTP. It plays with the network that comes with it, or with another of
    KataGo's (--net FILE). `--set name=value` reaches every parameter that `nobi config` lists. KataGo's own options are
    taken, too.
    """
    for name, file in (("net", model), ("human_net", human_model)):
        if file is not None and options[name] is None:
            options[name] = file
    values: dict[str, object] = {}
    if katago_config is not None or overrides:
        has_human_net = load(config_file, settings, options).human_net is not None
        values = _of_katago(katago_config, overrides, has_human_net)
    configuration = load(config_file, settings, options, values)
    from gtp_engine.dialogue.loop import run_gtp
    from gtp_engine.players import check, compile_beside, make_player

    check(configuration)
    return run_gtp(configuration.engine, lambda: make_player(configuration), lambda: compile_beside(configuration))


def _of_katago(file: Path | None, overrides: tuple[str, ...], has_human_net: bool) -> dict[str, object]:
    """The parameters that KataGo's settings give. What they cannot give is said. Raises ParameterError, UserError."""
    from gtp_engine.configuration.katago_config import read_config, read_overrides
    from gtp_engine.configuration.katago_settings import adopt

    adopted = adopt((read_config(file) if file is not None else {}) | read_overrides(overrides), has_human_net)
    if adopted.unused:
        note(f"settings that mean nothing here: {', '.join(sorted(adopted.unused))}")
    for reason in adopted.reasons:
        note(reason)
    return adopted.values
