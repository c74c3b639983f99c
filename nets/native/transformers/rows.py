"""Rows of activations, one per point (a transformer's token): floats are rounded to levels for matrices, and their sums
turned back into floats.

Every row has a step of its own, found when it is rounded: its largest activation has the highest level.
"""

from __future__ import annotations

import math

import numpy as np

from nets.katago.model import Activation
from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.simd.activations import CURVES, KINDS, RELU, gated, silu
from nets.native.simd.products import HERE, OUTPUT_BYTES
from nets.native.simd.vectors import (
    VECTOR_BYTES,
    floats,
    larger,
    load_everywhere,
    load_floats,
    load_ints,
    store,
    store_as_shorts,
    to_floats,
    total,
)
from nets.native.transformers.arithmetic import highest_magnitude, larger_magnitude, store_as_int8, store_float
from nobi_machine.jit import kernel

IDENTITY = KINDS.index(Activation.IDENTITY)
BYTE_LEVELS, SHORT_LEVELS = 127, 4095
"""The highest level; the lowest is its negative. Bytes hold a level plus BYTE_ZERO."""
BYTE_ZERO = HERE.byte_zero
LEAST = 1e-30
"""Added to a row's largest activation, in case all are 0."""

MATRIX = np.dtype(
    [
        ("inputs", np.int64),  # a multiple of 32, as outputs are
        ("outputs", np.int64),
        ("in_int8", np.int64),  # 1: levels and weights have 8 bits, 0: 16
        ("factors", np.int64),  # float32 [inputs]: what activations are multiplied by before they are rounded
        ("weights", np.int64),  # int16 [outputs / 32, inputs / 2, 32, 2] or int8 [outputs / 32, inputs / 4, 32, 4]
        ("scale", np.int64),  # float32 [outputs]
        ("shift", np.int64),  # float32 [outputs], what BYTE_ZERO adds to the scaled sums, without its sign
    ]
)
"""Offsets in the network's parameters. With sums of a row's levels its outputs are (sums * scale - shift) * step."""


@kernel
def sum_of_squares(values, length):
    """Add the squares of the floats in `length` bytes at the address `values`."""
    squares = floats(0.0)
    for at in range(0, length, VECTOR_BYTES):
        value = load_floats(values, at)
        squares = squares + value * value
    return total(squares)


@kernel
def reciprocal_root(mean, epsilon):
    """Compute 1 / sqrt(mean + epsilon) as float32."""
    return np.float32(1.0 / math.sqrt(mean + epsilon))


@kernel
def activate(x, activation):
    """Apply the activation with this place in `activations.KINDS`. What is not a number stays so."""
    if activation == RELU:
        return larger(floats(0.0), x)
    if activation == IDENTITY:
        return x
    return gated(x, floats(CURVES[activation, 0]), floats(CURVES[activation, 1]), floats(CURVES[activation, 2]))


@kernel
def write_activated(rows, count, row_bytes, root, gamma, beta, activation, to):
    """Write the activation of `rows * root * gamma + beta` for `count` rows.

    `root` is a number; `rows`, `gamma`, `beta` and `to` are addresses.
    """
    factor = floats(root)
    for at in range(0, row_bytes, VECTOR_BYTES):
        scale, bias = load_floats(gamma, at) * factor, load_floats(beta, at)
        for row in range(at, count * row_bytes, row_bytes):
            store(to, row, activate(load_floats(rows, row) * scale + bias, activation))


@kernel
def write_levels(rows, count, matrix, parameters, share, epsilon, levels, steps):
    """Write the `levels` [count, inputs] of float32 `rows` [count, inputs] for a matrix, and their `steps` [count].

    `rows`, `parameters`, `levels` and `steps` are addresses; `matrix` is a record. If `share` is above 0, each row is
    divided by its root mean square.
    """
    row_bytes = matrix.inputs * FLOAT_BYTES
    factors = parameters + matrix.factors
    most = np.float32(BYTE_LEVELS if matrix.in_int8 == 1 else SHORT_LEVELS)
    for _ in range(count):
        squares, peaks = floats(0.0), floats(0.0)
        for at in range(0, row_bytes, VECTOR_BYTES):
            value = load_floats(rows, at)
            squares = squares + value * value
            peaks = larger_magnitude(peaks, value * load_floats(factors, at))
        step = np.float32(1.0) / most
        if share > 0:
            step *= reciprocal_root(total(squares) * share, epsilon)
        peak = highest_magnitude(peaks) + np.float32(LEAST)
        factor = floats(most / peak)
        if matrix.in_int8 == 1:
            zero = floats(float(BYTE_ZERO))
            for at in range(0, row_bytes, VECTOR_BYTES):
                store_as_int8(levels, at // 4, load_floats(rows, at) * load_floats(factors, at) * factor + zero)
            levels += matrix.inputs
        else:
            for at in range(0, row_bytes, VECTOR_BYTES):
                store_as_shorts(levels, at // 2, load_floats(rows, at) * load_floats(factors, at) * factor)
            levels += SHORT_BYTES * matrix.inputs
        store_float(steps, 0, np.float32(step * peak))
        rows += row_bytes
        steps += FLOAT_BYTES


@kernel
def put_values(sums, count, scale, shift, steps, to, to_bytes):
    """Write a block's outputs [count, 32]; its rows are `to_bytes` apart."""
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        ours, less = load_floats(scale, at), load_floats(shift, at)
        for row in range(count):
            value = to_floats(load_ints(sums, row * OUTPUT_BYTES + at)) * ours - less
            store(to, row * to_bytes + at, value * load_everywhere(steps, row * FLOAT_BYTES))


@kernel
def add_values(sums, count, scale, shift, steps, to, to_bytes):
    """Add a block's outputs [count, 32] to the rows that are there."""
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        ours, less = load_floats(scale, at), load_floats(shift, at)
        for row in range(count):
            value = to_floats(load_ints(sums, row * OUTPUT_BYTES + at)) * ours - less
            there = load_floats(to, row * to_bytes + at)
            store(to, row * to_bytes + at, there + value * load_everywhere(steps, row * FLOAT_BYTES))


@kernel
def put_gated(sums, count, scale, shift, steps, to, to_bytes):
    """Write silu(first) * gate [count, 16] of a block whose outputs are 16 of the first matrix and 16 of the gate."""
    first_scale, first_shift = load_floats(scale, 0), load_floats(shift, 0)
    gate_scale, gate_shift = load_floats(scale, VECTOR_BYTES), load_floats(shift, VECTOR_BYTES)
    for row in range(count):
        step = load_everywhere(steps, row * FLOAT_BYTES)
        first = (to_floats(load_ints(sums, row * OUTPUT_BYTES)) * first_scale - first_shift) * step
        gate = (to_floats(load_ints(sums, row * OUTPUT_BYTES + VECTOR_BYTES)) * gate_scale - gate_shift) * step
        store(to, row * to_bytes, silu(first) * gate)


@kernel
def put_silu(sums, count, scale, shift, steps, to, to_bytes):
    """Write silu of a block's outputs [count, 32]."""
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        ours, less = load_floats(scale, at), load_floats(shift, at)
        for row in range(count):
            value = to_floats(load_ints(sums, row * OUTPUT_BYTES + at)) * ours - less
            store(to, row * to_bytes + at, silu(value * load_everywhere(steps, row * FLOAT_BYTES)))
