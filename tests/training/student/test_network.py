"""The student: any board size, padded or not, the same numbers; and as a KataGo file, the same again."""

# ruff: noqa: E402
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from nets.evaluator import EvaluationRequest
from nets.katago.parse import parse_model
from nets.katago.reader import decompress
from nets.katago.writer import encode_model
from nets.open import open_network
from training.config import NetworkConfig
from training.errors import TrainingError
from training.network import load_network
from training.positions.canvas import OFF_BOARD
from training.student.board import Board
from training.student.evaluation import evaluate_with
from training.student.export import to_model
from training.student.network import OPTIMISTIC, PLAIN, Student

SHAPE = NetworkConfig(
    blocks=3, channels=16, pooling_every=2, pooled_channels=4, policy_channels=8, value_channels=8, value_hidden=16
)
NESTED = replace(SHAPE, bottleneck=8)
KINDS = {
    "plain": SHAPE,
    "fixed": replace(SHAPE, norm="fixed"),
    "batch": replace(SHAPE, norm="batch"),
    "silu": replace(SHAPE, activation="silu"),
    "nested": NESTED,
    "nested-fixed-silu": replace(NESTED, norm="fixed", activation="silu"),
    "nested-batch": replace(NESTED, norm="batch"),
    "attention": replace(SHAPE, attention_every=2, attention_heads=2),
    "attention-nested-fixed": replace(NESTED, attention_every=3, norm="fixed"),
}
"""A student of each kind of norm, activation and block."""


def new_student(config: NetworkConfig = SHAPE) -> Student:
    """A student whose every weight, and every statistic of a batch norm, matters."""
    torch.manual_seed(3)
    student = Student(config).eval()
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
        for name, buffer in student.named_buffers():
            if name.endswith((".mean", ".variance")):
                buffer.add_(0.2 * torch.rand_like(buffer))
    return student


def inputs(count: int, size: int, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    spatial = (torch.rand(count, 22, size, size, generator=generator) > 0.7).float()
    spatial[:, 0] = 1
    global_ = torch.rand(count, 19, generator=generator)
    global_[:, 6] = torch.arange(count) % 2  # simple ko and superko
    global_[:, 9] = 0
    return spatial, global_


def padded(spatial: torch.Tensor, canvas: int) -> torch.Tensor:
    size = spatial.shape[2]
    return torch.nn.functional.pad(spatial, (0, canvas - size, 0, canvas - size))


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_padded_board_evaluates_as_itself(kind: str) -> None:
    student = new_student(KINDS[kind])
    spatial, global_ = inputs(3, 7)
    alone = student(spatial, global_)
    on_canvas = student(padded(spatial, 9), global_, False)
    points = (torch.arange(7)[:, None] * 9 + torch.arange(7)).flatten()
    close = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(on_canvas.value, alone.value, **close)
    torch.testing.assert_close(on_canvas.score, alone.score, **close)
    torch.testing.assert_close(on_canvas.ownership[:, points], alone.ownership, **close)
    torch.testing.assert_close(on_canvas.policy[:, :, points], alone.policy[:, :, :-1], **close)
    torch.testing.assert_close(on_canvas.policy[:, :, -1], alone.policy[:, :, -1], **close)
    outside = torch.ones(81, dtype=torch.bool)
    outside[points] = False
    assert (on_canvas.policy[:, :, :-1][:, :, outside] == OFF_BOARD).all()


@torch.no_grad()
def test_boards_of_different_sizes_share_a_batch() -> None:
    student = new_student()
    small, small_global = inputs(1, 7)
    large, large_global = inputs(1, 9, seed=2)
    both = student(torch.cat([padded(small, 9), large]), torch.cat([small_global, large_global]), False)
    torch.testing.assert_close(both.value[:1], student(small, small_global).value, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(both.value[1:], student(large, large_global).value, rtol=1e-4, atol=1e-4)


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(TrainingError, match=r"smaller than network\.channels"):
        Student(NetworkConfig(blocks=3, channels=16, pooled_channels=16))
    with pytest.raises(TrainingError, match=r"smaller than network\.bottleneck"):
        Student(NetworkConfig(blocks=3, channels=64, pooled_channels=16, bottleneck=16))
    with pytest.raises(TrainingError, match=r"multiple of twice network\.attention_heads"):
        Student(replace(SHAPE, attention_every=1, attention_heads=3))


def test_blocks_begin_as_identities() -> None:
    """Fixup: an untrained network of any depth is as shallow as its stem and heads."""
    for kind in ("plain", "batch", "nested", "attention"):
        student = Student(KINDS[kind])
        assert all(not block.second.weight.any() for block in student.blocks)


def test_batch_norm_norms_over_the_points_of_all_boards() -> None:
    """While it trains; and its running statistics become those, so that it says the same afterwards."""
    student = new_student(KINDS["batch"]).train()
    norm = student.blocks[0].between
    with torch.no_grad():
        norm.scale.fill_(1.0)
        norm.bias.fill_(10.0)  # above zero, where ReLU changes nothing
    small, small_global = inputs(5, 7)
    large, large_global = inputs(3, 9, seed=2)
    spatial, global_ = torch.cat([padded(small, 9), large]), torch.cat([small_global, large_global])
    board = Board.of(spatial, False)
    x = 3.0 + 2.0 * torch.randn(8, 16, 9, 9)
    for _ in range(300):
        normed = norm(x, board)
    on_board = normed.detach().permute(1, 0, 2, 3)[:, board.mask[:, 0] > 0]
    torch.testing.assert_close(on_board.mean(1), torch.full((16,), 10.0), atol=1e-3, rtol=0)
    torch.testing.assert_close(on_board.std(1), torch.ones(16), atol=1e-2, rtol=0)
    torch.testing.assert_close(norm.eval()(x, board), normed, atol=0.02, rtol=0.02)
    assert student(spatial, global_, False).policy.isfinite().all()


@pytest.mark.parametrize(("kind", "size"), [("plain", 19), *((kind, 7) for kind in KINDS)])
def test_as_a_katago_file_it_is_the_same_network(tmp_path: Path, kind: str, size: int) -> None:
    student = new_student(KINDS[kind])
    path = tmp_path / "student.bin.gz"
    path.write_bytes(encode_model(to_model(student, "test-b3c16", has_optimistic=True)))
    network = open_network(path, precision="fp32")
    assert network.attributes.name == "test-b3c16"
    spatial, global_ = inputs(4, size)
    expected = evaluate_with(student)(spatial.numpy(), global_.numpy())
    given = network.evaluate(EvaluationRequest(spatial.numpy(), global_.numpy(), np.zeros(4, np.float32)))
    for want, have in zip(expected, given, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4)
    optimistic = network.evaluate(EvaluationRequest(spatial.numpy(), global_.numpy(), np.ones(4, np.float32)))
    with torch.no_grad():
        want = student(spatial, global_).policy[:, OPTIMISTIC].numpy()
    np.testing.assert_allclose(optimistic.policy, want, rtol=1e-4, atol=1e-4)


def test_without_an_optimistic_policy_the_plain_one_stands_in() -> None:
    student = new_student()
    model = parse_model(decompress(encode_model(to_model(student, "plain", has_optimistic=False))))
    weights = model.policy.second.weights
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], student.policy.second.weight[PLAIN].detach().numpy())


def test_the_same_weights_are_the_same_file() -> None:
    assert encode_model(to_model(new_student(), "a", True)) == encode_model(to_model(new_student(), "a", True))


@torch.no_grad()
def test_a_student_can_teach(tmp_path: Path) -> None:
    student = new_student()
    path = tmp_path / "student.bin.gz"
    path.write_bytes(encode_model(to_model(student, "teacher", has_optimistic=True)))
    teacher = load_network(path)
    spatial, global_ = inputs(3, 9)
    outputs, evaluation = student(spatial, global_), teacher.evaluate(spatial, global_)
    torch.testing.assert_close(evaluation.policy, outputs.policy[:, PLAIN], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(evaluation.ownership, outputs.ownership.tanh(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(evaluation.score[1::2], outputs.score[1::2], rtol=1e-4, atol=1e-4)
