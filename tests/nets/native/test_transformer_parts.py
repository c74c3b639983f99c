"""The parts of transformers in our own kernels: products of matrices, and shares of attention."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from nets.native.pack import pack
from nets.native.packed import aligned
from nets.native.simd.products import multiply_rows
from nets.native.simd.tile_products import TILE_ROWS, give_up_tiles, shape_tiles
from nets.native.simd.vectors import load_shorts, store
from nets.native.transformers.arithmetic import HIGHEST_BYTE, fade
from nets.native.transformers.attention import (
    HEAD_BUFFERS,
    fraction_bits,
    pack_int8_keys,
    pack_int8_values,
    write_int8_queries,
    write_shares,
)
from nets.native.transformers.products import (
    ATTENDS_INT8,
    IN_GROUPS,
    LARGEST_GROUP,
    group_numbers,
    multiply_int8,
    multiply_many_int8,
    score_block,
    score_int8,
)
from nets.native.transformers.rows import BYTE_ZERO, SHORT_LEVELS
from nobi_machine.jit import kernel
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD
from tests.nets.native.networks import model_of, needs_int8, needs_kernels


@kernel
def _in_tiles(levels, weights, sums, rows, row_bytes, length):
    shape_tiles()
    multiply_many_int8(levels, weights, sums, rows, row_bytes, length)
    give_up_tiles()


@needs_kernels
@pytest.mark.parametrize("rows", [1, 2, 5, 9, 12, 25, 31])
def test_products(rows: int) -> None:
    random = np.random.default_rng(rows)
    sums = aligned(rows * 128).view(np.int32)
    levels, weights = random.integers(-4095, 4096, (rows, 64)), random.integers(-3000, 3000, (64, 32))
    given, packed = aligned(levels.size * 2).view(np.int16), aligned(weights.size * 2).view(np.int16)
    given[:], packed[:] = levels.ravel(), weights.reshape(32, 2, 32).transpose(0, 2, 1).ravel()
    multiply_rows(given.ctypes.data, packed.ctypes.data, sums.ctypes.data, rows, 128)
    np.testing.assert_array_equal(sums.reshape(rows, 32), levels @ weights)
    scores = aligned(rows * 64).view(np.int16)
    score_block(given.ctypes.data, packed.ctypes.data, scores.ctypes.data, rows, 128, 64)
    even_first = (levels @ weights >> 16).reshape(rows, 2, 16).transpose(0, 2, 1)
    np.testing.assert_array_equal(scores.reshape(rows, 16, 2), even_first)


@needs_int8
@pytest.mark.parametrize("rows", [1, 5, 12, 31])
def test_products_of_bytes(rows: int) -> None:
    """At the ends of their ranges, where other instructions overflow."""
    random = np.random.default_rng(rows)
    sums = aligned(rows * 128).view(np.int32)
    levels, weights = 127 * random.integers(-1, 2, (rows, 64)), 127 * random.integers(-1, 2, (64, 32))
    if IN_GROUPS:  # each group as full as it may be, and the first row makes of it the largest sums
        full = LARGEST_GROUP // 4 * np.where(np.arange(64) // 8 % 2 == 0, 1, -1)
        weights = np.outer(full, random.choice((-1, 1), 32))
        for sign in (1, -1):
            assert np.bincount(group_numbers(np.arange(64)), np.maximum(sign * weights[:, 0], 0)).max() == LARGEST_GROUP
        levels[0] = 255 * (weights[:, 0] > 0) - BYTE_ZERO
    given, packed = aligned(levels.size), aligned(weights.size).view(np.int8)
    given[:], packed[:] = (levels + BYTE_ZERO).ravel() & 255, weights.reshape(16, 4, 32).transpose(0, 2, 1).ravel()
    multiply_int8(given.ctypes.data, packed.ctypes.data, sums.ctypes.data, rows, 64, 64)
    np.testing.assert_array_equal(sums.reshape(rows, 32), (levels + BYTE_ZERO) @ weights)


@needs_int8
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 32, 49])
@pytest.mark.parametrize(("length", "row_bytes"), [(32, 32), (64, 96), (96, 96), (512, 512)])
def test_products_of_many_rows_of_bytes(rows: int, length: int, row_bytes: int) -> None:
    """In tiles, where there are any: what lies behind a row, and behind the last one, changes nothing."""
    random = np.random.default_rng(length)
    room = -(-rows // TILE_ROWS) * TILE_ROWS
    given, packed, sums = aligned(room * row_bytes), aligned(length * 32).view(np.int8), aligned(room * 128)
    given[:] = random.choice((0, 1, 255), given.shape)
    # With a group's few weights no sum of a group overflows.
    packed[:] = random.integers(-15, 16, packed.shape) if IN_GROUPS else random.choice((-127, -1, 0, 127), packed.shape)
    _in_tiles(given.ctypes.data, packed.ctypes.data, sums.ctypes.data, rows, row_bytes, length)
    levels = given.reshape(room, row_bytes)[:rows, :length].astype(np.int64)
    weights = packed.reshape(length // 4, 32, 4).transpose(0, 2, 1).reshape(length, 32)
    np.testing.assert_array_equal(sums.view(np.int32).reshape(room, 32)[:rows], levels @ weights)


@needs_kernels
@pytest.mark.parametrize("start", [1, 16, 32735])
def test_fade(start: int) -> None:
    """Each lane is shifted by another number of bits."""

    @numba.njit
    def run(x, y, to):
        store(to, 0, fade(load_shorts(x, 0), load_shorts(y, 0)))

    numbers, bits = np.random.default_rng(start).integers(0, 1 << 16, 32), start + np.arange(32)
    x, y, to = (aligned(64).view(np.uint16) for _ in range(3))
    x[:], y[:] = numbers, bits
    run(x.ctypes.data, y.ctypes.data, to.ctypes.data)
    np.testing.assert_array_equal(to, numbers >> np.minimum(bits, 16))


@needs_kernels
@pytest.mark.parametrize("keys", [4, 32, 81, 361])
@pytest.mark.parametrize("octaves", [3.0, 40.0, 300.0])
def test_shares(keys: int, octaves: float) -> None:
    """The softmax of a row, to a base of 2."""
    random = np.random.default_rng(keys)
    exponents = random.uniform(-octaves, octaves, keys)
    bits = fraction_bits(octaves)
    blocks = -(-keys // 32)
    scores = aligned(blocks * 64).view(np.int16)
    scores[:keys] = np.rint(exponents * 2**bits)
    total = write_shares(scores.ctypes.data, blocks, keys - 32 * (blocks - 1), bits, 0, 0, 0)
    assert total == scores.sum(dtype=np.int64)
    assert (scores[keys:] == 0).all()
    truth = 2 ** (exponents - exponents.max())
    np.testing.assert_allclose(scores[:keys] / total, truth / truth.sum(), atol=0.01 if octaves > 100 else 0.002)


@needs_kernels
@pytest.mark.parametrize("keys", [4, 32, 81, 361])
def test_shares_of_bytes(keys: int) -> None:
    """Shares far below 1 are rounded up as often as it takes: over many rows none is lost."""
    exponents = np.random.default_rng(keys).uniform(-9, 0, keys)
    exponents[0], rows, blocks = 0.0, 128, -(-keys // 32)
    scores, mean = aligned(blocks * 64).view(np.int16), np.zeros(keys)
    for row in range(rows):
        scores[:keys] = np.rint(exponents * 2**10 * 2)  # halved by the factor
        scores[keys:] = 77
        total = write_shares(scores.ctypes.data, blocks, keys - 32 * (blocks - 1), 10, 32768, 1, row)
        shares = scores.view(np.uint8)[: blocks * 32]
        assert total == shares.sum(dtype=np.int64)
        assert (shares[keys:] == 0).all()
        mean += shares[:keys] / rows
    np.testing.assert_allclose(mean / HIGHEST_BYTE, 2**exponents, rtol=0.02, atol=0.0006)


@pytest.mark.skipif(not ATTENDS_INT8, reason="this processor's 8-bit products are not for attention")
@pytest.mark.parametrize("area", [2, 16, 49, 81])
def test_scores_of_bytes(area: int) -> None:
    """Of queries and keys of all sizes, the logits of a query less their highest."""
    random, size = np.random.default_rng(area), 32
    queries = (random.standard_normal((area, size)) * np.exp(random.standard_normal((area, 1)))).astype(np.float32)
    keys = (random.standard_normal((area, size)) + 5 * random.standard_normal(size)).astype(np.float32)
    blocks = -(-area // 32)
    sizes = {"queries": area * size, "key_rows": area * size, "keys": blocks * 32 * size, "key_steps": size * 4}
    sizes |= {"starts": blocks * 128, "units": area * 4}
    held, buffers = {name: aligned(each) for name, each in sizes.items()}, np.zeros(1, HEAD_BUFFERS)
    for name, memory in held.items():
        buffers[0][name] = memory.ctypes.data
    pack_int8_keys(buffers[0], keys.ctypes.data, area, size * 4, size)
    shift = write_int8_queries(buffers[0], queries.ctypes.data, area, size * 4, size, 0.25)
    units, found = held["units"].view(np.float32)[:area], np.zeros((area, blocks * 32))
    for block in range(blocks):
        scores = aligned(area * 64).view(np.int16)
        at = [int(buffers[0][name]) for name in ("queries", "keys", "starts")]
        given = at[0], at[1] + block * 32 * size, at[2] + block * 128, scores.ctypes.data
        score_int8(*given, area, size, 64, shift)
        found[:, 32 * block : 32 * block + 32] = scores.reshape(area, 32) * units[:, None]
    logits = 0.25 * queries.astype(np.float64) @ keys.T
    lengths = np.linalg.norm(queries, axis=1) * np.linalg.norm(keys - keys.mean(axis=0), axis=1).max()
    errors = [each - each.max(axis=1, keepdims=True) for each in (found[:, :area], logits)]
    assert (np.abs(errors[0] - errors[1]) < 0.006 * lengths[:, None] + 1e-3).all()


@pytest.mark.skipif(not ATTENDS_INT8, reason="this processor's 8-bit products are not for attention")
def test_values_of_bytes_take_over_what_is_lost() -> None:
    """So their sums over points are off by less than a step, however many there are."""
    area, size = 83, 32
    values = np.random.default_rng(1).standard_normal((area, size)).astype(np.float32)
    steps, packed = aligned(size * 4).view(np.float32), aligned(84 * size).view(np.int8)
    pack_int8_values(values.ctypes.data, area, size * 4, size, steps.ctypes.data, packed.ctypes.data)
    levels = packed.reshape(21, 32, 4).transpose(0, 2, 1).reshape(84, size)[:area]
    assert np.abs(levels * steps - values).max() <= 1.01 * steps.max()
    assert (np.abs((levels * steps).sum(axis=0) - values.sum(axis=0)) < 0.51 * steps).all()


def test_no_sum_overflows() -> None:
    """Whatever the levels are: each is at the end of its range that makes a sum largest."""
    packed = pack(model_of(15, [ATTENTION, FEED_FORWARD], channels=64), {})
    for matrix in packed.matrices:
        count = int(matrix["inputs"] * matrix["outputs"])
        flat = packed.parameters[matrix["weights"] :].view(np.int16)[:count].astype(np.int64)
        sums = np.abs(flat.reshape(-1, matrix["inputs"] // 2, 32, 2)).sum(axis=(1, 3))
        assert SHORT_LEVELS * sums.max() < 2**31
        assert np.abs(flat).max() > 8000, "coarser than it has to be"
