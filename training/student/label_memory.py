"""Labelled batches that stay on the device, to be learned from again, each time turned by another symmetry.

A label of a large teacher costs more than a step of a small student, and a position that is turned around teaches
nearly as much as a new one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nets.symmetry import SYMMETRIES, symmetry_permutations
from training.student.losses import Targets

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
    """Keeps each batch until it was drawn so often, in a random order. All tensors are on one device."""

    def __init__(self, draws: int, seed: int, kept: int = KEPT) -> None:
        """`draws`, 0 to 7, is how often each batch is drawn; `kept` is how many are there before the first draw."""
        self._draws, self._least = draws, kept
        self._generator = np.random.default_rng(seed)
        self._kept: list[_Kept] = []
        self._permutations: dict[int, tuple[Tensor, Tensor]] = {}

    def add(self, spatial: Tensor, global_: Tensor, targets: Targets, fills_canvas: bool) -> None:
        """Keep a batch of N positions: `spatial` [N, 22, S, S] of zeros and ones, and `global_` [N, 19]."""
        if self._draws:
            turns = 1 + self._generator.permutation(SYMMETRIES - 1)[: self._draws]  # 0 is as it came
            planes = spatial.to(torch.uint8, memory_format=torch.contiguous_format)
            self._kept.append(_Kept(planes, global_.clone(), targets, fills_canvas, turns.tolist()))

    def draw(self) -> tuple[Tensor, Tensor, Targets, bool] | None:
        """Return a batch that is there, as float32 with channels last, its targets, and whether it fills its canvas.
        None: too few are there yet. Boards smaller than the canvas may lie in another corner."""
        if len(self._kept) < self._least:
            return None
        place = int(self._generator.integers(len(self._kept)))
        kept = self._kept[place]
        symmetry = kept.symmetries.pop()
        if not kept.symmetries:
            self._kept[place] = self._kept[-1]
            self._kept.pop()
        side = kept.spatial.shape[-1]
        permutations, sources = self._turn(side, symmetry, kept.spatial.device)
        planes = kept.spatial.flatten(2)[:, :, sources[:-1]].unflatten(2, (side, side)).float()
        planes = planes.contiguous(memory_format=torch.channels_last)
        return planes, kept.global_, turned(kept.targets, permutations, sources), kept.fills_canvas

    def clear(self) -> None:
        """Let go of all batches."""
        self._kept.clear()

    def _turn(self, side: int, symmetry: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return int64 [S*S + 1]: where the symmetry takes each cell, and what it takes to each cell."""
        if side not in self._permutations:
            permutations = symmetry_permutations(side, side).astype(np.int64)
            self._permutations[side] = (
                torch.from_numpy(permutations).to(device),
                torch.from_numpy(permutations.argsort(1)).to(device),
            )
        to, source = self._permutations[side]
        return to[symmetry], source[symmetry]


def turned(targets: Targets, permutations: Tensor, sources: Tensor) -> Targets:
    """Return the targets of the same positions turned by a symmetry, which takes cell i to permutations[i], and the
    cell sources[i] to i; the last one is the pass."""
    reply = targets.reply
    return targets._replace(
        policy=targets.policy[:, sources],
        optimistic=targets.optimistic[:, sources],
        reply=torch.where(reply >= 0, permutations[reply.clamp(min=0)], reply),
        ownership=targets.ownership[:, sources[:-1]],
    )
