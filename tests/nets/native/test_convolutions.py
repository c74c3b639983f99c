"""int16 networks against the slow forward pass: tiles, transforms and whole networks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.katago.model import Activation, FloatArray
from nets.native.calibrate import ranges
from nets.native.convolutions.packing import Levels, at_places, levels_of
from nets.native.convolutions.tiling import FINER, LARGEST, reach
from nets.native.pack import pack
from nets.native.simd.products import OUTPUTS
from tests.nets.graph.test_katago_networks import NESTED, ORDINARY, POOLING, inputs
from tests.nets.native.networks import SIZES, check_on, model_of, needs_kernels, opened
from tests.nets.random_networks import RANDOM_BLOCKS, content_of, made

pytestmark = pytest.mark.usefixtures("own_networks")


MOST_LEVELS = {largest: levels_of(Activation.RELU, largest).most for largest in (LARGEST, FINER)}


# Tiles


@pytest.mark.parametrize(("largest", "fewest"), [(LARGEST, 255), (FINER, 1000)])
def test_transformed_levels_fit_16_bits(largest: int, fewest: int) -> None:
    highest, lowest = reach(largest)
    assert MOST_LEVELS[largest] * max(highest.max(), lowest.max()) <= 32767
    assert MOST_LEVELS[largest] >= fewest, "too coarse"


# Networks


@pytest.mark.parametrize("largest", [LARGEST, FINER])
@pytest.mark.parametrize(
    ("blocks", "activation"),
    [(RANDOM_BLOCKS, "RELU"), ([NESTED], "RELU"), ([NESTED, POOLING], "MISH"), ([ORDINARY], "IDENTITY")],
)
def test_no_sum_overflows(blocks: list[dict[str, Any]], activation: str, largest: int) -> None:
    """Whatever the levels are: each is at the end of its range that makes a sum largest."""
    model = model_of(14, blocks, channels=64, activation=f"ACTIVATION_{activation}")
    packed = pack(model, ranges(model, [inputs(9, 9)]), largest)
    for before, layer in pairwise(packed.layers):
        levels = Levels(int(before["least"]), int(before["most"]))
        above, below = np.array([levels.most]), np.array([-levels.least])
        if layer["side"] == 3:
            above, below = at_places(levels, largest)
        places = len(above)
        assert max(above.max(), below.max()) <= 32767
        blocks_, count = (layer["pooled"] + layer["outputs"]) // OUTPUTS, int(layer["inputs"])
        flat = packed.parameters[layer["weights"] :].view(np.int16)[: blocks_ * places * count * OUTPUTS]
        weights = flat.reshape(blocks_, places, count // 2, OUTPUTS, 2).astype(np.int64)
        over, under = np.maximum(weights, 0).sum(axis=(2, 4)), np.maximum(-weights, 0).sum(axis=(2, 4))
        high, low = above[:, None], below[:, None]
        most = max((high * over + low * under).max(), (high * under + low * over).max())
        assert 2**27 < most < 2**31


@needs_kernels
@pytest.mark.parametrize("version", [3, 4, 6, 8, 9, 13, 14, 15, 16, 17])
def test_versions(version: int) -> None:
    network, forward = made(version)
    evaluator = opened(network.compressed(), optimism=0.3)
    assert (evaluator.attributes.precision, evaluator.attributes.has_optimism) == ("int16", version >= 12)
    check_on(SIZES, evaluator, forward, 0.3)


@needs_kernels
def test_boards_of_a_single_line() -> None:
    network, forward = made()
    evaluator = opened(network.compressed())
    check_on(((1, 1), (1, 7), (7, 1)), evaluator, forward)


@needs_kernels
def test_optimism_of_each_position() -> None:
    network, forward = made(13)
    evaluator = opened(network.compressed())
    spatial, global_ = inputs(9, 9)
    mixed = evaluator.evaluate(EvaluationRequest(spatial, global_, np.array([0.0, 0.5, 1.0], np.float32))).policy
    for row, optimism in enumerate((0.0, 0.5, 1.0)):
        np.testing.assert_allclose(mixed[row], forward(spatial, global_, optimism)["policy"][row], atol=0.02)


@needs_kernels
def test_workers_at_once() -> None:
    evaluator = opened(content_of())
    truth = {size: evaluator.evaluate(EvaluationRequest(*inputs(*size))).policy for size in SIZES}

    def work(turn: int) -> None:
        for number in range(20):
            size = SIZES[(turn + number) % len(SIZES)]
            policy = evaluator.evaluate(EvaluationRequest(*inputs(*size))).policy
            assert np.allclose(policy, truth[size], atol=1e-5), size

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


@needs_kernels
def test_inputs_in_any_kind_of_array() -> None:
    """Kernels take one kind of array; callers may have another, and keep what they have."""
    evaluator = opened(content_of(15))
    spatial, global_ = inputs(9, 9)
    shares = np.linspace(0, 1, len(spatial), dtype=np.float32)
    truth = evaluator.evaluate(EvaluationRequest(spatial, global_, shares))
    for change in (np.asfortranarray, np.float64, _read_only):
        kept = change(spatial)
        for one, other in zip(
            truth, evaluator.evaluate(EvaluationRequest(kept, change(global_), change(shares))), strict=True
        ):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(kept, spatial)


def _read_only(array: FloatArray) -> FloatArray:
    result = array.copy()
    result.flags.writeable = False
    return result


@needs_kernels
def test_what_exceeds_every_range_is_cut_off() -> None:
    evaluator = opened(content_of())
    spatial, global_ = inputs(9, 9)
    evaluation = evaluator.evaluate(EvaluationRequest(spatial * 1000, global_ * 1000))
    assert all(np.isfinite(each).all() for each in evaluation)
    with pytest.raises(EvaluatorError, match="random: an output is not finite"):
        evaluator.evaluate(EvaluationRequest(spatial, global_ * np.nan))


@needs_kernels
def test_boards_that_no_network_knows() -> None:
    evaluator = opened(content_of())
    spatial, global_ = inputs(9, 9)
    with pytest.raises(EvaluatorError, match="21 planes"):
        evaluator.evaluate(EvaluationRequest(spatial[:, 1:], global_))
    with pytest.raises(EvaluatorError, match="26x9"):
        evaluator.evaluate(EvaluationRequest(np.zeros((1, 22, 26, 9), np.float32), global_[:1]))
