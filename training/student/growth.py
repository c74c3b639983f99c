"""Growing a student: the same function in a larger shape, with room to learn more.

The method is that of Chen, Goodfellow and Shlens, "Net2Net: Accelerating learning via knowledge transfer" (2016), with
new units in place of copied ones. The larger network begins at random. Then the weights of the smaller one take their
places, and whatever would carry something new to the units that were there before is set to zero. A layer's new units
get weights as large as those of its other ones: a layer that reads sums over the board has learned very small ones, and
units with large ones would drown the rest. New blocks come last, and attention where a new network has it; both begin
as the identity.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from training.config import NetworkConfig
from training.errors import TrainingError
from training.student.dormant_units import POOLED
from training.student.network import CONVOLUTIONAL, RESIDUAL, Student

GROWING = (
    "blocks",
    "channels",
    "pooled_channels",
    "policy_channels",
    "value_channels",
    "value_hidden",
    "bottleneck",
)
"""What of a shape may be larger than before. The rest stays."""
NEW_ATTENTION = ("attention_every", "attention_heads")
"""What of a shape may be anything where the smaller network has no attention."""
READ_POOLS = ("to_bias.weight", "pass_first.weight", "value.hidden.weight")
"""Ends of the names of the matrices that read pooled units: their inputs hold the units POOLED times."""


def check_growth(small: NetworkConfig, large: NetworkConfig) -> None:
    """Raise TrainingError, which says where, unless a student of shape `small` can grow to the shape `large`."""
    free = () if small.attention_every else NEW_ATTENTION
    for name in (field.name for field in dataclasses.fields(NetworkConfig) if field.name not in free):
        before, after = getattr(small, name), getattr(large, name)
        if name not in GROWING and before != after:
            raise TrainingError(f"network.{name} must stay {before!r}: a network grows in {', '.join(GROWING)}")
        if name in GROWING and (before > after or (name == "bottleneck" and before == 0 < after)):
            raise TrainingError(f"network.{name} must be {before} at least, as in the network to begin with")
    if _regular(small) > _regular(large):
        raise TrainingError("network.pooled_channels leaves fewer channels that are not pooled than there were")
    if small.attention_every and small != large:
        raise TrainingError("a network with attention cannot grow")


@torch.no_grad()
def grow(small: Student, config: NetworkConfig) -> Student:
    """Return a student of the shape `config` whose outputs are those of `small`, up to rounding. Raises TrainingError
    where that cannot be."""
    check_growth(small.config, config)
    large = Student(config)
    places = _places(small, large)
    known = {_moved(name, places): weights for name, weights in small.state_dict().items()}
    for name, weights in large.state_dict().items():
        if name in known:
            _place(weights, known[name].to(weights), POOLED if name.endswith(READ_POOLS) else 1)
    for number, block in enumerate(large.blocks):
        if number not in places:
            nn.init.zeros_(block.second.weight)
    return large


def _places(small: Student, large: Student) -> list[int]:
    """Return the index in `large.blocks` of each block of `small`."""
    kinds = RESIDUAL if small.config.attention_every else CONVOLUTIONAL
    alike = [number for number, block in enumerate(large.blocks) if isinstance(block, kinds)]
    return alike[: len(small.blocks)]


def _moved(name: str, places: list[int]) -> str:
    """Return the name of a small student's weights in the large one."""
    first, *rest = name.split(".")
    return ".".join([first, str(places[int(rest[0])]), *rest[1:]]) if first == "blocks" else name


def _place(large: Tensor, small: Tensor, copies: int) -> None:
    """Put the weights [out, in, ...] or [out] of a layer into those of a larger one, in place. The inputs are `copies`
    groups, each of which has grown. What reads new inputs for old outputs becomes zero; new outputs get weights whose
    mean norm is that of the old ones."""
    if large.ndim < 2:
        large[: len(small)] = small
        return
    outputs = len(small)
    groups, source = (each.unflatten(1, (copies, -1)) for each in (large, small))
    groups[:outputs] = 0.0
    groups[:outputs, :, : source.shape[2]] = source
    added = large[outputs:]
    if added.any():  # and not all zero, as at the end of a block
        added *= _mean_norm(small) / _mean_norm(added)


def _mean_norm(weights: Tensor) -> Tensor:
    """Return the mean, over a layer's outputs, of the norm of their weights."""
    return weights.flatten(1).norm(dim=1).mean()


def _regular(config: NetworkConfig) -> int:
    """Return how many hidden channels of a pooling block are not pooled; 0 where none pools."""
    return (config.bottleneck or config.channels) - config.pooled_channels if config.pooling_every else 0
