"""Teachers: KataGo networks in PyTorch against the same networks in onnxruntime."""

# ruff: noqa: E402
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from nets.evaluator import EvaluationRequest
from nets.open import open_network
from training.errors import TrainingError
from training.run.yardstick import load_yardstick
from training.teacher.network import TorchTeacher, load_torch_teacher

NETWORKS = (
    "g170-b6c96-s175395328-d26788732.bin.gz",
    "b7c96h3tfrs-test5-cnorm.bin.gz",
    "b7c96h6kv3qk32v16tflrs-fson-bnh.bin.gz",
)
POSITIONS = 4


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
@torch.no_grad()
def test_teachers_agree_with_the_evaluator(shared: Callable[[str], Path], name: str) -> None:
    teacher, network = (
        load_torch_teacher(shared(f"nets/{name}")),
        open_network(shared(f"nets/{name}"), precision="fp32"),
    )
    yardstick = load_yardstick(shared("data/kata-rows-1024.npz"))
    thirteen = next(rows for rows in yardstick.small if rows.spatial.shape[2:] == (13, 13))
    for rows in (yardstick.full, thirteen):
        spatial, global_ = rows.spatial[:POSITIONS], rows.global_[:POSITIONS]
        plain = np.zeros(POSITIONS, np.float32)
        expected = network.evaluate(EvaluationRequest(spatial, global_, plain))
        _compare(teacher, spatial, global_, expected, canvas=spatial.shape[2])
        _compare(teacher, spatial, global_, expected, canvas=19)


def _compare(teacher: TorchTeacher, spatial, global_, expected, canvas: int) -> None:  # type: ignore[no-untyped-def]
    size = spatial.shape[2]
    padding = ((0, 0), (0, 0), (0, canvas - size), (0, canvas - size))
    evaluation = teacher(torch.from_numpy(np.pad(spatial, padding)), torch.from_numpy(global_), size == canvas)
    points = (np.arange(size)[:, None] * canvas + np.arange(size)).ravel()
    policy = evaluation.policy.numpy()[:, [*points, canvas * canvas]]
    np.testing.assert_allclose(policy, expected.policy, atol=2e-3)
    np.testing.assert_allclose(evaluation.value.numpy(), expected.value, atol=2e-4)
    np.testing.assert_allclose(evaluation.score.numpy(), expected.score, atol=5e-3)
    np.testing.assert_allclose(evaluation.ownership.numpy()[:, points], expected.ownership, atol=1e-3)


@pytest.mark.slow
@torch.no_grad()
def test_a_lower_precision_stays_close(shared: Callable[[str], Path]) -> None:
    path = shared("nets/b7c96h3tfrs-test5-cnorm.bin.gz")
    rows = load_yardstick(shared("data/kata-rows-1024.npz")).full
    spatial, global_ = torch.from_numpy(rows.spatial[:16]), torch.from_numpy(rows.global_[:16])
    exact, low = (
        load_torch_teacher(path)(spatial, global_),
        load_torch_teacher(path).lower(torch.bfloat16)(spatial, global_),
    )
    assert (exact.value - low.value).abs().mean() < 0.01
    assert (exact.policy.softmax(1) - low.policy.softmax(1)).abs().sum(1).mean() < 0.1


def test_what_is_no_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "teacher.bin.gz"
    path.write_bytes(b"hello")
    with pytest.raises(TrainingError, match=r"teacher\.bin\.gz"):
        load_torch_teacher(path)
    with pytest.raises(TrainingError, match="No such file"):
        load_torch_teacher(tmp_path / "none.bin.gz")
