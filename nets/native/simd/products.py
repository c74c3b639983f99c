"""Products of matrices of 16-bit integers with 32-bit sums, on which nearly all the time is spent.

Two neighbouring inputs are multiplied by their weights and added at once, by the processor's own instructions
(processor.py). 32 outputs are computed together: as many rows by so many outputs as there are registers for.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir
from numba import types

from nets.native.simd.instructions import Instructions, Product
from nets.native.simd.processor import instructions
from nets.native.simd.vectors import ALIGNMENT, I32, I64, emits, place
from nobi_machine.jit import kernel

OUTPUTS = 32
"""Outputs in a block: a product's columns, and the channels that everything after it handles together."""
OUTPUT_BYTES = 4 * OUTPUTS
HERE = instructions()


def no_sums(_builder: Any, kind: Any, _column: int, _more: Any) -> Any:
    """Make the vector that the sums of a column begin with: zeros."""
    return ir.Constant(kind, [0] * kind.count)


def put_sums(builder: Any, row: list[Any], to: Any, _more: Any) -> None:
    """Write a row's sums as they are."""
    for column, sums in enumerate(row):
        offset = I64(OUTPUT_BYTES // len(row) * column)
        builder.store(sums, place(builder, to, offset, sums.type), align=ALIGNMENT)


def keep_together(builder: Any, branch: Any) -> None:
    """Have LLVM leave the loop that a branch closes as it is: two turns of it at once need too many registers."""
    module = builder.module
    wish = module.add_metadata(["llvm.loop.unroll.disable"])
    loop = ir.MDValue(module, [wish], name=str(len(module.metadata)))
    loop.operands = (loop, wish)
    branch.set_metadata("llvm.loop", loop)


def multiplier(product: Product = HERE.pairs, put: Any = put_sums) -> Any:
    """Make an intrinsic that multiplies rows of levels by a block of weights, and has `put` write the sums.

    It takes the levels' address, the bytes from one row to the next, the bytes to read of a row, the weights' address,
    the address to write to, the bytes from one row of results to the next, and how many rows there are.
    """

    def multiply(
        builder: Any, levels: Any, row_bytes: Any, length: Any, weights: Any, to: Any, to_bytes: Any, rows: Any
    ) -> None:
        emit_products(builder, (levels, row_bytes, length, weights, to, to_bytes, rows), product, put)

    return emits(types.void(*[types.int64] * 7))(multiply)


def emit_products(builder: Any, values: Any, product: Product, put: Any, start: Any = no_sums) -> None:
    """Emit the products of all rows of levels and a block of weights, given the `values` that multiplier names.

    Values after these are for `put` and `start`. As many rows as there are registers for are multiplied at once, then
    fewer; but one row is not left alone if others can take it along, since its few sums would wait for each other."""
    levels, row_bytes, length, weights, to, to_bytes, rows, *more = values
    state, few = (levels, to, rows), HERE.more_rows

    def multiply(count: int, state: tuple[Any, ...]) -> tuple[Any, ...]:
        levels, to, rows = state
        ours = levels, row_bytes, length, weights, to, to_bytes, *more
        emit_product(builder, ours, count, product, HERE, put, start)
        further, to_further = (builder.mul(each, I64(count)) for each in (row_bytes, to_bytes))
        return builder.add(levels, further), builder.add(to, to_further), builder.sub(rows, I64(count))

    def has(count: int, state: tuple[Any, ...]) -> Any:
        return builder.icmp_signed(">=", state[-1], I64(count))

    def has_one_over(count: int, state: tuple[Any, ...]) -> Any:
        is_over = builder.icmp_signed("==", builder.srem(state[-1], I64(count - 1)), I64(1))
        return builder.and_(has(count, state), is_over)

    def leaves_none_alone(count: int, state: tuple[Any, ...]) -> Any:
        return builder.and_(has(count, state), builder.icmp_signed("!=", state[-1], I64(count + 1)))

    turns = [(HERE.most_rows, has)]
    if few > 1:
        turns = [(HERE.most_rows, leaves_none_alone), (few + 1, has_one_over), (few, has)]
    for count, condition in [*turns, (1, has)]:
        state = repeat(builder, state, partial(condition, count), partial(multiply, count))


def repeat(builder: Any, state: tuple[Any, ...], condition: Any, turn: Any) -> tuple[Any, ...]:
    """Emit a loop: while `condition` holds for the `state`, `turn` makes the next one of it. Return the last."""
    before, head = builder.block, builder.append_basic_block("head")
    body, after = builder.append_basic_block("turn"), builder.append_basic_block("after")
    builder.branch(head)
    builder.position_at_end(head)
    now = tuple(builder.phi(value.type) for value in state)
    builder.cbranch(condition(now), body, after)
    builder.position_at_end(body)
    following = turn(now)
    for phi, first, further in zip(now, state, following, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(further, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return now


def emit_product(
    builder: Any, values: Any, rows: int, product: Product, here: Instructions, put: Any, start: Any = no_sums
) -> None:
    """Emit the product of `rows` rows of levels and a block of weights, given the first `values` that multiplier names.

    `product` is one of `here`, the instructions of any processor: so tests see what LLVM makes of it on others."""
    levels, row_bytes, length, weights, to, to_bytes, *more = values
    columns, register = OUTPUTS // here.lanes, ir.VectorType(I32, here.lanes)
    begun = [start(builder, register, column, more) for column in range(columns)]
    before, body = builder.block, builder.append_basic_block("pairs")
    after = builder.append_basic_block("sums")
    builder.branch(body)
    builder.position_at_end(body)
    at = builder.phi(I64)
    at.add_incoming(I64(0), before)
    cells = [[builder.phi(register) for _ in range(columns)] for _ in range(rows)]
    ours = builder.mul(at, I64(OUTPUTS))
    starts = [levels]
    for _ in range(rows - 1):
        starts.append(builder.add(starts[-1], row_bytes))

    def load_levels(row: int) -> Any:
        return product.spread(builder, builder.load(place(builder, starts[row], at, I32), align=ALIGNMENT))

    def load_weights(column: int) -> Any:
        there = place(builder, weights, builder.add(ours, I64(4 * here.lanes * column)), register)
        return product.arrange(builder, builder.load(there, align=ALIGNMENT))

    sums: dict[tuple[int, int], Any] = {}
    if here.loads_levels_first:
        everywhere = [load_levels(row) for row in range(rows)]
        for column in range(columns):
            factor = load_weights(column)
            for row in range(rows):
                sums[row, column] = product.add(builder, cells[row][column], everywhere[row], factor)
    else:
        factors = [load_weights(column) for column in range(columns)]
        for row in range(rows):
            level = load_levels(row)
            for column in range(columns):
                sums[row, column] = product.add(builder, cells[row][column], level, factors[column])
    further = builder.add(at, I64(4))
    at.add_incoming(further, body)
    for (row, column), result in sums.items():
        cells[row][column].add_incoming(begun[column], before)
        cells[row][column].add_incoming(result, body)
    keep_together(builder, builder.cbranch(builder.icmp_unsigned("<", further, length), body, after))
    builder.position_at_end(after)
    for row in range(rows):
        results = [sums[row, column] for column in range(columns)]
        put(builder, results, builder.add(to, builder.mul(to_bytes, I64(row))), more)


_multiply_pairs = multiplier()


@kernel
def multiply_rows(levels, weights, sums, rows, row_bytes):
    """Compute int32 sums [rows, 32] of int16 levels [rows, channels] @ int16 weights [channels / 2, 32, 2].

    `levels`, `weights` and `sums` are addresses.
    """
    multiply_parts(levels, weights, sums, rows, row_bytes, row_bytes)


@kernel
def multiply_parts(levels, weights, sums, rows, row_bytes, length):
    """Do what multiply_rows does, with the first `length` bytes of rows that are `row_bytes` apart."""
    _multiply_pairs(levels, row_bytes, length, weights, sums, OUTPUT_BYTES, rows)
