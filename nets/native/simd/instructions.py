"""What differs from one kind of processor to another where kernels name instructions: the interface.

x86.py and neon.py have it for their processors, and processor.py chooses. All of them give the same integers, but for
shares of 8 bits, of which 127 is the highest where levels have a sign, and 255 elsewhere. What LLVM makes good
instructions of by itself is written once, in vectors.py and in `transformers/arithmetic.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from nets.native.simd.vectors import I32, INTS, SHORTS

Emit = Callable[..., Any]
"""Emits LLVM's instructions: takes a builder and LLVM's values, and returns a value."""


@dataclass(frozen=True)
class Product:
    """How 32 bits of neighbouring levels are multiplied by their weights, and the products added to 32-bit sums."""

    spread: Emit
    """(builder, i32) Make of a row's levels what `add` takes."""
    arrange: Emit
    """(builder, vector) Make of a register of weights what `add` takes. It is done once for all rows."""
    add: Emit
    """(builder, sums, spread levels, arranged weights) Return the sums with the products added."""


@dataclass(frozen=True)
class GroupProduct:
    """How 8-bit levels without sign are multiplied where sums have 16 bits at first (transformers/products.py)."""

    spread: Emit
    """(builder, i32) Put a row's levels in all 32-bit lanes."""
    multiply: Emit
    """(builder, levels, weights) Add the products of each two neighbours in a lane of 16 bits."""
    add: Emit
    """(builder, sums, groups) Add each two neighbouring lanes of 16 bits to a sum of 32 bits."""


@dataclass(frozen=True)
class Instructions:
    """The instructions of a kind of processor."""

    lanes: int
    """32-bit sums in a vector."""
    most_rows: int
    """Rows of levels that are multiplied at once: as many as leave all their sums in registers."""
    more_rows: int
    """Fewer rows, for those that are left over."""
    loads_levels_first: bool
    """Whether the levels of all rows are loaded before the weights, which then pass through few registers; elsewhere
    weights are loaded first, and levels one by one."""
    pairs: Product
    """Products of 16-bit levels."""
    quads: Product | None
    """Products of 8-bit levels whose sums cannot overflow on the way; None if there is no instruction for them."""
    groups: GroupProduct | None
    """Other products of 8-bit levels, where those are faster than products of 16 bits and `quads` is None."""
    has_tiles: bool
    """Whether there are tile registers for products of 8-bit levels without sign, see tile_products.py."""
    has_bf16_tiles: bool
    """Whether these multiply numbers in bf16 too, see bf16_tiles.py."""
    byte_zero: int
    """What is added to a level of -127 to 127 in 8 bits; weights always have a sign."""
    high_half: Emit
    """(builder, x, y) Multiply unsigned 16-bit lanes, and keep the upper 16 bits of the products."""
    fade: Emit
    """(builder, x, y) Shift the unsigned 16-bit lanes of x to the right by those of y, 1 or more; 0 from 16 bits on."""
    add_shares: Emit
    """(builder, sums, shares) Add pairs of neighbouring 16-bit shares, each up to 32767, to sums of 32 bits."""


def plain_high_half(builder: Any, x: Any, y: Any) -> Any:
    """Do what `high_half` has to do, on any processor."""
    wide = ir.VectorType(I32, x.type.count)
    product = builder.mul(builder.zext(x, wide), builder.zext(y, wide))
    return builder.trunc(builder.lshr(product, ir.Constant(wide, [16] * wide.count)), x.type)


def plain_fade(builder: Any, x: Any, y: Any) -> Any:
    """Do what `fade` has to do, on any processor."""
    shifted = builder.lshr(x, builder.and_(y, ir.Constant(SHORTS.llvm, [15] * 32)))
    is_short = builder.icmp_unsigned("<", y, ir.Constant(SHORTS.llvm, [16] * 32))
    return builder.select(is_short, shifted, ir.Constant(SHORTS.llvm, [0] * 32))


def plain_add_shares(builder: Any, sums: Any, shares: Any) -> Any:
    """Do what `add_shares` has to do, on any processor."""
    pairs = builder.bitcast(shares, INTS.llvm)
    low = builder.and_(pairs, ir.Constant(INTS.llvm, [0xFFFF] * 16))
    high = builder.lshr(pairs, ir.Constant(INTS.llvm, [16] * 16))
    return builder.add(builder.add(sums, low), high)
