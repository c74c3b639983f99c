"""Products of matrices that transformers need besides those of 16-bit levels: of 8-bit levels, and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from nets.native.simd.products import HERE, OUTPUT_BYTES, OUTPUTS, emit_products, keep_together, multiplier
from nets.native.simd.tile_products import multiply_tiles
from nets.native.simd.vectors import ALIGNMENT, I8, I16, I32, I64, emits, place, spread
from nobi_machine.jit import kernel

# --- Groups ----------------------------------------------------------------------------------------------------------
# A group is what is added in 16 bits: of each of four quads of inputs one half, two neighbours. So a third of the
# additions remain in 32 bits, and a product takes 0.6 of the time of one of 16-bit levels. Weights are rounded so that
# no sum of a group overflows, whatever the levels are.

QUADS_OF_A_GROUP = 4
"""How many quads of inputs have a part in a group."""
LARGEST_GROUP = 32767 // 255
"""The positive weights of a group add up to at most this, and the negative ones to at least its negative."""


def group_numbers(inputs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the group of each input, given the inputs' places in a row of levels."""
    return inputs // (4 * QUADS_OF_A_GROUP) * 2 + inputs % 4 // 2


@emits(types.void(*[types.int64] * 4))
def _multiply_group(builder: Any, levels: Any, count: Any, weights: Any, to: Any) -> None:
    """Multiply one row of levels without sign by a block of weights.

    Takes the levels' address, their number (a multiple of 16), the weights' address, and the address to write the sums
    to. One row at a time leaves the levels in registers, so the weights need none.
    """
    product, lanes = HERE.groups, HERE.lanes
    assert product is not None
    sums_kind, groups_kind = ir.VectorType(I32, lanes), ir.VectorType(I16, 2 * lanes)
    bytes_kind = ir.VectorType(I8, 4 * lanes)
    before, body = builder.block, builder.append_basic_block("groups")
    after = builder.append_basic_block("sums")
    builder.branch(body)
    builder.position_at_end(body)
    at = builder.phi(I64)
    at.add_incoming(I64(0), before)
    cells = [builder.phi(sums_kind) for _ in range(OUTPUTS // lanes)]
    ours, everywhere, results = builder.mul(at, I64(OUTPUTS)), [], []
    for quad in range(QUADS_OF_A_GROUP):
        there = place(builder, levels, builder.add(at, I64(4 * quad)), I32)
        both = product.spread(builder, builder.load(there, align=ALIGNMENT))
        everywhere.append(builder.bitcast(both, bytes_kind))
    for column, cell in enumerate(cells):
        group = ir.Constant(groups_kind, [0] * groups_kind.count)
        for quad in range(QUADS_OF_A_GROUP):
            offset = builder.add(ours, I64(4 * (quad * OUTPUTS + column * lanes)))
            factors = builder.load(place(builder, weights, offset, bytes_kind), align=ALIGNMENT)
            group = builder.add(group, product.multiply(builder, everywhere[quad], factors))
        results.append(product.add(builder, cell, group))
        cell.add_incoming(ir.Constant(sums_kind, [0] * lanes), before)
        cell.add_incoming(results[-1], body)
    further = builder.add(at, I64(4 * QUADS_OF_A_GROUP))
    at.add_incoming(further, body)
    keep_together(builder, builder.cbranch(builder.icmp_unsigned("<", further, count), body, after))
    builder.position_at_end(after)
    for column, result in enumerate(results):
        builder.store(result, place(builder, to, I64(4 * lanes * column), sums_kind), align=ALIGNMENT)


# --- The products that fit the processor -----------------------------------------------------------------------------

HAS_INT8 = HERE.quads is not None or HERE.groups is not None
"""Whether products of 8-bit levels are faster than those of 16 bits."""
IN_GROUPS = HERE.groups is not None
"""Whether they add up groups of products in 16 bits, so that weights have to keep to LARGEST_GROUP."""
PRODUCTS = ("quads", "groups", "pairs")
"""The kinds of processors that differ in what of a transformer has 8 bits: those that add four products of 8-bit levels
at once, those of IN_GROUPS, and those where nothing has 8 bits."""
PRODUCTS_HERE = "quads" if HERE.quads is not None else "groups" if IN_GROUPS else "pairs"
"""The kind of this one."""
ATTENDS_INT8 = HERE.quads is not None
"""Whether attention can have 8 bits."""
IN_TILES = HERE.has_tiles
"""Whether many rows of 8-bit levels are multiplied in tiles, in memory for rows up to a multiple of TILE_ROWS."""
QUADS = HERE.quads or HERE.pairs
"""Without products of 8 bits nothing has such levels, but what multiplies them is compiled all the same."""


def put_high_halves(builder: Any, row: list[Any], to: Any, _more: Any) -> None:
    """Write the higher 16 bits of sums, column c of the first half beside column c of the second."""
    half, kind = len(row) // 2, row[0].type
    _put_beside(
        builder, [builder.lshr(sums, ir.Constant(kind, [16] * kind.count)) for sums in row[:half]], row[half:], to
    )


def put_shifted(builder: Any, row: list[Any], to: Any, more: Any) -> None:
    """Write 16 bits of sums, shifted to the right, in the order of `put_high_halves`. `more` is starts and bits."""
    half, kind = len(row) // 2, row[0].type
    _, bits = more
    by = spread(builder, builder.trunc(bits, I32), kind)
    lower = [builder.and_(builder.ashr(sums, by), ir.Constant(kind, [0xFFFF] * kind.count)) for sums in row[:half]]
    by = builder.sub(ir.Constant(kind, [16] * kind.count), by)
    _put_beside(builder, lower, [builder.shl(sums, by) for sums in row[half:]], to)


def _put_beside(builder: Any, lower: list[Any], higher: list[Any], to: Any) -> None:
    """Write the numbers in the lower halves of some lanes beside the higher halves of others."""
    for number, (low, high) in enumerate(zip(lower, higher, strict=True)):
        kind = low.type
        both = builder.or_(low, builder.and_(high, ir.Constant(kind, [0xFFFF0000] * kind.count)))
        builder.store(both, place(builder, to, I64(4 * kind.count * number), kind), align=ALIGNMENT)


def start_of_keys(builder: Any, kind: Any, column: int, more: Any) -> Any:
    """Load what a column's sums begin with. `more` is starts and bits."""
    starts, _ = more
    return builder.load(place(builder, starts, I64(4 * kind.count * column), kind), align=ALIGNMENT)


@emits(types.void(*[types.int64] * 9))
def _score_quads(
    builder: Any, queries: Any, row_bytes: Any, length: Any, keys: Any, to: Any, to_bytes: Any, rows: Any,
    starts: Any, bits: Any,
) -> None:  # fmt: skip
    """Score 8-bit levels: do what an intrinsic of `multiplier` does, with sums that begin with `starts`, in int32 [32],
    and are shifted to the right by so many `bits`."""
    values = queries, row_bytes, length, keys, to, to_bytes, rows, starts, bits
    emit_products(builder, values, QUADS, put_shifted, start_of_keys)


_score_pairs, _multiply_quads = multiplier(put=put_high_halves), multiplier(QUADS)


@kernel
def multiply_int8(levels, weights, sums, rows, row_bytes, length):
    """Compute int32 sums [rows, 32] of 8-bit levels [rows, channels] @ int8 weights [channels / 4, 32, 4].

    The arguments are the addresses of levels, weights and sums, the number of rows, the bytes from one row of levels to
    the next, and those to read of a row. The levels have no sign where `byte_zero` is added to them.
    """
    if IN_GROUPS:
        for row in range(rows):
            _multiply_group(levels + row * row_bytes, length, weights, sums + row * OUTPUT_BYTES)
    else:
        _multiply_quads(levels, row_bytes, length, weights, sums, OUTPUT_BYTES, rows)


@kernel
def multiply_many_int8(levels, weights, sums, rows, row_bytes, length):
    """Do what multiply_int8 does, for a `length` that is a multiple of 32 and a thread that has shaped its tiles."""
    if IN_TILES:
        multiply_tiles(levels, row_bytes, length, weights, sums, rows)
    else:
        multiply_int8(levels, weights, sums, rows, row_bytes, length)


@kernel
def score_block(queries, keys, scores, rows, row_bytes, to_bytes):
    """Compute int16 scores [rows, 32] of int16 queries [rows, size] @ int16 keys [size / 2, 32, 2] / 65536.

    `queries`, `keys` and `scores` are addresses, `to_bytes` the bytes from one row of scores to the next. Of 32 keys
    the even ones come before the odd ones.
    """
    _score_pairs(queries, row_bytes, row_bytes, keys, scores, to_bytes, rows)


@kernel
def score_int8(queries, keys, starts, scores, rows, row_bytes, to_bytes, by):
    """Compute int16 scores [rows, 32] of 8-bit queries [rows, size] @ int8 keys [size / 4, 32, 4], `by` bits shifted.

    The order of keys is that of `score_block`; `starts` is the address of int32 [32], to which products are added.
    """
    _score_quads(queries, row_bytes, row_bytes, keys, scores, to_bytes, rows, starts, by)
