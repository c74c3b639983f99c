"""Measuring settings of the search: how fast each one is. Which of many is the best, choice.py says.

The speed of a busy machine changes from second to second. So all settings take turns, the searches and the bare network
calls of each setting take turns as well, and medians are reported. The ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import contextlib
import math
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, WHITE
from gtp_engine.match.openings import openings
from nets.evaluator import EvaluationRequest, RecordingEvaluator
from nobi_machine.memory import usable_cores
from search.nobi.parameters import SearchParameters
from search.request import Limits, SearchRequest

if TYPE_CHECKING:
    from nets.evaluator import Evaluator, RecordedPosition
    from search.nobi.search import Search
    from search.result import SearchResult

ROUND_SECONDS = 2.5
"""The length of one measurement, if there is time for MIN_ROUNDS of each kind."""
MIN_ROUNDS = 3
MIN_TRIAL_SECONDS = 0.4
"""The shortest search that tells anything."""
T_QUANTILES = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
"""Student's t for 95 % intervals, by degrees of freedom from 1 on; what follows is nearer to 2."""
LONG_ENOUGH = 0.8
"""The share of a trial's time after which it ends."""
SAMPLE = 64
"""How many positions of the search are kept as input for the bare loop."""
VISITS_TO_FILL = 32
"""Visits for each position of a batch that a search makes first: batches grow with the tree."""

Tick = Callable[[float], None]
"""A function that is called with the seconds of work that are done."""


class Trial:
    """One setting, and what has been measured of it."""

    def __init__(self, evaluator: Evaluator, parameters: SearchParameters, width: int, height: int) -> None:
        self.evaluator = evaluator
        self.parameters = parameters
        self.width, self.height = width, height
        self.positions: list[RecordedPosition] = []
        """What the bare loop evaluates; empty before the first search."""
        self.batches: Counter[int] = Counter()
        """How often the network was asked for so many positions at a time."""
        self._searched: list[float] = []
        self._visited: list[float] = []
        self._bare: list[float] = []

    @property
    def searches(self) -> int:
        """How many searches were measured."""
        return len(self._searched)

    @property
    def workers(self) -> int:
        """The number of threads that search."""
        return self.parameters.workers or usable_cores()

    @property
    def evals_per_second(self) -> float:
        """The evaluations a second in a search."""
        return statistics.median(self._searched)

    @property
    def under_way(self) -> int:
        """How many positions are chosen before the results of the others are known."""
        return self.workers * self.parameters.batch

    def search(self, number: int, seconds: float) -> float:
        """Search the position `number` for about so many seconds, after a warm-up, and return the evaluations a second.

        The search is given visits, not a time: at the end of a time it would drop the evaluations under way, which are
        many of those that a slow network makes. Raises EvaluatorError.
        """
        from search.nobi.search import Search

        game = position(number, self.width, self.height)
        if not self.positions:
            recorder = RecordingEvaluator(self.evaluator, most=SAMPLE)
            with contextlib.closing(Search(recorder, self.parameters)) as search:
                _warm_up(search, game, max(seconds, MIN_TRIAL_SECONDS))
            self.positions = recorder.positions
        with contextlib.closing(Search(self.evaluator, self.parameters)) as search:
            last = _warm_up(search, game, max(seconds, MIN_TRIAL_SECONDS))
            spent, evaluations, visits = 0.0, 0, 0
            while spent < LONG_ENOUGH * seconds:
                # The first searches are slower than what follows, so how many visits fill the time is found on the way.
                playouts = max(self.under_way, math.ceil(last.new_visits / last.seconds * (seconds - spent)))
                limits = Limits(playouts=playouts, may_stop_early=False)
                last = search.run(SearchRequest(game, game.to_play, limits))
                spent, evaluations = spent + last.seconds, evaluations + last.evaluations
                visits += last.new_visits
                self.batches.update(last.batches)
        self._searched.append(evaluations / spent)
        self._visited.append(visits / spent)
        return self._searched[-1]

    def call_bare(self, seconds: float) -> None:
        """Call the network with the positions of the search for so many seconds. Raises EvaluatorError."""
        self._bare.append(bare_rate(self.evaluator, self.positions, self.workers, self.parameters.batch, seconds))

    def spread(self) -> float | None:
        """Compute half of the 95 % interval of the evaluations a second; None after a single search."""
        half = interval(self._searched)[1]
        return round(half, 1) if math.isfinite(half) else None

    def outline(self) -> dict[str, Any]:
        """Describe the setting and its speed, for JSON."""
        return {
            "precision": self.evaluator.attributes.precision,
            "workers": self.workers,
            "batch": self.parameters.batch,
            "evals_per_second": round(self.evals_per_second, 1),
            "evals_spread": self.spread(),
        }

    def figures(self) -> dict[str, Any]:
        """Collect all that was measured, for JSON."""
        network = self.evaluator.attributes
        return {
            "network": network.name,
            "precision": network.precision,
            "provider": network.provider,
            "workers": self.workers,
            "batch": self.parameters.batch,
            "evals_per_second": round(self.evals_per_second, 1),
            "evals_spread": self.spread(),
            "visits_per_second": round(statistics.median(self._visited), 1),
            "bare_evals_per_second": round(statistics.median(self._bare), 1),
            "ratio": round(statistics.median(s / b for s, b in zip(self._searched, self._bare, strict=True)), 4),
            "batch_sizes": {str(size): count for size, count in sorted(self.batches.items())},
            "rounds": len(self._searched),
        }


def measure(trials: Sequence[Trial], seconds: float, tick: Tick) -> None:
    """Measure each setting for so many seconds, all of them in turns. Raises EvaluatorError."""
    rounds = max(MIN_ROUNDS, round(seconds / 2 / ROUND_SECONDS))
    slice_ = seconds / 2 / rounds
    for number in range(rounds):
        for trial in trials:
            trial.search(number, slice_)
            tick(slice_)
            trial.call_bare(slice_)
            tick(slice_)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Compute the mean of measurements and half of its 95 % interval, which is infinite for a single one."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.inf
    t = T_QUANTILES[min(len(values) - 1, len(T_QUANTILES)) - 1]
    return mean, t * statistics.stdev(values) / math.sqrt(len(values))


def bare_rate(
    evaluator: Evaluator, positions: Sequence[RecordedPosition], workers: int, batch: int, seconds: float
) -> float:
    """Measure the evaluations a second of `workers` threads that do nothing else. Raises what the evaluator raises."""
    requests = [request_of(positions, batch, i * batch) for i in range(workers)]
    counts = [0] * workers
    begin = threading.Barrier(workers + 1)
    end = [0.0]
    errors: list[BaseException] = []

    def call(number: int) -> None:
        request = requests[number]
        try:
            evaluator.evaluate(request)
            begin.wait()
            while time.perf_counter() < end[0]:
                evaluator.evaluate(request)
                counts[number] += batch
        except BaseException as error:
            errors.append(error)
            begin.abort()

    threads = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    end[0] = float("inf")
    with contextlib.suppress(threading.BrokenBarrierError):
        begin.wait()
    started = time.perf_counter()
    end[0] = started + seconds
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts) / (time.perf_counter() - started)


def request_of(positions: Sequence[RecordedPosition], batch: int, first: int) -> EvaluationRequest:
    """Make a request for `batch` of the positions from `first` on, again from the start where they end."""
    chosen = [positions[(first + i) % len(positions)] for i in range(batch)]
    spatial = np.stack([each.spatial for each in chosen]).astype(np.float32)
    return EvaluationRequest(spatial, np.stack([each.global_ for each in chosen]))


def _warm_up(search: Search, game: Game, seconds: float) -> SearchResult:
    """Have kernels, threads and the network's buffers ready, and batches as large as they get in so many seconds."""
    search.warm_up(game.width, game.height)
    visits = max(4 * search.workers, VISITS_TO_FILL) * search.parameters.batch
    return search.run(SearchRequest(game, game.to_play, Limits(visits, seconds, may_stop_early=False)))


def position(number: int, width: int, height: int) -> Game:
    """Play one of the match openings, and return the game. Numbers beyond the last opening go on with the first one."""
    choices = openings(width, height)
    game = Game(width, height)
    for i, point in enumerate(choices[number % len(choices)]):
        game.play(WHITE if i % 2 else BLACK, point)
    return game
