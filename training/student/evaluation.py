"""Post-processing of a network's outputs, a student's or a teacher's, to what a search reads: an Evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nets.evaluator import LEAD, NO_RESULT, SCORE_MEAN, SCORE_STDEV, Evaluation
from nets.katago.score_outputs import EXCLUDED, KO_FEATURE, TERRITORY_FEATURE
from training.student.network import PLAIN, Student


def value_of(logits: Tensor, global_: Tensor) -> Tensor:
    """Return probabilities [N, 3] of win, loss, no result. The last is 0 unless ko is simple or territory is scored."""
    excluded = functional.relu(global_[:, KO_FEATURE] - global_[:, TERRITORY_FEATURE]) * EXCLUDED
    return torch.cat([logits[:, :NO_RESULT], logits[:, NO_RESULT:] - excluded[:, None]], 1).softmax(1)


def score_of(score: Tensor, value: Tensor) -> Tensor:
    """Return the score columns [N, 6] of all games, from those of games with a result; the others count 0 points.

    `value` [N, 3] has the probability of no result."""
    result, no_result = 1.0 - value[:, NO_RESULT], value[:, NO_RESULT]
    mean, stdev = score[:, SCORE_MEAN], score[:, SCORE_STDEV]
    score = score.clone()
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
        value = value_of(outputs.value, numbers)
        parts = outputs.policy[:, PLAIN], value, score_of(outputs.score, value), outputs.ownership.tanh()
        return Evaluation(*(part.cpu().contiguous().numpy() for part in parts))

    return evaluate
