"""Hard-example mining: finding the positions about which a student and its teacher disagree most.

A student knows most of what it is shown already. The few positions in which it misjudges life and death, or a whole
game, are worth more than many others (KataGo's training does the same with positions that surprised its search).
"""

from __future__ import annotations

import threading
from collections import deque

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import LOSS, WIN
from training.samples.samples import Samples, unpack_planes, unpack_probabilities

VALUE_WEIGHT = 2.0
"""Weight of a difference in winning chances, between 0 and 1; the policies' divergence, in nats, has weight 1."""
OWNERSHIP_WEIGHT = 8.0
"""Weight of the mean difference in ownership, between 0 and 1: 20 points of 361 that change hands count 0.44."""
REMEMBERED = 4096
"""How many earlier positions of its source a position is compared with."""


def disagreement(
    logits: NDArray[np.float32], value: NDArray[np.float32], ownership: NDArray[np.float32], samples: Samples
) -> NDArray[np.float32]:
    """Return [N]: how far a student's evaluation is from the labels of N samples.

    The student's policy is `logits` [N, S*S + 1]; `value` is [N, 3] and `ownership` [N, S*S].
    """
    policy = unpack_probabilities(samples.policy)
    logs = logits - logits.max(axis=1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    divergence = (policy * (np.log(np.maximum(policy, 1e-12)) - logs)).sum(axis=1)
    chances = value[:, WIN] - value[:, LOSS] - (samples.value[:, WIN] - samples.value[:, LOSS])
    board = unpack_planes(samples.planes, samples.canvas)[:, 0].reshape(samples.length, -1)
    owners = (np.abs(ownership - samples.ownership / np.float32(127.0)) * board).sum(axis=1) / board.sum(axis=1)
    found = divergence + VALUE_WEIGHT * np.abs(chances) / 2 + OWNERSHIP_WEIGHT * owners / 2
    return np.asarray(found, np.float32)


class HardExampleFilter:
    """Keeps a share of all positions that come by: those about which the disagreement is greatest."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._lock = threading.Lock()
        self._recent: dict[str, deque[float]] = {}
        self._seen, self._kept, self._total, self._total_kept = 0, 0, 0.0, 0.0

    def pick(self, source: str, disagreements: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the indices [K] of the positions to keep. Each source is judged apart, so that one kind of positions
        does not crowd out the others. Any thread may call."""
        with self._lock:
            recent = self._recent.setdefault(source, deque(maxlen=REMEMBERED))
            recent.extend(disagreements.tolist())
            chosen = np.flatnonzero(disagreements >= np.quantile(recent, 1.0 - self._share))
            self._seen += len(disagreements)
            self._kept += len(chosen)
            self._total += float(disagreements.sum())
            self._total_kept += float(disagreements[chosen].sum())
        return chosen

    def line(self) -> str:
        """Say in one line how many positions were kept and how great the disagreement was."""
        means = self._total / max(1, self._seen), self._total_kept / max(1, self._kept)
        return f"{self._kept:,} of {self._seen:,} kept; mean disagreement {means[0]:.3f}, of those kept {means[1]:.3f}"
