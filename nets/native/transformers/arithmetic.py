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
    emits,
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


@emits(types.void(types.int64, types.int64, FLOATS))
def store_as_int8(builder: Any, address: Any, offset: Any, vector: Any) -> None:
    """Write sixteen floats from -128 to 255, rounded, as integers of 8 bits."""
    kind = ir.VectorType(I8, INTS.llvm.count)
    builder.store(builder.trunc(rounded(builder, vector), kind), place(builder, address, offset, kind), align=1)


@emits(types.void(types.int64, types.int64, types.float32))
def store_float(builder: Any, address: Any, offset: Any, value: Any) -> None:
    """Write a single float."""
    builder.store(value, place(builder, address, offset, F32), align=4)


@emits(types.void(types.int64, types.int64))
def copy_pair(builder: Any, from_: Any, to: Any) -> None:
    """Copy 32 bits from one address to another."""
    pair = builder.load(place(builder, from_, I64(0), I32), align=ALIGNMENT)
    builder.store(pair, place(builder, to, I64(0), I32), align=ALIGNMENT)


@emits(FLOATS(FLOATS))
def nearest(builder: Any, vector: Any) -> Any:
    """Round floats to the nearest integers, which stay floats."""
    most = ir.Constant(FLOATS.llvm, [ROUNDING] * FLOATS.llvm.count)
    return builder.fsub(builder.fadd(vector, most), most)


@emits(INTS(FLOATS, FLOATS, FLOATS, FLOATS))
def rounded_quads(builder: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Round four vectors of 16 floats, -128 to 127, to integers of 8 bits beside each other: [16, 4]."""
    result = ir.Constant(INTS.llvm, [0] * 16)
    for number, value in enumerate((first, second, third, fourth)):
        byte = builder.and_(rounded(builder, value), ir.Constant(INTS.llvm, [0xFF] * 16))
        result = builder.or_(result, builder.shl(byte, ir.Constant(INTS.llvm, [8 * number] * 16)))
    return result


@emits(types.void(types.int64, types.int64, SHORTS))
def store_low_bytes(builder: Any, address: Any, offset: Any, vector: Any) -> None:
    """Write the lower bytes of 32 integers of 16 bits."""
    kind = ir.VectorType(I8, SHORTS.llvm.count)
    builder.store(builder.trunc(vector, kind), place(builder, address, offset, kind), align=1)


@emits(SHORTS(FLOATS, FLOATS))
def rounded_pairs(builder: Any, even: Any, odd: Any) -> Any:
    """Round two vectors of 16 floats, -32768 to 32767, to integers of 16 bits beside each other: [16, 2]."""
    even, odd = rounded(builder, even), rounded(builder, odd)
    low = builder.and_(even, ir.Constant(INTS.llvm, [0xFFFF] * 16))
    both = builder.or_(low, builder.shl(odd, ir.Constant(INTS.llvm, [16] * 16)))
    return builder.bitcast(both, SHORTS.llvm)


@emits(FLOATS(FLOATS))
def swapped(builder: Any, vector: Any) -> Any:
    """Exchange each two neighbouring lanes of a vector."""
    order = ir.Constant(ir.VectorType(I32, 16), [lane ^ 1 for lane in range(16)])
    return builder.shuffle_vector(vector, vector, order)


@emits(FLOATS(FLOATS, FLOATS))
def larger_magnitude(builder: Any, magnitudes: Any, value: Any) -> Any:
    """Return the larger of `magnitudes` and of those of `value` in each lane; nan counts as largest."""
    most, value = (builder.bitcast(each, INTS.llvm) for each in (magnitudes, value))
    magnitude = builder.and_(value, ir.Constant(INTS.llvm, [0x7FFFFFFF] * 16))
    larger = builder.select(builder.icmp_signed(">", most, magnitude), most, magnitude)
    return builder.bitcast(larger, FLOATS.llvm)


def _reduced(builder: Any, function: str, result: Any, vector: Any) -> Any:
    kind = ir.FunctionType(result, [vector.type])
    reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.{function}")
    return builder.call(reduce, [vector])


@emits(types.float32(FLOATS))
def highest_magnitude(builder: Any, magnitudes: Any) -> Any:
    """Return the largest float of a vector that has no negative ones."""
    return builder.bitcast(_reduced(builder, "smax.v16i32", I32, builder.bitcast(magnitudes, INTS.llvm)), F32)


@emits(types.int16(SHORTS))
def highest_short(builder: Any, vector: Any) -> Any:
    """Return the highest of 32 integers of 16 bits."""
    return _reduced(builder, "smax.v32i16", I16, vector)


@emits(types.int32(INTS))
def total_of_ints(builder: Any, vector: Any) -> Any:
    """Add all lanes of a vector of integers."""
    return _reduced(builder, "add.v16i32", I32, vector)


@emits(SHORTS(types.int64))
def shorts(builder: Any, value: Any) -> Any:
    """Make a vector with one 16-bit integer in all lanes."""
    return spread(builder, builder.trunc(value, I16), SHORTS.llvm)


_of_shorts = emits(SHORTS(SHORTS, SHORTS))
larger_shorts = _of_shorts(lambda builder, x, y: builder.select(builder.icmp_signed(">", x, y), x, y))
left = _of_shorts(lambda builder, x, y: builder.shl(x, y))
right = _of_shorts(lambda builder, x, y: builder.lshr(x, y))
"""Shift unsigned numbers by less than 16 bits."""
share_of = _of_shorts(HERE.high_half)
"""Return `x * y / 65536` of unsigned numbers, rounded down."""
fade = _of_shorts(HERE.fade)
"""Shift unsigned `x` to the right by `y` bits, 1 or more; the result is 0 from 16 bits on."""
add_shares = emits(INTS(INTS, SHORTS))(HERE.add_shares)
"""Add the pairs of neighbouring `shares`, each up to 32767, to `sums` of 32 bits."""


@emits(SHORTS(types.int64))
def thresholds(builder: Any, start: Any) -> Any:
    """Make 32 different numbers from 0 to ROUNDED_OFF - 1, which another `start` from that range exchanges."""
    lanes = SHORTS.llvm.count
    # 13 / 32 keeps neighbours, and theirs, far from each other.
    spaced = ir.Constant(SHORTS.llvm, [13 * lane % lanes * (ROUNDED_OFF // lanes) for lane in range(lanes)])
    return builder.xor(spaced, spread(builder, builder.trunc(start, I16), SHORTS.llvm))


@emits(INTS())
def no_ints(_builder: Any) -> Any:
    """Make a vector of 32-bit zeros."""
    return ir.Constant(INTS.llvm, [0] * 16)


def _first(builder: Any, values: Any, count: Any, other: int) -> Any:
    """The first `count` of 32 integers of 16 bits, and the `other` one for the rest."""
    numbers = ir.Constant(SHORTS.llvm, list(range(SHORTS.llvm.count)))
    is_before = builder.icmp_signed("<", numbers, spread(builder, builder.trunc(count, I16), SHORTS.llvm))
    return builder.select(is_before, values, ir.Constant(SHORTS.llvm, [other] * SHORTS.llvm.count))


@emits(SHORTS(SHORTS, types.int64))
def kept(builder: Any, shares: Any, count: Any) -> Any:
    """Keep the first `count` shares, and put 0 for the others."""
    return _first(builder, shares, count, 0)


@emits(SHORTS(SHORTS, types.int64))
def masked(builder: Any, scores: Any, count: Any) -> Any:
    """Keep the first `count` scores, and put the lowest possible score for the others."""
    return _first(builder, scores, count, -(1 << 15))
