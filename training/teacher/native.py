"""A teacher on the engine's own 16-bit kernels: on a processor it labels several times as fast as PyTorch does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nets.evaluator import SCORE_COLUMNS, EvaluatorError
from nets.graph.convert import load_model
from nets.native.evaluator import NativeEvaluator
from nets.open import NetworkFile, open_network
from nobi_machine.memory import usable_cores
from training.errors import TrainingError
from training.network import NetworkEvaluation, check_teacher
from training.positions.canvas import OFF_BOARD, board_cells

AT_ONCE = 8
"""How many positions one call evaluates; a call computes on one core."""


class NativeTeacher:
    """A teacher with the attributes and the evaluations of a Network (training/network.py)."""

    def __init__(self, evaluator: NativeEvaluator, has_errors: bool, threads: int) -> None:
        """Evaluate on `threads` threads. `has_errors` says whether the network estimates short-term errors."""
        network = evaluator.attributes
        self.name = network.name
        self.pass_alive_under_suicide = network.pass_alive_under_suicide
        self.has_errors, self.has_optimistic = has_errors, network.has_optimism
        self._evaluator = evaluator
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="teacher")

    def evaluate(self, spatial: Tensor, global_: Tensor, fills_canvas: bool = True) -> NetworkEvaluation:
        """Evaluate positions on the CPU: `spatial` [N, 22, S, S] with boards in the top left corners of their canvases,
        and `global_` [N, 19]. Raises TrainingError."""
        canvas = spatial.shape[2]
        sizes = spatial[:, 0, 0].sum(1).numpy().astype(np.int64)
        count, cells = len(sizes), canvas * canvas
        policy = np.full((count, cells + 1), OFF_BOARD, np.float32)
        optimistic_policy = policy.copy() if self.has_optimistic else None
        value, score = np.empty((count, 3), np.float32), np.empty((count, SCORE_COLUMNS), np.float32)
        ownership = np.zeros((count, cells), np.float32)
        planes, numbers = spatial.numpy(), global_.numpy()

        def ask(index: NDArray[np.int64]) -> None:
            size = int(sizes[index[0]])
            boards = np.ascontiguousarray(planes[index, :, :size, :size], np.float32)
            evaluation, optimistic = self._evaluator.evaluate_both(boards, numbers[index])
            points = board_cells(size, canvas)
            value[index], score[index] = evaluation.value, evaluation.score
            ownership[index[:, None], points] = evaluation.ownership
            moves = np.append(points, cells)
            policy[index[:, None], moves] = evaluation.policy
            if optimistic is not None and optimistic_policy is not None:
                optimistic_policy[index[:, None], moves] = optimistic

        parts = []
        for size in np.unique(sizes):
            index = np.flatnonzero(sizes == size)
            parts += [index[first : first + AT_ONCE] for first in range(0, len(index), AT_ONCE)]
        try:
            list(self._threads.map(ask, parts))
        except EvaluatorError as error:
            raise TrainingError(str(error)) from None
        arrays = (policy, optimistic_policy, value, score, ownership)
        return NetworkEvaluation(*(None if array is None else torch.from_numpy(array) for array in arrays))


def load_native_teacher(path: Path, threads: int, is_required: bool) -> NativeTeacher | None:
    """Read a KataGo network, or return None where the engine would not run it in 16 bits, unless that `is_required`.

    `threads` 0 means one for each core. Raises TrainingError."""
    try:
        file = NetworkFile(path)
        model = load_model(file.content, file.source)
        check_teacher(model, path)
        evaluator = open_network(path, "int16" if is_required else "auto", "cpu")
        if not isinstance(evaluator, NativeEvaluator):
            return None
    except EvaluatorError as error:
        raise TrainingError(str(error)) from None
    return NativeTeacher(evaluator, model.estimates_errors, threads or usable_cores())
