"""Teachers: KataGo networks in PyTorch, or in 16-bit integers on the engine's own kernels, which label several times as
fast as PyTorch does on a processor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nets.evaluator import SCORE_COLUMNS, EvaluatorError
from nobi_machine.memory import usable_cores
from training.devices import place_on
from training.errors import TrainingError
from training.files import read_network
from training.network import Network, NetworkEvaluation, check_teacher, load_network
from training.positions.canvas import OFF_BOARD, board_cells

if TYPE_CHECKING:
    from nets.native.evaluator import NativeEvaluator

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


Teacher: TypeAlias = "Network | NativeTeacher"
"""A network that evaluates batches for the student to learn from."""


def open_teacher(path: Path, device: torch.device, threads: int = 0) -> Teacher:
    """Open a KataGo network as a teacher. Where the engine would run it in 16 bits on a processor, its kernels do, on
    `threads` threads; 0 means one for each core. Raises TrainingError."""
    native = _native_teacher(path, threads or usable_cores()) if device.type == "cpu" else None
    return native or place_on(load_network(path), device)


def _native_teacher(path: Path, threads: int) -> NativeTeacher | None:
    """Open a teacher on the engine's kernels, or return None where these do not run it. Raises TrainingError."""
    # Not above: what converts networks for the engine is large, and training on a GPU needs none of it.
    from nets.native.evaluator import NativeEvaluator
    from nets.open import open_network

    model = read_network(path)
    check_teacher(model, path)
    try:
        evaluator = open_network(path, "auto", "cpu")
    except EvaluatorError as error:
        raise TrainingError(str(error)) from None
    if not isinstance(evaluator, NativeEvaluator):
        return None
    return NativeTeacher(evaluator, model.estimates_errors, threads)
