"""Rounds matrices to weights of 8 bits, and lists the choices among them.

`nets/native/calibrate.py` measures which choice loses little enough. Activations are rounded row by row, each with its
own step, so only weights are calibrated, by the second moments of what they read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.graph.convert import TAP, to_onnx
from nets.graph.evaluator import open_recorder
from nets.graph.layers import HIDDEN, NORMED
from nets.katago.model import AttentionBlock, FeedForwardBlock, FloatArray, Model
from nets.loss import Positions
from nets.native.order import BottleneckEnd, steps
from nets.native.profiles import metadata
from nets.native.transformers.packing import Int8Matrix, Int8Parts, end_name, placed, placed_hidden
from nets.native.transformers.products import ATTENDS_INT8, IN_GROUPS, LARGEST_GROUP, group_numbers

Moments = NDArray[np.float64]
LEAST = 0.1
"""Added to the mean squares of inputs and of their weights, as a share of the mean of all: what inputs are where the
calibration saw little of them is not known."""
BATCH = 4
POINTS = 6_000
"""Second moments are taken over about so many points of boards. With 4,000 to 30,000 networks lose alike."""


def rounded(model: Model, positions: Sequence[Positions], without_attention: bool = False) -> dict[str, Int8Matrix]:
    """Round the matrices for 8 bits, by names of block and matrix, to suit what the network reads in `positions`.

    `without_attention` leaves out the matrices of attention blocks."""
    parts = _parts(model, without_attention)
    moments = _moments(model, positions, {part.tap for part in parts})
    return {part.name: _in_8_bits(part.matrix, part.norm, moments[part.tap], part.places) for part in parts}


def nearest(model: Model, matrices: Mapping[str, Int8Matrix]) -> dict[str, NDArray[np.int8]]:
    """Round each weight of these matrices, by names, to the nearest one that factors and scales allow; `rounded` mostly
    takes that or its neighbour. Machines agree on it. Raises KeyError and ValueError if the matrices are of another
    network."""
    parts = {part.name: part for part in _parts(model)}
    result = {}
    for name, (factors, _, scale) in matrices.items():
        part = parts[name]
        even = part.matrix * part.norm[:, None] / np.where(factors == 0, 1, factors)[:, None] / scale
        result[name] = np.clip(np.rint(even), -LARGEST, LARGEST).astype(np.int8)
    return result


class _Part(NamedTuple):
    """A matrix to round."""

    name: str
    tap: str
    """The name of the tap that it reads, before `norm`."""
    matrix: FloatArray
    """[inputs, outputs]"""
    norm: FloatArray
    """[inputs]: what inputs are multiplied by."""
    places: NDArray[np.int64]
    """[inputs]: their places in the kernels' rows."""


def _parts(model: Model, without_attention: bool = False) -> list[_Part]:
    parts: list[_Part] = []
    for label, _, block in steps(model.trunk.blocks):
        if isinstance(block, BottleneckEnd) and block.in_rows:
            matrix = block.convolution.weights[:, :, 0, 0].T
            tap = f"{label}_before" if block.is_narrow else f"{label}_after"
            ones, stream = np.ones(len(matrix), np.float32), placed([len(matrix)]).at
            parts.append(_Part(end_name(label, block), tap, matrix, ones, stream))
        elif isinstance(block, FeedForwardBlock) or (isinstance(block, AttentionBlock) and not without_attention):
            stream, ones = placed([len(block.norm)]).at, np.ones(len(_last(block)), np.float32)
            parts.append(_Part(f"{label}_first", f"{label}{NORMED}", _reading(block), block.norm, stream))
            hidden = placed_hidden(block).at
            parts.append(_Part(f"{label}_second", f"{label}{HIDDEN}", _last(block), ones, hidden))
    return parts


def choices(model: Model, matrices: Mapping[str, Int8Matrix]) -> list[Int8Parts]:
    """List what may have 8 bits, from most to nothing. `matrices` are those that `rounded` returned.

    The first block of each kind and the first end of a bottleneck lose most, on other positions more than on those of a
    calibration: they keep 16 bits. Then come the beginnings of other bottlenecks. After them it is the earlier
    attention blocks and ends, a quarter at a time: what is rounded late spoils little. Feed-forward blocks are next;
    mixing itself loses little. Choices that are alike are listed once."""
    order = list(steps(model.trunk.blocks))
    attention, feed_forward = (
        [step.label for step in order if isinstance(step.part, kind)] for kind in (AttentionBlock, FeedForwardBlock)
    )
    of_rows = ((label, end) for label, _, end in order if isinstance(end, BottleneckEnd) and end.in_rows)
    ends = [(end_name(label, end), end) for label, end in of_rows][1:]
    narrow_and_widen, widen = [name for name, _ in ends], [name for name, end in ends if not end.is_narrow]
    later, feeding = attention[1:], _both(feed_forward[1:])
    wanted = [(later, attention, _both(later) + feeding + narrow_and_widen)]
    for quarters in (4, 3, 2, 1):
        latest = _latest(later, quarters)
        wanted.append((latest, attention, _both(latest) + feeding + _latest(widen, quarters)))
    seconds = [f"{label}_second" for label in feed_forward[1:]]
    wanted += [([], attention, feeding), ([], [], feeding), ([], [], seconds), ([], [], [])]
    result: list[Int8Parts] = []
    for scores, mixes, names in wanted:
        taken = {name: matrix for name, matrix in matrices.items() if name in names}
        choice = Int8Parts(taken, tuple(scores), tuple(mixes)) if ATTENDS_INT8 else Int8Parts(taken, (), ())
        if not result or not _are_alike(choice, result[-1]):
            result.append(choice)
    return result


def _both(labels: list[str]) -> list[str]:
    return [f"{label}_{name}" for label in labels for name in ("first", "second")]


def _latest(names: list[str], quarters: int) -> list[str]:
    """Return the last of `names`, so many quarters of them."""
    return names[len(names) - len(names) * quarters // 4 :]


def _are_alike(one: Int8Parts, other: Int8Parts) -> bool:
    return (one.matrices.keys(), *one[1:]) == (other.matrices.keys(), *other[1:])


def _reading(block: AttentionBlock | FeedForwardBlock) -> FloatArray:
    """Return the matrices of a block that read its norm, side by side."""
    if isinstance(block, AttentionBlock):
        return np.concatenate([block.query, block.key, block.value], axis=1)
    return block.first if block.gate is None else np.concatenate([block.first, block.gate], axis=1)


def _last(block: AttentionBlock | FeedForwardBlock) -> FloatArray:
    return block.output if isinstance(block, AttentionBlock) else block.second


def _in_8_bits(matrix: FloatArray, norm: FloatArray, moments: Moments, places: NDArray[np.int64]) -> Int8Matrix:
    """`matrix` [inputs, outputs], whose inputs are multiplied by `norm` and then have these second moments.

    `places` [inputs] are the places of inputs in the kernels' rows."""
    factors = _factors(np.square(matrix).sum(axis=1), np.diag(moments))
    scaled = moments * np.outer(factors, factors)
    order = np.argsort(-np.diag(scaled))  # what is rounded first is made good best, so the largest inputs are
    even = (matrix / factors[:, None]).T[:, order]
    integers, scale = _quantized(np.ascontiguousarray(even), scaled[np.ix_(order, order)], places[order])
    weights = np.empty(matrix.shape, np.int8)
    weights[order] = integers.T
    return Int8Matrix(factors * norm, weights, scale)


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
    exact = matrix.astype(np.float64)
    if not IN_GROUPS:
        return round_matrix(exact, moments)
    return round_in_groups(exact, moments, Groups(group_numbers(places), LARGEST_GROUP))


def _moments(model: Model, positions: Sequence[Positions], taps: Collection[str]) -> dict[str, Moments]:
    """The second moments [inputs, inputs] of what matrices read, by the names of these taps."""
    every = max(1, sum(len(spatial) * spatial[0, 0].size for spatial, _ in positions) // POINTS)
    spread = [(spatial[::every], global_[::every]) for spatial, global_ in positions]
    result: dict[str, Moments] = {}
    for tap, values in recorded(model, spread, BATCH, taps):
        values = values.transpose(0, 2, 3, 1) if values.ndim == 4 else values
        rows = values.reshape(-1, values.shape[-1])
        if tap not in result:
            result[tap] = np.zeros((rows.shape[1],) * 2)
        result[tap] += rows.T @ rows
    return result


# --- A matrix --------------------------------------------------------------------------------------------------------
# The method is GPTQ (https://arxiv.org/abs/2210.17323), after Optimal Brain Surgeon: what has to be small is not the
# weights' error but that of the outputs, a quadratic form given by the second moments of the inputs.

LARGEST = 127
FINER = (1.0, 0.9, 0.8, 0.7)
"""Shares of the scale that has room for everything: a finer one cuts off a few weights."""
TOGETHER = 32
"""So many inputs are rounded before the rest takes up their errors, by one product of matrices."""
DAMPING = 0.01
"""Added to the moments' diagonal, as a share of its mean: the calibration saw only so many positions."""


class Groups(NamedTuple):
    """Inputs whose integers may add up to no more than a limit, because their products are added in 16 bits."""

    numbers: NDArray[np.int64]
    """[in] the number of the group that each input is in, from 0."""
    largest: int
    """The positive integers of a group add up to at most this, and the negative ones to at least its negative."""


def round_matrix(matrix: NDArray[np.float64], moments: NDArray[np.float64]) -> tuple[NDArray[np.int8], FloatArray]:
    """Return integers [out, in] and scales [out] whose product is about `matrix`.

    `moments` [in, in] are the inputs' second moments."""
    scales = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / LARGEST
    integers = _round_in_turn(matrix / scales[:, None], moments)
    return integers.astype(np.int8), scales.astype(np.float32)


def round_in_groups(
    matrix: NDArray[np.float64], moments: NDArray[np.float64], groups: Groups
) -> tuple[NDArray[np.int8], FloatArray]:
    """Return integers [out, in] and scales [out] whose product is about `matrix`, with sums of groups as they may be.

    `moments` [in, in] are the inputs' second moments. Of some scales each output takes that with the least error."""
    fullest = np.maximum(*(_sums_of_groups(np.maximum(sign * matrix, 0), groups).max(axis=1) for sign in (1, -1)))
    safe = np.maximum(np.maximum(fullest / groups.largest, np.abs(matrix).max(axis=1) / LARGEST), 1e-12)
    integers, scales, least = np.zeros(matrix.shape, np.int8), safe, np.full(len(matrix), np.inf)
    for finer in FINER:
        tried = safe * finer
        rounded = _round_in_turn(matrix / tried[:, None], moments, groups)
        error = matrix - rounded * tried[:, None]
        loss = np.einsum("oi,ij,oj->o", error, moments, error, optimize=True)
        is_better = loss < least
        integers = np.where(is_better[:, None], rounded.astype(np.int8), integers)
        scales, least = np.where(is_better, tried, scales), np.minimum(loss, least)
    return integers, scales.astype(np.float32)


def _sums_of_groups(matrix: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    sums = np.zeros((groups.numbers.max() + 1, len(matrix)))
    np.add.at(sums, groups.numbers, matrix.T)
    return sums.T


def _round_in_turn(
    matrix: NDArray[np.float64], moments: NDArray[np.float64], groups: Groups | None = None
) -> NDArray[np.float64]:
    """Round the columns one after another; what remains to be rounded takes up each column's error."""
    moments = moments + np.eye(len(moments)) * (DAMPING * np.diag(moments).mean() + 1e-12)
    factor = np.linalg.cholesky(np.linalg.inv(moments)).T
    rows, errors = matrix.T.copy(), np.empty((TOGETHER, len(matrix)))
    above = np.full((0 if groups is None else groups.numbers.max() + 1, len(matrix)), 0.0)
    above += 0 if groups is None else groups.largest
    below = -above  # what is left of each group for positive and for negative integers
    for start in range(0, len(rows), TOGETHER):
        end = min(start + TOGETHER, len(rows))
        for row in range(start, end):
            rounded = np.clip(np.round(rows[row]), -LARGEST, LARGEST)
            if groups is not None:
                group = groups.numbers[row]
                rounded = np.clip(rounded, below[group], above[group])
                above[group] -= np.maximum(rounded, 0)
                below[group] -= np.minimum(rounded, 0)
            error = errors[row - start] = (rows[row] - rounded) / factor[row, row]
            rows[row] = rounded
            rows[row + 1 : end] -= np.outer(factor[row, row + 1 : end], error)
        rows[end:] -= factor[start:end, end:].T @ errors[: end - start]
    return rows.T


# --- What the parts of a network read --------------------------------------------------------------------------------


def recorded(
    model: Model, positions: Sequence[Positions], batch: int, wanted: Collection[str]
) -> Iterator[tuple[str, FloatArray]]:
    """Evaluate a prepared network, `batch` boards at once, and yield the names of the wanted taps with their values.

    Values are [boards, C, H, W] or, of transformer blocks, [boards, H * W, C]. HumanSL networks imitate all kinds of
    players in turn.
    """
    if not wanted:  # onnxruntime answers a request for nothing with everything
        return
    names = {f"{TAP}{name}" for name in wanted}
    record = open_recorder(to_onnx(model, with_taps=True).SerializeToString(), model.name, names)
    is_human, turn = model.trunk.metadata is not None, 0
    for spatial, global_ in positions:
        for start in range(0, len(spatial), batch):
            part = spatial[start : start + batch], global_[start : start + batch]
            meta = metadata(turn, len(part[0]), spatial[0, 0].size) if is_human else None
            turn += 1
            for name, values in record(*part, meta).items():
                yield name.removeprefix(TAP), values
