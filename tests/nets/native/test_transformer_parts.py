"""The parts of transformers in our own kernels: products of matrices, and shares of attention."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from nets.conversion.convert import load_model
from nets.native.pack import pack
from nets.native.parameters import aligned
from nets.native.simd.groups import LARGEST_GROUP, group_numbers
from nets.native.simd.products import multiply_rows
from nets.native.simd.vectors import load_shorts, store
from nets.native.transformers.arithmetic import fade
from nets.native.transformers.attention import fraction_bits, write_shares
from nets.native.transformers.products import IN_GROUPS, multiply_bytes, score_block
from nets.native.transformers.rows import BYTE_ZERO, SHORT_LEVELS
from tests.nets.conversion.test_katago_networks import ATTENTION, FEED_FORWARD
from tests.nets.native.networks import needs_bytes, needs_kernels
from tests.nets.random_networks import RandomNetwork


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


@needs_bytes
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
    multiply_bytes(given.ctypes.data, packed.ctypes.data, sums.ctypes.data, rows, 64)
    np.testing.assert_array_equal(sums.reshape(rows, 32), (levels + BYTE_ZERO) @ weights)


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
    total = write_shares(scores.ctypes.data, blocks, keys - 32 * (blocks - 1), bits)
    assert total == scores.sum(dtype=np.int64)
    assert (scores[keys:] == 0).all()
    truth = 2 ** (exponents - exponents.max())
    np.testing.assert_allclose(scores[:keys] / total, truth / truth.sum(), atol=0.01 if octaves > 100 else 0.002)


def test_no_sum_overflows() -> None:
    """Whatever the levels are: each is at the end of its range that makes a sum largest."""
    network = RandomNetwork(15, channels=64)
    network.write([ATTENTION, FEED_FORWARD])
    packed = pack(load_model(network.compressed(), "random"), {})
    for matrix in packed.matrices:
        count = int(matrix["inputs"] * matrix["outputs"])
        flat = packed.parameters[matrix["weights"] :].view(np.int16)[:count].astype(np.int64)
        sums = np.abs(flat.reshape(-1, matrix["inputs"] // 2, 32, 2)).sum(axis=(1, 3))
        assert SHORT_LEVELS * sums.max() < 2**31
        assert np.abs(flat).max() > 8000, "coarser than it has to be"
