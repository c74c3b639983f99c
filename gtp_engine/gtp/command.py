"""`nobi gtp`: play as a GTP engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtp_engine.configuration.configuration import tell
from gtp_engine.configuration.parameters import config_options, parameter_options
from gtp_engine.configuration.sources import load
from nobi_machine.streams import lossy_stderr

if TYPE_CHECKING:
    from gtp_engine.configuration.configuration import Configuration
    from gtp_engine.configuration.katago import Adopted, Settings


@click.command()
@parameter_options("gtp")
@config_options
@click.option("-model", "model", metavar="FILE", help="The same as --net, as KataGo has it.")
@click.option("-human-model", "human_model", metavar="FILE", help="The same as --human-net.")
@click.option("-config", "katago_configs", type=click.Path(path_type=Path), multiple=True, metavar="FILE",
              help="A configuration file of KataGo's; what means nothing here is skipped. Of several the later win.",
              )  # fmt: skip
@click.option("-override-config", "overrides", multiple=True, metavar="NAME=VALUE,...",
              help="Settings that win over those of -config.")  # fmt: skip
@click.option("-override-version", "gtp_version", metavar="VERSION", help="What `version` answers.")
@lossy_stderr()
def gtp(
    config_file: Path | None,
    settings: tuple[str, ...],
    model: str | None,
    human_model: str | None,
    katago_configs: tuple[Path, ...],
    overrides: tuple[str, ...],
    gtp_version: str | None,
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
    options["gtp_version"] = gtp_version or None  # KataGo takes an empty one for none
    configuration = load(config_file, settings, options)
    if katago_configs or overrides:
        adopted = _of_katago(katago_configs, overrides, configuration)
        configuration = load(config_file, settings, options, adopted)
    from gtp_engine.gtp.loop import run_gtp
    from gtp_engine.players import check, compile_beside
    from gtp_engine.recording import make_logged_player

    configuration = check(configuration)
    tell(configuration)
    return run_gtp(
        configuration.engine,
        lambda log: make_logged_player(configuration, log),
        lambda: compile_beside(configuration),
        configuration.named,
        configuration.complaints,
    )


def _of_katago(files: tuple[Path, ...], overrides: tuple[str, ...], configuration: Configuration) -> Adopted:
    """The parameters that KataGo's settings give. What they cannot give is said. Raises ParameterError, UserError."""
    from gtp_engine.configuration.katago import adopt, of_a_game, read_settings, take_for_device

    meant, device = of_a_game(configuration.has_human_net), configuration.engine.device

    def take(given: Settings) -> Adopted:
        of_device = take_for_device(given, device)
        adopted = adopt(given, meant)
        adopted.values.update(of_device)
        return adopted

    adopted = take(read_settings(files, overrides, take))
    adopted.tell()
    return adopted
