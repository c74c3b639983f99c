"""The gradients of a batch, on a processor in parts: a thread computes each from its first layer to its last and back.

PyTorch divides every single operation among its threads, and they wait for each other at its end. For networks that are
small enough for a processor that leaves some of the cores idle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import torch
from torch import Tensor, nn

from training.student.losses import Loss

FEWEST = 8
"""Positions that a part has at least."""


class Judged(NamedTuple):
    """What was found of some positions of a batch."""

    loss: Loss
    policy: Tensor
    """[N, S*S + 1] the student's logits before the step."""


class Gradients:
    """Computes the gradients of a student's weights, batch by batch."""

    def __init__(self, student: nn.Module, threads: int) -> None:
        """Compute them by so many threads."""
        self._student = student
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "gradients", _take_one_core) if threads > 1 else None

    def of(self, judge: Callable[[slice], Judged], count: int) -> Judged:
        """Set the gradients of the loss of `count` positions. Return what `judge` finds of them, without gradients.

        `judge` is given which of the positions to evaluate; it may be called by several threads at once. The loss of
        all is the mean of those of the parts, weighted by their sizes.
        """
        parts = min(self._threads, count // FEWEST)
        if self._pool is None or parts < 2:
            judged = judge(slice(0, count))
            total, losses = judged.loss
            total.backward()
            return Judged(Loss(total.detach(), {name: loss.detach() for name, loss in losses.items()}), judged.policy)
        weights = [parameter for parameter in self._student.parameters() if parameter.requires_grad]
        ends = [count * part // parts for part in range(parts + 1)]
        shares = [(end - start) / count for start, end in itertools.pairwise(ends)]

        def work(part: int) -> tuple[Judged, tuple[Tensor | None, ...]]:
            judged = judge(slice(ends[part], ends[part + 1]))
            return judged, torch.autograd.grad(judged.loss.total * shares[part], weights, allow_unused=True)

        judged, gradients = zip(*self._pool.map(work, range(parts)), strict=True)
        for weight, each in zip(weights, zip(*gradients, strict=True), strict=True):
            known = [gradient for gradient in each if gradient is not None]
            weight.grad = sum(known[1:], known[0]) if known else None
        return _joined(judged, shares)


def _take_one_core() -> None:
    torch.set_num_threads(1)


def _joined(parts: list[Judged], shares: list[float]) -> Judged:
    """Return what was found of all positions, out of what was found of parts that have these shares of them."""

    def mean(values: list[Tensor]) -> Tensor:
        return torch.stack([value.detach() * share for value, share in zip(values, shares, strict=True)]).sum()

    total = mean([part.loss.total for part in parts])
    losses = {name: mean([part.loss.parts[name] for part in parts]) for name in parts[0].loss.parts}
    return Judged(Loss(total, losses), torch.cat([part.policy for part in parts]))
