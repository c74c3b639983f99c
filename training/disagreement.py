"""Positions that a student has not understood: where its opinion and the teacher's are furthest apart.

Most of what a student is shown it knows already. Those few positions in which it misjudges life and death, or a
whole game, are worth more than many others (KataGo's training does the same with positions that surprised its search).
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nets.evaluator import LOSS, WIN
from training.evaluation import value_of
from training.feed import Item
from training.losses import Targets
from training.network import PLAIN, Student
from training.restore import load_weights, read_network, shape_of

VALUE_WEIGHT = 2.0
"""Of a difference in winning chances, between 0 and 1, beside a nat of the policies' divergence."""
OWNERSHIP_WEIGHT = 2.0
"""Of the mean difference in ownership, between 0 and 1."""
REMEMBERED = 4096
"""Positions by whose disagreement the next ones are judged."""


class Doubter:
    """A student that is asked for its opinion of what a teacher labels."""

    def __init__(self, path: Path, device: torch.device) -> None:
        """`path`: a network that Nobi's training wrote. Raises TrainingError."""
        model = read_network(path)
        self.network = Student(shape_of(model))
        load_weights(self.network, model)
        self.network.requires_grad_(False).eval().to(device)
        self._device = device

    @torch.no_grad()
    def __call__(self, item: Item, targets: Targets) -> tuple[Tensor, NDArray[np.float32]]:
        """Its policy's logits [N, S*S + 1] and how far it disagrees [N]; `targets` on the CPU."""
        planes = item.spatial.to(self._device).float().contiguous(memory_format=torch.channels_last)
        global_ = item.global_.to(self._device)
        outputs = self.network(planes, global_, item.fills_canvas)
        logits = outputs.policy[:, PLAIN].float()
        value, ownership = value_of(outputs, global_).cpu(), outputs.ownership.tanh().cpu()
        return logits, disagreement(logits.cpu(), value, ownership, targets, item.spatial[:, 0]).numpy()


def disagreement(logits: Tensor, value: Tensor, ownership: Tensor, targets: Targets, on_board: Tensor) -> Tensor:
    """[N] from a student's policy [N, S*S + 1], value [N, 3] and ownership [N, S*S]; `on_board` [N, S, S]."""
    policy = targets.policy
    divergence = (torch.xlogy(policy, policy) - policy * functional.log_softmax(logits, 1)).sum(1)
    chances = value[:, WIN] - value[:, LOSS] - (targets.value[:, WIN] - targets.value[:, LOSS])
    board = on_board.flatten(1).float()
    owners = ((ownership - targets.ownership).abs() * board).sum(1) / board.sum(1)
    return divergence + VALUE_WEIGHT * chances.abs() / 2 + OWNERSHIP_WEIGHT * owners / 2


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
