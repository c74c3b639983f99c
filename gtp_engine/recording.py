"""What a log has to say of an engine, and the same engine made again from that: its parameters, its networks and how
they are computed, its random numbers.
"""

from __future__ import annotations

import hashlib
import platform
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.parameters import known_parameter
from gtp_engine.errors import UserError
from gtp_engine.networks import human_network, suited_to
from gtp_engine.players import make_player
from gtp_engine.session.log import PLAYER, DialogueLog
from nets.embedded import embedded_network
from nobi_machine.files import read_regular
from nobi_machine.memory import usable_cores
from nobi_machine.parameters import declared
from nobi_machine.text import printable_path, shown
from search.nobi.parameters import SearchParameters
from search.player import Player

NETWORKS = ("net", "human_net")
"""The parameters that name files, which others have elsewhere."""


def make_logged_player(configuration: Configuration, log: DialogueLog) -> Player:
    """Make the configured player as `make_player` does, with random numbers that can be had again, and log what its
    searches depend on."""
    seed = random.getrandbits(48)
    player = make_seeded_player(configuration, seed)
    if log.is_kept:
        log.fact(PLAYER, description(configuration, player, seed))
    return player


def make_seeded_player(configuration: Configuration, seed: int) -> Player:
    """Make the configured player as `make_player` does. The same seed gives it the same random numbers."""
    from go_rules.random import draw_seeds_from

    draw_seeds_from(seed)
    return make_player(configuration)


def description(configuration: Configuration, player: Player, seed: int) -> dict[str, Any]:
    """Describe an engine in values that JSON has: what `configuration_of` and `network_of` read."""
    given = {name: configuration.values[name] for name in configuration.named - {"log", *NETWORKS}}
    others = {name: configuration.values[name] for name in configuration.implied}
    for each in declared(type(player.parameters)):
        if each.name not in given and (value := getattr(player.parameters, each.field)) != each.default:
            others[each.name] = value
    evaluator, human = player.evaluator, human_network(player)
    evaluators = evaluator, None if human is None else human.evaluator
    base = SearchParameters() if evaluator is None else suited_to(evaluator)
    others["workers"] = configuration.fill(base).workers or usable_cores()
    networks = {}
    for name, path, network in zip(NETWORKS, (configuration.net, configuration.human_net), evaluators, strict=True):
        if network is not None and path is not None:
            attributes = network.attributes
            how = {"precision": attributes.precision, "provider": attributes.provider}
            networks[name] = {"file": path.name, "sha256": sha256_of(path), **how}
    if not networks:
        others.update({name: configuration.values[name] for name in NETWORKS if name in configuration.values})
    described = {"name": player.name, "seed": seed, "given": given, "others": others, "networks": networks}
    return {**described, "kernels": kernels_here()}


def kernels_here() -> str:
    """Name the kind of instructions that kernels are compiled for here: other kinds may round otherwise."""
    from nobi_machine.jit import usable_features
    from nobi_machine.shipped import family_of

    family = family_of(usable_features() or {})
    return platform.machine() if family is None else family.name


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a network's file in hexadecimal digits. Raises OSError."""
    from nets.katago.reader import MAX_BYTES

    return hashlib.sha256(read_regular(path, MAX_BYTES)).hexdigest()


@dataclass(frozen=True)
class Described:
    """An engine that a log describes."""

    configuration: Configuration
    seed: int
    inexact: str
    """Why the same searches may give other results here; empty if they cannot."""


def engine_of(described: Mapping[str, Any], folder: Path, files: Mapping[str, Path | None]) -> Described:
    """Read a `description`, and look for the networks: in `files`, by parameter, where they are given, else among those
    at hand and in `folder`. Raises UserError, and whatever a damaged description leads to: KeyError, TypeError,
    ValueError."""
    values: dict[str, Any] = {}
    for name, value in {**described["others"], **described["given"]}.items():
        parameter = known_parameter(name)
        if parameter is None:
            raise UserError(f"there is no parameter {shown(name)} here; was the log written by another version?")
        values[name] = parameter.convert(value)
    for name, network in described["networks"].items():
        values[name] = str(_find(network["file"], network["sha256"], folder, files.get(name), name))
    inexact, kernels = "", described["kernels"]
    if values["workers"] != 1:
        inexact = f"{values['workers']} workers searched"
    elif kernels != kernels_here():
        inexact = f"the kernels of the log are for {shown(kernels)}, those here for {kernels_here()}"
    implied = frozenset(values) - frozenset(described["given"]) - frozenset(NETWORKS)
    return Described(Configuration(values, implied=implied), int(described["seed"]), inexact)


def _find(name: str, sha256: str, folder: Path, file: Path | None, option: str) -> Path:
    """The file of a network. Raises UserError."""
    for path in (file,) if file is not None else _candidates(name, folder):
        if path.is_file() and sha256_of(path) == sha256:
            return path.absolute()
    flag = option.replace("_", "-")
    if file is not None:
        raise UserError(f"{printable_path(file)}: another network than that of the log, {shown(name)}")
    raise UserError(f"the network {shown(name)} of the log is not at hand (SHA-256 {shown(sha256)}): --{flag} FILE")


def _candidates(name: str, folder: Path) -> Iterator[Path]:
    from nets.at_hand import at_hand

    embedded = embedded_network()
    known = [embedded] if embedded is not None else []
    yield from (path for path in (*known, *(each.path for each in at_hand())) if path.name == name)
    yield folder / Path(name).name
