"""Numbers in bf16, the upper halves of floats of 32 bits, read and written by kernels as vectors of floats."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from nets.native.simd.vectors import ALIGNMENT, FLOATS, HALF_SHORTS, INTS, intrinsic, place

HALF = 16
"""Bits of a float that bf16 lacks."""


@intrinsic
def store_as_bfloats(_context: Any, address: Any, offset: Any, floats: Any) -> Any:
    """Write sixteen floats in bf16, rounded to the nearest, halfway to the even one. Infinities and what is not a
    number stay what they are."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        bits = builder.bitcast(values[2], INTS.llvm)
        is_odd = builder.and_(builder.lshr(bits, _constant(HALF)), _constant(1))
        rounded = builder.add(bits, builder.add(is_odd, _constant((1 << HALF - 1) - 1)))
        shorts = builder.trunc(builder.lshr(rounded, _constant(HALF)), HALF_SHORTS)
        builder.store(shorts, place(builder, values[0], values[1], HALF_SHORTS), align=ALIGNMENT)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, FLOATS), generate


def _constant(value: int) -> Any:
    return ir.Constant(INTS.llvm, [value] * INTS.llvm.count)
