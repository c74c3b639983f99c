"""One training step: a batch to the device, its labels, the loss, and the update of the student."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nets.evaluator import LEAD
from training.config import TrainingConfig
from training.positions.feed import Item
from training.positions.komi_balancing import evened
from training.run.devices import device_of, is_faster_in_bf16, placed
from training.student.dormant_units import Reviver
from training.student.losses import Targets, loss_of
from training.student.network import PLAIN, Outputs, Student
from training.student.optimiser import Average, Optimisers
from training.teacher.labels import by_record, by_teacher
from training.teacher.network import Opinion, Teacher
from training.teacher.open import AnyTeacher, open_teacher

Mover = Callable[[Tensor, Tensor, bool], Tensor]
"""From planes, global features and whether boards fill their canvases to the logits [N, S*S + 1] to move by."""

LEAST_RATE = 0.2
"""Share of the full rate below which dead units stay dead: there is too little left for them to learn."""
MOST_VARIANTS = 64
"""Of compiled code for one kind of block."""


class Lesson(NamedTuple):
    """A batch as it is learned from, on the device: N positions, and those of them that are evened."""

    spatial: Tensor
    """[N + M, 22, S, S]"""
    global_: Tensor
    """[N + M, 19]"""
    targets: Targets
    opinion: Opinion | None
    """The teacher's, of the N"""


class Distiller:
    """Student, teacher and optimiser on one device."""

    def __init__(self, config: TrainingConfig) -> None:
        """Raises TrainingError."""
        self.config = config
        self.device = device_of(config.run.device)
        precision = config.run.precision
        self._is_low = precision == "bf16" or (precision == "auto" and is_faster_in_bf16(self.device))
        torch.manual_seed(config.run.seed)
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
        self.teacher = self._open_teacher()
        self.student = placed(Student(config.network), self.device)
        self.optimisers = Optimisers(self.student, config.optimiser)
        self.average = Average(self.student, config.optimiser.average)
        self._reviver = None
        if config.optimiser.revive:
            self._reviver = Reviver(self.student, self.average.network, self.optimisers)
        self.revived = 0
        """Dead units brought back so far."""
        self._loss = loss_of
        if config.run.compile and self.device.type == "cuda":
            self._compile()
        self._uploads = torch.cuda.Stream() if self.device.type == "cuda" else None

    @property
    def pass_alive_under_suicide(self) -> bool:
        return self.teacher is not None and self.teacher.pass_alive_under_suicide

    def step(self, item: Item, rate_share: float) -> dict[str, Tensor]:
        """Learn from one batch; games among it are told their next moves. Returns the parts of the loss, on the
        device, so that nothing waits for them."""
        spatial, global_, targets, opinion = self._lesson(item)
        outputs = self._asked(spatial, global_, item.fills_canvas)
        total, parts = self._loss(outputs, targets, spatial[:, :1], self.config.loss)
        total.backward()
        norm = self.optimisers.step(rate_share)
        self.average.update(self.student)
        if self._reviver is not None and rate_share >= LEAST_RATE:
            self.revived += self._reviver.step(spatial, global_, item.fills_canvas)
        if item.answer is not None and opinion is not None:
            item.answer(self._moves(opinion, outputs.policy[: len(item.global_), PLAIN].detach()))
        return {"total": total.detach(), "norm": norm.detach(), **{name: part.detach() for name, part in parts.items()}}

    @torch.no_grad()
    def label(self, item: Item) -> tuple[Item, Targets, Callable[[Tensor | None], None]]:
        """A batch with those of its positions that are evened, and the teacher's labels, on the CPU. The function
        beside them is to be called once the batch is no longer needed: games among it then move, into the same memory,
        by the teacher's policy, or a share of them by the student's logits that it is given."""
        spatial, global_, targets, opinion = self._lesson(item)
        cpu = torch.device("cpu")
        whole = replace(item, spatial=spatial.to(cpu, torch.uint8), global_=global_.to(cpu), evening=None)

        def go_on(student: Tensor | None) -> None:
            if item.answer is not None and opinion is not None:
                item.answer(self._moves(opinion, student))

        return whole, targets.to(cpu), go_on

    @torch.no_grad()
    def student_policy(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> Tensor:
        """The logits [N, S*S + 1] of the student as it is now."""
        return self._asked(spatial, global_, fills_canvas).policy[:, PLAIN]

    @torch.no_grad()
    def play(self, item: Item, student: Mover | None) -> Callable[[], NDArray[np.float32]]:
        """The policies by which games go on from positions that are not learned from: `student`'s, where there is one,
        in its share of the games."""
        assert self.teacher is not None
        spatial, global_, _, _ = self._upload(item)
        own = 0 if student is None else round(len(spatial) * self.config.data.play.student)
        parts = []
        if student is not None and own:
            parts.append(student(spatial[:own], global_[:own], item.fills_canvas))
        if own < len(spatial):
            parts.append(self.teacher(spatial[own:], global_[own:], item.fills_canvas).policy)
        return self._on_host(torch.cat(parts))

    def _asked(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> Outputs:
        lower = torch.autocast(self.device.type, torch.bfloat16) if self._is_low else nullcontext()
        with lower:
            outputs: Outputs = self.student(spatial, global_, fills_canvas)
        return outputs

    def _lesson(self, item: Item) -> Lesson:
        spatial, global_, labels, targets = self._upload(item)
        if targets is not None:
            return Lesson(spatial, global_, targets, None)
        if self.teacher is None:
            return Lesson(spatial, global_, by_record(labels, spatial.shape[2] * spatial.shape[3]), None)
        has_errors = self.teacher.has_errors
        with torch.no_grad():
            opinion = self.teacher(spatial, global_, item.fills_canvas)
            targets = by_teacher(opinion, labels, has_errors)
            if item.evening is not None and len(item.evening.index):
                index, noise = (part.to(self.device) for part in item.evening)
                boards = spatial[index]
                numbers = evened(global_[index], opinion.score[index, LEAD], noise, boards[:, 0].sum((1, 2)))
                again = by_teacher(self.teacher(boards, numbers, item.fills_canvas), labels[index], has_errors)
                spatial, global_ = torch.cat([spatial, boards]), torch.cat([global_, numbers])
                targets = targets.and_also(again)
        return Lesson(spatial.contiguous(memory_format=torch.channels_last), global_, targets, opinion)

    def _moves(self, opinion: Opinion, student: Tensor | None) -> Callable[[], NDArray[np.float32]]:
        """The policies by which games go on: the student's in the first of them, the teacher's in the others."""
        policy = opinion.policy
        if student is not None:
            own = round(len(policy) * self.config.data.play.student)
            policy = torch.cat([student[:own].float(), policy[own:]])
        return self._on_host(policy)

    def _on_host(self, policy: Tensor) -> Callable[[], NDArray[np.float32]]:
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

    def _upload(self, item: Item) -> tuple[Tensor, Tensor, Tensor, Targets | None]:
        """The batch on the device. Its own stream copies, so that only the copy is waited for, not earlier steps."""
        if self._uploads is None:
            planes = item.spatial.float().contiguous(memory_format=torch.channels_last)
            return planes, item.global_, item.labels, item.targets
        with torch.cuda.stream(self._uploads):
            planes, global_, labels = (
                part.to(self.device, non_blocking=True) for part in (item.spatial, item.global_, item.labels)
            )
            targets = None if item.targets is None else item.targets.to(self.device)
        self._uploads.synchronize()
        for part in (planes, global_, labels, *(targets or ())):
            if part is not None:
                part.record_stream(torch.cuda.current_stream())
        return planes.float().contiguous(memory_format=torch.channels_last), global_, labels, targets

    def _compile(self) -> None:
        """Compile block by block, for any canvas. Blocks of a kind share their code: a minute instead of ten."""
        limit = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"
        setattr(torch._dynamo.config, limit, MOST_VARIANTS)
        for network in (self.student, self.teacher):
            if isinstance(network, Student | Teacher):
                for module in (*network.blocks, network.policy, network.value):
                    module.compile(dynamic=True)
        self._loss = torch.compile(loss_of, dynamic=True)

    def _open_teacher(self) -> AnyTeacher | None:
        run, data = self.config.run, self.config.data
        if not data.teacher:
            return None
        return open_teacher(Path(data.teacher), self.device, run.teacher_precision, run.threads)
