"""Opening a teacher: a KataGo network in PyTorch, or in 16-bit integers on the engine's own kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import torch

from training.devices import is_faster_in_bf16, place_on
from training.errors import TrainingError
from training.network import Network, load_network

if TYPE_CHECKING:
    from training.teacher.native import NativeTeacher

Teacher: TypeAlias = "Network | NativeTeacher"
"""A network that evaluates batches for the student to learn from."""


def open_teacher(path: Path, device: torch.device, precision: str = "auto", threads: int = 0) -> Teacher:
    """Open a KataGo network as a teacher. Raises TrainingError.

    `precision` is the setting run.teacher_precision. `threads` threads compute where the engine's kernels do; 0 means
    one for each core.
    """
    can_be_native = device.type == "cpu"
    if precision == "int16" and not can_be_native:
        raise TrainingError("run.teacher_precision: int16 is for processors")
    if can_be_native and precision in ("auto", "int16"):
        # Not above: what converts networks for the engine is large, and training on a GPU needs none of it.
        from training.teacher.native import load_native_teacher

        native = load_native_teacher(path, threads, is_required=precision == "int16")
        if native is not None:
            return native
    teacher = place_on(load_network(path), device)
    is_low = precision == "bf16" or (precision == "auto" and is_faster_in_bf16(device))
    return teacher.lower(torch.bfloat16) if is_low else teacher
