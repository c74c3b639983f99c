"""One training step: the student learns from a batch that the labeller has given its targets.

The student, the moving average of its weights and the optimisers are here, all on the labeller's device.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from nets.katago.model import Model
from nets.symmetry import SYMMETRIES
from training.config import TrainingConfig
from training.devices import Compilation, place_on
from training.labels.batches import Batch
from training.labels.labelling import Labeller
from training.labels.targets import Targets, turned
from training.network import PLAIN, Network
from training.positions.canvas import CANVASES
from training.student.beginning import random_model
from training.student.losses import Loss, loss_of
from training.student.optimiser import OTHERS_RATE, Average, Optimisers

FEWEST = 8
"""Positions that a part of a batch has at least, where threads compute the gradients of one each."""

KEPT = 256
"""How many batches are there before the first one is learned from again, so that it is not the one just learned."""


@dataclass
class _Kept:
    spatial: Tensor
    """uint8 [N, 22, S, S]"""
    global_: Tensor
    targets: Targets
    fills_canvas: bool
    symmetries: list[int]
    """By which symmetries it will yet be turned."""


class LabelMemory:
    """Labelled batches that stay on the device, to be learned from again, each time turned by another symmetry: a label
    of a large teacher costs more than a step of a small student. Each is kept until it was drawn so often, in a random
    order."""

    def __init__(self, draws: int, seed: int, kept: int = KEPT) -> None:
        """`draws`, 0 to 7, is how often each batch is drawn; `kept` is how many are there before the first draw."""
        self._draws, self._least = draws, kept
        self._generator = np.random.default_rng(seed)
        self._kept: list[_Kept] = []

    def add(self, spatial: Tensor, global_: Tensor, targets: Targets, fills_canvas: bool) -> None:
        """Keep a batch of N positions: `spatial` [N, 22, S, S] of zeros and ones, and `global_` [N, 19]."""
        if self._draws:
            turns = 1 + self._generator.permutation(SYMMETRIES - 1)[: self._draws]  # 0 is as it came
            planes = spatial.to(torch.uint8, memory_format=torch.contiguous_format)
            self._kept.append(_Kept(planes, global_.clone(), targets, fills_canvas, turns.tolist()))

    def draw(self) -> tuple[Tensor, Tensor, Targets, bool] | None:
        """Return a batch that is there, as float32 with channels last, its targets, and whether it fills its canvas.
        None: too few are there yet."""
        if len(self._kept) < self._least:
            return None
        place = int(self._generator.integers(len(self._kept)))
        kept = self._kept[place]
        symmetry = kept.symmetries.pop()
        if not kept.symmetries:
            self._kept[place] = self._kept[-1]
            self._kept.pop()
        symmetries = torch.full(kept.targets.reply.shape, symmetry, device=kept.spatial.device)
        spatial, targets = turned(kept.spatial, kept.targets, symmetries)
        planes = spatial.float().contiguous(memory_format=torch.channels_last)
        return planes, kept.global_, targets, kept.fills_canvas

    def clear(self) -> None:
        """Let go of all batches."""
        self._kept.clear()


class Judged(NamedTuple):
    """What was found of some positions of a batch."""

    loss: Loss
    policy: Tensor
    """[N, S*S + 1] the student's logits before the step."""


class Gradients:
    """Computes the gradients of a student's weights, batch by batch; on a processor in parts, each of which one thread
    computes from its first layer to its last and back. PyTorch divides every single operation among its threads, and
    they wait for each other at its end; for small networks that leaves some of the cores idle."""

    def __init__(self, student: nn.Module, threads: int) -> None:
        """Compute them by so many threads."""
        self._student = student
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "gradients", torch.set_num_threads, (1,)) if threads > 1 else None

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


def _joined(parts: list[Judged], shares: list[float]) -> Judged:
    """Return what was found of all positions, out of what was found of parts that have these shares of them."""

    def mean(values: list[Tensor]) -> Tensor:
        return torch.stack([value.detach() * share for value, share in zip(values, shares, strict=True)]).sum()

    total = mean([part.loss.total for part in parts])
    losses = {name: mean([part.loss.parts[name] for part in parts]) for name in parts[0].loss.parts}
    return Judged(Loss(total, losses), torch.cat([part.policy for part in parts]))


class Learner:
    """Trains a student, by what its labeller says."""

    def __init__(self, config: TrainingConfig, begun: Model | None = None) -> None:
        """Open the labeller and create the student, which begins as the network `begun`, or else with random weights of
        the configuration's shape. Raises TrainingError."""
        self.labeller = Labeller(config)
        self.device = self.labeller.device
        model = random_model(config.network, config.run.seed) if begun is None else begun
        self.student = place_on(Network(model), self.device)
        self._gradients = Gradients(self.student, torch.get_num_threads() if self.device.type == "cpu" else 1)
        self.optimisers = Optimisers(self.student, config.optimiser, 1.0 if begun is None else OTHERS_RATE)
        self.average = Average(self.student, config.optimiser.average)
        self._memory = LabelMemory(config.data.repeats - 1, config.run.seed)
        self.losses: dict[str, Tensor] = {}
        """The parts of the loss in the last step, on the device."""
        # With wide convolutions compiling would take longer than a leg of some minutes gains by it.
        compiles = self.device.type == "cuda" and not self.student.has_wide_convolutions
        self._compilation = Compilation(list(self.student.blocks) if compiles else [], dynamic=False)
        self._choose_compiled()

    def step(self, batch: Batch, rate_share: float) -> None:
        """Learn from one batch, at this share of the full learning rate. Games in the batch are told their next moves.

        `losses` stay on the device, so that nothing waits for them.
        """
        spatial, global_, targets, evaluation = self.labeller.labelled(batch)
        policy = self._learn(spatial, global_, targets, batch.fills_canvas, rate_share)
        if evaluation is not None:
            self._memory.add(spatial, global_, targets, batch.fills_canvas)
            self.labeller.play_on(batch, evaluation, policy)

    def step_again(self, rate_share: float) -> int:
        """Learn once more from a batch that the teacher labelled before, turned by a symmetry. Return how many
        positions it has; 0: there are too few such batches yet, or none are wanted."""
        drawn = self._memory.draw()
        if drawn is None:
            return 0
        self._learn(*drawn, rate_share)
        return len(drawn[1])

    def _learn(
        self, spatial: Tensor, global_: Tensor, targets: Targets, fills_canvas: bool, rate_share: float
    ) -> Tensor:
        """Make one step. Return the student's policy [N, S*S + 1] before it."""

        def judge(part: slice) -> Judged:
            planes = spatial[part]
            with self.labeller.precision():
                outputs = self.student(planes, global_[part], fills_canvas)
            wanted = Targets._make(each[part] for each in targets)
            loss = loss_of(outputs, wanted, planes[:, :1], self.labeller.config.loss)
            return Judged(loss, outputs.policy[:, PLAIN].detach())

        def learn() -> Judged:
            self.student.zero_grad(set_to_none=True)  # there are some where compiled code has failed halfway
            return self._gradients.of(judge, len(global_))

        loss, policy = self._compilation.run(learn)
        norm = self.optimisers.step(rate_share)
        self.average.update(self.student)
        self.losses = {"total": loss.total, "norm": norm.detach(), **loss.parts}
        return policy

    def halve_batches(self) -> int:
        """Free what memory the device can spare, and make the batches that are opened from now on half as large. Return
        their size."""
        config = self.labeller.config
        size = config.run.batch // 2
        self.labeller.config = replace(config, run=replace(config.run, batch=max(1, size)))
        self.student.zero_grad(set_to_none=True)
        self._choose_compiled()
        self._memory.clear()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return size

    def _choose_compiled(self) -> None:
        """Use compiled code of the student for the usual batches of 19×19 boards alone: for each other shape it would
        take a quarter of a minute to compile."""
        config = self.labeller.config
        balanced = round(config.data.balanced_share * config.run.batch) if config.data.teacher else 0
        self.student.compiled_for = frozenset({(config.run.batch + balanced, CANVASES[-1])})
