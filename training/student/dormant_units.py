"""Dormant-unit reset: channels behind a ReLU that never fire learn nothing any more, so they get new weights.

The method is that of Sokar et al., "The dormant neuron phenomenon in deep reinforcement learning" (2023). The weights
that write a dormant unit become random; those that add a pool's values to it, and those that read it, become zero. So
the network's outputs stay the same, and the unit can learn again.

Pooled channels that have grown large are scaled down, and the weights that read them are scaled up by as much, which
changes no output: with large inputs, one step of the bias that is made of them could switch units off for good.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from training.config import NetworkConfig
from training.student.blocks import BottleneckBlock, PlainBlock, PoolingBlock
from training.student.equivariance import of_groups
from training.student.layers import Norm
from training.student.network import Student
from training.student.optimiser import Optimisers

LOOKS = 20
"""How many batches are looked at before a reset; a unit that fires in none of them is dormant."""
LOOK_EVERY = 50
"""Steps between two looks after the first LOOKS steps of a run; those all look."""
POOLED = 3
"""How many values a pool makes of each channel; the maximum is the last."""
LARGE = 8.0
"""A pooled channel whose maximum over a board has a larger mean is scaled down to this."""


class Reader(NamedTuple):
    """A layer that reads a group of units."""

    layer: nn.Conv2d | nn.Linear
    copies: int
    """How often its inputs hold the units, one copy of them all after another."""


class Units(NamedTuple):
    """A group of units: the channels that one layer writes, each behind an activation."""

    writer: nn.Conv2d | nn.Linear
    norm: Norm | None
    """The norm between the layer and the activation; a layer without one has a bias of its own."""
    adder: nn.Linear | None
    """The layer that adds a pool's values to the units, if there is one."""
    readers: tuple[Reader, ...]
    """The layers that read the units. The last copy in the first reader's inputs shows whether they fire."""
    scale: float
    """Factor of new weights, besides that of the usual initialisation."""

    @property
    def bias(self) -> Tensor:
        """What is added to the units before the activation, [C]."""
        return self.writer.bias if self.norm is None else self.norm.bias

    @property
    def are_pooled(self) -> bool:
        """Whether all readers read the units pooled."""
        return all(reader.copies == POOLED for reader in self.readers)


def units_of(student: Student) -> list[Units]:
    """List all units of a student but those of the residual streams, which each block shifts by itself, and of
    feed-forward blocks, which have no ReLU."""
    found = []
    depth_scale = 1.0 / math.sqrt(max(1, len(student.blocks)))
    for block in student.blocks:
        for inner in block.blocks if isinstance(block, BottleneckBlock) else [block]:
            if not isinstance(inner, PlainBlock | PoolingBlock):
                continue
            adder = inner.to_bias if isinstance(inner, PoolingBlock) else None
            found.append(Units(inner.first, inner.between, adder, (Reader(inner.second, 1),), depth_scale))
            if isinstance(inner, PoolingBlock):
                reader = Reader(inner.to_bias, POOLED)
                found.append(Units(inner.pooled, inner.pooled_norm, None, (reader,), depth_scale))
    policy, value = student.policy, student.value
    pool_readers = (Reader(policy.to_bias, POOLED), Reader(policy.pass_first, POOLED))
    return [
        *found,
        Units(policy.first, policy.first_norm, policy.to_bias, (Reader(policy.second, 1),), 1.0),
        Units(policy.pooled, policy.pooled_norm, None, pool_readers, 1.0),
        Units(policy.pass_first, None, None, (Reader(policy.pass_second, 1),), 1.0),
        Units(value.first, value.norm, None, (Reader(value.ownership, 1), Reader(value.hidden, POOLED)), 1.0),
        Units(value.hidden, None, None, (Reader(value.value, 1), Reader(value.score, 1)), 1.0),
    ]


def can_be_dormant(config: NetworkConfig) -> bool:
    """Return whether units of such a student can stop learning for good, and be reset without a change elsewhere."""
    return config.activation == "relu" and config.norm != "batch"


class DormantUnitReset:
    """Watches how high units rise, in the average of the weights. Resets those that never fire; scales large ones down.

    `highest` has the highest values [C] of each of `units_of(student)`, and `means` the sums of their means divided by
    LOOKS; both are over the looks since the last reset, None where there was no look.
    """

    def __init__(self, student: Student, average: Student, optimisers: Optimisers) -> None:
        self._average, self._optimisers = average, optimisers
        self._units = list(zip(units_of(student), units_of(average), strict=True))
        self.highest: list[Tensor | None] = [None] * len(self._units)
        self.means: list[Tensor | None] = [None] * len(self._units)
        self._steps = self.looks = 0
        self._in_groups = student.config.equivariant
        """Whether units live and die with their groups (equivariance.py)."""

    def step(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> int:
        """Count one step and its batch. Return how many units were reset: 0 in most steps."""
        self._steps += 1
        if self._steps > LOOKS and self._steps % LOOK_EVERY != 0:
            return 0
        self.look(spatial, global_, fills_canvas)
        if self.looks % LOOKS != 0:
            return 0
        self._scale_down()
        return self._reset()

    @torch.no_grad()
    def look(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> None:
        """Evaluate a batch with the average of the weights, and note how high the units rise."""
        self.looks += 1
        hooks = []
        for index, (_, units) in enumerate(self._units):

            def note(_layer: nn.Module, inputs: tuple[Tensor], index: int = index) -> None:
                count = len(self._units[index][0].writer.weight)
                values = inputs[0][:, -count:].float().transpose(0, 1).flatten(1)
                fired, mean = values.amax(1), values.mean(1)
                before, sums = self.highest[index], self.means[index]
                self.highest[index] = fired if before is None else torch.maximum(before, fired)
                self.means[index] = mean / LOOKS if sums is None else sums + mean / LOOKS

            hooks.append(units.readers[0].layer.register_forward_pre_hook(note))
        try:
            self._average(spatial, global_, fills_canvas)
        finally:
            for hook in hooks:
                hook.remove()

    @torch.no_grad()
    def _scale_down(self) -> None:
        for index, (units, averaged) in enumerate(self._units):
            means = self.means[index]
            assert means is not None
            self.means[index] = None
            means = of_groups(means) if self._in_groups else means
            large = torch.nonzero(means > LARGE)[:, 0]
            if not units.are_pooled or len(large) == 0:
                continue
            factors = LARGE / means[large]
            for each in (units, averaged):
                each.writer.weight[large] *= factors.view(-1, *[1] * (each.writer.weight.ndim - 1))
                each.bias[large] *= factors
                for reader in each.readers:
                    reader.layer.weight[:, _inputs(reader, large, len(means))] /= factors.repeat(reader.copies)
            self._forget(units, large, len(means))

    @torch.no_grad()
    def _reset(self) -> int:
        count = 0
        for index, (units, averaged) in enumerate(self._units):
            highest = self.highest[index]
            assert highest is not None
            self.highest[index] = None
            highest = of_groups(highest) if self._in_groups else highest
            dormant = torch.nonzero(highest <= 0.0)[:, 0]
            if len(dormant) == 0:
                continue
            count += len(dormant)
            fresh = torch.empty_like(units.writer.weight)
            nn.init.kaiming_normal_(fresh, nonlinearity="relu")
            for each in (units, averaged):
                each.writer.weight[dormant] = fresh[dormant] * units.scale
                each.bias[dormant] = 0.0
                if each.adder is not None:
                    each.adder.weight[dormant] = 0.0
                for reader in each.readers:
                    reader.layer.weight[:, _inputs(reader, dormant, len(highest))] = 0.0
            if units.adder is not None:
                self._optimisers.forget(units.adder.weight, dormant)
            self._forget(units, dormant, len(highest))
        return count

    def _forget(self, units: Units, changed: Tensor, count: int) -> None:
        for parameter in (units.writer.weight, units.bias):
            self._optimisers.forget(parameter, changed)
        for reader in units.readers:
            self._optimisers.forget(reader.layer.weight, (slice(None), _inputs(reader, changed, count)))


def _inputs(reader: Reader, units: Tensor, count: int) -> Tensor:
    """Return which inputs of a reader hold the `units`, out of `count`."""
    return torch.cat([units + copy * count for copy in range(reader.copies)])
