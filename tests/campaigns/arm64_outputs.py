"""What the integer kernels of this processor compute from fixed numbers, written to a file.

    python -m tests.campaigns.arm64_outputs FILE PART ...

arm64.py runs it on the machine's own processor and on an emulated one, and compares the files. What is named `exact`
has to be the same bit for bit; of the rest, sums of floats may be added up in another order.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.machine.jit import kernel
from nets.embedded import embedded_network, ready_made_int16
from nets.evaluator import EvaluationRequest, Evaluator
from nets.native.convolutions.tiling import FINER, LARGEST, tiling
from nets.native.convolutions.transforms import transform_inputs
from nets.native.simd.activations import CURVES, KINDS, activated, curve_at
from nets.native.simd.processor import is_available
from nets.native.simd.products import multiply_parts
from nets.native.simd.vectors import floats, load_floats, store, store_as_shorts
from nets.native.transformers.attention import write_shares
from nets.native.transformers.products import HAS_BYTES, IN_GROUPS, multiply_bytes, score_block
from nets.native.transformers.rows import BYTE_ZERO
from nets.open import open_network
from nets.precision import loss
from tests.nets.conversion.test_katago_networks import ATTENTION, FEED_FORWARD, NESTED, ORDINARY, POOLING, inputs
from tests.nets.native.networks import made, opened

Named = Iterator[tuple[str, NDArray[Any]]]


def aligned(values: NDArray[Any]) -> NDArray[Any]:
    """A copy that begins at a multiple of 64 bytes."""
    room = np.zeros(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    result = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    result[...] = values
    return result


def packed(weights: NDArray[Any], group: int) -> NDArray[Any]:
    """Weights [inputs, 32] as kernels read them, [inputs / group, 32, group]."""
    return aligned(np.ascontiguousarray(weights.reshape(-1, group, 32).transpose(0, 2, 1)))


def products() -> Named:
    """Sums of 16-bit and 8-bit levels and scores, up to the ends of 16 bits, for every way to cut rows up."""
    random, of_bytes = np.random.default_rng(1), np.random.default_rng(2)
    for rows in range(1, 27):
        for channels in (32, 96, 384):
            levels = aligned(random.integers(-(1 << 15), 1 << 15, (rows, channels)).astype(np.int16))
            if rows % 3 == 0:
                levels[...] = np.where(levels < 0, -(1 << 15), (1 << 15) - 1)
            weights = packed(random.integers(-(1 << 15), 1 << 15, (channels, 32)).astype(np.int16), 2)
            if rows % 6 == 0:
                weights[...] = -(1 << 15)
            sums, scores = aligned(np.zeros((rows, 32), np.int32)), aligned(np.zeros((rows, 32), np.int16))
            for read in (channels, channels - 6):
                multiply_parts(levels.ctypes.data, weights.ctypes.data, sums.ctypes.data, rows, 2 * channels, 2 * read)
                yield f"exact sums {rows} {read}", sums.copy()
            score_block(levels.ctypes.data, weights.ctypes.data, scores.ctypes.data, rows, 2 * channels, 64)
            yield f"exact scores {rows} {channels}", scores.copy()
            if HAS_BYTES:
                most = 16 if IN_GROUPS else 127
                centred = of_bytes.integers(-127, 128, (rows, channels))
                bytes_ = of_bytes.integers(-most, most + 1, (channels, 32))
                levels = aligned((centred + BYTE_ZERO).astype(np.int64).astype(np.uint8))
                weights = packed(bytes_.astype(np.int8), 4)
                multiply_bytes(levels.ctypes.data, weights.ctypes.data, sums.ctypes.data, rows, channels)
                assert (sums - BYTE_ZERO * bytes_.sum(axis=0) == centred @ bytes_).all(), "products of bytes"


@kernel
def _shorts(values, to):
    for at in range(0, 4 * len(values), 64):
        store_as_shorts(to.ctypes.data, at // 2, load_floats(values.ctypes.data, at))


@kernel
def _activate(values, curves, kind, ones, to):
    for at in range(0, 4 * len(values), 64):
        curve = curve_at(curves, kind, ones.ctypes.data, 0)
        store(to.ctypes.data, at, activated(load_floats(values.ctypes.data, at), floats(-1e30), floats(1e30), curve))


def arithmetic() -> Named:
    """Rounding, shares of scores and inputs in tiles, which are integers; activations, which are floats."""
    random = np.random.default_rng(3)
    values = np.concatenate([random.uniform(-32767, 32767, 9984), np.arange(-8, 8) + 0.5]).astype(np.float32)
    rounded = np.zeros(len(values), np.int16)
    _shorts(values, rounded)
    yield "exact rounding", rounded
    for keys in (1, 31, 32, 81, 361):
        for bits in (1, 5, 10):
            blocks = -(-keys // 32)
            scores = aligned(random.integers(-(1 << 15), 1 << 15, blocks * 32).astype(np.int16))
            if bits == 10:
                scores[...] //= 16
            total = write_shares(scores.ctypes.data, blocks, keys - 32 * (blocks - 1), bits)
            yield f"exact shares {keys} {bits}", np.append(scores, total)
    for largest in (LARGEST, FINER):
        tiles, channels = tiling(2, 9, 19, largest), 32
        count = int(tiles[0]["counts"].sum())
        levels = aligned(random.integers(-300, 500, (2, 11, 21, channels)).astype(np.int16))
        places, rows = (aligned(np.zeros((each, channels), np.int16)) for each in (count, 6 * 21))
        transform_inputs(levels.ctypes.data, places.ctypes.data, rows.ctypes.data, tiles[0], 2, channels)
        yield f"exact tiles {largest}", places
    x = np.concatenate([np.linspace(-40, 40, 4000), np.zeros(16)]).astype(np.float32)
    for number, kind in enumerate(KINDS):
        result = np.empty_like(x)
        _activate(x, CURVES, number, np.ones(16, np.float32), result)
        yield f"activation {kind.name}", result


def networks() -> Named:
    """Random networks: convolutions by Winograd's method and of 1×1, pooling, bottlenecks, attention, feed-forward."""
    inside = {"kind": "nested_bottleneck_block", "inner": (ATTENTION, FEED_FORWARD)}
    cases: dict[str, tuple[int, str, list[dict[str, Any]]]] = {
        "convolutions": (15, "RELU", [ORDINARY, POOLING, ORDINARY]),
        "nested": (15, "MISH", [NESTED, ORDINARY]),
        "transformer": (17, "SILU", [ATTENTION, FEED_FORWARD, inside]),
    }
    for name, (number, activation, blocks) in cases.items():
        network, _ = made(number, blocks, channels=40, activation=f"ACTIVATION_{activation}")
        yield from evaluated(name, opened(network.compressed()))


def evaluated(name: str, evaluator: Evaluator) -> Named:
    for size in ((9, 9), (7, 4), (19, 19)):
        evaluation = evaluator.evaluate(EvaluationRequest(*inputs(*size)))
        for field, values in evaluation._asdict().items():
            if values is not None:
                yield f"{name} {size[0]}x{size[1]} {field}", values


def embedded() -> Named:
    """The embedded network as `auto` opens it, which has to have been found right in 16 bits."""
    loss.SLOWEST = math.inf  # emulated time tells nothing of a processor's speed
    notes: list[str] = []
    path = embedded_network()
    assert path is not None
    evaluator = open_network(path, "auto", "cpu", note=notes.append)
    assert evaluator.attributes.precision == "int16", notes
    ready = ready_made_int16(hashlib.sha256(path.read_bytes()).hexdigest())
    assert ready is not None
    for number, (spatial, global_) in enumerate(ready.positions):
        for field, values in evaluator.evaluate(EvaluationRequest(spatial, global_))._asdict().items():
            if values is not None:
                yield f"embedded {number} {field}", values


PARTS: dict[str, Callable[[], Named]] = {
    "products": products, "arithmetic": arithmetic, "networks": networks, "embedded": embedded,
}  # fmt: skip


def main() -> None:
    assert is_available(), "no kernels with vectors for this processor"
    np.savez(sys.argv[1], allow_pickle=False, **{name: array for part in sys.argv[2:] for name, array in PARTS[part]()})


if __name__ == "__main__":
    main()
