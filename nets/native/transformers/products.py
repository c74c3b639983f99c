"""Products of matrices that transformers need beside those of 16-bit levels: of 8-bit levels, and scores."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from go_rules.machine.jit import kernel
from nets.native.simd.products import (
    INT_LANES,
    IS_WIDE,
    LANES,
    MORE_ROWS,
    MOST_ROWS,
    OUTPUT_BYTES,
    OUTPUTS,
    add_pairs,
    multiplier,
)
from nets.native.simd.vectors import ALIGNMENT, I8, I64, features, place

HAS_BYTES = IS_WIDE and "avx512vnni" in features()
"""Whether there is an instruction for products of 8-bit levels whose sums cannot overflow on the way."""
BYTE_LANES = ir.VectorType(I8, 4 * LANES)
KEYS = OUTPUTS
"""How many keys a block has."""


def add_quads(builder: Any, sums: Any, levels: Any, weights: Any) -> Any:
    """Add the products of four 8-bit levels, which have no sign, and four weights to `sums`."""
    kind = ir.FunctionType(INT_LANES, [INT_LANES, BYTE_LANES, BYTE_LANES])
    quads = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpdpbusd.512")
    return builder.call(quads, [sums, *(builder.bitcast(each, BYTE_LANES) for each in (levels, weights))])


def put_high_halves(builder: Any, row: list[Any], to: Any) -> None:
    """Write the higher 16 bits of sums, column c of the first half beside column c of the second."""
    half = len(row) // 2
    for number in range(half):
        low = builder.lshr(row[number], ir.Constant(INT_LANES, [16] * LANES))
        high = builder.and_(row[number + half], ir.Constant(INT_LANES, [0xFFFF0000] * LANES))
        both = builder.or_(low, high)
        builder.store(both, place(builder, to, I64(4 * LANES * number), both.type), align=ALIGNMENT)


_score_most, _score_more, _score_one = (
    multiplier(rows, add_pairs, put_high_halves) for rows in (MOST_ROWS, MORE_ROWS, 1)
)
_bytes_most, _bytes_more, _bytes_one = (
    multiplier(rows, add_quads if HAS_BYTES else add_pairs) for rows in (MOST_ROWS, MORE_ROWS, 1)
)


@kernel
def multiply_bytes(levels, weights, sums, rows, row_bytes):
    """Compute int32 sums [rows, 32] of uint8 levels [rows, channels] @ int8 weights [channels / 4, 32, 4].

    `levels`, `weights` and `sums` are addresses.
    """
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
