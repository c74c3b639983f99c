"""The campaign that counts where networks pass: its positions, and what it says of a player."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.points import BLACK, WHITE
from nets.evaluator import ConstantEvaluator, Evaluation, EvaluationRequest
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from tests.campaigns.finished_positions import boards, ends_of_games, passes


class Sure(ConstantEvaluator):
    """Sure of one move: the pass, or the first point that is free."""

    def __init__(self, does_pass: bool) -> None:
        super().__init__()
        self._does_pass = does_pass

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        evaluation = super().evaluate(request)
        free = request.spatial[:, 1:3].sum(axis=1).reshape(len(request.spatial), -1) == 0
        wanted = np.full(len(free), free.shape[1]) if self._does_pass else free.argmax(axis=1)
        evaluation.policy[np.arange(len(free)), wanted] = 50.0
        return evaluation


def test_all_positions_have_either_side_to_move() -> None:
    positions = [*boards(), *ends_of_games()]
    assert len({str(position) for position in positions}) == len(positions) > 30
    assert not any(game.is_over for _, game in positions)
    colours = [game.to_play for _, game in positions]
    assert colours.count(BLACK) == colours.count(WHITE)


@pytest.mark.parametrize("does_pass", [True, False])
def test_what_is_not_a_pass_is_said(does_pass: bool) -> None:
    player = PuctPlayer(Sure(does_pass), SearchParameters(workers=1, seed=1))
    said = [passes(player, position, visits=4) for position in list(boards())[:2]]
    player.close()
    assert [not text for text in said] == [does_pass, does_pass]
    assert does_pass or all(": winrate 0.5" in text and text[1:3] in ("9:", "1:") for text in said)  # in a corner
