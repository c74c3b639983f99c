"""Products of 8-bit levels for processors that add four of them only in 16 bits (AVX2 without VNNI).

A group is what is added in 16 bits: of each of four quads of inputs one half, two neighbours. So a third of the
additions remain in 32 bits, and a product takes 0.6 of the time of one of 16-bit levels. Weights are rounded so that no
sum of a group overflows, whatever the levels are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from nets.native.simd.instructions import GroupProduct
from nets.native.simd.products import OUTPUTS, keep_together
from nets.native.simd.vectors import ALIGNMENT, I8, I16, I32, I64, intrinsic, place

QUADS = 4
"""How many quads of inputs have a part in a group."""
LARGEST_GROUP = 32767 // 255
"""The positive weights of a group add up to at most this, and the negative ones to at least its negative."""


def group_numbers(inputs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the group of each input, given the inputs' places in a row of levels."""
    return inputs // (4 * QUADS) * 2 + inputs % 4 // 2


def group_multiplier(product: GroupProduct, lanes: int) -> Any:
    """Make an intrinsic that multiplies one row of levels without sign by a block of weights.

    It takes the levels' address, their number (a multiple of 16), the weights' address, and the address to write the
    sums to. Vectors have `lanes` sums. One row at a time leaves the levels in registers, so the weights need none.
    """
    columns = OUTPUTS // lanes
    sums_kind, groups_kind = ir.VectorType(I32, lanes), ir.VectorType(I16, 2 * lanes)
    bytes_kind = ir.VectorType(I8, 4 * lanes)

    @intrinsic
    def multiply(_context: Any, levels: Any, count: Any, weights: Any, to: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            levels, count, weights, to = values
            before, body = builder.block, builder.append_basic_block("groups")
            after = builder.append_basic_block("sums")
            builder.branch(body)
            builder.position_at_end(body)
            at = builder.phi(I64)
            at.add_incoming(I64(0), before)
            cells = [builder.phi(sums_kind) for _ in range(columns)]
            ours, everywhere, results = builder.mul(at, I64(OUTPUTS)), [], []
            for quad in range(QUADS):
                there = place(builder, levels, builder.add(at, I64(4 * quad)), I32)
                both = product.spread(builder, builder.load(there, align=ALIGNMENT))
                everywhere.append(builder.bitcast(both, bytes_kind))
            for column, cell in enumerate(cells):
                group = ir.Constant(groups_kind, [0] * groups_kind.count)
                for quad in range(QUADS):
                    offset = builder.add(ours, I64(4 * (quad * OUTPUTS + column * lanes)))
                    factors = builder.load(place(builder, weights, offset, bytes_kind), align=ALIGNMENT)
                    group = builder.add(group, product.multiply(builder, everywhere[quad], factors))
                results.append(product.add(builder, cell, group))
                cell.add_incoming(ir.Constant(sums_kind, [0] * lanes), before)
                cell.add_incoming(results[-1], body)
            further = builder.add(at, I64(4 * QUADS))
            at.add_incoming(further, body)
            keep_together(builder, builder.cbranch(builder.icmp_unsigned("<", further, count), body, after))
            builder.position_at_end(after)
            for column, result in enumerate(results):
                builder.store(result, place(builder, to, I64(4 * lanes * column), sums_kind), align=ALIGNMENT)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return multiply
