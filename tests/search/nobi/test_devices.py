"""Searches whose leaves a device evaluates while others are selected."""

from __future__ import annotations

import threading

import pytest

from go_rules.game import Game
from go_rules.points import BLACK
from nets.devices import named_device
from nets.evaluator import Evaluation, EvaluationRequest, Evaluator, EvaluatorError, ForwardingEvaluator, Pending
from nets.graph.accelerator import AcceleratedEvaluator, OpenSession
from nets.graph.convert import convert
from nets.graph.simulated import simulated_sessions
from search.request import SearchRequest
from search.result import StopReason
from tests.nets.random_networks import RandomNetwork
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import Maker, visits


def on_device(open_session: OpenSession | None = None) -> AcceleratedEvaluator:
    random = RandomNetwork(8)
    random.write([{"kind": "gpool_block"}])
    content = convert(random.compressed(), "random", "")
    device = named_device("simulated:0:0")
    return AcceleratedEvaluator(content, "random", device, open_session or simulated_sessions(0.0005, 0.0))


class Watched(ForwardingEvaluator):
    """Counts the positions under way; each is evaluated when its request is collected."""

    requests_in_flight = 2

    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__(evaluator)
        self.under_way = self.most = self.most_at_first = 0
        """`most_at_first`: before the first request was collected."""
        self._lock = threading.Lock()

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        return self.evaluator.evaluate(request)

    def submit(self, request: EvaluationRequest) -> Pending:
        with self._lock:
            self.under_way += len(request.spatial)
            self.most = max(self.most, self.under_way)

        def collect() -> Evaluation:
            with self._lock:
                self.most_at_first = self.most_at_first or self.most
                self.under_way -= len(request.spatial)
            return self.evaluate(request)

        return collect


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 50, 333])
def test_visits_are_exactly_as_asked(make: Maker, workers: int, count: int) -> None:
    player = make(on_device(), workers=workers, batch=8)
    result = player.search(SearchRequest(Game(5, 5), BLACK, visits(count)))
    assert (result.visits, result.reason) == (count, StopReason.VISITS)
    assert sum(move.edge_visits for move in result.moves) == count - 1


@pytest.mark.parametrize(("count", "most"), [(8, 1), (100, 1), (141, 3), (300, 15), (1000, 64)])
def test_a_small_search_has_few_leaves_under_way(make: Maker, count: int, most: int) -> None:
    watched = Watched(FancifulEvaluator())
    player = make(watched, workers=2, batch=16, random_symmetry=False)
    player.search(SearchRequest(Game(9, 9), BLACK, visits(count)))
    assert most // 2 <= watched.most <= most


def test_a_hundred_visits_find_on_a_device_what_they_find_on_one_core(make: Maker) -> None:
    request = SearchRequest(Game(9, 9), BLACK, visits(100))
    on_device, on_core = (
        make(evaluator, workers=workers, batch=batch, random_symmetry=False).search(request).moves
        for evaluator, workers, batch in ((Watched(FancifulEvaluator()), 2, 16), (FancifulEvaluator(), 1, 1))
    )
    assert [(move.point, move.visits, move.utility) for move in on_device] == [
        (move.point, move.visits, move.utility) for move in on_core
    ]


def test_a_device_has_two_requests_before_it_answers_the_first(make: Maker) -> None:
    watched = Watched(FancifulEvaluator())
    make(watched, workers=1, batch=16).search(SearchRequest(Game(13, 13), BLACK, visits(1000)))
    assert 16 < watched.most_at_first <= 32


def test_requests_are_of_sizes_that_fill_a_call(make: Maker) -> None:
    result = make(Watched(FancifulEvaluator()), workers=2, batch=32).search(
        SearchRequest(Game(13, 13), BLACK, visits(1000))
    )
    whole = sum(size * count for size, count in result.batches.items() if size in (16, 32))
    assert whole > 0.8 * result.evaluations


def test_a_worker_that_has_to_rest_first_collects_what_it_submitted(make: Maker) -> None:
    watched = Watched(FancifulEvaluator())
    player = make(watched, workers=3, batch=4)
    resting = threading.Timer(0.05, player.searcher.use_workers, [1])
    resting.start()
    result = player.search(SearchRequest(Game(9, 9), BLACK, visits(1500)))
    resting.join()
    assert (result.visits, watched.under_way) == (1500, 0)


@pytest.mark.parametrize("after", [0, 1, 30])
def test_a_device_that_fails_in_the_middle_of_a_search_loses_nothing(make: Maker, after: int) -> None:
    calls: list[int] = []

    evaluator = on_device(_failing(calls))
    notes: list[str] = []
    evaluator.fall_back_on(FancifulEvaluator, notes.append)
    player = make(evaluator, workers=2, batch=8)
    player.warm_up(9, 9)
    calls[:] = [after]
    for count in (400, 800):
        result = player.search(SearchRequest(Game(9, 9), BLACK, visits(count)))
        assert (result.visits, result.reason) == (count, StopReason.VISITS)
    assert len(notes) == 1


def _failing(calls: list[int]) -> OpenSession:
    """A device that fails for ever after so many calls, once `calls` has that number."""
    opened = simulated_sessions(0.0, 0.0)

    def open_session(shape, inputs):  # type: ignore[no-untyped-def]
        memory = opened(shape, inputs)

        def failing():  # type: ignore[no-untyped-def]
            batch = memory()
            run = batch.run

            def run_or_fail() -> None:
                if calls:
                    calls[0] -= 1
                    if calls[0] < 0:
                        raise RuntimeError("CUDA failure 2: out of memory")
                run()

            batch.run = run_or_fail  # type: ignore[method-assign]
            return batch

        return failing

    return open_session


def test_a_device_that_fails_without_a_processor_to_go_on(make: Maker) -> None:
    calls: list[int] = []
    player = make(on_device(_failing(calls)), workers=2, batch=8)
    player.warm_up(9, 9)
    calls[:] = [3]
    with pytest.raises(EvaluatorError, match="out of memory"):
        player.search(SearchRequest(Game(9, 9), BLACK, visits(400)))
