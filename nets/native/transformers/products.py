"""Products of matrices that transformers need beside those of 16-bit levels: of 8-bit levels, and scores."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from go_rules.machine.jit import kernel
from nets.native.simd.groups import group_multiplier
from nets.native.simd.products import HERE, MORE_ROWS, MOST_ROWS, OUTPUT_BYTES, OUTPUTS, multiplier
from nets.native.simd.vectors import ALIGNMENT, I64, place

HAS_BYTES = HERE.quads is not None or HERE.groups is not None
"""Whether products of 8-bit levels are faster than those of 16 bits."""
IN_GROUPS = HERE.groups is not None
"""Whether they add up groups of products in 16 bits, so that weights have to keep to LARGEST_GROUP."""
KEYS = OUTPUTS
"""How many keys a block has."""


def put_high_halves(builder: Any, row: list[Any], to: Any) -> None:
    """Write the higher 16 bits of sums, column c of the first half beside column c of the second."""
    half, kind = len(row) // 2, row[0].type
    for number in range(half):
        low = builder.lshr(row[number], ir.Constant(kind, [16] * kind.count))
        high = builder.and_(row[number + half], ir.Constant(kind, [0xFFFF0000] * kind.count))
        both = builder.or_(low, high)
        builder.store(both, place(builder, to, I64(4 * kind.count * number), kind), align=ALIGNMENT)


_score_most, _score_more, _score_one = (multiplier(rows, put=put_high_halves) for rows in (MOST_ROWS, MORE_ROWS, 1))
# Without 8-bit products nothing has 8-bit levels, but what calls them is compiled all the same.
_bytes_most, _bytes_more, _bytes_one = (
    multiplier(rows, HERE.quads or HERE.pairs) for rows in (MOST_ROWS, MORE_ROWS, 1)
)


@kernel
def _multiply_quads(levels, weights, sums, rows, row_bytes):
    while rows >= MOST_ROWS:
        _bytes_most(levels, row_bytes, row_bytes, weights, sums, OUTPUT_BYTES)
        levels += MOST_ROWS * row_bytes
        sums += MOST_ROWS * OUTPUT_BYTES
        rows -= MOST_ROWS
    while rows >= MORE_ROWS:
        _bytes_more(levels, row_bytes, row_bytes, weights, sums, OUTPUT_BYTES)
        levels += MORE_ROWS * row_bytes
        sums += MORE_ROWS * OUTPUT_BYTES
        rows -= MORE_ROWS
    while rows > 0:
        _bytes_one(levels, row_bytes, row_bytes, weights, sums, OUTPUT_BYTES)
        levels += row_bytes
        sums += OUTPUT_BYTES
        rows -= 1


if HERE.groups is not None:
    _groups_one = group_multiplier(HERE.groups, HERE.lanes)


@kernel
def _multiply_groups(levels, weights, sums, rows, row_bytes):
    for row in range(rows):
        _groups_one(levels + row * row_bytes, row_bytes, weights, sums + row * OUTPUT_BYTES)


multiply_bytes = _multiply_groups if IN_GROUPS else _multiply_quads
"""Compute int32 sums [rows, 32] of 8-bit levels [rows, channels] @ int8 weights [channels / 4, 32, 4].

The arguments are the addresses of levels, weights and sums, the number of rows, and the bytes of a row of levels. The
levels have no sign where `byte_zero` is added to them.
"""


@kernel
def score_block(queries, keys, scores, rows, row_bytes, score_bytes):
    """Compute int16 scores [rows, 32] of int16 queries [rows, size] @ int16 keys [size / 2, 32, 2] / 65536.

    `queries`, `keys` and `scores` are addresses, `score_bytes` the bytes from one row of scores to the next. Of 32 keys
    the even ones come before the odd ones.
    """
    while rows >= MOST_ROWS:
        _score_most(queries, row_bytes, row_bytes, keys, scores, score_bytes)
        queries += MOST_ROWS * row_bytes
        scores += MOST_ROWS * score_bytes
        rows -= MOST_ROWS
    while rows >= MORE_ROWS:
        _score_more(queries, row_bytes, row_bytes, keys, scores, score_bytes)
        queries += MORE_ROWS * row_bytes
        scores += MORE_ROWS * score_bytes
        rows -= MORE_ROWS
    while rows > 0:
        _score_one(queries, row_bytes, row_bytes, keys, scores, score_bytes)
        queries += row_bytes
        scores += score_bytes
        rows -= 1
