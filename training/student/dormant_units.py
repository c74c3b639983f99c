"""Bringing dead units back: channels behind a ReLU that never fire learn nothing any more, and nothing reads them.

They are recycled (Sokar et al., "The dormant neuron phenomenon in deep reinforcement learning", 2023): what writes them
begins anew, at random, what a pool adds to them and what reads them begins at zero. So the network says what it said
before, and learns on with all it has.

Pooled channels that have grown large are scaled down, and what reads them up by as much, which changes nothing else:
with large inputs a step of the bias that is made of them would switch units off for good.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from training.student.network import PlainBlock, PoolingBlock, Student
from training.student.optimiser import Optimisers

LOOKS = 20
"""Batches in none of which a dead unit fires."""
LOOK_EVERY = 50
"""Steps between two looks, once the first LOOKS steps of a run are over: they look each time."""
POOLED = 3
"""Values that a pool makes of each channel; the maximum is the last."""
LARGE = 8.0
"""For a channel's maximum over a board, in the mean."""


class Reader(NamedTuple):
    """A layer that reads units."""

    layer: nn.Conv2d | nn.Linear
    copies: int
    """Times that its inputs hold them, one group of all units after another."""


class Units(NamedTuple):
    """The channels that a layer writes, each behind a ReLU."""

    writer: nn.Conv2d | nn.Linear
    adder: nn.Linear | None
    """Adds what it makes of a pool."""
    readers: tuple[Reader, ...]
    """Of the first one's input, the last group shows whether they fire."""
    scale: float
    """Of new weights, beside the usual."""

    @property
    def are_pooled(self) -> bool:
        """Whether all their readers read them pooled."""
        return all(reader.copies == POOLED for reader in self.readers)


def units_of(student: Student) -> list[Units]:
    """All units of a student, the residual stream's aside: each block shifts those by itself."""
    found = []
    depth_scale = 1.0 / math.sqrt(max(1, len(student.blocks)))
    for block in student.blocks:
        assert isinstance(block, PlainBlock | PoolingBlock)
        adder = block.to_bias if isinstance(block, PoolingBlock) else None
        found.append(Units(block.first, adder, (Reader(block.second, 1),), depth_scale))
        if isinstance(block, PoolingBlock):
            found.append(Units(block.pooled, None, (Reader(block.to_bias, POOLED),), depth_scale))
    policy, value = student.policy, student.value
    return [
        *found,
        Units(policy.first, policy.to_bias, (Reader(policy.second, 1),), 1.0),
        Units(policy.pooled, None, (Reader(policy.to_bias, POOLED), Reader(policy.pass_first, POOLED)), 1.0),
        Units(policy.pass_first, None, (Reader(policy.pass_second, 1),), 1.0),
        Units(value.first, None, (Reader(value.ownership, 1), Reader(value.hidden, POOLED)), 1.0),
        Units(value.hidden, None, (Reader(value.value, 1), Reader(value.score, 1)), 1.0),
    ]


class Reviver:
    """Watches how high units get, in the average of the weights: recycles those that never fire, calms large ones."""

    def __init__(self, student: Student, average: Student, optimisers: Optimisers) -> None:
        self._average, self._optimisers = average, optimisers
        self._units = list(zip(units_of(student), units_of(average), strict=True))
        self._highest: list[Tensor | None] = [None] * len(self._units)
        self._means: list[Tensor | None] = [None] * len(self._units)
        self._steps = self._looks = 0

    def step(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> int:
        """To be called at every step with its batch. Returns how many units were revived: 0 in most."""
        self._steps += 1
        if self._steps > LOOKS and self._steps % LOOK_EVERY != 0:
            return 0
        self._look(spatial, global_, fills_canvas)
        self._looks += 1
        if self._looks % LOOKS != 0:
            return 0
        self._calm()
        return self._revive()

    @torch.no_grad()
    def _look(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> None:
        hooks = []
        for index, (_, units) in enumerate(self._units):

            def note(_layer: nn.Module, inputs: tuple[Tensor], index: int = index) -> None:
                count = len(self._units[index][0].writer.weight)
                values = inputs[0][:, -count:].float().transpose(0, 1).flatten(1)
                fired, mean = values.amax(1), values.mean(1)
                before, sums = self._highest[index], self._means[index]
                self._highest[index] = fired if before is None else torch.maximum(before, fired)
                self._means[index] = mean / LOOKS if sums is None else sums + mean / LOOKS

            hooks.append(units.readers[0].layer.register_forward_pre_hook(note))
        try:
            self._average(spatial, global_, fills_canvas)
        finally:
            for hook in hooks:
                hook.remove()

    @torch.no_grad()
    def _calm(self) -> None:
        for index, (units, averaged) in enumerate(self._units):
            means = self._means[index]
            assert means is not None
            self._means[index] = None
            large = torch.nonzero(means > LARGE)[:, 0]
            if not units.are_pooled or len(large) == 0:
                continue
            factors = LARGE / means[large]
            for each in (units, averaged):
                each.writer.weight[large] *= factors.view(-1, *[1] * (each.writer.weight.ndim - 1))
                if each.writer.bias is not None:
                    each.writer.bias[large] *= factors
                for reader in each.readers:
                    reader.layer.weight[:, _inputs(reader, large, len(means))] /= factors.repeat(reader.copies)
            self._forget(units, large, len(means))

    @torch.no_grad()
    def _revive(self) -> int:
        revived = 0
        for index, (units, averaged) in enumerate(self._units):
            highest = self._highest[index]
            assert highest is not None
            self._highest[index] = None
            dead = torch.nonzero(highest <= 0.0)[:, 0]
            if len(dead) == 0:
                continue
            revived += len(dead)
            fresh = torch.empty_like(units.writer.weight)
            nn.init.kaiming_normal_(fresh, nonlinearity="relu")
            for each in (units, averaged):
                each.writer.weight[dead] = fresh[dead] * units.scale
                if each.writer.bias is not None:
                    each.writer.bias[dead] = 0.0
                if each.adder is not None:
                    each.adder.weight[dead] = 0.0
                for reader in each.readers:
                    reader.layer.weight[:, _inputs(reader, dead, len(highest))] = 0.0
            if units.adder is not None:
                self._optimisers.forget(units.adder.weight, dead)
            self._forget(units, dead, len(highest))
        return revived

    def _forget(self, units: Units, changed: Tensor, count: int) -> None:
        for parameter in (units.writer.weight, units.writer.bias):
            if parameter is not None:
                self._optimisers.forget(parameter, changed)
        for reader in units.readers:
            self._optimisers.forget(reader.layer.weight, (slice(None), _inputs(reader, changed, count)))


def _inputs(reader: Reader, units: Tensor, count: int) -> Tensor:
    """The inputs of a reader that hold these of `count` units."""
    return torch.cat([units + copy * count for copy in range(reader.copies)])
