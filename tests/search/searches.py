"""Searches as tests ask for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import from_vertex
from search.nobi.game_tree import GameTree
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import Limits
from search.result import MoveInfo, SearchResult

SMALL = SearchParameters(workers=1, batch=1, memory=32, cache_memory=1, seed=7)

Maker = Callable[..., PuctPlayer]
"""The fixture `make`: a player with this evaluator and these changes of SMALL."""


def visits(count: int) -> Limits:
    return Limits(visits=count, may_stop_early=False)


def played(game: Game, moves: str) -> Game:
    """The game after these vertices, each played by whoever was to move."""
    for vertex in moves.split():
        game.play(game.to_play, from_vertex(vertex, game.width, game.height))
    return game


def tree_of(player: PuctPlayer) -> GameTree:
    """What the player has kept of its last search."""
    assert player.searcher.tree is not None
    return player.searcher.tree


def edges_of(tree: GameTree, node: np.void) -> np.ndarray:
    """A node's edges, as a view."""
    return tree.space.tree.edges[node["edges"] : node["edges"] + node["n_edges"]]


UNKNOWN = {"winrate": 0.5, "utility": 0.0, "score_mean": 0.0, "score_stdev": 1.0, "lead": 0.0}


def move_info(point: int, visits: int, **known: Any) -> MoveInfo:
    """A move of which little is known."""
    values = {**UNKNOWN, "prior": 0.1, "lcb": 0.4, "utility_lcb": -0.1, "weight": float(visits), "order": 0, **known}
    return MoveInfo(point=point, visits=visits, edge_visits=visits, pv=(point,), **values)


def search_result(colour: int, *moves: MoveInfo, visits: int = 100, **known: Any) -> SearchResult:
    """The result of a search that found little more than these moves."""
    return SearchResult(colour=colour, visits=visits, moves=moves, **{**UNKNOWN, "weight": float(visits), **known})


RECORD = """
import nobi_machine.jit as jit

asked = []
class Recording(jit.KernelCache):
    def __init__(self, function):
        super().__init__(function)
        self.kernel = f"{function.__module__}.{function.__qualname__}"
    def load_overload(self, sig, target_context):
        asked.append((self.kernel, str(sig)))
        return super().load_overload(sig, target_context)
jit.KernelCache = Recording
"""
"""The begin of a program, in which `asked` lists all kernels that are loaded or compiled, with their types."""


Numbers = NDArray[Any]


def numbers_of(result: SearchResult) -> Iterator[tuple[str, Numbers]]:
    """All that a search found, but how long it took: arrays and the names of their fields."""
    for item in (result, result.raw, *result.moves):
        for field in dataclasses.fields(item) if item is not None else ():
            value = getattr(item, field.name)
            if field.name not in ("seconds", "moves") and isinstance(value, (int, float, tuple, np.ndarray)):
                yield f"{type(item).__name__}.{field.name}", np.asarray(value)
