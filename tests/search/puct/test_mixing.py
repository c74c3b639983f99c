"""Values that playouts have a share in."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from go_rules.rules import preset
from nets.constant import ConstantEvaluator
from search.request import SearchRequest
from search.result import SearchResult
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import Maker, visits

SIDE = 5
VISITS = 60


def won_by(owner: int, rules: str = "tromp-taylor") -> Game:
    """One side has walled off a corner, and the other has next to nothing."""
    game = Game(SIDE, SIDE, preset(rules)[0], komi=0.5)
    other = WHITE if owner == BLACK else BLACK
    for mine, theirs in (("B2", "E5"), ("B4", "pass"), ("D2", "pass"), ("D4", "pass"), ("C3", "pass")):
        game.play(owner, from_vertex(mine, SIDE, SIDE))
        game.play(other, from_vertex(theirs, SIDE, SIDE))
    return game


def searched(make: Maker, game: Game, **changes: object) -> SearchResult:
    player = make(changes.pop("evaluator", None) or ConstantEvaluator(), **changes)
    return player.search(SearchRequest(game, game.to_play, visits(VISITS)))


@pytest.mark.parametrize("owner", [BLACK, WHITE])
def test_playouts_see_who_is_ahead(make: Maker, owner: int) -> None:
    game = won_by(owner)
    blind = searched(make, game)
    assert blind.winrate == pytest.approx(0.5, abs=0.1)
    seen = searched(make, game, playout_share=1.0, playouts=4)
    ahead = seen.winrate if game.to_play == owner else 1.0 - seen.winrate
    lead = seen.lead if game.to_play == owner else -seen.lead
    assert ahead > 0.85
    assert lead > 8.0
    half = searched(make, game, playout_share=0.5, playouts=4)
    assert min(blind.winrate, seen.winrate) < half.winrate < max(blind.winrate, seen.winrate)


def test_under_territory_rules_the_network_decides_alone(make: Maker) -> None:
    game = won_by(BLACK, "japanese")
    plain, mixed = searched(make, game), searched(make, game, playout_share=0.5)
    assert (plain.winrate, plain.moves[0].visits) == (mixed.winrate, mixed.moves[0].visits)


def test_a_seed_decides_the_playouts_too(make: Maker) -> None:
    game = Game(SIDE, SIDE)
    first, second = (
        searched(make, game, evaluator=FancifulEvaluator(), playout_share=0.4, playouts=2) for _ in range(2)
    )
    assert [(move.point, move.visits, move.winrate) for move in first.moves] == [
        (move.point, move.visits, move.winrate) for move in second.moves
    ]
    plain = searched(make, game, evaluator=FancifulEvaluator())
    assert plain.winrate != first.winrate


def test_evaluations_are_remembered_with_their_share(make: Maker) -> None:
    """The cache outlives a tree: what was mixed must not turn up where nothing is to be, nor the other way round."""
    game = won_by(BLACK)
    player = make(ConstantEvaluator())
    values = []
    for share in (0.0, 1.0, 0.0):
        player.parameters = player.parameters.with_value("playout_share", share)
        values.append(player.search(SearchRequest(game, game.to_play, visits(VISITS))).winrate)
    assert values[0] == values[2] != values[1]
