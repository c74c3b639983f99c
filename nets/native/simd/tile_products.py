"""Products of 8-bit levels on Intel's tile registers (AMX): sixteen rows by sixteen outputs at once, 64 inputs deep.

Tiles read levels and weights as they lie there for other instructions, and give the same integers in an eighth of the
time. A thread shapes its tiles before it multiplies and gives them up afterwards; nobi_machine/jit.py
asks the system for them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from nets.native.simd.products import HERE, OUTPUT_BYTES, repeat
from nets.native.simd.vectors import I8, I64, emits, place

TILE_ROWS = 16
DEPTH, HALF_DEPTH = 64, 32
"""Inputs of a tile of levels, and of one for what is left of a row."""
TILE_BYTES = 64
"""Of a row of a tile: so many levels or so many weights, or 16 sums."""
ROWS_AT_ONCE = 2 * TILE_ROWS
"""So many rows are multiplied by 32 outputs at once: four tiles of sums, which do not wait for each other."""
LEVELS, WEIGHTS, HALF_LEVELS, HALF_WEIGHTS = 4, 5, 6, 7
"""The numbers of tiles; those of sums are 0 to 3. The halves are for the last 32 inputs of a row."""
_GROUP = 4
"""Inputs whose weights lie beside each other."""


def call(builder: Any, name: str, *values: Any) -> None:
    """Emit an instruction of x86 without a result, by LLVM's name."""
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{name}"), values)


def shape(builder: Any, name: str, row_bytes: list[int], rows: list[int]) -> None:
    """Give the eight tiles rows of so many bytes, and so many rows. The constant that says so gets this name."""
    shapes = struct.pack("<BB14x8H16x8B8x", 1, 0, *row_bytes, *rows)  # as `ldtilecfg` reads them, after a palette
    constant = cgutils.global_constant(builder, name, cgutils.make_bytearray(shapes))
    call(builder, "ldtilecfg", builder.bitcast(constant, I8.as_pointer()))


def in_tiles(builder: Any, values: tuple[Any, ...], row_bytes: Any, add: Callable[[Any, int], None]) -> None:
    """Emit products of all rows. `add` is given what to read and how many tiles of rows to take at once, two or one. It
    adds the products of each with two tiles of weights to the first tiles, in this order.

    `values` are what to read, where to write sums, and the number of rows; `row_bytes` are the bytes from one row that
    is read to the next."""

    def has_more_than(count: int, state: tuple[Any, ...]) -> Any:
        return builder.icmp_signed(">", state[-1], I64(count))

    def turn(tiles: int, state: tuple[Any, ...]) -> tuple[Any, ...]:
        read, sums, rows = state
        for number in range(2 * tiles):
            call(builder, "tilezero", I8(number))
        add(read, tiles)
        for number in range(2 * tiles):
            offset = I64(number // 2 * TILE_ROWS * OUTPUT_BYTES + number % 2 * TILE_BYTES)
            call(builder, "tilestored64", I8(number), place(builder, sums, offset, I8), I64(OUTPUT_BYTES))
        done = tiles * TILE_ROWS
        read = builder.add(read, builder.mul(row_bytes, I64(done)))
        return read, builder.add(sums, I64(done * OUTPUT_BYTES)), builder.sub(rows, I64(done))

    for tiles, fewest in ((2, TILE_ROWS), (1, 0)):
        values = repeat(builder, values, partial(has_more_than, fewest), partial(turn, tiles))


@emits(types.void())
def shape_tiles(builder: Any) -> None:
    """Shape the thread's tiles for `multiply_tiles`."""
    if HERE.has_tiles:
        row_bytes, rows = [TILE_BYTES] * 8, [TILE_ROWS] * 8
        row_bytes[HALF_LEVELS], rows[HALF_WEIGHTS] = HALF_DEPTH, HALF_DEPTH // _GROUP
        shape(builder, "tile_shapes", row_bytes, rows)


@emits(types.void())
def give_up_tiles(builder: Any) -> None:
    """Give up the thread's tiles: what they hold is not saved any more when the system changes threads."""
    if HERE.has_tiles:
        call(builder, "tilerelease")


@emits(types.void(*[types.int64] * 6))
def multiply_tiles(builder: Any, levels: Any, row_bytes: Any, length: Any, weights: Any, sums: Any, rows: Any) -> None:
    """Compute int32 sums [rows, 32] of 8-bit levels without sign [rows, length] @ int8 weights [length / 4, 32, 4].

    `levels`, `weights` and `sums` are addresses, `row_bytes` the bytes from one row of levels to the next, and `length`
    is a multiple of 32. Levels are read, and sums written, for `rows` rounded up to a multiple of 16.
    """

    def add(levels: Any, tiles: int) -> None:
        _add_products(builder, levels, row_bytes, length, weights, tiles)

    if HERE.has_tiles:
        in_tiles(builder, (levels, sums, rows), row_bytes, add)


def _add_products(builder: Any, levels: Any, row_bytes: Any, length: Any, weights: Any, tiles: int) -> None:
    """Emit the products of one or two tiles of rows."""

    def multiply(at: Any, of_levels: int, of_weights: int) -> None:
        for row in range(tiles):
            offset = builder.add(at, builder.mul(row_bytes, I64(row * TILE_ROWS)))
            call(builder, "tileloadd64", I8(of_levels), place(builder, levels, offset, I8), row_bytes)
            # Each tile of weights but the first is the last one of the row of tiles before.
            for column in (0, 1) if row == 0 else (1, 0):
                if (row, column) != (1, 1):
                    offset = builder.add(builder.mul(at, I64(OUTPUT_BYTES // _GROUP)), I64(TILE_BYTES * column))
                    there = place(builder, weights, offset, I8)
                    call(builder, "tileloadd64", I8(of_weights), there, I64(OUTPUT_BYTES))
                call(builder, "tdpbusd", I8(2 * row + column), I8(of_levels), I8(of_weights))

    def is_whole(state: tuple[Any, ...]) -> Any:
        return builder.icmp_signed("<=", builder.add(state[0], I64(DEPTH)), length)

    def deeper(state: tuple[Any, ...]) -> tuple[Any, ...]:
        multiply(state[0], LEVELS, WEIGHTS)
        return (builder.add(state[0], I64(DEPTH)),)

    (at,) = repeat(builder, (I64(0),), is_whole, deeper)
    with builder.if_then(builder.icmp_signed("<", at, length)):
        multiply(at, HALF_LEVELS, HALF_WEIGHTS)
