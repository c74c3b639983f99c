"""`nobi doctor`: checks that this installation can play, and says what it found."""

from __future__ import annotations

import contextlib
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from go_rules.machine.cores import usable_cores
from gtp_engine.configuration.configuration import NO_NETWORK, Configuration
from gtp_engine.configuration.options import config_options, parameter_options
from gtp_engine.configuration.sources import load, user_file
from gtp_engine.errors import UserError, explain
from gtp_engine.version import VERSION
from nets.devices import CPU, DEVICES, RUNTIMES, MissingDevice, candidates
from nets.embedded import NETWORK, WEIGHTS

PACKAGES = ("numpy", "numba", "onnxruntime", "onnx", "sgfmill", "click", "rich", "msgspec")
TRIAL_SIZE = 9
TRIAL_VISITS = 32

Check = Callable[[Configuration], str]


@click.command()
@parameter_options("doctor")
@config_options
def doctor(config_file: Path | None, settings: tuple[str, ...], **options: object) -> int:
    """Check that this installation can play.

    Every line is a check; the exit code is 1 if one failed.
    """
    try:
        configuration = load(config_file, settings, options)
        configuration_state = f"configuration: {config_file or user_file()}"
        configuration_state += "" if (config_file or user_file()).is_file() else " (none)"
        failures = 0
    except ValueError as error:
        configuration, configuration_state, failures = Configuration(), f"configuration: {error}", 1
    click.echo(f"{'FAILED' if failures else 'ok':7} {configuration_state}")
    for check in CHECKS:
        try:
            click.echo(f"{'ok':7} {check(configuration)}")
        except Exception as error:
            failures += 1
            click.echo(f"{'FAILED':7} {check.__name__.strip('_')}: {explain(error)}")
    click.echo("Nobi can play here." if not failures else f"{failures} of the checks failed.")
    return 1 if failures else 0


def package_versions() -> dict[str, str]:
    """The installed versions of the packages that the engine uses."""
    return {name: _version(name) for name in PACKAGES}


def _version(name: str) -> str:
    """The version of a package, or of another one that brings the same module."""
    from importlib.metadata import PackageNotFoundError, version

    for package in RUNTIMES if name == "onnxruntime" else (name,):
        with contextlib.suppress(PackageNotFoundError):
            return version(package) + ("" if package == name else f" ({package})")
    return "missing"


def _system(_: Configuration) -> str:
    return f"nobi {VERSION}, Python {platform.python_version()}, {platform.platform()}, {usable_cores()} cores"


def _packages(_: Configuration) -> str:
    versions = package_versions()
    missing = [name for name, version in versions.items() if version == "missing"]
    if missing:
        raise ModuleNotFoundError(name=missing[0])
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _cache(_: Configuration) -> str:
    from go_rules.machine.cache import problem, usable_folder
    from go_rules.machine.directories import cache_root

    root = cache_root()
    folder = usable_folder(root, create=True)
    if folder is None:
        raise UserError(f"Nobi plays without its cache, and starts slowly: {problem()}")
    with tempfile.NamedTemporaryFile(dir=folder):
        return f"cache is writable, and only by this user: {root}"


def _kernels(_: Configuration) -> str:
    started = time.perf_counter()
    from go_rules.machine import jit
    from gtp_engine.dialogue.loading import warm_up_rules

    warm_up_rules()
    return f"kernels of the rules: {jit.compilations} compiled, ready after {time.perf_counter() - started:.1f} s"


def _device(configuration: Configuration) -> str:
    from nets.onnx.evaluator import offered_providers

    offered = offered_providers()
    try:
        wanted = candidates(configuration.engine.device, offered)
    except MissingDevice as error:
        raise UserError(str(error)) from None
    there = ", ".join(device.name for device in DEVICES if device is CPU or device.provider in offered)
    return f"devices: {there}; to be tried for {configuration.engine.device}: {', '.join(each.name for each in wanted)}"


def _network(configuration: Configuration) -> str:
    from gtp_engine.players import PLAYERS, chosen_player, open_evaluator

    if configuration.engine.net == NO_NETWORK or not PLAYERS[chosen_player(configuration)].needs_network:
        return "network: none wanted"
    if configuration.net is None:
        raise UserError(f"this installation lacks its network: {WEIGHTS / NETWORK}")
    evaluator = open_evaluator(configuration)
    which = configuration.net if configuration.has_own_net else "the embedded one"
    network = evaluator.attributes
    return f"network: {network.name} ({which}), {network.precision}, {network.provider}"


def _move(configuration: Configuration) -> str:
    from go_rules.game import Game
    from go_rules.points import BLACK, to_vertex
    from gtp_engine.players import make_player
    from search.request import Limits, SearchRequest

    player = make_player(configuration)
    started = time.perf_counter()
    player.warm_up(TRIAL_SIZE, TRIAL_SIZE)
    ready = time.perf_counter() - started
    game = Game(TRIAL_SIZE, TRIAL_SIZE)
    result = player.search(SearchRequest(game, BLACK, Limits(visits=TRIAL_VISITS)))
    point = player.choose(game, result)
    player.close()
    vertex = to_vertex(point, TRIAL_SIZE)
    return f"a move: {player.name} plays {vertex} after {result.visits} visits, ready after {ready:.1f} s"


CHECKS: tuple[Check, ...] = (_system, _packages, _cache, _kernels, _device, _network, _move)
"""The checks in their order."""
