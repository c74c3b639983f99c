"""What the integer kernels of a processor compute from fixed numbers, and how far two processors' results differ.

    python -m tests.campaigns.kernel_outputs FOLDER PART ... [--against FOLDER]

arm64.py and x86.py run it on the machine's own processor and on emulated ones. It writes a file for each part; with
--against it prints how far they differ from those in another folder, and exits with 1 if that is too far. What is named
`exact` has to be the same bit for bit; of the rest, sums of floats may be added up in another order.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nets import loss
from nets.embedded import network_file
from nets.evaluator import EvaluationRequest, Evaluator
from nets.features import scratch_for
from nets.graph.convert import load_model
from nets.loss import few_recorded
from nets.native.convolutions.tiling import FINER, LARGEST, tiling
from nets.native.convolutions.transforms import transform_inputs
from nets.native.simd.activations import CURVES, KINDS, activated, curve_at
from nets.native.simd.processor import is_available
from nets.native.simd.products import multiply_parts
from nets.native.simd.vectors import floats, load_floats, store, store_as_shorts
from nets.native.transformers.attention import write_shares
from nets.native.transformers.packing import Int8Parts
from nets.native.transformers.products import ATTENDS_INT8, HAS_INT8, IN_GROUPS, multiply_int8, score_block, score_int8
from nets.native.transformers.rounding import rounded
from nets.native.transformers.rows import BYTE_ZERO
from nets.open import open_network
from nobi_machine import jit
from nobi_machine.jit import kernel
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD, NESTED, ORDINARY, POOLING, inputs
from tests.nets.native.networks import OF_BYTES, check, opened
from tests.nets.random_networks import made

Named = Iterator[tuple[str, NDArray[Any]]]
ABSOLUTE, RELATIVE = 0.02, 0.02
"""How far numbers may differ that come from sums of floats, which may tip a level over."""


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
            if HAS_INT8:
                most = 16 if IN_GROUPS else 127
                centred = of_bytes.integers(-127, 128, (rows, channels))
                bytes_ = of_bytes.integers(-most, most + 1, (channels, 32))
                levels = aligned((centred + BYTE_ZERO).astype(np.int64).astype(np.uint8))
                weights = packed(bytes_.astype(np.int8), 4)
                multiply_int8(levels.ctypes.data, weights.ctypes.data, sums.ctypes.data, rows, channels, channels)
                assert (sums - BYTE_ZERO * bytes_.sum(axis=0) == centred @ bytes_).all(), "products of bytes"
            if ATTENDS_INT8:
                starts = aligned((-BYTE_ZERO * bytes_.sum(axis=0)).astype(np.int32))
                at = levels.ctypes.data, weights.ctypes.data, starts.ctypes.data, scores.ctypes.data
                score_int8(*at, rows, channels, 64, 8)
                expected = (centred @ bytes_ >> 8).reshape(rows, 2, 16).transpose(0, 2, 1).reshape(rows, 32)
                assert (scores == expected).all(), "scores of bytes"


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
            total = write_shares(scores.ctypes.data, blocks, keys - 32 * (blocks - 1), bits, 0, 0, 0)
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
    if HAS_INT8:
        _check_bytes()


def _check_bytes() -> None:
    """Compare a network whose transformers have 8 bits with its slow forward pass: not all processors round alike."""
    network, forward = made(15, [ATTENTION, FEED_FORWARD, ORDINARY, FEED_FORWARD], channels=32)
    content = network.compressed()
    model = load_model(content, "random")
    matrices = rounded(model, [inputs(9, 9, seed=1), inputs(7, 4, seed=1)])
    assert matrices
    evaluator = opened(content, in_int8=Int8Parts(matrices, ("block0",), ("block0",)))
    for size in ((9, 9), (7, 4)):
        check(evaluator.evaluate(EvaluationRequest(*inputs(*size))), forward(*inputs(*size), 1.0), coarseness=OF_BYTES)


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
    evaluator = open_network(network_file(), "auto", "cpu", note=notes.append)
    assert evaluator.attributes.precision == "int16", notes
    for number, (spatial, global_) in enumerate(few_recorded(scratch_for(evaluator))):
        for field, values in evaluator.evaluate(EvaluationRequest(spatial, global_))._asdict().items():
            if values is not None:
                yield f"embedded {number} {field}", values


PARTS: dict[str, Callable[[], Named]] = {
    "products": products, "arithmetic": arithmetic, "networks": networks, "embedded": embedded,
}  # fmt: skip


def differences(ours: Mapping[str, NDArray[Any]], theirs: Mapping[str, NDArray[Any]]) -> list[str]:
    """Compare two processors' outputs, and print how far what may differ does. Returns what differs too much."""
    wrong = [f"{name}: only on one of the two" for name in sorted(set(ours) ^ set(theirs))]
    most, mean = 0.0, 0.0
    for name in sorted(set(ours) & set(theirs)):
        expected, found = ours[name].astype(np.float64), theirs[name].astype(np.float64)
        if expected.shape != found.shape or (name.startswith("exact") and not (expected == found).all()):
            wrong.append(f"{name}: other integers")
        elif not name.startswith("exact"):
            difference, largest = np.abs(expected - found), max(1.0, float(np.abs(expected).max()))
            most, mean = max(most, float(difference.max()) / largest), max(mean, float(difference.mean()) / largest)
            if not np.allclose(found, expected, rtol=RELATIVE, atol=ABSOLUTE * largest):
                wrong.append(f"{name}: differs by up to {difference.max():.2g} where the largest is {largest:.2g}")
    exact = sum(name.startswith("exact") for name in ours)
    print(f"  {exact} arrays bit for bit, {len(ours) - exact} of floats within {most:.1e} (mean {mean:.1e})")
    return wrong


def read(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--against", type=Path, help="the folder of what another processor computed")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    assert is_available(), "no kernels with vectors for this processor"
    failures = 0
    for part in options.parts:
        np.savez(options.folder / part, allow_pickle=False, **dict(PARTS[part]()))
        print(f"{part}: {jit.compilations} kernels compiled so far", flush=True)
        if options.against:
            wrong = differences(*(read(folder / f"{part}.npz") for folder in (options.against, options.folder)))
            print("".join(f"  {line}\n" for line in wrong), end="", flush=True)
            failures += len(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    from tests.campaigns import kernel_outputs  # whose kernels can be compiled ahead: they are of no `__main__`

    sys.exit(kernel_outputs.main())
