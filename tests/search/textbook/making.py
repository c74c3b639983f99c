"""Players of the textbook for tests."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from go_rules.game import Game
from nets.evaluator import Evaluator
from search.player import Player
from search.request import Limits, SearchRequest
from search.result import SearchResult
from search.textbook.parameters import AlphaZeroParameters
from search.textbook.players import TEXTBOOK, RandomPlayer, TextbookPlayer
from search.textbook.tree import ROOT, children_of, place_of_children
from tests.search.evaluators import FancifulEvaluator


def player_of(
    name: str, evaluator: Evaluator | None = None, workers: int = 1, seed: int = 1, **changes: Any
) -> TextbookPlayer:
    """The player of this name with changed parameters. Where it needs a network, one of random opinions by default."""
    parameters = dataclasses.replace(TEXTBOOK[name].parameters, **changes)
    if name == "random":
        return RandomPlayer(parameters, workers, seed)
    needed = isinstance(parameters, AlphaZeroParameters)
    return TextbookPlayer(name, (evaluator or FancifulEvaluator()) if needed else None, parameters, workers, seed)


def search(player: Player, game: Game, visits: int, **more: Any) -> SearchResult:
    """Search for whoever is to move, with so many visits."""
    return player.search(SearchRequest(game, game.to_play, Limits(visits, may_stop_early=False), **more))


def index_of(nodes: np.ndarray, game: Game) -> int:
    """The node of a position that is in a tree, found by the moves that lead there."""
    index = ROOT
    for move in game.moves:
        found = np.flatnonzero(children_of(nodes, index)["move"] == move.point)
        index = place_of_children(nodes, index).start + int(found[0])
    return index
