"""In place of searches: what they would take is reckoned, so that no test measures how busy the machine is."""

from __future__ import annotations

from types import SimpleNamespace

from nets.evaluator import Evaluator
from search.nobi.parameters import SearchParameters
from search.request import SearchRequest

PAUSE = 0.001
"""Seconds of a visit."""


class Reckoned:
    """Stands for a Search. A visit takes `pause` seconds, if the evaluator has such an attribute, and those of the
    first search ten times as long."""

    workers = 1

    def __init__(self, evaluator: Evaluator, parameters: SearchParameters) -> None:
        self.parameters, self.runs = parameters, 0
        self.pause: float = getattr(evaluator, "pause", PAUSE)

    def warm_up(self, width: int, height: int) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, request: SearchRequest) -> SimpleNamespace:
        self.runs += 1
        visits = request.limits.visits or request.limits.playouts
        assert visits is not None
        seconds = visits * self.pause * (10.0 if self.runs == 1 else 1.0)
        return SimpleNamespace(new_visits=visits, evaluations=visits, seconds=seconds, batches={1: visits})
