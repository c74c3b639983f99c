"""Measuring settings of the search: how fast each one is, and which of many is the best.

The speed of a busy machine changes from second to second. So all settings take turns, the searches and the bare network
calls of each setting take turns as well, and medians are reported. The ratio is the median of the rounds' ratios.

Which is the best is said only where the measurements can tell. A search of a slow network makes few evaluations a
second, and at its end workers wait for each other's last batch. So the length of a trial follows from the number of
evaluations that it needs, not the other way round. First every setting is tried once. Then the fastest and the present
setting take turns, and each round gives one ratio of their speeds. Another setting is recommended if the 95 % interval
of that ratio says so.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, WHITE
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.match.openings import openings
from gtp_engine.networks import suited_to
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

MIN_EVALUATIONS = 100
MIN_BATCHES = 8
"""A trial makes at least so many evaluations, and so many batches for each worker: it is off by one of them at most."""
FINALISTS = 2
"""The most settings that are compared with the present one to the end."""
MIN_TURNS, MOST_TURNS = 5, 25
"""How often the last ones take turns: fewer rounds have no useful interval, and more change nothing any more."""
QUALIFYING_SHARE = 0.5
"""The most of the time that trying each setting once may take."""
NEARLY_AS_FAST = 0.95
"""A setting with fewer positions under way may be this much slower: each of them is chosen without knowing the others'
results. One with more has to be as much faster."""
BATCHES = (1, 2, 4, 8)
ACCELERATOR_WORKERS, ACCELERATOR_BATCHES = (1, 2, 3, 4), (4, 8, 16, 32, 64)
"""Workers and batches to try if the network is not computed by the processor."""

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

    def outline(self) -> dict[str, Any]:
        """Describe the setting and its speed, for JSON: with half of the 95 % interval, None after a single search."""
        half = interval(self._searched)[1]
        return {
            "precision": self.evaluator.attributes.precision,
            "workers": self.workers,
            "batch": self.parameters.batch,
            "evals_per_second": round(self.evals_per_second, 1),
            "evals_spread": round(half, 1) if math.isfinite(half) else None,
        }

    def figures(self) -> dict[str, Any]:
        """Collect all that was measured, for JSON."""
        network = self.evaluator.attributes
        return {
            "network": network.name,
            "provider": network.provider,
            **self.outline(),
            "visits_per_second": round(statistics.median(self._visited), 1),
            "bare_evals_per_second": round(statistics.median(self._bare), 1),
            "ratio": round(statistics.median(s / b for s, b in zip(self._searched, self._bare, strict=True)), 4),
            "batch_sizes": {str(size): count for size, count in sorted(self.batches.items())},
            "rounds": len(self._searched),
        }


def new_trial(configuration: Configuration, evaluator: Evaluator) -> Trial:
    """Make a trial of the configured search with an opened network. Raises ParameterError."""
    width, height = configuration.engine.board
    parameters = configuration.fill(suited_to(evaluator))
    batch = parameters.batch_for(evaluator, width, height)
    return Trial(evaluator, dataclasses.replace(parameters, batch=batch), width, height)


def variations(present: Trial, evaluator: Evaluator) -> list[Trial]:
    """Make trials of all other workers and batches that may be good with an evaluator."""
    cores = usable_cores()
    workers: Sequence[int] = sorted({max(1, cores // 2), cores, cores + 1})
    batches: Sequence[int] = BATCHES
    if evaluator.requests_in_flight > 1:
        workers, batches = ACCELERATOR_WORKERS, ACCELERATOR_BATCHES
    is_same = evaluator.attributes.precision == present.evaluator.attributes.precision
    return [
        Trial(
            evaluator, dataclasses.replace(present.parameters, workers=each, batch=batch), present.width, present.height
        )
        for each in workers
        for batch in batches
        if not (is_same and (each, batch) == (present.workers, present.parameters.batch))
    ]


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
    begin = threading.Barrier(workers)

    def call(request: EvaluationRequest) -> float:
        try:
            evaluator.evaluate(request)
            begin.wait()
            started, count, spent = time.perf_counter(), 0, 0.0
            while spent < seconds:
                evaluator.evaluate(request)
                count += batch
                spent = time.perf_counter() - started
            return count / spent
        except threading.BrokenBarrierError:  # another thread has failed, and says why
            return 0.0
        except BaseException:
            begin.abort()
            raise

    with ThreadPoolExecutor(workers) as threads:
        try:
            return sum(threads.map(call, requests))
        finally:
            begin.abort()  # an interruption comes before all have begun, and the others would wait for ever


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


@dataclass(frozen=True)
class Choice:
    """What a comparison of settings found."""

    best: Trial
    """The present setting, unless another one is better."""
    present: Trial
    tried: Sequence[Trial]
    """All that were searched with, the present one first."""
    ratio: float = 1.0
    """The speed of the best as a multiple of the present one's."""
    low: float = 1.0
    high: float = 1.0
    """The 95 % interval of the ratio."""
    needed: float = 0.0
    """The least seconds that a comparison takes, if there was no time for it and nothing was compared; else 0."""


def choose(present: Trial, others: Sequence[Trial], seconds: float, tick: Tick) -> Choice:
    """Find the best setting in at most about so many seconds. Raises EvaluatorError."""
    if not present.searches:
        present.search(0, MIN_TRIAL_SECONDS)
    rate = present.evals_per_second or 1 / seconds  # without evaluations, where the tree had answers to all of it
    lengths = {trial: _length(trial, rate) for trial in (present, *others)}
    cost = {trial: 2 * length for trial, length in lengths.items()}  # a search is warmed up as long as it lasts
    candidates = _affordable(present, others, cost, seconds)
    if not candidates:
        needed = MIN_TURNS * (cost[present] + min(map(cost.__getitem__, others)))
        return Choice(present, present, [present], needed=needed)
    left = seconds
    first = {}
    if len(candidates) > 1:
        for trial in candidates:
            first[trial] = trial.search(0, lengths[trial])
            left -= cost[trial]
            tick(cost[trial])
    finalists = _finalists(sorted(candidates, key=lambda trial: -first.get(trial, 0.0)), present, cost, left)
    per_round = sum(cost[trial] for trial in finalists)
    ratios: dict[Trial, list[float]] = {trial: [] for trial in finalists}
    for number in range(max(MIN_TURNS, min(MOST_TURNS, math.floor(left / per_round)))):
        order = finalists if number % 2 else finalists[::-1]  # the machine may get slower while a round lasts
        rates = {trial: trial.search(number, lengths[trial]) for trial in order}
        for trial in finalists:
            ratios[trial].append(rates[trial] / (rates[present] or rate))
        tick(per_round)
    return _judged(present, [present, *candidates], ratios)


def _length(trial: Trial, rate: float) -> float:
    """Seconds of one search, for a network that makes about `rate` evaluations a second."""
    evaluations = max(MIN_EVALUATIONS, MIN_BATCHES * trial.under_way)
    return max(MIN_TRIAL_SECONDS, evaluations / rate)


def _affordable(present: Trial, others: Sequence[Trial], cost: dict[Trial, float], seconds: float) -> list[Trial]:
    """The settings to try, those most like the present one first; none if there is no time to compare any."""
    found: list[Trial] = []
    spent = 0.0
    for trial in sorted(others, key=lambda trial: abs(math.log(trial.under_way / present.under_way))):
        spent += cost[trial]
        is_first = not found and MIN_TURNS * (cost[present] + cost[trial]) <= seconds
        if is_first or (found and spent <= QUALIFYING_SHARE * seconds):
            found.append(trial)
    return found


def _finalists(fastest: list[Trial], present: Trial, cost: dict[Trial, float], seconds: float) -> list[Trial]:
    """The present setting and as many of the fastest ones as there is time for; with them what differs from the present
    one by no more than the precision of the fastest."""
    finalists = [present, fastest[0]]
    wanted = (fastest[0].evaluator.attributes.precision, *_values(present)[1:])
    plain = [trial for trial in fastest if _values(trial) == wanted]
    for trial in (*plain, *fastest[1:FINALISTS]):
        if trial not in finalists and MIN_TURNS * sum(cost[each] for each in (*finalists, trial)) <= seconds:
            finalists.append(trial)
    return finalists


def _judged(present: Trial, tried: Sequence[Trial], ratios: dict[Trial, list[float]]) -> Choice:
    """The best of those whose `ratios` to the present setting are known; without doubt, or it stays the present one.

    Where one that changes fewer values is nearly as fast, that is the best: what stays automatic follows the machine.
    """
    good = []
    for trial, ours in ratios.items():
        if trial is present:
            continue
        needed = NEARLY_AS_FAST ** ((present.under_way > trial.under_way) - (present.under_way < trial.under_way))
        ratio, half = interval(ours)
        if ratio - half > needed:
            good.append(Choice(trial, present, tried, ratio, ratio - half, ratio + half))
    best = max(good, key=lambda choice: choice.low, default=Choice(present, present, tried))
    simpler = [choice for choice in good if _changes(choice.best, present) < _changes(best.best, present)]
    simpler = [choice for choice in simpler if choice.ratio >= NEARLY_AS_FAST * best.ratio]
    return max(simpler, key=lambda choice: choice.low, default=best)


def _changes(trial: Trial, present: Trial) -> int:
    """In how many of its three values a setting differs from the present one."""
    return sum(ours != theirs for ours, theirs in zip(_values(trial), _values(present), strict=True))


def _values(trial: Trial) -> tuple[str, int, int]:
    return trial.evaluator.attributes.precision, trial.workers, trial.parameters.batch
