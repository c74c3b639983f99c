"""Labelling: positions get their targets, most of them from a teacher, on the device.

On a processor a label costs about as much as a training step, so it pays to learn from each label several times.
Teachers are KataGo networks in PyTorch, or in 16-bit integers on the engine's own kernels, which label several times as
fast as PyTorch does on a processor.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nets.evaluator import GLOBAL_FEATURES, LEAD, SCORE_COLUMNS, SPATIAL_PLANES, EvaluatorError
from nobi_machine.memory import usable_cores
from training.config import TrainingConfig
from training.devices import Compilation, choose_device, is_faster_in_bf16, place_on
from training.errors import TrainingError
from training.files import read_network
from training.labels.batches import Batch
from training.labels.komi_balancing import choose_balanced, with_balanced_komi
from training.labels.samples import Origin
from training.labels.targets import Targets, targets_from_records, targets_from_teacher
from training.network import Network, NetworkEvaluation, check_teacher, load_network
from training.positions.canvas import OFF_BOARD, REPLY, PendingPolicy, board_cells

if TYPE_CHECKING:
    from nets.native.evaluator import NativeEvaluator


AT_ONCE = 8
"""How many positions one call evaluates; a call computes on one core."""


class NativeTeacher:
    """A teacher with the attributes and the evaluations of a Network (training/network.py)."""

    def __init__(self, evaluator: NativeEvaluator, has_errors: bool, threads: int) -> None:
        """Evaluate on `threads` threads; 1: in the one that asks. `has_errors`: the network estimates short-term
        errors."""
        network = evaluator.attributes
        self.name = network.name
        self.pass_alive_under_suicide = network.pass_alive_under_suicide
        self.has_errors, self.has_optimistic = has_errors, network.has_optimism
        self._evaluator = evaluator
        self._map = ThreadPoolExecutor(threads, thread_name_prefix="teacher").map if threads > 1 else map

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
            list(self._map(ask, parts))
        except EvaluatorError as error:
            raise TrainingError(str(error)) from None
        arrays = (policy, optimistic_policy, value, score, ownership)
        return NetworkEvaluation(*(None if array is None else torch.from_numpy(array) for array in arrays))


Teacher: TypeAlias = "Network | NativeTeacher"
"""A network that evaluates batches for the student to learn from."""


def open_teacher(path: Path, device: torch.device, threads: int = 0) -> Teacher:
    """Open a KataGo network as a teacher. Where the engine would run it in 16 bits on a processor, its kernels do, on
    `threads` threads; 0 means one for each core. Raises TrainingError."""
    if device.type == "cpu":
        # Not above: what converts networks for the engine is large, and training on a GPU needs none of it.
        from nets.native.evaluator import NativeEvaluator
        from nets.open import open_network

        model = read_network(path)
        check_teacher(model, path)
        try:
            evaluator = open_network(path, "auto", "cpu")
        except EvaluatorError as error:
            raise TrainingError(str(error)) from None
        if isinstance(evaluator, NativeEvaluator):
            return NativeTeacher(evaluator, model.estimates_errors, threads or usable_cores())
    return place_on(load_network(path), device)


WARM_UP = ((19, 19), (13, 13), (13, 10))
"""Canvases, and the boards on them, with which the teacher is compiled: for any size, with masks and without."""
WARM_UP_BATCH = 8


class LabelledBatch(NamedTuple):
    """A batch on the device with its targets: N positions, and M of them once more with balanced komi."""

    spatial: Tensor
    """[N + M, 22, S, S]"""
    global_: Tensor
    """[N + M, 19]"""
    targets: Targets
    """Targets of all N + M positions."""
    evaluation: NetworkEvaluation | None
    """The teacher's evaluation of the first N positions, where a teacher was asked."""


class Labeller:
    """Labels batches, by a teacher where the configuration names one, on the device of the run."""

    def __init__(self, config: TrainingConfig) -> None:
        """Choose the device and open the teacher. Raises TrainingError."""
        self.config, run = config, config.run
        self.device = choose_device(run.device)
        torch.manual_seed(run.seed)
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
        self._is_low = run.precision == "bf16" or (run.precision == "auto" and is_faster_in_bf16(self.device))
        teacher = config.data.teacher
        self.teacher = open_teacher(Path(teacher), self.device, run.threads) if teacher else None
        compiles = self.device.type == "cuda" and isinstance(self.teacher, Network)
        self._compilation = Compilation(self.teacher.parts() if compiles else [])  # type: ignore[union-attr]
        self._uploads = torch.cuda.Stream() if self.device.type == "cuda" else None
        self.copying = 0.0
        """Seconds of waiting, so far, until positions were copied to the device."""

    def precision(self) -> torch.autocast:
        """Return a context in which networks are evaluated in the precision of the run."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._is_low)

    @property
    def origin(self) -> Origin:
        """The origin of the labels: the teacher, if there is one."""
        if self.teacher is None:
            return Origin()
        return Origin((self.teacher.name,), self.teacher.has_optimistic, self.teacher.pass_alive_under_suicide)

    def warm_up(self) -> bool:
        """Compile what is to be compiled, on boards of zeros, which need no positions. Return whether there was any."""
        if not self._compilation.is_used:
            return False
        for canvas, size in WARM_UP:
            planes = torch.zeros(WARM_UP_BATCH, SPATIAL_PLANES, canvas, canvas, device=self.device)
            planes[:, 0, :size, :size] = 1.0
            global_ = torch.zeros(WARM_UP_BATCH, GLOBAL_FEATURES, device=self.device)
            with torch.no_grad():
                self._taught(planes.contiguous(memory_format=torch.channels_last), global_, size == canvas)
        return True

    @torch.no_grad()
    def labelled(self, batch: Batch) -> LabelledBatch:
        """Copy a batch to the device, add its positions under balanced komi, and give all of them their targets."""
        spatial, global_, labels, targets = self._upload(batch)
        evaluation, teacher = None, self.teacher
        if targets is None and teacher is None:
            targets = targets_from_records(labels, spatial.shape[2] * spatial.shape[3])
        if targets is None:
            assert teacher is not None
            evaluation, reply = self._taught(spatial, global_, batch.fills_canvas), labels[:, REPLY].long()
            targets = targets_from_teacher(evaluation, reply, teacher.has_errors)
            if batch.komi_balancing is not None and batch.balanced:
                balancing, most = batch.komi_balancing.to(self.device), self.config.data.balanced_most
                lead, area = evaluation.score[:, LEAD], spatial[:, 0].sum((1, 2))
                index = balancing.index
                chosen = choose_balanced(global_[index], lead[index], area[index], balancing, batch.balanced, most)
                index = chosen.index
                boards = spatial[index]
                balanced = with_balanced_komi(global_[index], lead[index], area[index], chosen, most)
                again = self._taught(boards, balanced, batch.fills_canvas)
                spatial, global_ = torch.cat([spatial, boards]), torch.cat([global_, balanced])
                targets = targets.joined_with(targets_from_teacher(again, reply[index], teacher.has_errors))
        spatial = spatial.contiguous(memory_format=torch.channels_last)
        return LabelledBatch(spatial, global_, targets, evaluation)

    def play_on(self, batch: Batch, evaluation: NetworkEvaluation | None, student: Tensor | None) -> None:
        """Let a batch's games go on, which overwrites the batch.

        Moves are drawn by the teacher's policy, or, where the student is to move, by its logits [N, ...] if given."""
        if batch.play_on is None or evaluation is None:
            return
        policy = evaluation.policy
        if student is not None and batch.by_student is not None:
            own = batch.by_student.to(self.device)
            policy = torch.where(own[:, None], student[: len(policy)].float(), policy)
        batch.play_on(self._on_host(policy))

    def _taught(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> NetworkEvaluation:
        teacher = self.teacher
        assert teacher is not None
        with self.precision():
            return self._compilation.run(lambda: teacher.evaluate(spatial, global_, fills_canvas))

    def _on_host(self, policy: Tensor) -> PendingPolicy:
        if self.device.type != "cuda":
            array = policy.numpy()
            return lambda: array
        host = torch.empty(policy.shape, dtype=torch.float32, pin_memory=True)
        host.copy_(policy, non_blocking=True)
        event = torch.cuda.Event()
        event.record()

        def wait() -> NDArray[np.float32]:
            event.synchronize()
            return host.numpy()

        return wait

    def _upload(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Targets | None]:
        """Copy the batch to the device, in a stream of its own: only the copy is waited for, not earlier steps."""
        if self._uploads is None:
            planes = batch.spatial.float().contiguous(memory_format=torch.channels_last)
            return planes, batch.global_, batch.labels, batch.targets
        with torch.cuda.stream(self._uploads):
            planes, global_, labels = (
                part.to(self.device, non_blocking=True) for part in (batch.spatial, batch.global_, batch.labels)
            )
            targets = None if batch.targets is None else batch.targets.to(self.device)
        began = time.perf_counter()
        self._uploads.synchronize()
        self.copying += time.perf_counter() - began
        for part in (planes, global_, labels, *(targets or ())):
            part.record_stream(torch.cuda.current_stream())
        return planes.float().contiguous(memory_format=torch.channels_last), global_, labels, targets
