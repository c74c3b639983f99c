"""Chooses the matrices that have weights of 8 bits, and rounds them.

All are rounded except those for the values of attention, those of the first block of each kind, and the ends of
bottlenecks: with feed-forward's first in 8 bits b7c96h3tfrs loses a third more, with values in 8 bits three times as
much. `nets/native/calibrate.py` says which of them are used. Activations are rounded row by row, each with its own
step, so only weights are calibrated, by the second moments of what they read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nets.conversion.transformer import HIDDEN, NORMED
from nets.katago.model import AttentionBlock, FeedForwardBlock, FloatArray, Model
from nets.native.order import steps
from nets.native.simd.groups import LARGEST_GROUP, group_numbers
from nets.native.taps import recorded
from nets.native.transformers.packing import Bytes, InBytes, placed, placed_hidden
from nets.native.transformers.products import ATTENDS_BYTES, IN_GROUPS
from nets.precision.calibration import Positions
from nets.precision.weight_rounding import Groups, round_in_groups, round_weights

Moments = NDArray[np.float64]
LEAST = 0.1
"""Added to the mean squares of inputs and of their weights, as a share of the mean of all: what inputs are where the
calibration saw little of them is not known."""
BATCH = 4
POINTS = 30_000
"""Second moments are taken over about so many points of boards."""


def rounded(
    model: Model,
    positions: Sequence[Positions],
    without_attention: bool = False,
) -> dict[str, Bytes]:
    """Round the matrices for 8 bits, by names of block and matrix, to suit what the network reads in `positions`.

    `without_attention` leaves out the matrices of attention blocks."""
    blocks: list[tuple[str, AttentionBlock | FeedForwardBlock]] = []
    for label, _, block in steps(model.trunk.blocks):
        if isinstance(block, FeedForwardBlock) or (isinstance(block, AttentionBlock) and not without_attention):
            blocks.append((label, block))
    moments = _moments(model, positions, {f"{label}{tap}" for label, _ in blocks for tap in (NORMED, HIDDEN)})
    result = {}
    for label, block in blocks:
        ones = np.ones(len(_last(block)), np.float32)
        stream, hidden = placed([len(block.norm)]).at, placed_hidden(block).at
        result[f"{label}_first"] = _bytes(_reading(block), block.norm, moments[f"{label}{NORMED}"], stream)
        result[f"{label}_second"] = _bytes(_last(block), ones, moments[f"{label}{HIDDEN}"], hidden)
    return result


def choices(model: Model, matrices: Mapping[str, Bytes]) -> list[InBytes]:
    """List what may have 8 bits, from all to nothing. `matrices` are those that `rounded` returned.

    The first block of each kind loses most, then what attention reads, what it mixes, and its scores; mixing itself
    loses little. Choices that are alike are listed once."""
    attention, feed_forward = (
        [label for label, _, block in steps(model.trunk.blocks) if isinstance(block, kind)]
        for kind in (AttentionBlock, FeedForwardBlock)
    )
    later, both, second = attention[1:], ("first", "second"), ("second",)
    wanted: list[tuple[list[str], list[str], list[tuple[list[str], tuple[str, ...]]]]] = [
        (attention, attention, [(attention, both), (feed_forward, both)]),
        (later, attention, [(later, both), (feed_forward[1:], both)]),
        (later, attention, [(later, second), (feed_forward[1:], both)]),
        (later, attention, [(feed_forward[1:], both)]),
        ([], attention, [(feed_forward[1:], both)]),
        ([], attention, [(feed_forward[1:], second)]),
        ([], [], []),
    ]
    result: list[InBytes] = []
    for scores, mixes, parts in wanted:
        names = {f"{label}_{name}" for labels, of in parts for label in labels for name in of}
        taken = {name: matrix for name, matrix in matrices.items() if name in names}
        choice = InBytes(taken, tuple(scores), tuple(mixes)) if ATTENDS_BYTES else InBytes(taken, (), ())
        if not result or not _are_alike(choice, result[-1]):
            result.append(choice)
    return result


def _are_alike(one: InBytes, other: InBytes) -> bool:
    return (one.matrices.keys(), *one[1:]) == (other.matrices.keys(), *other[1:])


def _reading(block: AttentionBlock | FeedForwardBlock) -> FloatArray:
    """Return the matrices of a block that read its norm, side by side."""
    if isinstance(block, AttentionBlock):
        return np.concatenate([block.query, block.key, block.value], axis=1)
    return block.first if block.gate is None else np.concatenate([block.first, block.gate], axis=1)


def _last(block: AttentionBlock | FeedForwardBlock) -> FloatArray:
    return block.output if isinstance(block, AttentionBlock) else block.second


def _bytes(matrix: FloatArray, norm: FloatArray, moments: Moments, places: NDArray[np.int64]) -> Bytes:
    """`matrix` [inputs, outputs], whose inputs are multiplied by `norm` and then have these second moments.

    `places` [inputs] are the places of inputs in the kernels' rows."""
    factors = _factors(np.square(matrix).sum(axis=1), np.diag(moments))
    scaled = moments * np.outer(factors, factors)
    order = np.argsort(-np.diag(scaled))  # what is rounded first is made good best, so the largest inputs are
    even = (matrix / factors[:, None]).T[:, order]
    integers, scale = _quantized(np.ascontiguousarray(even), scaled[np.ix_(order, order)], places[order])
    weights = np.empty(matrix.shape, np.int8)
    weights[order] = integers.T
    return Bytes(factors * norm, weights, scale)


def _factors(weights: Moments, inputs: Moments) -> FloatArray:
    """Return what inputs are multiplied by, and their weights divided by, before both are rounded.

    The arguments have the sums of their squares. An input's part of a row's step is its square times the factor's, and
    of the errors that a step makes its weights' squares divided by the factor's. By the inequality of Cauchy and
    Schwarz the product of both sums is least where those parts are equal. For the weights' errors it is the same."""
    read, written = (each / max(each.mean(), 1e-30) + LEAST for each in (inputs, weights))
    factors = (written / read) ** 0.25
    return np.asarray(factors / factors.max(), np.float32)


def _quantized(matrix: FloatArray, moments: Moments, places: NDArray[np.int64]) -> tuple[NDArray[np.int8], FloatArray]:
    """Integers [outputs, inputs] and what 1 of each output is worth; `places` are those of the inputs in their rows."""
    if not IN_GROUPS:
        integers, scale = round_weights(matrix[:, :, None, None], np.ones(len(places), np.float32), moments)
        return integers[:, :, 0, 0], scale
    return round_in_groups(matrix.astype(np.float64), moments, Groups(group_numbers(places), LARGEST_GROUP))


def _moments(model: Model, positions: Sequence[Positions], taps: Collection[str]) -> dict[str, Moments]:
    """The second moments [inputs, inputs] of what matrices read, by the names of these taps."""
    every = max(1, sum(len(spatial) * spatial[0, 0].size for spatial, _ in positions) // POINTS)
    spread = [(spatial[::every], global_[::every]) for spatial, global_ in positions]
    result: dict[str, Moments] = {}
    for tap, values in recorded(model, spread, BATCH, taps):
        rows = values.reshape(-1, values.shape[-1])
        result[tap] = result.get(tap, 0) + (rows.T @ rows).astype(np.float64)
    return result
