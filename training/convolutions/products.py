"""Products of matrices in fp32, on which nearly half of the time of training is spent: as many sums at once as there
are registers for."""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir
from numba import types

from go_rules.compilation.jit import kernel
from nets.native.convolutions.transforms import FLOAT_BYTES
from nets.native.simd.processor import features
from nets.native.simd.products import keep_together, repeat
from nets.native.simd.vectors import ALIGNMENT, F32, FLOATS, FUSED, I64, VECTOR_BYTES, intrinsic, place, spread
from nets.native.simd.x86 import WIDE

LANES = FLOATS.llvm.count
ROWS, VECTORS = (12, 2) if WIDE in features() else (6, 1)
"""Rows, and vectors of columns, whose sums are computed at once. AVX-512 has 32 registers of a vector, AVX2 16 of half
of one, and ARM 32 of a quarter."""
FEWER_ROWS = (4, 1)


def _multiplier(vectors: int, adds: bool) -> Any:
    """Make an intrinsic that multiplies rows by a block of so many vectors of columns, and writes the sums or adds them
    to what is there.

    It takes the address of the rows, the bytes from one to the next, and those from one number of a row to the next;
    the block's address, and the bytes from one of its rows to the next; the address of the sums, and the bytes between
    their rows; how many numbers a row has, one at least; and how many rows there are.
    """

    @intrinsic
    def multiply(
        _context: Any, x: Any, x_row: Any, x_step: Any, block: Any, block_row: Any, to: Any, to_row: Any,
        length: Any, rows: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            x, x_row, x_step, block, block_row, to, to_row, length, rows = values

            def has(count: int, state: tuple[Any, ...]) -> Any:
                return builder.icmp_signed(">=", state[-1], I64(count))

            def turn(count: int, state: tuple[Any, ...]) -> tuple[Any, ...]:
                x, to, rows = state
                _emit(builder, (x, x_row, x_step, block, block_row, to, to_row, length), count, vectors, adds)
                further, to_further = (builder.mul(each, I64(count)) for each in (x_row, to_row))
                return builder.add(x, further), builder.add(to, to_further), builder.sub(rows, I64(count))

            state = x, to, rows
            for count in (ROWS, *FEWER_ROWS):
                state = repeat(builder, state, partial(has, count), partial(turn, count))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 9), generate

    return multiply


def _emit(builder: Any, values: tuple[Any, ...], rows: int, vectors: int, adds: bool) -> None:
    """Emit the product of so many rows, given all but the last of the values that `_multiplier` names."""
    x, x_row, x_step, block, block_row, to, to_row, length = values
    kind = FLOATS.llvm
    starts, targets = [x], [to]
    for _ in range(rows - 1):
        starts.append(builder.add(starts[-1], x_row))
        targets.append(builder.add(targets[-1], to_row))
    cells = [(row, vector) for row in range(rows) for vector in range(vectors)]

    def target(row: int, vector: int) -> Any:
        return place(builder, targets[row], I64(VECTOR_BYTES * vector), kind)

    none = ir.Constant(kind, [0.0] * LANES)
    begun = {cell: builder.load(target(*cell), align=ALIGNMENT) if adds else none for cell in cells}
    before, body, after = builder.block, builder.append_basic_block("numbers"), builder.append_basic_block("sums")
    builder.branch(body)
    builder.position_at_end(body)
    left, at, there = builder.phi(I64), builder.phi(I64), builder.phi(I64)
    sums = {cell: builder.phi(kind) for cell in cells}
    columns = [
        builder.load(place(builder, there, I64(VECTOR_BYTES * vector), kind), align=ALIGNMENT)
        for vector in range(vectors)
    ]
    results = {}
    for row in range(rows):
        number = spread(builder, builder.load(place(builder, starts[row], at, F32), align=FLOAT_BYTES), kind)
        for vector in range(vectors):
            product = builder.fmul(number, columns[vector], flags=FUSED)
            results[row, vector] = builder.fadd(sums[row, vector], product, flags=FUSED)
    further = builder.sub(left, I64(1))
    turns = [
        (left, length, further),
        (at, I64(0), builder.add(at, x_step)),
        (there, block, builder.add(there, block_row)),
        *((sums[cell], begun[cell], results[cell]) for cell in cells),
    ]
    for phi, first, following in turns:
        phi.add_incoming(first, before)
        phi.add_incoming(following, body)
    keep_together(builder, builder.cbranch(builder.icmp_signed(">", further, I64(0)), body, after))
    builder.position_at_end(after)
    for cell in cells:
        builder.store(results[cell], target(*cell), align=ALIGNMENT)


_multiply, _multiply_vector = _multiplier(VECTORS, False), _multiplier(1, False)
_add, _add_vector = _multiplier(VECTORS, True), _multiplier(1, True)
_WIDTH = VECTORS * VECTOR_BYTES


@kernel
def multiply(x, x_row, weights, to, to_row, rows, inputs, outputs):
    """Multiply `x` [rows, inputs] by `weights` [inputs, outputs] to `to` [rows, outputs]."""
    row = outputs * FLOAT_BYTES
    most = row - row % _WIDTH
    for column in range(0, most, _WIDTH):
        _multiply(x, x_row, FLOAT_BYTES, weights + column, row, to + column, to_row, inputs, rows)
    for column in range(most, row, VECTOR_BYTES):
        _multiply_vector(x, x_row, FLOAT_BYTES, weights + column, row, to + column, to_row, inputs, rows)


@kernel
def add_products(x, x_row, dy, dy_row, gradient, rows, inputs, outputs):
    """Add the product of `x` [rows, inputs], transposed, and `dy` [rows, outputs] to `gradient` [inputs, outputs]."""
    row = outputs * FLOAT_BYTES
    most = row - row % _WIDTH
    for column in range(0, most, _WIDTH):
        _add(x, FLOAT_BYTES, x_row, dy + column, dy_row, gradient + column, row, rows, inputs)
    for column in range(most, row, VECTOR_BYTES):
        _add_vector(x, FLOAT_BYTES, x_row, dy + column, dy_row, gradient + column, row, rows, inputs)
