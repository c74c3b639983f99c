"""A student that is asked for its opinion of what a teacher labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.positions.feed import Item
from training.samples.sample_files import Samples
from training.teacher.disagreement import disagreement
from training.teacher.open import open_teacher


class Doubter:
    """A KataGo network, such as Nobi's training writes, on the device where the teacher is."""

    def __init__(self, path: Path, device: torch.device, threads: int = 0) -> None:
        """`threads` as in open_teacher. Raises TrainingError."""
        self._network = open_teacher(path, device, threads=threads)
        self._device = device

    @torch.no_grad()
    def policy(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> Tensor:
        """Its logits [N, S*S + 1]."""
        return self._network(spatial, global_, fills_canvas).policy

    @torch.no_grad()
    def __call__(self, item: Item, samples: Samples) -> tuple[Tensor, NDArray[np.float32]]:
        """Its policy's logits [N, S*S + 1] and how far it disagrees [N] with `samples`, the item's labels."""
        planes = item.spatial.to(self._device).float().contiguous(memory_format=torch.channels_last)
        opinion = self._network(planes, item.global_.to(self._device), item.fills_canvas)
        policy, value, ownership = (part.cpu().numpy() for part in (opinion.policy, opinion.value, opinion.ownership))
        return opinion.policy, disagreement(policy, value, ownership, samples)
