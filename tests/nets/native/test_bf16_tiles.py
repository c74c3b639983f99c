"""Convolutions in bf16 on tile registers: the products, whole networks, and who computes so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nets.evaluator import EvaluationRequest
from nets.graph.convert import load_model
from nets.loss import LIMITS
from nets.native.calibrate import calibrate, checked_here, from_bytes, packed_by
from nets.native.convolutions.packing import as_bf16
from nets.native.packed import aligned
from nets.native.simd.bf16_tiles import multiply_bf16_tiles, shape_bf16_tiles
from nets.native.simd.products import HERE, OUTPUTS
from nets.native.simd.tile_products import give_up_tiles
from nobi_machine.jit import kernel
from tests.nets.graph.test_katago_networks import NESTED, ORDINARY, POOLING, inputs
from tests.nets.native.networks import SIZES, check, opened, plain
from tests.nets.random_networks import RANDOM_BLOCKS, content_of, made

pytestmark = pytest.mark.usefixtures("own_networks")

needs_bf16_tiles = pytest.mark.skipif(not HERE.has_bf16_tiles, reason="the processor has no tile registers for bf16")


@kernel
def multiplied(points, row_bytes, side, inputs, weights, sums, rows):
    shape_bf16_tiles()
    multiply_bf16_tiles(points, row_bytes, side, inputs, weights, sums, rows)
    give_up_tiles()


def test_floats_become_the_nearest_numbers_in_bf16() -> None:
    one = np.float32(1.0)
    last = np.float32(2.0**-7)
    values = np.array([0.0, -0.0, one, one + last / 2, one + 1.5 * last, one + 0.51 * last, -3.0e38, 1e-40], np.float32)
    found = (as_bf16(values).astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(found[:6], [0.0, 0.0, 1.0, 1.0, 1.0 + 2 * last, 1.0 + last])
    np.testing.assert_allclose(found[6], values[6], rtol=2.0**-8)
    assert found[7] == pytest.approx(1e-40, abs=1e-40)
    assert np.signbit(found[1])


@needs_bf16_tiles
@pytest.mark.parametrize("rows", [1, 16, 17, 32, 33, 47, 48])
@pytest.mark.parametrize(("side", "count"), [(1, 32), (1, 64), (3, 32), (3, 96)])
def test_products(rows: int, side: int, count: int) -> None:
    random = np.random.default_rng(rows)
    row_points = 7
    points = random.integers(-9, 10, (rows + 15 + (side - 1) * (row_points + 1), count)).astype(np.float32)
    weights = random.integers(-9, 10, (side, side, count, OUTPUTS)).astype(np.float32) / 4
    room = aligned(points.size * 2).view(np.uint16)
    room[:] = as_bf16(points).reshape(-1)
    pairs = as_bf16(weights).reshape(side, side, count // 2, 2, OUTPUTS).swapaxes(3, 4)
    packed = aligned(weights.size * 2).view(np.uint16)
    packed[:] = pairs.reshape(-1)
    sums = aligned((rows + 15) * OUTPUTS * 4).view(np.float32).reshape(-1, OUTPUTS)
    addresses = room.ctypes.data, row_points * count * 2, side, count, packed.ctypes.data, sums.ctypes.data
    multiplied(*addresses, rows)
    want = sum(
        points[y * row_points + x :][:rows].astype(np.float64) @ weights[y, x] for y in range(side) for x in range(side)
    )
    np.testing.assert_array_equal(sums[:rows], want)  # of small numbers: exact


@needs_bf16_tiles
@pytest.mark.parametrize(
    ("blocks", "activation"),
    [
        (RANDOM_BLOCKS, "RELU"),
        ([NESTED], "RELU"),
        ([NESTED, POOLING], "MISH"),
        ([ORDINARY], "IDENTITY"),
        ([POOLING], "SILU"),
    ],
)
def test_networks_beside_their_slow_forward_pass(blocks: list[dict[str, Any]], activation: str) -> None:
    network, forward = made(14, blocks, channels=40, activation=f"ACTIVATION_{activation}")
    evaluator = opened(network.compressed(), in_bf16=True)
    for size in SIZES:
        spatial, global_ = inputs(*size)
        shares = np.zeros(len(spatial), np.float32)
        for _ in range(2):  # once more in memory that has been used
            check(evaluator.evaluate(EvaluationRequest(spatial, global_, shares)), forward(spatial, global_))


@needs_bf16_tiles
def test_calibration_takes_bf16_where_it_loses_little(monkeypatch: pytest.MonkeyPatch) -> None:
    content = content_of()
    model, reference = load_model(content, "random"), plain(content)
    verdict = calibrate(model, reference)
    assert verdict.in_bf16
    assert from_bytes(verdict.to_bytes(model), model).in_bf16
    layers = packed_by(verdict, model).layers
    assert layers is not None
    assert layers["in_bf16"].all()
    assert not calibrate(model, reference, may_have_bf16=False).in_bf16
    losses = iter([replace(LIMITS, winrate_mean=1.0), LIMITS])
    monkeypatch.setattr("nets.native.calibrate.compare_answers", lambda *_: (next(losses), 0.5))
    assert not calibrate(model, reference).in_bf16


def test_a_calibration_from_elsewhere_says_nothing_about_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    content = content_of()
    model, reference = load_model(content, "random"), plain(content)
    verdict = calibrate(model, reference, may_have_bf16=False)
    assert checked_here(verdict, model, reference).in_bf16 == HERE.has_bf16_tiles
    too_much = replace(LIMITS, winrate_mean=0.02)
    monkeypatch.setattr("nets.native.calibrate.compare_answers", lambda *_: (too_much, 0.5))
    assert not checked_here(verdict, model, reference).in_bf16
