"""What a log has to say of an engine, and the same engine made again from that: its parameters, its networks and how
they are computed, its random numbers.
"""

from __future__ import annotations

import hashlib
import platform
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.parameters import known_parameter
from gtp_engine.errors import UserError
from gtp_engine.networks import human_network, suited_to
from gtp_engine.players import make_player
from gtp_engine.session.log import PLAYER, DialogueLog
from nets.embedded import NO_NETWORK, embedded_network
from nobi_machine.files import read_regular
from nobi_machine.memory import usable_cores
from nobi_machine.parameters import declared
from nobi_machine.text import shown
from search.nobi.parameters import SearchParameters
from search.player import Player

NETWORKS = ("net", "human_net")
"""The parameters that name files, which others have elsewhere."""


def make_logged_player(configuration: Configuration, log: DialogueLog, seed: int | None = None) -> Player:
    """Make the configured player as `make_player` does, and log what its searches depend on. The same seed gives it the
    same random numbers; None draws one."""
    from go_rules.random import SEED_BITS, draw_seeds_from

    seed = random.getrandbits(SEED_BITS) if seed is None else seed
    draw_seeds_from(seed)
    player = make_player(configuration)
    if log.is_kept:
        log.fact(PLAYER, {"name": player.name, "seed": seed, **_description(configuration, player)})
    return player


def _description(configuration: Configuration, player: Player) -> dict[str, Any]:
    """What `engine_of` reads, in values that JSON has."""
    given = {name: configuration.values[name] for name in configuration.named - {"log", *NETWORKS}}
    evaluator, human = player.evaluator, human_network(player)
    base = SearchParameters() if evaluator is None else suited_to(evaluator)
    others = {name: configuration.values[name] for name in configuration.implied}
    others |= {each.name: getattr(player.parameters, each.field) for each in declared(type(player.parameters))
               if getattr(player.parameters, each.field) != each.default}  # fmt: skip
    others["workers"] = configuration.fill(base).workers or usable_cores()
    networks = {}
    paths, beside = (configuration.net, configuration.human_net), None if human is None else human.evaluator
    for name, path, network in zip(NETWORKS, paths, (evaluator, beside), strict=True):
        if network is not None and path is not None:
            how = {"precision": network.attributes.precision, "provider": network.attributes.provider}
            networks[name] = {"file": path.name, "sha256": _sha256(path), **how}
    if configuration.net is None:
        others["net"] = NO_NETWORK
    return {"given": given, "others": others, "networks": networks, "kernels": _kernels_here()}


def _kernels_here() -> str:
    """The kind of instructions that kernels are compiled for here: others may round otherwise."""
    from nobi_machine.jit import usable_features
    from nobi_machine.shipped import family_of

    family = family_of(usable_features() or {})
    return platform.machine() if family is None else family.name


def _sha256(path: Path) -> str:
    from nets.katago.reader import MAX_BYTES

    return hashlib.sha256(read_regular(path, MAX_BYTES)).hexdigest()


class Engine(NamedTuple):
    """An engine that a log describes."""

    configuration: Configuration
    seed: int
    inexact: str
    """Why the same searches may give other results here; empty if they cannot."""


def engine_of(described: Mapping[str, Any], folder: Path, files: Mapping[str, Path | None]) -> Engine:
    """Read the fact PLAYER of a log, and find the networks: in `files`, by parameter, else at hand or in `folder`.

    Raises UserError, and where the fact is damaged KeyError, TypeError, AttributeError or ValueError."""
    values: dict[str, Any] = {}
    for name, value in {**described["others"], **described["given"]}.items():
        parameter = known_parameter(name)
        if parameter is None:
            raise UserError(f"there is no parameter {shown(name)} here; was the log written by another version?")
        values[name] = parameter.convert(value)
    for name, network in described["networks"].items():
        file, hash_ = files.get(name), network["sha256"]
        places = [file] if file is not None else _places(network["file"], folder)
        found = next((path for path in places if path.is_file() and _sha256(path) == hash_), None)
        if found is None:
            option = f"--{name.replace('_', '-')} FILE"
            raise UserError(
                f"the network {shown(network['file'])} is not at hand: {option} (SHA-256 {shown(hash_[:16])})"
            )
        values[name] = str(found.absolute())
    inexact, kernels = "", described["kernels"]
    if values["workers"] != 1:
        inexact = f"{values['workers']} workers searched"
    elif kernels != _kernels_here():
        inexact = f"the kernels of the log are for {shown(kernels)}, those here for {_kernels_here()}"
    implied = frozenset(values) - frozenset(described["given"]) - frozenset(NETWORKS)
    return Engine(Configuration(values, implied=implied), int(described["seed"]), inexact)


def _places(name: str, folder: Path) -> Iterator[Path]:
    """Where a network may be whose file has this name."""
    from nets.at_hand import at_hand

    yield from (path for path in (embedded_network(), *(each.path for each in at_hand())) if path and path.name == name)
    yield folder / Path(name).name
