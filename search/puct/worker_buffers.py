"""The buffers of one worker: the leaves it has selected, and what the network is shown of them."""

from __future__ import annotations

import numpy as np

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES, Evaluator
from nets.features import scratch_for
from search.puct.context import new_work


class WorkerBuffers:
    """Memory that one worker writes to. Nobody else reads it, so no lock is needed."""

    def __init__(self, width: int, height: int, batch: int, seed: int, evaluator: Evaluator) -> None:
        """Make room for `batch` leaves on such boards. `seed`: for the random choices of the worker."""
        self.work = new_work(batch, seed)
        self.leaves = self.work.leaves
        self.spatial = np.zeros((batch, SPATIAL_PLANES, height, width), np.float32)
        self.flat = self.spatial.reshape(batch, SPATIAL_PLANES, height * width)
        self.global_ = np.zeros((batch, GLOBAL_FEATURES), np.float32)
        self.inputs = [(self.spatial[:count], self.global_[:count]) for count in range(batch + 1)]
        """The network's input for each number of leaves."""
        self.planes = np.zeros((SPATIAL_PLANES, height, width), np.float32)
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
