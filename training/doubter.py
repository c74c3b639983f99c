"""A student that is asked for its opinion of what a teacher labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.disagreement import disagreement
from training.evaluation import value_of
from training.feed import Item
from training.network import PLAIN, Student
from training.restore import load_weights, read_network, shape_of
from training.samples import Samples


class Doubter:
    """A network that Nobi's training wrote, on the device where the teacher is."""

    def __init__(self, path: Path, device: torch.device) -> None:
        """Raises TrainingError."""
        model = read_network(path)
        self.network = Student(shape_of(model))
        load_weights(self.network, model)
        self.network.requires_grad_(False).eval().to(device)
        self._device = device

    @torch.no_grad()
    def __call__(self, item: Item, samples: Samples) -> tuple[Tensor, NDArray[np.float32]]:
        """Its policy's logits [N, S*S + 1] and how far it disagrees [N] with `samples`, the item's labels."""
        planes = item.spatial.to(self._device).float().contiguous(memory_format=torch.channels_last)
        global_ = item.global_.to(self._device)
        outputs = self.network(planes, global_, item.fills_canvas)
        logits = outputs.policy[:, PLAIN].float()
        opinion = (part.cpu().numpy() for part in (logits, value_of(outputs, global_), outputs.ownership.tanh()))
        return logits, disagreement(*opinion, samples)
