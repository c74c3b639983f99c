"""Our own kernels inside the search: with them an evaluation is one fused call, with other evaluators it is not."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK
from nets.evaluator import Evaluation, EvaluationRequest, Evaluator, EvaluatorError, ForwardingEvaluator
from search.nobi.game_tree import GameTree
from search.nobi.iteration import NO_CHECK, advance, collect, submit
from search.nobi.memory.workspace import Workspace
from search.nobi.parameters import SearchParameters
from search.nobi.search import Search
from search.request import Limits, SearchRequest
from tests.nets.native.networks import needs_kernels, opened
from tests.nets.random_networks import made

PARAMETERS = SearchParameters(workers=1, batch=3, memory=16, cache_memory=1, seed=7)


class Outside(ForwardingEvaluator):
    """Passes on requests, and nothing of how they are evaluated."""

    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__(evaluator)
        self.batches: list[int] = []

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        self.batches.append(len(request.spatial))
        return self.evaluator.evaluate(request)


def searched(evaluator: Evaluator) -> tuple[object, ...]:
    search = Search(evaluator, PARAMETERS)
    try:
        result = search.run(SearchRequest(Game(5, 5), BLACK, Limits(visits=300)))
    finally:
        search.close()
    moves = [(move.point, move.visits, move.winrate) for move in result.moves]
    return moves, result.evaluations, dict(result.batches)


@needs_kernels
def test_a_fused_call_finds_what_calls_one_by_one_find() -> None:
    evaluator = opened(made()[0].compressed())
    outside = Outside(evaluator)
    inside = searched(evaluator)
    assert inside == searched(outside)
    assert max(outside.batches) == PARAMETERS.batch


@needs_kernels
def test_what_is_not_finite_inside_a_search() -> None:
    evaluator = opened(made(15)[0].compressed())
    space = Workspace(5, 5, PARAMETERS, evaluator, 1, 7, False)
    GameTree(space).take_root(SearchRequest(Game(5, 5), BLACK), PARAMETERS, np.random.default_rng(1))
    buffers = space.workers[0]
    for share in (0.5, np.nan):
        advance(space, buffers, 10, NO_CHECK)
        assert buffers.asked > 0
        buffers.optimism[:] = share
        if share == 0.5:
            submit(space, buffers)
            collect(space, buffers)
    with pytest.raises(EvaluatorError, match="random: an output is not finite"):
        submit(space, buffers)


@needs_kernels
def test_a_workspace_that_has_evaluated_is_freed_at_once() -> None:
    """Its memory may be wanted before Python looks for circles of references."""
    space = Workspace(5, 5, PARAMETERS, opened(made(15)[0].compressed()), 1, 7, False)
    GameTree(space).take_root(SearchRequest(Game(5, 5), BLACK), PARAMETERS, np.random.default_rng(1))
    advance(space, space.workers[0], 10, NO_CHECK)
    submit(space, space.workers[0])
    collect(space, space.workers[0])
    nodes = weakref.ref(space.tree.nodes)
    gc.disable()
    try:
        del space
        assert nodes() is None
    finally:
        gc.enable()
