"""Training in 8 bits: the same numbers as the engine's graph gives, and gradients all the same."""

# ruff: noqa: E402
from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from nets.conversion.to_onnx import prepared, to_onnx
from nets.katago.model import Model
from nets.onnx.evaluator import OnnxEvaluator
from nets.precision.int8_trunk import Calibration, IntegerTrunk
from tests.training.student.test_network import inputs, new_student
from training.integers import IntegerConvolution, Writes, signed_range, use_integers, widened
from training.student.evaluation import evaluate_with
from training.student.export import to_model
from training.student.network import PoolingBlock, Student


def settled(student: Student, spatial: torch.Tensor, global_: torch.Tensor) -> None:
    """Let ranges settle: those of a layer depend on the rounding before it."""
    use_integers(student, True)
    with torch.no_grad():
        for _ in range(300):
            student(spatial, global_)


def calibration(student: Student, model: Model) -> Calibration:
    """The student's ranges as the engine's quantizer would have measured them; weights are rounded one by one.

    The prepared `model` has each block's shift in the biases of the convolutions before it."""
    moved = {"stem": model.trunk.stem.bias}
    moved |= {f"block{number}_second": block.second.bias for number, block in enumerate(model.trunk.blocks)}
    layers: dict[str, tuple[IntegerConvolution, str]] = {"stem": (student.stem, "writes")}
    for number, block in enumerate(student.blocks):
        label = f"block{number}"
        layers |= {f"{label}_before": (block.first, "reads"), f"{label}_between": (block.second, "reads")}
        layers[f"{label}_second"] = (block.second, "writes")
        if isinstance(block, PoolingBlock):
            layers |= {f"{label}_first": (block.first, "writes"), f"{label}_pooled": (block.pooled, "writes")}
    ranges = {}
    for tap, (layer, way) in layers.items():
        if way == "reads" or layer.writes is Writes.POOLED:
            high = widened(layer.highest_read if way == "reads" else layer.highest).numpy()
            ranges[tap] = (np.zeros_like(high), high)
        else:
            low, width = (part.numpy() for part in signed_range(layer.lowest, layer.highest))
            low = low + moved[tap] if moved.get(tap) is not None else low
            ranges[tap] = (low, low + width)
    return Calibration(ranges, {})


@pytest.mark.parametrize("size", [9, 13])
def test_it_computes_as_the_engine_does(size: int) -> None:
    student = new_student()
    spatial, global_ = inputs(6, size)
    plain = evaluate_with(student)(spatial.numpy(), global_.numpy())
    settled(student, spatial, global_)
    ours = evaluate_with(student)(spatial.numpy(), global_.numpy())
    model = prepared(to_model(student, "test", has_optimistic=False))
    engine = OnnxEvaluator(
        to_onnx(model, "", IntegerTrunk(calibration(student, model)), "int8").SerializeToString(), "test"
    ).evaluate(spatial.numpy(), global_.numpy(), np.zeros(6, np.float32))
    # Not the same to the bit: the engine rounds biases too, and what tips one level over the edge tips others.
    for name in ("policy", "ownership"):
        engines_error, our_error = (
            (getattr(evaluation, name) - getattr(plain, name)).ravel() for evaluation in (engine, ours)
        )
        assert 0.8 < our_error.std() / engines_error.std() < 1.25, name
        assert np.corrcoef(engines_error, our_error)[0, 1] > 0.6, name


def test_turned_off_it_is_the_same_network_again() -> None:
    student = new_student()
    before = set(student.state_dict())
    spatial, global_ = inputs(3, 9)
    with torch.no_grad():
        expected = student(spatial, global_)
        use_integers(student, True)
        assert not torch.equal(student(spatial, global_).policy, expected.policy)
        use_integers(student, False)
        torch.testing.assert_close(student(spatial, global_).policy, expected.policy, rtol=0, atol=0)
    assert set(student.state_dict()) == before


def test_gradients_pass() -> None:
    student = new_student()
    spatial, global_ = inputs(4, 9)

    def gradients() -> dict[str, torch.Tensor]:
        student.zero_grad()
        outputs = student(spatial, global_)
        (outputs.policy.square().mean() + outputs.value.square().mean() + outputs.ownership.square().mean()).backward()
        return {name: p.grad.clone() for name, p in student.named_parameters() if p.grad is not None}

    exact = gradients()
    use_integers(student, True)
    for name, gradient in gradients().items():
        if exact[name].norm() > 1e-6:
            likeness = torch.nn.functional.cosine_similarity(gradient.flatten(), exact[name].flatten(), dim=0)
            assert likeness > 0.9, name
