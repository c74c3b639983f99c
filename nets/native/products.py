"""Products of matrices of 16-bit integers with 32-bit sums, the instructions that all the arithmetic goes through.

Two neighbouring inputs are multiplied by their weights and added at once (`vpmaddwd`, with VNNI `vpdpwssd`, which LLVM
makes of it and the addition after it). 32 outputs are computed together: as many rows by so many outputs as the
processor has registers for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from go_rules.jit import kernel
from nets.native.vectors import ALIGNMENT, I16, I32, I64, WIDE, features, intrinsic, place, spread

OUTPUTS = 32
"""Outputs in a block: a product's columns, and the channels that everything after it handles together."""
OUTPUT_BYTES = 4 * OUTPUTS
IS_WIDE = WIDE in features()
MOST_ROWS, MORE_ROWS = (12, 4) if IS_WIDE else (3, 2)
"""Rows at once: 24 of 32 registers hold sums, or 12 of 16."""
LANES = 16 if IS_WIDE else 8
"""32-bit integers in a register."""
PAIRED = f"llvm.x86.{'avx512.pmaddw.d.512' if IS_WIDE else 'avx2.pmadd.wd'}"


def _multiplier(rows: int) -> Any:
    """The product of `rows` rows with a block of weights."""
    ints, shorts = ir.VectorType(I32, LANES), ir.VectorType(I16, 2 * LANES)
    columns = OUTPUTS // LANES

    @intrinsic
    def multiply(_context: Any, levels: Any, weights: Any, sums: Any, row_bytes: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            levels, weights, sums, row_bytes = values
            paired = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ints, [shorts, shorts]), PAIRED)
            cells = [[cgutils.alloca_once(builder, ints) for _ in range(columns)] for _ in range(rows)]
            for cell in (cell for row in cells for cell in row):
                builder.store(ir.Constant(ints, [0] * LANES), cell)
            with cgutils.for_range(builder, builder.lshr(row_bytes, I64(2))) as loop:
                ours = builder.mul(loop.index, I64(OUTPUT_BYTES))
                factors = [
                    builder.load(
                        place(builder, weights, builder.add(ours, I64(4 * LANES * column)), shorts), align=ALIGNMENT
                    )
                    for column in range(columns)
                ]
                for number, row in enumerate(cells):
                    at = builder.add(builder.mul(row_bytes, I64(number)), builder.shl(loop.index, I64(2)))
                    pair = builder.load(place(builder, levels, at, I32), align=ALIGNMENT)
                    pairs = builder.bitcast(spread(builder, pair, ints), shorts)
                    for cell, factor in zip(row, factors, strict=True):
                        builder.store(builder.add(builder.load(cell), builder.call(paired, [pairs, factor])), cell)
            for number, row in enumerate(cells):
                for column, cell in enumerate(row):
                    at = I64(OUTPUT_BYTES * number + 4 * LANES * column)
                    builder.store(builder.load(cell), place(builder, sums, at, ints), align=ALIGNMENT)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, types.int64), generate

    return multiply


_multiply_most, _multiply_more, _multiply_one = (_multiplier(rows) for rows in (MOST_ROWS, MORE_ROWS, 1))


@kernel
def multiply_rows(levels, weights, sums, rows, row_bytes):
    """int32 sums [rows, 32] = int16 levels [rows, channels] @ int16 weights [channels / 2, 32, 2]; addresses."""
    while rows >= MOST_ROWS:
        _multiply_most(levels, weights, sums, row_bytes)
        levels += MOST_ROWS * row_bytes
        sums += MOST_ROWS * OUTPUT_BYTES
        rows -= MOST_ROWS
    while rows >= MORE_ROWS:
        _multiply_more(levels, weights, sums, row_bytes)
        levels += MORE_ROWS * row_bytes
        sums += MORE_ROWS * OUTPUT_BYTES
        rows -= MORE_ROWS
    while rows > 0:
        _multiply_one(levels, weights, sums, row_bytes)
        levels += row_bytes
        sums += OUTPUT_BYTES
        rows -= 1
