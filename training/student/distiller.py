"""One training step: a batch goes to the device, gets its targets, and the student learns from it.

The teacher, the student, its moving average and the optimisers are here, all on one device.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nets.evaluator import GLOBAL_FEATURES, LEAD, SPATIAL_PLANES
from nets.katago.model import Model
from nets.symmetry import SYMMETRIES, symmetry_permutations
from training.config import TrainingConfig
from training.devices import Compilation, choose_device, is_faster_in_bf16, keep_freed_memory, place_on
from training.errors import TrainingError
from training.network import PLAIN, Network, NetworkEvaluation, Outputs
from training.positions.batch import Batch, PendingPolicy
from training.positions.batch_loader import BatchLoader
from training.positions.canvas import CANVASES
from training.positions.komi_balancing import KomiBalancing, choose_balanced, with_balanced_komi
from training.positions.replay import REPLY
from training.student.beginning import random_model
from training.student.losses import Loss, Targets, loss_of
from training.student.optimiser import OTHERS_RATE, Average, Optimisers
from training.teacher.labels import targets_from_records, targets_from_teacher
from training.teacher.open import Teacher, open_teacher

PolicyFunction = Callable[[Tensor, Tensor, bool], Tensor]
"""From planes [N, 22, S, S], global features [N, 19] and whether all boards fill the canvas to logits [N, S*S + 1]."""

WARM_UP = ((19, 19), (13, 13), (13, 10))
"""Canvases, and the boards on them, with which the teacher is compiled: for any size, with masks and without."""
WARM_UP_BATCH = 8

FEWEST = 8
"""Positions that a part of a batch has at least, where threads compute the gradients of one each."""

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
    """Labelled batches that stay on the device, to be learned from again, each time turned by another symmetry: a label
    of a large teacher costs more than a step of a small student. Each is kept until it was drawn so often, in a random
    order."""

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


class Judged(NamedTuple):
    """What was found of some positions of a batch."""

    loss: Loss
    policy: Tensor
    """[N, S*S + 1] the student's logits before the step."""


class Gradients:
    """Computes the gradients of a student's weights, batch by batch; on a processor in parts, each of which one thread
    computes from its first layer to its last and back. PyTorch divides every single operation among its threads, and
    they wait for each other at its end; for small networks that leaves some of the cores idle."""

    def __init__(self, student: nn.Module, threads: int) -> None:
        """Compute them by so many threads."""
        self._student = student
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "gradients", _take_one_core) if threads > 1 else None

    def of(self, judge: Callable[[slice], Judged], count: int) -> Judged:
        """Set the gradients of the loss of `count` positions. Return what `judge` finds of them, without gradients.

        `judge` is given which of the positions to evaluate; it may be called by several threads at once. The loss of
        all is the mean of those of the parts, weighted by their sizes.
        """
        parts = min(self._threads, count // FEWEST)
        if self._pool is None or parts < 2:
            judged = judge(slice(0, count))
            total, losses = judged.loss
            total.backward()
            return Judged(Loss(total.detach(), {name: loss.detach() for name, loss in losses.items()}), judged.policy)
        weights = [parameter for parameter in self._student.parameters() if parameter.requires_grad]
        ends = [count * part // parts for part in range(parts + 1)]
        shares = [(end - start) / count for start, end in itertools.pairwise(ends)]

        def work(part: int) -> tuple[Judged, tuple[Tensor | None, ...]]:
            judged = judge(slice(ends[part], ends[part + 1]))
            return judged, torch.autograd.grad(judged.loss.total * shares[part], weights, allow_unused=True)

        judged, gradients = zip(*self._pool.map(work, range(parts)), strict=True)
        for weight, each in zip(weights, zip(*gradients, strict=True), strict=True):
            known = [gradient for gradient in each if gradient is not None]
            weight.grad = sum(known[1:], known[0]) if known else None
        return _joined(judged, shares)


def _take_one_core() -> None:
    torch.set_num_threads(1)


def _joined(parts: list[Judged], shares: list[float]) -> Judged:
    """Return what was found of all positions, out of what was found of parts that have these shares of them."""

    def mean(values: list[Tensor]) -> Tensor:
        return torch.stack([value.detach() * share for value, share in zip(values, shares, strict=True)]).sum()

    total = mean([part.loss.total for part in parts])
    losses = {name: mean([part.loss.parts[name] for part in parts]) for name in parts[0].loss.parts}
    return Judged(Loss(total, losses), torch.cat([part.policy for part in parts]))


def _require_source(config: TrainingConfig) -> None:
    """Raise TrainingError where a part of the weights alone is to learn, and nothing tells it or more would change."""
    learns = config.optimiser.learns
    if learns == "all":
        return
    data = config.data
    told = data.teacher and data.records_share + data.play_share
    wanted = "data.teacher"
    if learns == "doublings":
        told = told and data.balanced_share and data.doublings_share
        wanted = "data.teacher, data.balanced_share and data.doublings_share"
    if not told and not data.samples_share + data.fresh_share:
        raise TrainingError(f"optimiser.learns: set {wanted}")


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
    made_of: KomiBalancing | None = None
    """Which of the N positions the last M are, and how their komi was balanced."""


class Distiller:
    """Trains a student, by a teacher where the configuration names one."""

    def __init__(self, config: TrainingConfig, begun: Model | None = None) -> None:
        """Open the teacher and create the student, which begins as the network `begun`, or else with random weights of
        the configuration's shape. Raises TrainingError."""
        _require_source(config)
        self.config = config
        self.device = choose_device(config.run.device)
        if self.device.type == "cpu":
            keep_freed_memory()
        precision = config.run.precision
        self._is_low = precision == "bf16" or (precision == "auto" and is_faster_in_bf16(self.device))
        torch.manual_seed(config.run.seed)
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
        self.teacher = self._open_teacher()
        model = random_model(config.network, config.run.seed) if begun is None else begun
        self.student = place_on(Network(model), self.device)
        self._gradients = Gradients(self.student, torch.get_num_threads() if self.device.type == "cpu" else 1)
        self.optimisers = Optimisers(self.student, config.optimiser, 1.0 if begun is None else OTHERS_RATE)
        self.average = Average(self.student, config.optimiser.average)
        self._memory = LabelMemory(config.data.repeats - 1, config.run.seed)
        self.losses: dict[str, Tensor] = {}
        """The parts of the loss in the last step, on the device."""
        compiles = config.run.compile and self.device.type == "cuda"
        self._compilation = Compilation(self.teacher.parts() if compiles and isinstance(self.teacher, Network) else [])
        # With wide convolutions that would take longer than a leg of some minutes gains by it.
        compiles = compiles and not self.student.has_wide_convolutions
        self._own_compilation = Compilation(list(self.student.blocks) if compiles else [], dynamic=False)
        self._choose_compiled()
        self.copying = 0.0
        """Seconds of waiting, so far, until positions were copied to the device."""
        self._uploads = torch.cuda.Stream() if self.device.type == "cuda" else None

    def batches(self, records_drawn: int, first_step: int, student: PolicyFunction | None = None) -> BatchLoader:
        """Open the sources of batches, from `first_step` on, after `records_drawn` samples of records.

        Between positions that are learned from, games go on by the teacher's policy and, in its share of the games, the
        policy of `student`, if given. Raises TrainingError.
        """
        return BatchLoader(
            self.config,
            pass_alive_under_suicide=self.teacher is not None and self.teacher.pass_alive_under_suicide,
            has_teacher=self.teacher is not None,
            pinned=self.device.type == "cuda",
            policy_for=partial(self._policy_for, student=student),
            records_drawn=records_drawn,
            first_step=first_step,
        )

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

    def step(self, batch: Batch, rate_share: float) -> None:
        """Learn from one batch, at this share of the full learning rate. Games in the batch are told their next moves.

        `losses` stay on the device, so that nothing waits for them.
        """
        spatial, global_, targets, evaluation, _ = self._labelled(batch)
        policy = self._learn(spatial, global_, targets, batch.fills_canvas, rate_share)
        if evaluation is not None:
            self._memory.add(spatial, global_, targets, batch.fills_canvas)
            if batch.play_on is not None:
                batch.play_on(self._mixed_policy(batch, evaluation, policy[: len(batch.global_)]))

    def step_again(self, rate_share: float) -> int:
        """Learn once more from a batch that the teacher labelled before, turned by a symmetry. Return how many
        positions it has; 0: there are too few such batches yet, or none are wanted."""
        drawn = self._memory.draw()
        if drawn is None:
            return 0
        self._learn(*drawn, rate_share)
        return len(drawn[1])

    def _learn(
        self, spatial: Tensor, global_: Tensor, targets: Targets, fills_canvas: bool, rate_share: float
    ) -> Tensor:
        """Make one step. Return the student's policy [N, S*S + 1] before it."""

        def judge(part: slice) -> Judged:
            planes = spatial[part]
            outputs = self._evaluated(planes, global_[part], fills_canvas)
            wanted = Targets._make(each[part] for each in targets)
            return Judged(loss_of(outputs, wanted, planes[:, :1], self.config.loss), outputs.policy[:, PLAIN].detach())

        def learn() -> Judged:
            self.student.zero_grad(set_to_none=True)  # there are some where compiled code has failed halfway
            return self._gradients.of(judge, len(global_))

        loss, policy = self._own_compilation.run(learn)
        norm = self.optimisers.step(rate_share)
        self.average.update(self.student)
        self.losses = {"total": loss.total, "norm": norm.detach(), **loss.parts}
        return policy

    @torch.no_grad()
    def label(self, batch: Batch) -> tuple[Batch, Targets, Callable[[Tensor | None], None]]:
        """Return a batch with its positions under balanced komi added, the teacher's targets, both on the CPU, and a
        function that is to be called when the batch is no longer needed.

        That function lets the batch's games go on, which overwrites the batch. Moves are drawn by the teacher's policy,
        or, in the student's share of the games, by the student's logits that it is given.
        """
        spatial, global_, targets, evaluation, made_of = self._labelled(batch)
        cpu = torch.device("cpu")
        whole = replace(
            batch,
            spatial=spatial.to(cpu, torch.uint8),
            global_=global_.to(cpu),
            komi_balancing=None,
            balanced=0,
            made_of=None if made_of is None else made_of.to(cpu),
        )

        def play_on(student: Tensor | None) -> None:
            if batch.play_on is not None and evaluation is not None:
                batch.play_on(self._mixed_policy(batch, evaluation, student))

        return whole, targets.to(cpu), play_on

    @torch.no_grad()
    def student_policy(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> Tensor:
        """Return the logits [N, S*S + 1] of the student as it is now."""
        return self._evaluated(spatial, global_, fills_canvas).policy[:, PLAIN]

    def halve_batches(self) -> int:
        """Free what memory the device can spare, and make the batches that are opened from now on half as large. Return
        their size."""
        size = self.config.run.batch // 2
        self.config = replace(self.config, run=replace(self.config.run, batch=max(1, size)))
        self.student.zero_grad(set_to_none=True)
        self._choose_compiled()
        self._memory.clear()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return size

    def _choose_compiled(self) -> None:
        """Use compiled code of the student for the usual batches of 19×19 boards alone: for each other shape it would
        take a quarter of a minute to compile."""
        size = self.config.run.batch
        balanced = round(self.config.data.balanced_share * size) if self.teacher is not None else 0
        self.student.compiled_for = frozenset({(size + balanced, CANVASES[-1])})

    @torch.no_grad()
    def _policy_for(self, batch: Batch, student: PolicyFunction | None) -> PendingPolicy:
        spatial, global_, _, _ = self._upload(batch)
        own = self._by_student(batch, student is not None)
        policy = torch.empty(len(spatial), spatial.shape[2] * spatial.shape[3] + 1, device=self.device)
        for part, move in ((own, student), (~own, self._teacher_policy)):
            if move is not None and part.any():
                planes = spatial[part].contiguous(memory_format=torch.channels_last)
                policy[part] = move(planes, global_[part], batch.fills_canvas).float()
        return self._on_host(policy)

    def _teacher_policy(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> Tensor:
        return self._taught(spatial, global_, fills_canvas).policy

    def _by_student(self, batch: Batch, has_student: bool) -> Tensor:
        """Return bool [N] on the device: in which of a batch's games the student is to move, if there is one."""
        if batch.by_student is None or not has_student:
            return torch.zeros(len(batch.global_), dtype=torch.bool, device=self.device)
        return batch.by_student.to(self.device)

    def _evaluated(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> Outputs:
        lower = torch.autocast(self.device.type, torch.bfloat16) if self._is_low else nullcontext()
        with lower:
            outputs: Outputs = self.student(spatial, global_, fills_canvas)
        return outputs

    def _labelled(self, batch: Batch) -> LabelledBatch:
        spatial, global_, labels, targets = self._upload(batch)
        if targets is not None:
            return LabelledBatch(spatial, global_, targets, None)
        if self.teacher is None:
            targets = targets_from_records(labels, spatial.shape[2] * spatial.shape[3])
            return LabelledBatch(spatial, global_, targets, None)
        has_errors, made_of = self.teacher.has_errors, None
        with torch.no_grad():
            evaluation = self._taught(spatial, global_, batch.fills_canvas)
            reply = labels[:, REPLY].long()
            targets = targets_from_teacher(evaluation, reply, has_errors)
            if batch.komi_balancing is not None and batch.balanced:
                balancing, most = batch.komi_balancing.to(self.device), self.config.data.balanced_most
                lead, area = evaluation.score[:, LEAD], spatial[:, 0].sum((1, 2))
                index = balancing.index
                made_of = choose_balanced(global_[index], lead[index], area[index], balancing, batch.balanced, most)
                index = made_of.index
                boards = spatial[index]
                balanced = with_balanced_komi(global_[index], lead[index], area[index], made_of, most)
                again = self._taught(boards, balanced, batch.fills_canvas)
                spatial, global_ = torch.cat([spatial, boards]), torch.cat([global_, balanced])
                targets = targets.joined_with(targets_from_teacher(again, reply[index], has_errors))
        spatial = spatial.contiguous(memory_format=torch.channels_last)
        return LabelledBatch(spatial, global_, targets, evaluation, made_of)

    def _mixed_policy(self, batch: Batch, evaluation: NetworkEvaluation, student: Tensor | None) -> PendingPolicy:
        """Return the student's policy where it is to move in a batch's games, and the teacher's for the others."""
        policy = evaluation.policy
        if student is not None:
            own = self._by_student(batch, True)
            policy = torch.where(own[:, None], student[: len(policy)].float(), policy)
        return self._on_host(policy)

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

    def _taught(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> NetworkEvaluation:
        assert self.teacher is not None
        teacher = self.teacher
        return self._compilation.run(lambda: teacher.evaluate(spatial, global_, fills_canvas))

    def _open_teacher(self) -> Teacher | None:
        run, data = self.config.run, self.config.data
        if not data.teacher:
            return None
        return open_teacher(Path(data.teacher), self.device, run.teacher_precision, run.threads)
