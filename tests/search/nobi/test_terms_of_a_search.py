"""What a search is told beside the position: hidden history, doublings, draws, playouts, and moves without visits."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, point_at
from go_rules.rule_names import preset
from nets.evaluator import Evaluation, EvaluationRequest
from nets.features import GLOBAL_ADVANTAGE, GLOBAL_KOMI, KOMI_UNIT
from search.request import Limits, MoveFilter, ReportRequest, SearchRequest
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import Maker, played, visits

MOVES = slice(9, 14)
"""Of the planes: the last five moves."""


class Witness(FancifulEvaluator):
    """Remembers what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[EvaluationRequest] = []

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        self.seen.append(EvaluationRequest(request.spatial.copy(), request.global_.copy()))
        return super().evaluate(request)


def four_moves() -> Game:
    return played(Game(5, 5), "B4 D2 B2 D4")


@pytest.mark.parametrize("analysis", [False, True])
def test_history_before_the_root_can_be_hidden(make: Maker, analysis: bool) -> None:
    for hides in (False, True):
        witness = Witness()
        player = make(witness, **{"analysis_ignore_history" if analysis else "ignore_history": hides})
        player.search(SearchRequest(four_moves(), BLACK, visits(3), analysis=analysis))
        root, *others = [int(request.spatial[0, MOVES].sum()) for request in witness.seen]
        # What is played below the root is seen.
        assert root == (0 if hides else 4)
        assert 1 <= max(others) <= (2 if hides else 5)


def test_hiding_in_analysis_leaves_games_alone(make: Maker) -> None:
    witness = Witness()
    player = make(witness, analysis_ignore_history=True)
    player.search(SearchRequest(four_moves(), BLACK, visits(2), analysis=True))
    witness.seen.clear()
    player.search(SearchRequest(four_moves(), BLACK, visits(2)))
    assert witness.seen[0].spatial[0, MOVES].any()


@pytest.mark.parametrize(("side", "sign"), [("root", 1.0), ("black", 1.0), ("white", -1.0)])
def test_playout_doublings_are_the_movers_view(make: Maker, side: str, sign: float) -> None:
    witness = Witness()
    player = make(witness, playout_doublings=1.5, playout_doublings_side=side)
    player.search(SearchRequest(four_moves(), BLACK, visits(2)))
    assert [float(request.global_[0, GLOBAL_ADVANTAGE]) for request in witness.seen] == [0.75 * sign, -0.75 * sign]
    # Another root's search does not take these evaluations for its own.
    witness.seen.clear()
    player.search(SearchRequest(four_moves(), WHITE, visits(1)))
    assert float(witness.seen[0].global_[0, GLOBAL_ADVANTAGE]) == (0.75 if side in ("root", "white") else -0.75)


def test_playouts_are_what_a_search_adds(make: Maker) -> None:
    player = make(FancifulEvaluator())
    game = four_moves()
    player.search(SearchRequest(game, BLACK, visits(20)))
    result = player.search(SearchRequest(game, BLACK, Limits(may_stop_early=False, playouts=7)))
    assert (result.visits, result.new_visits) == (27, 7)
    result = player.search(SearchRequest(game, BLACK, Limits(30, may_stop_early=False, playouts=7)))
    assert (result.visits, result.new_visits) == (30, 3)


def test_moves_without_visits_have_the_roots_ownership(make: Maker) -> None:
    """As KataGo reports them."""
    reports = ReportRequest(
        lambda result: None, every=100, ownership=True, moves_ownership=True, moves_ownership_stdev=True
    )
    only = MoveFilter(avoid={BLACK: ((frozenset({point_at(0, 0)}), 1),)})
    player = make(FancifulEvaluator())
    result = player.search(SearchRequest(four_moves(), BLACK, visits(4), filter=only, report=reports, analysis=True))
    untried = [move for move in result.moves if move.visits == 0]
    assert untried
    for move in untried:
        assert result.ownership is not None
        assert move.ownership is not None
        assert np.array_equal(move.ownership, result.ownership)
        assert move.ownership_stdev is not None


@pytest.mark.parametrize(
    ("komi", "rules", "is_shifted"),
    [(7.0, "chinese", True), (7.5, "chinese", False), (7.5, "aga-button", True), (7.0, "aga-button", False)],
)
def test_networks_are_told_what_a_draw_is_worth(make: Maker, komi: float, rules: str, is_shifted: bool) -> None:
    """As KataGo tells them: by half a point of komi more or less where results are whole numbers."""
    komis = []
    for draw_wins in (0.0, 0.5, 1.0):
        evaluator = Witness()
        make(evaluator, draw_wins_for_white=draw_wins).search(
            SearchRequest(Game(5, 5, preset(rules)[0], komi), WHITE, visits(1))
        )
        komis.append(KOMI_UNIT * float(evaluator.seen[-1].global_[0, GLOBAL_KOMI]))
    assert np.diff(komis) == pytest.approx([0.5 * is_shifted] * 2)
