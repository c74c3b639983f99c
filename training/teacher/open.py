"""Whatever opens as a teacher: in PyTorch, or in the engine's own integers."""

from __future__ import annotations

from pathlib import Path

import torch

from training.errors import TrainingError
from training.run.devices import is_faster_in_bf16, placed
from training.teacher.native import NativeTeacher, load_native_teacher
from training.teacher.network import Teacher, load_teacher

AnyTeacher = Teacher | NativeTeacher


def open_teacher(path: Path, device: torch.device, precision: str = "auto", threads: int = 0) -> AnyTeacher:
    """Open a KataGo network. `precision` is a RunConfig's of teachers; `threads` compute what is in 16 bits, 0: one a
    core. Raises TrainingError."""
    can_be_native = device.type == "cpu"
    if precision == "int16" and not can_be_native:
        raise TrainingError("run.teacher_precision: int16 is for processors")
    if can_be_native and precision in ("auto", "int16"):
        native = load_native_teacher(path, threads, is_required=precision == "int16")
        if native is not None:
            return native
    teacher = placed(load_teacher(path), device)
    is_low = precision == "bf16" or (precision == "auto" and is_faster_in_bf16(device))
    return teacher.lower(torch.bfloat16) if is_low else teacher
