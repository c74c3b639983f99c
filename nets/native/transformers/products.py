"""Products of matrices that transformers need beside those of 16-bit levels: of 8-bit levels, and scores."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from go_rules.machine.jit import kernel
from nets.native.simd.groups import group_multiplier
from nets.native.simd.products import HERE, MORE_ROWS, MOST_ROWS, OUTPUT_BYTES, emit_product, multiplier
from nets.native.simd.vectors import ALIGNMENT, I32, I64, intrinsic, place, spread

HAS_BYTES = HERE.quads is not None or HERE.groups is not None
"""Whether products of 8-bit levels are faster than those of 16 bits."""
IN_GROUPS = HERE.groups is not None
"""Whether they add up groups of products in 16 bits, so that weights have to keep to LARGEST_GROUP."""
ATTENDS_BYTES = HERE.quads is not None
"""Whether attention can have 8 bits."""


def put_high_halves(builder: Any, row: list[Any], to: Any, _more: Any) -> None:
    """Write the higher 16 bits of sums, column c of the first half beside column c of the second."""
    half, kind = len(row) // 2, row[0].type
    _put_beside(
        builder, [builder.lshr(sums, ir.Constant(kind, [16] * kind.count)) for sums in row[:half]], row[half:], to
    )


def put_shifted(builder: Any, row: list[Any], to: Any, more: Any) -> None:
    """Write 16 bits of sums, shifted to the right, in the order of `put_high_halves`. `more` is that of byte_scorer."""
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
    """Load what a column's sums begin with. `more` is that of byte_scorer."""
    starts, _ = more
    return builder.load(place(builder, starts, I64(4 * kind.count * column), kind), align=ALIGNMENT)


def byte_scorer(rows: int) -> Any:
    """Make an intrinsic that is to scores of 8-bit levels what `multiplier` makes.

    It also takes the address of what the sums of each key begin with, and by how many bits they are shifted."""

    @intrinsic
    def score(
        _context: Any, levels: Any, row_bytes: Any, length: Any, keys: Any, to: Any, to_bytes: Any, starts: Any, by: Any
    ) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            emit_product(builder, values, rows, HERE.quads or HERE.pairs, HERE, put_shifted, start_of_keys)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 8), generate

    return score


_score_most, _score_more, _score_one = (multiplier(rows, put=put_high_halves) for rows in (MOST_ROWS, MORE_ROWS, 1))
# Without 8-bit products nothing has 8-bit levels, but what calls them is compiled all the same.
_bytes_most, _bytes_more, _bytes_one = (
    multiplier(rows, HERE.quads or HERE.pairs) for rows in (MOST_ROWS, MORE_ROWS, 1)
)
_score_bytes_most, _score_bytes_more, _score_bytes_one = (byte_scorer(rows) for rows in (MOST_ROWS, MORE_ROWS, 1))


@kernel
def _multiply_quads(levels, weights, sums, rows, row_bytes, length):
    while rows >= MOST_ROWS:
        _bytes_most(levels, row_bytes, length, weights, sums, OUTPUT_BYTES)
        levels += MOST_ROWS * row_bytes
        sums += MOST_ROWS * OUTPUT_BYTES
        rows -= MOST_ROWS
    while rows >= MORE_ROWS:
        _bytes_more(levels, row_bytes, length, weights, sums, OUTPUT_BYTES)
        levels += MORE_ROWS * row_bytes
        sums += MORE_ROWS * OUTPUT_BYTES
        rows -= MORE_ROWS
    while rows > 0:
        _bytes_one(levels, row_bytes, length, weights, sums, OUTPUT_BYTES)
        levels += row_bytes
        sums += OUTPUT_BYTES
        rows -= 1


if HERE.groups is not None:
    _groups_one = group_multiplier(HERE.groups, HERE.lanes)


@kernel
def _multiply_groups(levels, weights, sums, rows, row_bytes, length):
    for row in range(rows):
        _groups_one(levels + row * row_bytes, length, weights, sums + row * OUTPUT_BYTES)


multiply_bytes = _multiply_groups if IN_GROUPS else _multiply_quads
"""Compute int32 sums [rows, 32] of 8-bit levels [rows, channels] @ int8 weights [channels / 4, 32, 4].

The arguments are the addresses of levels, weights and sums, the number of rows, the bytes from one row of levels to the
next, and those to read of a row. The levels have no sign where `byte_zero` is added to them.
"""


@kernel
def score_block(queries, keys, scores, rows, row_bytes, to_bytes):
    """Compute int16 scores [rows, 32] of int16 queries [rows, size] @ int16 keys [size / 2, 32, 2] / 65536.

    `queries`, `keys` and `scores` are addresses, `to_bytes` the bytes from one row of scores to the next. Of 32 keys
    the even ones come before the odd ones.
    """
    while rows >= MOST_ROWS:
        _score_most(queries, row_bytes, row_bytes, keys, scores, to_bytes)
        queries += MOST_ROWS * row_bytes
        scores += MOST_ROWS * to_bytes
        rows -= MOST_ROWS
    while rows >= MORE_ROWS:
        _score_more(queries, row_bytes, row_bytes, keys, scores, to_bytes)
        queries += MORE_ROWS * row_bytes
        scores += MORE_ROWS * to_bytes
        rows -= MORE_ROWS
    while rows > 0:
        _score_one(queries, row_bytes, row_bytes, keys, scores, to_bytes)
        queries += row_bytes
        scores += to_bytes
        rows -= 1


@kernel
def score_bytes(queries, keys, starts, scores, rows, row_bytes, to_bytes, by):
    """Compute int16 scores [rows, 32] of 8-bit queries [rows, size] @ int8 keys [size / 4, 32, 4], `by` bits shifted.

    The order of keys is that of `score_block`; `starts` is the address of int32 [32], to which products are added.
    """
    while rows >= MOST_ROWS:
        _score_bytes_most(queries, row_bytes, row_bytes, keys, scores, to_bytes, starts, by)
        queries += MOST_ROWS * row_bytes
        scores += MOST_ROWS * to_bytes
        rows -= MOST_ROWS
    while rows >= MORE_ROWS:
        _score_bytes_more(queries, row_bytes, row_bytes, keys, scores, to_bytes, starts, by)
        queries += MORE_ROWS * row_bytes
        scores += MORE_ROWS * to_bytes
        rows -= MORE_ROWS
    while rows > 0:
        _score_bytes_one(queries, row_bytes, row_bytes, keys, scores, to_bytes, starts, by)
        queries += row_bytes
        scores += to_bytes
        rows -= 1
