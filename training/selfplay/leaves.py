"""Leaves of search trees, labelled by a teacher's network without a search.

A search goes where its network is too hopeful, so its leaves show the network's errors more often than the positions of
the game do. They cost nothing to find: the searches of self-play evaluate them anyway.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import SHORTTERM_SCORE_ERROR, Evaluator, softmax
from nets.recording import RecordedPosition
from training.positions.canvas import to_canvas
from training.run.measure import evaluate_function
from training.samples.samples import (
    HAS_ERRORS,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Samples,
    pack_samples,
    unpack_planes,
)

AT_ONCE = 8
"""How many positions one call of the teacher evaluates."""


def label_leaves(leaves: list[RecordedPosition], teacher: Evaluator, canvas: int) -> Samples:
    """Make samples of leaves on boards of one size, at least one; their labels are the teacher's evaluations. Raises
    EvaluatorError."""
    boards = np.stack([leaf.spatial for leaf in leaves])
    return _labelled(boards, np.stack([leaf.global_ for leaf in leaves]), teacher, canvas)


def label_again(samples: Samples, teacher: Evaluator) -> Samples:
    """Return samples of boards of one size, at least one, with another teacher's evaluations as labels. Raises
    EvaluatorError."""
    planes = unpack_planes(samples.planes, samples.canvas)
    size = int(planes[0, 0, 0].sum())
    return _labelled(planes[:, :, :size, :size], samples.global_, teacher, samples.canvas)


def _labelled(boards: NDArray[np.uint8], global_: NDArray[np.float32], teacher: Evaluator, canvas: int) -> Samples:
    count = len(boards)
    ask = evaluate_function(teacher)
    answers = [
        ask(boards[first : first + AT_ONCE].astype(np.float32), global_[first : first + AT_ONCE])
        for first in range(0, count, AT_ONCE)
    ]
    policy, value, score, ownership = (np.concatenate(parts) for parts in zip(*answers, strict=True))
    size = boards.shape[2]
    planes = np.zeros((count, boards.shape[1], canvas, canvas), np.uint8)
    planes[:, :, :size, :size] = boards
    known = np.full(count, HAS_POLICY | HAS_VALUE | HAS_SCORE | HAS_OWNERSHIP, np.uint8)
    known[score[:, SHORTTERM_SCORE_ERROR] >= 0] |= HAS_ERRORS
    chances, owners = to_canvas(softmax(policy), size, canvas), to_canvas(ownership, size, canvas)
    return pack_samples(planes, global_, chances, value, score, owners, known)
