"""Positions that a student has not understood: where its opinion and the teacher's are furthest apart.

Most of what a student is shown it knows already. Those few positions in which it misjudges life and death, or a
whole game, are worth more than many others (KataGo's training does the same with positions that surprised its search).
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import LOSS, WIN
from training.samples.sample_files import Samples, unpack_planes, unpack_probabilities

VALUE_WEIGHT = 2.0
"""Of a difference in winning chances, between 0 and 1, beside a nat of the policies' divergence."""
OWNERSHIP_WEIGHT = 8.0
"""Of the mean difference in ownership, between 0 and 1: 20 points of 361 that change hands count 0.44."""
REMEMBERED = 4096
"""Positions by whose disagreement the next ones are judged."""


def disagreement(
    logits: NDArray[np.float32], value: NDArray[np.float32], ownership: NDArray[np.float32], samples: Samples
) -> NDArray[np.float32]:
    """[N]: how far a student's policy [N, S*S + 1], value [N, 3] and ownership [N, S*S] are from a teacher's labels."""
    policy = unpack_probabilities(samples.policy)
    logs = logits - logits.max(axis=1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    divergence = (policy * (np.log(np.maximum(policy, 1e-12)) - logs)).sum(axis=1)
    chances = value[:, WIN] - value[:, LOSS] - (samples.value[:, WIN] - samples.value[:, LOSS])
    board = unpack_planes(samples.planes, samples.canvas)[:, 0].reshape(samples.length, -1)
    owners = (np.abs(ownership - samples.ownership / np.float32(127.0)) * board).sum(axis=1) / board.sum(axis=1)
    found = divergence + VALUE_WEIGHT * np.abs(chances) / 2 + OWNERSHIP_WEIGHT * owners / 2
    return np.asarray(found, np.float32)


class Selection:
    """Picks the share of positions, of all that come by, about which the disagreement is greatest."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._recent: dict[str, deque[float]] = {}
        self.seen, self.kept, self._total, self._total_kept = 0, 0, 0.0, 0.0

    def pick(self, source: str, disagreements: NDArray[np.float32]) -> NDArray[np.int64]:
        """Indices [K] of those to keep. Sources are judged apart: one kind of positions must not crowd out the rest."""
        recent = self._recent.setdefault(source, deque(maxlen=REMEMBERED))
        recent.extend(disagreements.tolist())
        chosen = np.flatnonzero(disagreements >= np.quantile(recent, 1.0 - self._share))
        self.seen += len(disagreements)
        self.kept += len(chosen)
        self._total += float(disagreements.sum())
        self._total_kept += float(disagreements[chosen].sum())
        return chosen

    def line(self) -> str:
        """What was found, as text."""
        means = self._total / max(1, self.seen), self._total_kept / max(1, self.kept)
        return f"{self.kept:,} of {self.seen:,} kept; mean disagreement {means[0]:.3f}, of those kept {means[1]:.3f}"
