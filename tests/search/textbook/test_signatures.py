"""What each player of the textbook visits, in one number: a refactoring must not change it."""

from __future__ import annotations

import hashlib

import pytest

from go_rules.game import Game
from go_rules.points import PASS
from go_rules.rule_names import preset
from search.alphazero.player import AlphaZeroPlayer
from search.mc.player import MonteCarloPlayer
from search.player import Player
from search.policy.player import PolicyPlayer
from search.random.player import RandomPlayer
from search.request import Limits, SearchRequest
from search.result import RESIGN
from search.uct.parameters import PURE_UCT, UctParameters
from search.uct.player import UctPlayer
from tests.search.evaluators import CountingEvaluator
from tests.search.searches import SMALL

SIGNATURES = {
    "random": "0c42ca074fae",
    "mc": "cb7fa7e04902",
    "uct": "a59a79d4fd55",
    "rave": "62f7f93d6973",
    "policy": "fe1d8921f83d",
    "value": "02d7ad2cf803",
    "alphago": "120fb40877e1",
    "puct": "539896c8861d",
    "gumbel": "d590516c3655",
}
"""Of `signature`. A change of behaviour changes one, on purpose."""


def player_of(name: str) -> Player:
    if name == "policy":
        return PolicyPlayer(CountingEvaluator(), SMALL)
    if name == "random":
        return RandomPlayer(None, workers=1, seed=1)
    if name == "mc":
        return MonteCarloPlayer(name, None, workers=1, seed=1)
    if name in ("uct", "rave"):
        return UctPlayer(name, PURE_UCT if name == "uct" else UctParameters(), workers=1, seed=1)
    return AlphaZeroPlayer(name, CountingEvaluator(), None, workers=1, seed=1)


def signature(player: Player) -> str:
    """The visits of a few searches and the moves chosen after them."""
    digest = hashlib.sha256()
    for size, rules in ((5, "chinese"), (7, "tromp-taylor"), (5, "japanese")):
        game = Game(size, size, preset(rules)[0], 6.5)
        player.clear()
        for _ in range(4):
            limits = Limits(visits=300, may_stop_early=False)
            result = player.search(SearchRequest(game, game.to_play, limits))
            for point, visits in sorted((move.point, move.visits) for move in result.moves):
                digest.update(f"{point} {visits};".encode())
            point = player.choose(game, result)
            digest.update(f"{point};".encode())
            game.play(game.to_play, PASS if point == RESIGN else point)
    return digest.hexdigest()[:12]


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_same_seed_gives_the_same_search(name: str) -> None:
    player = player_of(name)
    assert signature(player) == SIGNATURES[name]
    player.close()
