"""What a distiller refuses to begin with."""

# ruff: noqa: E402
from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from training.config import DataConfig, OptimiserConfig, TrainingConfig
from training.errors import TrainingError
from training.student.distiller import Distiller

LEARNING = TrainingConfig(optimiser=OptimiserConfig(learns="doublings"))
TOLD = DataConfig(teacher="teacher.bin.gz", doublings_share=0.5)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (LEARNING, "data.doublings_share"),
        (replace(LEARNING, data=replace(TOLD, doublings_share=0.0)), "data.doublings_share"),
        (replace(LEARNING, data=replace(TOLD, balanced_share=0.0)), "data.balanced_share"),
        (replace(LEARNING, data=replace(TOLD, teacher="")), "data.teacher"),
        (replace(LEARNING, data=replace(TOLD, records_share=0.0, play_share=0.0)), "data.teacher"),
        (TrainingConfig(optimiser=OptimiserConfig(learns="errors")), "data.teacher"),
    ],
)
def test_a_part_alone_is_not_learned_from_nothing(config: TrainingConfig, reason: str) -> None:
    with pytest.raises(TrainingError, match=f"optimiser.learns: .*{reason}"):
        Distiller(config)
