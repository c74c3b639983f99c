"""`nobi doctor`: checks that this installation can play, says what it found, and what to do about it."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.parameters import config_options, parameter_options
from gtp_engine.configuration.sources import load, user_file
from gtp_engine.errors import UserError, explain
from gtp_engine.installation import REMEDY, damage
from gtp_engine.players import check_files
from gtp_engine.version import VERSION
from nets.at_hand import FETCHED, at_hand
from nets.devices import (
    CPU,
    RUNTIMES,
    MissingDevice,
    accelerator,
    device_for,
    devices_among,
    installed_version,
    named_device,
    offered_providers,
)
from nets.embedded import NO_NETWORK
from nobi_machine.launch import python_command
from nobi_machine.memory import memory_for_search, usable_cores
from nobi_machine.terminal import amount
from nobi_machine.text import printable_path

if TYPE_CHECKING:
    from search.player import Player
    from search.result import SearchResult

PACKAGES = ("numpy", "numba", "onnxruntime", "onnx", "sgfmill", "click", "rich", "msgspec", "tomlkit", "platformdirs")
TRIAL_SIZE = 9
TRIAL_VISITS = 32
SPEED_SIZE = 19
SPEED_SECONDS = 1.0
SLOW = 15.0
"""Visits a second below which a GUI's analysis is no pleasure."""
NAME_SECONDS = 60.0
"""How long an engine may take to say its name before it counts as dead."""
NAME_IS_SLOW = 3.0
"""Seconds to the answer to `name` after which some GUIs tell their user that the engine does not respond."""
WAITS = 50
WAIT_SECONDS = 0.02
LATE = 0.1
"""Seconds by which a wait may end late on a machine that is not too busy for games with a clock."""
FREE_BYTES = 1 << 30
"""What the cache may need, with a large network converted, and what large networks need in the data folder."""


@click.command()
@parameter_options("doctor")
@config_options
def doctor(config_file: Path | None, settings: tuple[str, ...], **options: object) -> int:
    """Check that this installation can play.

    Every line is a check. Below one that failed, and below a note, stands what to do. The exit code is 1 if a check
    failed.
    """
    file = config_file or user_file()
    failures = 0
    try:
        configuration = check_files(load(config_file, settings, options))
        if not configuration.complaints:
            _say("ok", f"configuration: {file}{'' if file.is_file() else ' (none)'}")
        for complaint in configuration.complaints:
            _say("note", f"configuration: {complaint}", "mend it in the file; what Nobi starts with is the default")
    except ValueError as error:
        configuration, failures = Configuration(), 1
        _say("FAILED", f"configuration: {error}", "mend what it names")
    installation = Installation(configuration)
    for check in CHECKS:
        try:
            _say("ok", check.examine(installation))
        except Remark as remark:
            _say("note", *remark.args)
        except Exception as error:
            failures += 1
            _say("FAILED", f"{check.name}: {explain(error)}", check.remedy)
            if check.ends:
                break
    installation.close()
    click.echo("Nobi can play here." if not failures else f"{failures} of the checks failed.")
    return 1 if failures else 0


def _say(kind: str, text: str, remedy: str = "") -> None:
    """Print what a check found, and below it what to do."""
    click.echo(f"{kind:7} {text}")
    if remedy:
        click.echo(f"{'':7} -> {remedy}")


class Remark(Exception):
    """What a check found where Nobi can play all the same: one line, and what to do about it."""


class Installation:
    """What the checks look at. The player is made once, by the first check that asks for it."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration

    @functools.cached_property
    def player(self) -> Player:
        """The player that the configuration chooses. Raises what making it raises."""
        from gtp_engine.players import make_player

        return make_player(self.configuration)

    def search(self, size: int, visits: int | None = None, seconds: float | None = None) -> SearchResult:
        """Search the empty board."""
        from go_rules.game import Game
        from go_rules.points import BLACK
        from search.request import Limits, SearchRequest

        limits = Limits(visits=visits, seconds=seconds, may_stop_early=False)
        return self.player.search(SearchRequest(Game(size, size), BLACK, limits))

    def close(self) -> None:
        """End the player, if there is one."""
        if "player" in vars(self):
            self.player.close()


@dataclass(frozen=True)
class Check:
    """One thing that can be right or wrong with an installation."""

    name: str
    examine: Callable[[Installation], str]
    """Returns one line about what is right. Raises Remark where Nobi plays all the same, anything else where not."""
    remedy: str
    """What to do where it fails."""
    ends: bool = False
    """Whether those after it make no sense where it fails."""


def package_versions() -> dict[str, str]:
    """Look up the versions of the packages that the engine uses: by name, `missing` for one that is not installed."""
    return {name: _version(name) for name in PACKAGES}


def _version(name: str) -> str:
    """The version of a package, or of others that bring the same module."""
    packages = RUNTIMES if name == CPU.package else (name,)
    found = {package: installed_version(package) for package in packages}
    texts = (version + ("" if package == name else f" ({package})") for package, version in found.items() if version)
    return " and ".join(texts) or "missing"


def _system(_: Installation) -> str:
    where = f"Python {platform.python_version()}, {platform.platform()}, {amount(usable_cores(), 'core')}"
    return f"nobi {VERSION}, {where}, {memory_for_search() >> 20:,} MiB for searches"


def _packages(_: Installation) -> str:
    versions = package_versions()
    missing = [name for name, version in versions.items() if version == "missing"]
    if missing:
        raise ModuleNotFoundError(name=missing[0])
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _files(_: Installation) -> str:
    if found := damage():
        raise UserError(found)
    return "files: no other package has written over Nobi's"


def _cache(_: Installation) -> str:
    from nobi_machine.cache import cache_root, problem, usable_folder

    root = cache_root()
    folder = usable_folder(root, create=True)
    if folder is None:
        raise UserError(f"Nobi plays without its cache, and starts slowly: {problem()}")
    with tempfile.NamedTemporaryFile(dir=folder):
        pass
    _want_room("cache", root, folder)
    return f"cache is writable, and only by this user: {root}"


def _want_room(name: str, root: Path, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < FREE_BYTES:
        raise Remark(f"{name}: {root}; {free >> 20:,} MiB are left on its disk", "make room there for networks")


def _data(_: Installation) -> str:
    from nobi_machine.cache import NOWHERE, data_root

    root = data_root()
    if root == NOWHERE:
        raise UserError("no home is known, so neither games nor networks are kept")
    folder = next(each for each in (root, *root.parents) if os.path.exists(each))  # it is made when it is needed
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"{root}: {error.strerror}; neither games nor networks are kept") from None
    _want_room("data", root, folder)
    for each in at_hand():
        if each.place == FETCHED:
            published = each.published
            wrong = each.damage or ("" if published is None or published.is_in(each.path) else "damaged")
            if wrong:
                remedy = "remove it" if published is None else f"nobi networks get {published.name}"
                raise Remark(f"data: {printable_path(each.path)}: {wrong}", remedy)
    return f"data folder is writable, and its networks are whole: {root}"


def _clock(_: Installation) -> str:
    """Wait many times for a moment: what comes late here comes late in games."""
    worst = 0.0
    for _wait in range(WAITS):
        before = time.monotonic()
        time.sleep(WAIT_SECONDS)
        worst = max(worst, time.monotonic() - before - WAIT_SECONDS)
    found = f"clock: short waits end at most {worst * 1000:.1f} ms late"
    if worst > LATE:
        raise Remark(found, "other programs keep this computer busy; in games with a clock give Nobi --set lag=1")
    return found


def _command(_: Installation) -> str:
    started = time.monotonic()
    command = python_command("gtp_engine.cli", "gtp", "--net", NO_NETWORK)
    done = subprocess.run(
        command, input="name\nquit\n", capture_output=True, text=True, errors="replace", timeout=NAME_SECONDS
    )
    seconds = time.monotonic() - started
    if not done.stdout.startswith("= "):
        raise UserError((done.stderr.strip().splitlines() or ["it does not answer"])[-1])
    script = shutil.which("nobi", path=sysconfig.get_path("scripts")) or "nobi"
    found = f"command: {script} gtp; it starts, says its name and ends in {seconds:.1f} s"
    if seconds > NAME_IS_SLOW:
        raise Remark(found, "that is slow for a GUI; is the disk slow, or the computer busy?")
    return found


def _kernels(_: Installation) -> str:
    started = time.perf_counter()
    from gtp_engine.session.loading import warm_up_rules
    from nobi_machine import jit
    from nobi_machine.shipped import SHIPPED, SUFFIX

    warm_up_rules()
    seconds = time.perf_counter() - started
    found = f"kernels of the rules: {jit.compilations} compiled, ready after {seconds:.1f} s"
    if jit.shipped_kernels is not None:
        return f"{found}; the installation has compiled ones for {jit.shipped_kernels.name}"
    others = sorted(path.name.removesuffix(SUFFIX) for path in SHIPPED.iterdir()) if SHIPPED.is_dir() else []
    if others:
        text = f"{found}; the installation has some that do not serve here: for {others[0]}"
        raise Remark(text, "a wheel that `make wheel` makes on this computer has those that do")
    return found


def _device(installation: Installation) -> str:
    device = installation.configuration.engine.device
    offered = offered_providers()
    device_for(device, lambda: offered)
    found = f"devices: {', '.join(devices_among(offered))}; {device} is chosen"
    try:
        accelerator()
    except MissingDevice as error:
        text, _, remedy = str(error).rpartition(": ")
        raise Remark(f"{found}; {text}", remedy) from None
    return found


def _network(installation: Installation) -> str:
    from gtp_engine.device_choice import known_comparison
    from gtp_engine.networks import advice, human_network
    from gtp_engine.players import PLAYERS, chosen_player

    configuration = installation.configuration
    if configuration.engine.net == NO_NETWORK or not PLAYERS[chosen_player(configuration)].needs_network:
        return "network: none wanted"
    evaluator = installation.player.evaluator
    assert evaluator is not None
    which = configuration.net if configuration.has_own_net else f"embedded, {configuration.net}"
    network, human = evaluator.attributes, human_network(installation.player)
    beside = f"; beside it {human.evaluator.attributes.name} ({configuration.human_net})" if human is not None else ""
    found = f"network: {network.name} ({which}), {network.precision}, {network.provider}{beside}"
    wanted = named_device(configuration.engine.device)
    if wanted is not CPU and wanted.provider != network.provider:
        raise UserError(f"device {wanted.name} does not play here, as was just said; the processor does")
    if compared := known_comparison(configuration):
        found += f"; {compared}"
    if hint := advice(configuration):
        raise Remark(found, hint)
    return found


def _move(installation: Installation) -> str:
    from go_rules.game import Game
    from go_rules.points import to_vertex

    player = installation.player
    started = time.perf_counter()
    player.warm_up(TRIAL_SIZE, TRIAL_SIZE)
    ready = time.perf_counter() - started
    result = installation.search(TRIAL_SIZE, visits=TRIAL_VISITS)
    vertex = to_vertex(player.choose(Game(TRIAL_SIZE, TRIAL_SIZE), result), TRIAL_SIZE)
    return f"a move: {player.name} plays {vertex} after {result.visits} visits, ready after {ready:.1f} s"


def _speed(installation: Installation) -> str:
    from search.result import StopReason

    installation.player.clear()
    installation.player.warm_up(SPEED_SIZE, SPEED_SIZE)
    started = time.perf_counter()
    result = installation.search(SPEED_SIZE, seconds=SPEED_SECONDS)
    rate = result.visits / (time.perf_counter() - started)
    if result.visits <= 1 and result.reason is not StopReason.TIME:
        return "speed: this player does not search"
    found = f"speed: {rate:,.0f} visits a second on {SPEED_SIZE}x{SPEED_SIZE}"
    if rate < SLOW:
        raise Remark(found, "analysis will be slow; `nobi tune` finds better settings")
    return found


CHECKS = (
    Check("system", _system, ""),
    Check("packages", _packages, "install Nobi again, into the same environment", ends=True),
    Check("files", _files, REMEDY),
    Check("cache", _cache, "let NOBI_CACHE_DIR name a folder that only you may write to"),
    Check("data", _data, "let NOBI_DATA_DIR name a folder that you may write to"),
    Check("clock", _clock, ""),
    Check("command", _command, "look at what `nobi gtp` says in a terminal; NOBI_DEBUG=1 shows more"),
    Check("kernels", _kernels, "delete the folder kernels in the cache, then install Nobi again", ends=True),
    Check(
        "device",
        _device,
        "leave out --device, or install the package of onnxruntime that has it (README, GPUs)",
        ends=True,
    ),
    Check(
        "network",
        _network,
        "let --net and --human-net name whole networks (`nobi networks` lists those at hand), or leave them out; "
        "a device needs its drivers (README, GPUs)",
        ends=True,
    ),
    Check("move", _move, "this is a bug; NOBI_DEBUG=1 shows where it is", ends=True),
    Check("speed", _speed, "this is a bug; NOBI_DEBUG=1 shows where it is"),
)
"""The checks in their order."""
