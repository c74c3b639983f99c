"""The players by name, and how one is made from a configuration.

Light: each player's module is imported when that player is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gtp_engine.config import Configuration
from gtp_engine.errors import UserError
from gtp_engine.parameters import ConfigError

if TYPE_CHECKING:
    from search.player import Player


@dataclass(frozen=True)
class PlayerEntry:
    """One search of the family."""

    summary: str
    needs_network: bool
    make: Callable[[Configuration], Player]


def _network(configuration: Configuration) -> Player:
    from search.network_player import NetworkPlayer

    from nets.open import open_network

    assert configuration.net is not None
    evaluator = open_network(configuration.net, configuration["precision"], configuration["device"])
    return NetworkPlayer(evaluator, configuration.search_parameters())


def _playout(configuration: Configuration) -> Player:
    from search.playout_player import PlayoutPlayer

    return PlayoutPlayer(configuration.search_parameters())


PLAYERS = {
    "network": PlayerEntry("PUCT guided by a network (--net FILE).", True, _network),
    "playout": PlayerEntry("UCT with RAVE over random games; needs no network.", False, _playout),
}


def chosen_player(configuration: Configuration) -> str:
    """The player's name: what --player says, else by whether there is a network. Raises ConfigError."""
    name = configuration["player"] or ("network" if configuration.net else "playout")
    if name not in PLAYERS:
        raise ConfigError(f"unknown player {name} (known: {', '.join(PLAYERS)})")
    if PLAYERS[name].needs_network and configuration.net is None:
        raise ConfigError(f"the player {name} needs a network: --net FILE")
    return str(name)


def check(configuration: Configuration) -> None:
    """Find what would keep the player from being made, as far as that is quick. Raises ConfigError, UserError."""
    chosen_player(configuration)
    configuration.search_parameters()
    if configuration.net is not None and not configuration.net.exists():
        raise UserError(f"{configuration.net}: No such file or directory")


def make_player(configuration: Configuration) -> Player:
    """Make the configured player. Raises EvaluatorError."""
    return PLAYERS[chosen_player(configuration)].make(configuration)
