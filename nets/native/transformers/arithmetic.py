"""Vector arithmetic of transformers besides products of matrices: levels, exponentials, and shares."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from nets.native.simd.products import HERE
from nets.native.simd.vectors import (
    ALIGNMENT,
    F32,
    FLOATS,
    I8,
    I16,
    I32,
    I64,
    INTS,
    ROUNDING,
    SHORTS,
    intrinsic,
    place,
    rounded,
    spread,
)

ONE = 65535
"""The highest share: shares are 16 bits without sign before they are made ready for products."""
HIGHEST_BYTE = 127 + HERE.byte_zero
"""The highest level of 8 bits, and the highest share of so many bits."""
ROUNDED_OFF = 32768 // (HIGHEST_BYTE + 1)
"""A share of 8 bits is made of 15 bits; one is worth so many of these."""
HIGHEST_POWER = 2 * ROUNDED_OFF * HIGHEST_BYTE
"""The highest power of 16 bits that a share of 8 bits is made of."""
EXPONENTIAL = tuple(round(each * 65536) for each in (0.672, 0.173))
"""2^-x is about 1 - x * (a - x * b) for x from 0 to 1, at most 0.24 % off."""
BYTE_EXPONENTIAL = tuple(round(each * HIGHEST_POWER) for each in (0.672, 0.173))
"""The same for powers of up to HIGHEST_POWER."""


@intrinsic
def store_as_int8(_context: Any, address: Any, offset: Any, vector: Any) -> Any:
    """Write sixteen floats from -128 to 255, rounded, as integers of 8 bits."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        kind = ir.VectorType(I8, INTS.llvm.count)
        builder.store(
            builder.trunc(rounded(builder, values[2]), kind), place(builder, values[0], values[1], kind), align=1
        )
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, FLOATS), generate


@intrinsic
def store_float(_context: Any, address: Any, offset: Any, value: Any) -> Any:
    """Write a single float."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        builder.store(values[2], place(builder, values[0], values[1], F32), align=4)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float32), generate


@intrinsic
def copy_pair(_context: Any, from_: Any, to: Any) -> Any:
    """Copy 32 bits from one address to another."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        pair = builder.load(place(builder, values[0], I64(0), I32), align=ALIGNMENT)
        builder.store(pair, place(builder, values[1], I64(0), I32), align=ALIGNMENT)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def nearest(_context: Any, vector: Any) -> Any:
    """Round floats to the nearest integers, which stay floats."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        most = ir.Constant(FLOATS.llvm, [ROUNDING] * FLOATS.llvm.count)
        return builder.fsub(builder.fadd(values[0], most), most)

    return FLOATS(FLOATS), generate


@intrinsic
def rounded_quads(_context: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Round four vectors of 16 floats, -128 to 127, to integers of 8 bits beside each other: [16, 4]."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        result = ir.Constant(INTS.llvm, [0] * 16)
        for number, value in enumerate(values):
            byte = builder.and_(rounded(builder, value), ir.Constant(INTS.llvm, [0xFF] * 16))
            result = builder.or_(result, builder.shl(byte, ir.Constant(INTS.llvm, [8 * number] * 16)))
        return result

    return INTS(FLOATS, FLOATS, FLOATS, FLOATS), generate


@intrinsic
def store_low_bytes(_context: Any, address: Any, offset: Any, vector: Any) -> Any:
    """Write the lower bytes of 32 integers of 16 bits."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        kind = ir.VectorType(I8, SHORTS.llvm.count)
        builder.store(builder.trunc(values[2], kind), place(builder, values[0], values[1], kind), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, SHORTS), generate


@intrinsic
def rounded_pairs(_context: Any, even: Any, odd: Any) -> Any:
    """Round two vectors of 16 floats, -32768 to 32767, to integers of 16 bits beside each other: [16, 2]."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        even, odd = (rounded(builder, value) for value in values)
        low = builder.and_(even, ir.Constant(INTS.llvm, [0xFFFF] * 16))
        both = builder.or_(low, builder.shl(odd, ir.Constant(INTS.llvm, [16] * 16)))
        return builder.bitcast(both, SHORTS.llvm)

    return SHORTS(FLOATS, FLOATS), generate


@intrinsic
def swapped(_context: Any, vector: Any) -> Any:
    """Exchange each two neighbouring lanes of a vector."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        order = ir.Constant(ir.VectorType(I32, 16), [lane ^ 1 for lane in range(16)])
        return builder.shuffle_vector(values[0], values[0], order)

    return FLOATS(FLOATS), generate


@intrinsic
def larger_magnitude(_context: Any, magnitudes: Any, value: Any) -> Any:
    """Return the larger of `magnitudes` and of those of `value` in each lane; nan counts as largest."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        most, value = (builder.bitcast(each, INTS.llvm) for each in values)
        magnitude = builder.and_(value, ir.Constant(INTS.llvm, [0x7FFFFFFF] * 16))
        larger = builder.select(builder.icmp_signed(">", most, magnitude), most, magnitude)
        return builder.bitcast(larger, FLOATS.llvm)

    return FLOATS(FLOATS, FLOATS), generate


@intrinsic
def highest_magnitude(_context: Any, magnitudes: Any) -> Any:
    """Return the largest float of a vector that has no negative ones."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(I32, [INTS.llvm])
        reduce = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.smax.v16i32")
        return builder.bitcast(builder.call(reduce, [builder.bitcast(values[0], INTS.llvm)]), F32)

    return types.float32(FLOATS), generate


def _reducing(vector: Any, function: str, result: Any, numba_result: Any) -> Any:
    @intrinsic
    def reduce(_context: Any, value: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            callee = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(result, [vector.llvm]), f"llvm.vector.reduce.{function}"
            )
            return builder.call(callee, values)

        return numba_result(vector), generate

    return reduce


highest_short = _reducing(SHORTS, "smax.v32i16", I16, types.int16)
total_of_ints = _reducing(INTS, "add.v16i32", I32, types.int32)


@intrinsic
def shorts(_context: Any, value: Any) -> Any:
    """Make a vector with one 16-bit integer in all lanes."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return spread(builder, builder.trunc(values[0], I16), SHORTS.llvm)

    return SHORTS(types.int64), generate


def _of_shorts(emit: Any) -> Any:
    @intrinsic
    def compute(_context: Any, x: Any, y: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            return emit(builder, *values)

        return SHORTS(SHORTS, SHORTS), generate

    return compute


larger_shorts = _of_shorts(lambda builder, x, y: builder.select(builder.icmp_signed(">", x, y), x, y))
left = _of_shorts(lambda builder, x, y: builder.shl(x, y))
right = _of_shorts(lambda builder, x, y: builder.lshr(x, y))
"""Shift unsigned numbers by less than 16 bits."""
share_of = _of_shorts(HERE.high_half)
"""Return `x * y / 65536` of unsigned numbers, rounded down."""


fade = _of_shorts(HERE.fade)
"""Shift unsigned `x` to the right by `y` bits, 1 or more; the result is 0 from 16 bits on."""


@intrinsic
def thresholds(_context: Any, start: Any) -> Any:
    """Make 32 different numbers from 0 to ROUNDED_OFF - 1, which another `start` from that range exchanges."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        lanes = SHORTS.llvm.count
        # 13 / 32 keeps neighbours, and theirs, far from each other.
        spaced = ir.Constant(SHORTS.llvm, [13 * lane % lanes * (ROUNDED_OFF // lanes) for lane in range(lanes)])
        return builder.xor(spaced, spread(builder, builder.trunc(values[0], I16), SHORTS.llvm))

    return SHORTS(types.int64), generate


@intrinsic
def add_shares(_context: Any, sums: Any, shares: Any) -> Any:
    """Add the pairs of neighbouring `shares`, each up to 32767, to `sums` of 32 bits."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return HERE.add_shares(builder, *values)

    return INTS(INTS, SHORTS), generate


@intrinsic
def no_ints(_context: Any) -> Any:
    """Make a vector of 32-bit zeros."""

    def generate(_context: Any, _builder: Any, _signature: Any, _values: Any) -> Any:
        return ir.Constant(INTS.llvm, [0] * 16)

    return INTS(), generate


@intrinsic
def kept(_context: Any, shares: Any, count: Any) -> Any:
    """Keep the first `count` shares, and put 0 for the others."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        zeros = ir.Constant(SHORTS.llvm, [0] * SHORTS.llvm.count)
        return builder.select(_is_before(builder, values[1]), values[0], zeros)

    return SHORTS(SHORTS, types.int64), generate


def _is_before(builder: Any, count: Any) -> Any:
    numbers = ir.Constant(SHORTS.llvm, list(range(SHORTS.llvm.count)))
    return builder.icmp_signed("<", numbers, spread(builder, builder.trunc(count, I16), SHORTS.llvm))


@intrinsic
def masked(_context: Any, scores: Any, count: Any) -> Any:
    """Keep the first `count` scores, and put the lowest possible score for the others."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        lowest = ir.Constant(SHORTS.llvm, [-(1 << 15)] * SHORTS.llvm.count)
        return builder.select(_is_before(builder, values[1]), values[0], lowest)

    return SHORTS(SHORTS, types.int64), generate
