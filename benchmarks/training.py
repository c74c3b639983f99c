"""How fast this machine labels positions and learns from them: positions a second.

A teacher labels in PyTorch and on the engine's own kernels. A student learns in fp32, by our own kernels and by
PyTorch's convolutions ("direct"), and in bf16. All use as many cores as there are. Kinds take turns in several rounds
and the best round of each counts, since other programs only ever slow things down. Positions have random planes: what
they cost does not depend on them.

python -m benchmarks.training TEACHER [--blocks 6] [--channels 64] [--sizes 9,13,19] [--batch N] [--rounds N] \\
                             [--only KIND...]

TEACHER is a KataGo network. Needs PyTorch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from training.config import NetworkConfig, RunConfig, TrainingConfig
from training.positions.batch import Batch
from training.positions.canvas import batch_size_on
from training.positions.replay import LABELS, REPLY
from training.student.distiller import Distiller
from training.student.network import shape_name
from training.teacher.labels import targets_from_teacher
from training.teacher.open import open_teacher

CPU = torch.device("cpu")
OWN_METHOD = "training.convolutions.convolve.own_method"
"""What says where our own kernels are used."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--sizes", default="9,13,19")
    parser.add_argument("--batch", type=int, default=64, help="positions of 19x19; on smaller boards more")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", help='kinds such as "label int16" and "learn direct"; default: all')
    options = parser.parse_args()

    teachers: dict[str, Any] = {
        f"label {kind}": open_teacher(options.teacher, CPU, kind) for kind in ("fp32", "bf16", "int16")
    }
    shape = NetworkConfig(options.blocks, options.channels)
    students = {
        f"learn {kind}": Distiller(TrainingConfig(network=shape, run=RunConfig(device="cpu", precision=kind)))
        for kind in ("fp32", "bf16")
    }
    students["learn direct"] = students["learn fp32"]
    print(f"{options.teacher.name} and {shape_name(shape)}, {torch.get_num_threads()} threads, positions a second")
    for size in map(int, options.sizes.split(",")):
        count = batch_size_on(size, options.batch)
        planes = (torch.rand(count, SPATIAL_PLANES, size, size) > 0.8).to(torch.uint8)
        planes[:, 0] = 1
        global_ = torch.zeros(count, GLOBAL_FEATURES)
        labels = torch.zeros(count, LABELS, dtype=torch.int16)
        spatial = planes.float().contiguous(memory_format=torch.channels_last)
        with torch.no_grad():
            targets = targets_from_teacher(
                teachers["label int16"].evaluate(spatial, global_), labels[:, REPLY].long(), has_errors=True
            )
        batch = Batch("benchmark", planes, global_, labels, targets, fills_canvas=True)

        kinds: dict[str, Callable[[], object]] = {}
        kinds |= {name: partial(teacher.evaluate, spatial, global_) for name, teacher in teachers.items()}
        kinds |= {name: partial(student.step, batch, 1e-6) for name, student in students.items()}
        kinds = {name: run for name, run in kinds.items() if name in (options.only or kinds)}
        best = dict.fromkeys(kinds, 0.0)
        for _ in range(options.rounds + 1):  # the first of them warms up
            for name, run in kinds.items():
                is_direct = patch(OWN_METHOD, return_value=None) if name == "learn direct" else nullcontext()
                with is_direct, torch.set_grad_enabled(name.startswith("learn")):
                    start = time.perf_counter()
                    run()
                    best[name] = max(best[name], count / (time.perf_counter() - start))
        print(f"{size}x{size}  " + "  ".join(f"{name} {speed:,.0f}" for name, speed in best.items()))


if __name__ == "__main__":
    main()
