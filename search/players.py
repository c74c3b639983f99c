"""Every player by name. Nothing heavy is imported until one is made."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search.player import Player


@dataclass(frozen=True)
class PlayerKind:
    """One way to search."""

    description: str
    """One line for `nobi players`."""
    factory: Callable[..., Player]
    """Makes one. Which keyword arguments it takes, the class it returns documents."""
    needs_network: bool = False


def _lazily(module: str, attribute: str, **fixed: Any) -> Callable[..., Player]:
    """A factory that imports `module` when it is called."""

    def make(**options: Any) -> Player:
        player: Player = getattr(importlib.import_module(module), attribute)(**fixed, **options)
        return player

    return make


PLAYERS: dict[str, PlayerKind] = {
    "rave": PlayerKind(
        "UCT with RAVE and tactical playouts; needs no network", _lazily("search.uct_player", "rave_player")
    ),
    "uct": PlayerKind("plain UCT with the same playouts; needs no network", _lazily("search.uct_player", "uct_player")),
}
"""Players by the name `--player` takes."""
