"""The buffers of one worker: the leaves it has selected, and what the network is shown of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES, EvaluationRequest, Evaluator
from nets.features import scratch_for
from search.puct.memory.context import new_work


class Kernels(NamedTuple):
    """Kernels bound to the memory of a worker and of its search (iteration.py)."""

    encode: Callable[[int, int, int], None]
    """`encode_leaves` of (count, view, n_symmetries)"""
    advance: Callable[[int, int, int, float], tuple[int, int, int, int]]
    """`advance_tree` of (leaves, asked, room, left)"""


class EvaluationKernels(NamedTuple):
    """The evaluation stage, bound in the same way."""

    at_once: Callable[[int], None] | None
    """The whole stage, of (count); None where the evaluator is more than kernels. Raises FloatingPointError where the
    evaluator would raise EvaluatorError."""
    multiple: int
    """What counts for `at_once` have to be a multiple of."""
    digest: Callable[..., None]
    """`digest_evaluation` of (count, policy, value, score, ownership)"""


class WorkerBuffers:
    """Memory that one worker writes to. Nobody else reads it, so no lock is needed."""

    def __init__(self, width: int, height: int, batch: int, seed: int, evaluator: Evaluator) -> None:
        """Make room for `batch` leaves on such boards. `seed`: for the random choices of the worker."""
        self.work = new_work(batch, seed)
        self.leaves = self.work.leaves
        spatial = np.zeros((batch, SPATIAL_PLANES, height, width), np.float32)
        self.flat = spatial.reshape(batch, SPATIAL_PLANES, height * width)
        self.global_ = np.zeros((batch, GLOBAL_FEATURES), np.float32)
        self.optimism = np.zeros(batch, np.float32)
        """The share of the optimistic policy, in networks that have one."""
        self.requests = [
            EvaluationRequest(spatial[:count], self.global_[:count], self.optimism[:count])
            for count in range(batch + 1)
        ]
        """What the network is asked for each number of leaves. The arrays are these buffers' own."""
        self.symmetries = np.zeros(batch, np.int64)
        self.features = scratch_for(evaluator)
        self.under_way = 0
        """How many leaves were selected and are not in the tree yet."""
        self.keys = np.zeros(batch, np.uint64)
        """The key of each leaf in the evaluation cache."""
        self.missing = np.arange(batch)
        """Indices of the leaves that the cache does not know; only the first `asked` entries count."""
        self.asked = 0
        """How many leaves the network has to evaluate."""
        self.generation = 0
        """The search's generation in which the leaves were selected."""
        self.kernels: Kernels | None = None
        self.evaluation: EvaluationKernels | None = None
        """Both are None before they are needed."""
