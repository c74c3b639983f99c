"""Which of many settings of the search is the best, said only where the measurements can tell.

A search of a slow network makes few evaluations a second, and at its end workers wait for each other's last batch. So
the length of a trial follows from the number of evaluations that it needs, not the other way round. First every setting
is tried once. Then the fastest and the present setting take turns, and each round gives one ratio of their speeds.
Another setting is recommended if the 95 % interval of that ratio says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gtp_engine.benchmark import trials
from gtp_engine.benchmark.trials import Tick, Trial, interval

MIN_EVALUATIONS = 100
MIN_BATCHES = 8
"""A trial makes at least so many evaluations, and so many batches for each worker: it is off by one of them at most."""
FINALISTS = 2
"""The most settings that are compared with the present one to the end."""
MIN_ROUNDS, MOST_ROUNDS = 5, 25
"""How often the last ones take turns: fewer rounds have no useful interval, and more change nothing any more."""
QUALIFYING_SHARE = 0.5
"""The most of the time that trying each setting once may take."""
NEARLY_AS_FAST = 0.95
"""A setting with fewer positions under way may be this much slower: each of them is chosen without knowing the others'
results. One with more has to be as much faster."""


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
        present.search(0, trials.MIN_TRIAL_SECONDS)
    rate = present.evals_per_second or 1 / seconds  # without evaluations, where the tree had answers to all of it
    lengths = {trial: _length(trial, rate) for trial in (present, *others)}
    cost = {trial: 2 * length for trial, length in lengths.items()}  # a search is warmed up as long as it lasts
    candidates = _affordable(present, others, cost, seconds)
    if not candidates:
        needed = MIN_ROUNDS * (cost[present] + min(map(cost.__getitem__, others)))
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
    for number in range(max(MIN_ROUNDS, min(MOST_ROUNDS, math.floor(left / per_round)))):
        order = finalists if number % 2 else finalists[::-1]  # the machine may get slower while a round lasts
        rates = {trial: trial.search(number, lengths[trial]) for trial in order}
        for trial in finalists:
            ratios[trial].append(rates[trial] / (rates[present] or rate))
        tick(per_round)
    return _judged(present, [present, *candidates], ratios)


def _length(trial: Trial, rate: float) -> float:
    """Seconds of one search, for a network that makes about `rate` evaluations a second."""
    evaluations = max(MIN_EVALUATIONS, MIN_BATCHES * trial.under_way)
    return max(trials.MIN_TRIAL_SECONDS, evaluations / rate)


def _affordable(present: Trial, others: Sequence[Trial], cost: dict[Trial, float], seconds: float) -> list[Trial]:
    """The settings to try, those most like the present one first; none if there is no time to compare any."""
    found: list[Trial] = []
    spent = 0.0
    for trial in sorted(others, key=lambda trial: abs(math.log(trial.under_way / present.under_way))):
        spent += cost[trial]
        is_first = not found and MIN_ROUNDS * (cost[present] + cost[trial]) <= seconds
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
        if trial not in finalists and MIN_ROUNDS * sum(cost[each] for each in (*finalists, trial)) <= seconds:
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
