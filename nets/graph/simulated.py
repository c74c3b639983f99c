"""A device to develop with: it takes the time that an accelerator takes, and answers by a table.

`--device simulated:SECONDS:SECONDS_PER_POSITION` computes one call at a time, in the seconds of a call and the seconds
of each of its positions. A position's stones choose its answer, so the same search finds the same. The policies are as
uneven as those of networks, and the values differ little: the tree has a shape like that of a real search.
"""

from __future__ import annotations

import threading
import time
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import (
    LEAD,
    LOSS,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    WIN,
    Evaluation,
)
from nets.features import OPPONENT, OWN
from nets.graph.accelerator import Batch, OpenSession, Shape, new_inputs

ANSWERS = 256
"""Different answers for boards of one size."""
MOST_WEIGHT = 1 << 14
"""Keys of positions are sums of integers below this, one for each stone: exact in floats of 32 bits, in any order."""
SPREAD = 0.1
"""Standard deviation of the winning chances."""


def simulated_sessions(seconds: float, seconds_per_position: float) -> OpenSession:
    """Return what opens the sessions of a device with so many seconds of a call and of each of its positions."""
    lock, free = threading.Lock(), 0.0

    def end_of(positions: int) -> float:
        """The time.perf_counter() at which a call that is made now ends, after those before it."""
        nonlocal free
        with lock:
            free = max(free, time.perf_counter()) + seconds + positions * seconds_per_position
            return free

    def batch(shape: Shape, names: frozenset[str]) -> Batch:
        inputs, outputs = new_inputs(names, shape), Evaluation.zeros(*shape)
        weights, answers = _answers(shape.height * shape.width)

        def run() -> None:
            """Look the answers up and wait until the device would have them."""
            stones = inputs["spatial"][:, [OWN, OPPONENT]]
            end = end_of(len(stones))
            keys = (stones.reshape(len(stones), -1) @ weights).astype(np.int64) % ANSWERS
            for output, table in zip(outputs, answers, strict=True):
                np.take(table, keys, axis=0, out=output, mode="clip")
            time.sleep(max(0.0, end - time.perf_counter()))

        return Batch(inputs, outputs, run)

    return lambda shape, names: lambda: batch(shape, names)


@lru_cache(maxsize=8)
def _answers(area: int) -> tuple[NDArray[np.float32], Evaluation]:
    """The weights of stones, the mover's first, and the table of answers, for boards of so many points."""
    generator = np.random.default_rng(area)
    weights = generator.integers(1, MOST_WEIGHT, 2 * area).astype(np.float32)
    table = Evaluation.zeros(ANSWERS, area, 1)
    # Half of a policy is the board's, which moves stay good, and half is the position's own.
    table.policy[:] = np.sqrt(2.0) * (generator.normal(size=area + 1) + generator.normal(size=table.policy.shape))
    chance = np.clip(0.5 + SPREAD * generator.normal(size=ANSWERS), 0.01, 0.99)
    table.value[:, WIN], table.value[:, LOSS] = chance, 1.0 - chance
    table.score[:, SCORE_MEAN] = table.score[:, LEAD] = 20.0 * (chance - 0.5)
    table.score[:, SCORE_STDEV] = 10.0
    table.score[:, SHORTTERM_WINLOSS_ERROR] = table.score[:, SHORTTERM_SCORE_ERROR] = -1.0
    return weights, table
