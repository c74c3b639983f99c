"""Post-processing of a student's outputs to an Evaluation, which is what a search reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nets.conversion.value_head import EXCLUDED, KO_FEATURE, TERRITORY_FEATURE
from nets.evaluator import LEAD, NO_RESULT, SCORE_MEAN, SCORE_STDEV, Evaluation
from training.student.network import PLAIN, Outputs, Student


def value_of(outputs: Outputs, global_: Tensor) -> Tensor:
    """Return probabilities [N, 3] of win, loss, no result. The last is 0 unless ko is simple or territory is scored."""
    excluded = functional.relu(global_[:, KO_FEATURE] - global_[:, TERRITORY_FEATURE]) * EXCLUDED
    return torch.cat([outputs.value[:, :NO_RESULT], outputs.value[:, NO_RESULT:] - excluded[:, None]], 1).softmax(1)


def score_of(outputs: Outputs, value: Tensor) -> Tensor:
    """Return the score columns [N, 6], where a game without a result counts 0 points."""
    score = outputs.score.clone()
    result, no_result = 1.0 - value[:, NO_RESULT], value[:, NO_RESULT]
    mean, stdev = outputs.score[:, SCORE_MEAN], outputs.score[:, SCORE_STDEV]
    score[:, SCORE_MEAN] = mean * result
    score[:, LEAD] *= result
    score[:, SCORE_STDEV] = ((stdev.square() + mean.square() * no_result) * result).sqrt()
    return score


def evaluate_with(network: Student) -> Callable[[NDArray[np.float32], NDArray[np.float32]], Evaluation]:
    """Return a function that evaluates planes [N, 22, H, W] and global features [N, 19] with a student, in float32."""
    device = next(network.parameters()).device

    @torch.no_grad()
    def evaluate(spatial: NDArray[np.float32], global_: NDArray[np.float32]) -> Evaluation:
        planes, numbers = torch.from_numpy(spatial).to(device), torch.from_numpy(global_).to(device)
        outputs = network(planes.contiguous(memory_format=torch.channels_last), numbers, True)
        value = value_of(outputs, numbers)
        parts = outputs.policy[:, PLAIN], value, score_of(outputs, value), outputs.ownership.tanh()
        return Evaluation(*(part.cpu().numpy() for part in parts))

    return evaluate
