"""A student that learns in bf16 from labels that are there already is compiled, and learns as it does without."""

# ruff: noqa: E402
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from training.config import NetworkConfig, OptimiserConfig, RunConfig, TrainingConfig
from training.positions.batch import Batch
from training.positions.replay import LABELS
from training.student.distiller import Distiller
from training.teacher.labels import targets_from_records

SIZE = 7


def batch() -> Batch:
    generator = torch.Generator().manual_seed(0)
    planes = (torch.rand(4, SPATIAL_PLANES, SIZE, SIZE, generator=generator) > 0.7).to(torch.uint8)
    planes[:, 0] = 1
    labels = torch.zeros(4, LABELS, dtype=torch.int16)
    targets = targets_from_records(labels, SIZE * SIZE)
    return Batch("test", planes, torch.zeros(4, GLOBAL_FEATURES), labels, targets, fills_canvas=True)


@pytest.mark.parametrize(("precision", "channels", "compiles"), [("bf16", 64, 4), ("bf16", 16, 0), ("fp32", 64, 0)])
def test_a_student_is_compiled_where_that_pays(
    monkeypatch: pytest.MonkeyPatch, precision: str, channels: int, compiles: int
) -> None:
    monkeypatch.setattr("training.student.distiller.WORTH_COMPILING", 20_000_000)
    calls: list[object] = []

    def compile(function: Callable[..., object], **options: object) -> Callable[..., object]:
        def compiled(*inputs: object) -> object:
            calls.append(options["dynamic"])
            return function(*inputs)

        return compiled

    losses = []
    for is_wanted in (True, False):
        config = TrainingConfig(
            network=NetworkConfig(blocks=2, channels=channels, pooled_channels=8),
            run=RunConfig(device="cpu", precision=precision, compile=is_wanted),
            optimiser=OptimiserConfig(warm_up=2),
        )
        with monkeypatch.context() as patched:
            patched.setattr(torch, "compile", compile)
            distiller = Distiller(config)
            assert not distiller.warm_up()  # there is no teacher
            losses.append([float(distiller.step(batch(), 1.0)["total"]) for _ in range(2)])
    np.testing.assert_array_equal(*losses)
    assert calls == [False] * compiles
