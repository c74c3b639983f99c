"""Boards so small that they are solved: the engine's own network and search must find what is known of them."""

from __future__ import annotations

import dataclasses

import pytest

from go_rules.game import Game
from go_rules.rule_names import preset
from nets.embedded import network_file
from nets.evaluator import LEAD, SCORE_MEAN, ConstantEvaluator, Evaluation, EvaluationRequest
from nets.open import open_network
from search.nobi.memory.context import uniform_share
from search.request import SearchRequest
from tests.search.searches import Maker, visits
from tests.search.solved import SOLVED, Solved, Solver

QUICK = [case for case in SOLVED if case.width == case.height <= 3]
"""The others are for `make campaign-solved`."""


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver(open_network(network_file()))


@pytest.mark.parametrize("case", QUICK, ids=str)
def test_solved_boards(solver: Solver, case: Solved) -> None:
    assert list(solver.faults(case)) == []


@pytest.mark.parametrize("seed", range(2, 8))
def test_who_wins_on_2x2_whatever_the_seed(solver: Solver, seed: int) -> None:
    case = next(case for case in SOLVED if (case.width, case.height) == (2, 2))
    assert solver.search(case, 0.5, seed)[0].winrate > 0.6
    assert solver.search(case, 1.5, seed)[0].winrate < 0.4


def test_the_centre_of_5x5(solver: Solver) -> None:
    """Black takes the whole board (van der Werf 2003), which takes more visits to see: `make campaign-solved`."""
    case = next(case for case in SOLVED if (case.width, case.height) == (5, 5))
    result, chosen = solver.search(dataclasses.replace(case, visits=200), 12.5)
    assert chosen == "C3"
    assert result.winrate > 0.5


class Exaggerating(ConstantEvaluator):
    """Whoever moves leads by 24.4 points, on any board."""

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        answer = super().evaluate(request)
        answer.score[:, [SCORE_MEAN, LEAD]] = 24.4
        return answer


@pytest.mark.parametrize(("side", "komi", "most"), [(3, 0.0, 9.0), (3, 7.0, 16.0), (7, 0.0, 24.4)])
def test_no_lead_is_larger_than_the_board(make: Maker, side: int, komi: float, most: float) -> None:
    game = Game(side, side, preset("tromp-taylor")[0], komi)
    result = make(Exaggerating()).search(SearchRequest(game, game.to_play, visits(1)))
    assert abs(result.lead) <= most + 1e-4
    assert result.lead == pytest.approx(min(24.4, side * side - komi), abs=1e-4)


def test_priors_are_untouched_where_networks_know_the_board() -> None:
    assert uniform_share(5, 5) == uniform_share(19, 19) == uniform_share(9, 25) == 0.0
    assert uniform_share(1, 1) == uniform_share(2, 2) == 1.0
    assert 0.0 < uniform_share(4, 4) < uniform_share(3, 3) < 0.5
