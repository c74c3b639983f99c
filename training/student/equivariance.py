"""Weights that are tied, so that a network turns with the board: what it says of a position that is turned or mirrored
is what it says of the position, turned or mirrored.

These are the group convolutions of Cohen and Welling, "Group equivariant convolutional networks" (2016), for the eight
symmetries of the square. Hidden channels come in groups of eight, one for each symmetry: to turn the board is to turn
all planes and to exchange the channels of each group. Whether a layer comes before or after that is the same if its
weights are equal along *orbits* of eight: W[g(o), g(i), g(k)] = W[o, i, k] for each symmetry g, where o and i are
channels and k is a place in the kernel. The inputs and outputs of the network are in no groups; g leaves them where
they are. So a layer has an eighth as many weights to learn, and costs what it would cost without ties.

Nothing is stored but the weights themselves. Gradients are averaged along orbits before each step, which keeps AdamW's
and Muon's steps tied but for rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nets.symmetry import SYMMETRIES, symmetry_permutations
from training.config import NetworkConfig
from training.errors import TrainingError

IN_GROUPS = ("channels", "pooled_channels", "policy_channels", "value_channels", "value_hidden", "bottleneck")
"""What of a shape counts channels in groups of SYMMETRIES."""
OF_INPUTS = ("stem.weight", "stem_global.weight")
"""Layers whose inputs are in no groups."""
OF_OUTPUTS = ("policy.second", "policy.pass_second", "value.value", "value.score", "value.ownership")
"""Layers whose outputs are in no groups."""
TIED_EVERY = 20
"""Steps after which what rounding has made of the ties is mended."""
ROUNDED, LEAST = 0.01, 1e-3
"""By what share of themselves tied weights may differ, and the weight from which on that counts."""


def check_equivariance(config: NetworkConfig) -> None:
    """Raise TrainingError, which says where, unless a student of this shape can turn with the board."""
    if config.norm == "batch" or config.attention_every:
        raise TrainingError("network.equivariant: neither batch norm nor attention turns with the board")
    for name in IN_GROUPS:
        if getattr(config, name) % SYMMETRIES:
            raise TrainingError(f"network.equivariant: network.{name} must be a multiple of {SYMMETRIES}")


def can_be_equivariant(config: NetworkConfig) -> bool:
    """Return whether a student of this shape can turn with the board."""
    try:
        check_equivariance(config)
    except TrainingError:
        return False
    return True


def _products() -> NDArray[np.int64]:
    """Return [SYMMETRIES, SYMMETRIES]: which symmetry it is to apply column j and then row i."""
    turns = symmetry_permutations(3, 3)[:, :-1]
    both = turns[:, turns]
    return np.asarray((both[:, :, None] == turns).all(-1).argmax(-1))


PRODUCTS = _products()


class Orbits(NamedTuple):
    """The orbits of the weights of one layer, which has N of them."""

    places: Tensor
    """int32 [N] the places, in the flattened weights, of the first weight of each orbit, then of the second, ..."""
    numbers: Tensor
    """int32 [N] the number of the orbit of each weight"""

    @classmethod
    def of(cls, name: str, weights: Tensor) -> Orbits:
        """Find the orbits of the weights of this name."""
        orbits = _orbits(name, tuple(weights.shape))
        numbers = np.empty(orbits.size, np.int32)
        numbers[orbits] = np.arange(len(orbits), dtype=np.int32)[:, None]
        places = np.ascontiguousarray(orbits.T, np.int32).ravel()
        return cls(*(torch.from_numpy(each).to(weights.device) for each in (places, numbers)))


class Ties:
    """The orbits of the weights of students of one shape."""

    def __init__(self, student: nn.Module) -> None:
        self._orbits = {name: Orbits.of(name, each) for name, each in _tied(student)}

    @torch.no_grad()
    def tie(self, student: nn.Module) -> None:
        """Make the weights of each orbit their mean."""
        for name, parameter in _tied(student):
            parameter.copy_(self._averaged(name, parameter))

    @torch.no_grad()
    def spread(self, student: nn.Module) -> None:
        """Make the weights of each orbit the first of them: for random ones, whose mean would be small."""
        for name, parameter in _tied(student):
            places, numbers = self._orbits[name]
            firsts = parameter.flatten().index_select(0, places[: len(places) // SYMMETRIES])
            parameter.copy_(firsts.index_select(0, numbers).view(parameter.shape))

    @torch.no_grad()
    def tie_gradients(self, student: nn.Module) -> None:
        """Make the gradients of each orbit their mean."""
        for name, parameter in _tied(student):
            if parameter.grad is not None:
                parameter.grad = self._averaged(name, parameter.grad)

    @torch.no_grad()
    def hold(self, student: nn.Module) -> bool:
        """Return whether a student's weights are tied, but for rounding."""
        return all(
            torch.allclose(self._averaged(name, parameter), parameter, rtol=ROUNDED, atol=ROUNDED * LEAST)
            for name, parameter in _tied(student)
        )

    def _averaged(self, name: str, values: Tensor) -> Tensor:
        places, numbers = self._orbits[name]
        means = values.flatten().index_select(0, places).view(SYMMETRIES, -1).mean(0)
        return means.index_select(0, numbers).view(values.shape)


def of_groups(values: Tensor) -> Tensor:
    """Return the highest value of each channel's group, [channels] as the values."""
    return values.unflatten(0, (-1, SYMMETRIES)).amax(1).repeat_interleave(SYMMETRIES)


def _tied(student: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """List the weights of a student that have ties: all but the biases of its outputs."""
    untied = {f"{layer}.bias" for layer in OF_OUTPUTS}
    return [(name, parameter) for name, parameter in student.named_parameters() if name not in untied]


def _orbits(name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return [weights / SYMMETRIES, SYMMETRIES] the places, in the flattened weights, of each orbit."""
    outputs, inputs, side = (*shape, 1, 1)[:3]
    out_grouped, in_grouped = not name.startswith(OF_OUTPUTS), name not in OF_INPUTS and inputs > 1
    places = np.arange(outputs * inputs * side * side).reshape(outputs, inputs, side * side)
    into = np.empty((places.size, SYMMETRIES), np.int64)
    for symmetry, turn in enumerate(symmetry_permutations(side, side)[:, :-1]):
        moved = np.empty_like(places)
        ends = _moved(outputs, symmetry, out_grouped), _moved(inputs, symmetry, in_grouped)
        moved[np.ix_(*ends, turn)] = places
        into[moved.ravel(), symmetry] = places.ravel()
    return into[into.min(axis=1) == places.ravel()]


def _moved(count: int, symmetry: int, is_grouped: bool) -> NDArray[np.int64]:
    """Return where a symmetry puts each of so many channels."""
    channels = np.arange(count)
    if not is_grouped:
        return channels
    return channels // SYMMETRIES * SYMMETRIES + PRODUCTS[symmetry, channels % SYMMETRIES]
