"""Networks that turn with the board: from their first weights on, through training, growth and files."""

# ruff: noqa: E402
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from nets.symmetry import SYMMETRIES, symmetry_permutations
from tests.training.run.short_runs import config
from training.config import NetworkConfig, OptimiserConfig
from training.errors import TrainingError
from training.student.distiller import Distiller
from training.student.equivariance import Ties
from training.student.export import to_model
from training.student.growth import grow
from training.student.network import Student
from training.student.restore import restore

SHAPE = NetworkConfig(
    blocks=3, channels=16, pooled_channels=8, policy_channels=8, value_channels=8, value_hidden=16, equivariant=True
)
SIDE = 7


def turned(planes: NDArray[np.float32], symmetry: int) -> NDArray[np.float32]:
    """Planes [..., SIDE, SIDE] as a symmetry shows them."""
    out = np.empty_like(planes).reshape(*planes.shape[:-2], -1)
    out[..., symmetry_permutations(SIDE, SIDE)[symmetry, :-1]] = planes.reshape(out.shape)
    return out.reshape(planes.shape)


def assert_turns(student: Student) -> None:
    generator = np.random.default_rng(3)
    spatial = (generator.random((2, SPATIAL_PLANES, SIDE, SIDE)) < 0.3).astype(np.float32)
    spatial[:, 0] = 1.0
    global_ = torch.from_numpy(generator.random((2, GLOBAL_FEATURES)).astype(np.float32))
    student.eval()
    with torch.no_grad():
        first = student(torch.from_numpy(spatial), global_)
        for symmetry in range(SYMMETRIES):
            other = student(torch.from_numpy(turned(spatial, symmetry)), global_)
            for name, outputs in (("policy", first.policy[:, :, :-1]), ("ownership", first.ownership)):
                planes = outputs.unflatten(-1, (SIDE, SIDE)).numpy()
                found = getattr(other, name)
                found = found[:, :, :-1] if name == "policy" else found
                wanted = torch.from_numpy(turned(planes, symmetry)).flatten(-2)
                torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)
            torch.testing.assert_close(other.policy[:, :, -1], first.policy[:, :, -1], rtol=1e-3, atol=1e-4)
            torch.testing.assert_close(other.value, first.value, rtol=1e-3, atol=1e-4)
            torch.testing.assert_close(other.score, first.score, rtol=1e-3, atol=1e-3)


def with_living_blocks(shape: NetworkConfig = SHAPE) -> Student:
    """A student whose blocks do something from the start."""
    student = Student(replace(shape, equivariant=False))
    student.config = shape
    for parameter in student.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.2)
    Ties(student).spread(student)
    return student


@pytest.mark.parametrize("changes", [{}, {"bottleneck": 16}, {"norm": "fixed"}])
def test_outputs_turn_with_the_board(changes: dict[str, object]) -> None:
    shape = replace(SHAPE, **changes)  # type: ignore[arg-type]
    assert_turns(Student(shape))
    student = with_living_blocks(shape)
    assert_turns(student)
    assert not Ties(student).hold(Student(replace(shape, equivariant=False)))


def test_others_do_not() -> None:
    with pytest.raises(AssertionError):
        assert_turns(Student(replace(SHAPE, equivariant=False)))


@pytest.mark.parametrize("reset", [False, True])
def test_training_keeps_the_ties(records: Path, reset: bool) -> None:
    """Also where units begin anew, whole groups at a time."""
    settings = replace(config(records), network=SHAPE, optimiser=OptimiserConfig(warm_up=0, rate=0.002))
    distiller = Distiller(settings)
    before = distiller.student.stem.weight.clone()
    batches = distiller.batches(0, 0)
    try:
        for step in range(25):
            if reset and step == 0:
                with torch.no_grad():
                    for network in (distiller.student, distiller.average.network):
                        network.blocks[0].between.bias[8:16] = -1e3
            distiller.step(batches.next(step), 1.0)
    finally:
        batches.close()
    assert distiller.units_reset % SYMMETRIES == 0
    assert distiller.units_reset > 0 or not reset
    assert not torch.equal(distiller.student.stem.weight, before)
    for network in (distiller.student, distiller.average.network):
        assert Ties(network).hold(network)
        assert_turns(network)


def test_a_file_is_known_again_and_grows() -> None:
    student = with_living_blocks()
    again = restore(to_model(student, "equivariant", has_optimistic=True))
    assert again.config == SHAPE
    assert_turns(again)
    assert not restore(to_model(Student(replace(SHAPE, equivariant=False)), "other", True)).config.equivariant
    large = grow(again, replace(SHAPE, channels=32, pooled_channels=16, blocks=4))
    assert_turns(large)
    with pytest.raises(TrainingError, match=r"network\.equivariant must stay True"):
        grow(again, replace(SHAPE, channels=32, equivariant=False))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"channels": 20}, r"network\.channels must be a multiple of 8"),
        ({"value_hidden": 12}, r"network\.value_hidden must be a multiple of 8"),
        ({"norm": "batch"}, "neither batch norm nor attention"),
        ({"attention_every": 2, "attention_heads": 2}, "neither batch norm nor attention"),
    ],
)
def test_what_cannot_turn_is_refused(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(TrainingError, match=reason):
        Student(replace(SHAPE, **changes))  # type: ignore[arg-type]
