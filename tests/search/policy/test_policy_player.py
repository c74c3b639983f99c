"""The player without a search: it plays what the policy says, as often as the policy says it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex
from nets.evaluator import ConstantEvaluator, Evaluation, EvaluationRequest, EvaluatorAttributes
from nets.human_profile import parse_profile
from search.nobi.parameters import SearchParameters
from search.nobi.player import PolicyPlayer
from search.request import Limits, SearchRequest

SIDE = 5
SAMPLED = SearchParameters(temperature_early=1.0, temperature=1.0, workers=1, seed=1, random_symmetry=False)


class Preferences(ConstantEvaluator):
    """Plays two moves with chances 3:1, passes with the given logit, and anything else hardly ever."""

    def __init__(self, pass_logit: float) -> None:
        self.pass_logit = pass_logit
        self.evaluated = 0

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        self.evaluated += len(request.spatial)
        answer = super().evaluate(request)
        answer.policy[:] = -20.0
        answer.policy[:, 0], answer.policy[:, SIDE * SIDE - 1] = np.log(3.0), 0.0
        answer.policy[:, -1] = self.pass_logit
        return answer


def chosen(evaluator: Preferences, draws: int) -> Counter[int]:
    player = PolicyPlayer(evaluator, SAMPLED)
    game = Game(SIDE, SIDE)
    result = player.search(SearchRequest(game, BLACK, Limits(seconds=60.0)))
    assert result.visits == 1
    counts = Counter(player.choose(game, result) for _ in range(draws))
    player.close()
    return counts


def test_moves_are_drawn_from_the_policy() -> None:
    counts = chosen(Preferences(-1.0), 1000)
    often, seldom = from_vertex("A5", SIDE, SIDE), from_vertex("E1", SIDE, SIDE)
    assert set(counts) == {often, seldom}, "and a pass that is not the likeliest move is none of them"
    assert abs(counts[often] / 1000 - 0.75) < 0.05


def test_a_pass_is_played_where_it_is_likeliest() -> None:
    assert set(chosen(Preferences(1.2), 200)) == {PASS}


def test_one_evaluation_a_move_but_a_search_for_analysis() -> None:
    evaluator = Preferences(-1.0)
    player = PolicyPlayer(evaluator, SAMPLED)
    game = Game(SIDE, SIDE)
    player.search(SearchRequest(game, BLACK, Limits(visits=100)))
    assert evaluator.evaluated == 1
    assert player.search(SearchRequest(game, BLACK, Limits(visits=100), analysis=True)).visits == 100
    counts = Counter(
        player.choose(game, player.search(SearchRequest(game, BLACK, Limits(visits=1)))) for _ in range(200)
    )
    assert len(counts) == 2, "what the analysis found changes nothing"
    player.close()


class ColourBlind(Preferences):
    """Notes for which colour it is asked."""

    attributes = EvaluatorAttributes("colours", "fp32", "none", profile=parse_profile("rank_9d_5k"))

    def __init__(self) -> None:
        super().__init__(-1.0)
        self.colours: list[int] = []

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        assert request.colours is not None
        assert len(request.colours) == len(request.spatial)
        self.colours += request.colours.tolist()
        return super().evaluate(request)


def test_evaluators_are_told_who_is_to_move() -> None:
    evaluator = ColourBlind()
    player = PolicyPlayer(evaluator, SAMPLED)
    game = Game(SIDE, SIDE)
    player.search(SearchRequest(game, BLACK, Limits(visits=1)))
    player.search(SearchRequest(game, WHITE, Limits(visits=1)))
    assert evaluator.colours == [BLACK, WHITE]
    player.search(SearchRequest(game, BLACK, Limits(visits=12), analysis=True))
    assert set(evaluator.colours[3:]) == {BLACK, WHITE}
    player.close()
