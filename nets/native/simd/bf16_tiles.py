"""Convolutions in bf16 on Intel's tile registers (AMX): sixteen points by sixteen outputs at once, 32 inputs deep.

The points of a board lie in a frame of zeros. One after another, frame and all, they are the rows of a matrix, and a
step of the window is a step to later rows. So tiles read the points where they lie, and sums for points of the frame,
which mean nothing, are computed too. A thread shapes its tiles before it multiplies, and gives them up afterwards.
"""

from __future__ import annotations

from typing import Any

from numba import types

from nets.native.simd.products import HERE, OUTPUT_BYTES, repeat
from nets.native.simd.tile_products import TILE_BYTES, TILE_ROWS, call, in_tiles, shape
from nets.native.simd.vectors import I8, I64, emits, place

NUMBER_BYTES = 2
"""Of a number in bf16."""
DEPTH = TILE_BYTES // NUMBER_BYTES
"""Inputs of a tile."""
OF_POINTS, OF_WEIGHTS = 4, 6
"""The first tiles of points and of weights; those of sums are 0 to 3."""


@emits(types.void())
def shape_bf16_tiles(builder: Any) -> None:
    """Shape the thread's tiles for `multiply_bf16_tiles`."""
    if HERE.has_bf16_tiles:
        shape(builder, "bf16_tile_shapes", [TILE_BYTES] * 8, [TILE_ROWS] * 8)


@emits(types.void(*[types.int64] * 7))
def multiply_bf16_tiles(
    builder: Any, points: Any, row_bytes: Any, side: Any, inputs: Any, weights: Any, sums: Any, rows: Any
) -> None:
    """Compute float32 sums [rows, 32] of a window of `side` by `side` points at each of `rows` points.

    `points` is the address of the window's first point at the first of them, in bf16 [..., inputs] with `inputs` a
    multiple of 32; `row_bytes` are the bytes from one row of the board to the next. `weights` is the address of bf16
    [side, side, inputs / 2, 32, 2]. Points are read, and sums written, for `rows` rounded up to a multiple of 16.
    """
    if not HERE.has_bf16_tiles:
        return
    point_bytes = builder.mul(inputs, I64(NUMBER_BYTES))

    def add(points: Any, tiles: int) -> None:
        _add_products(builder, (points, point_bytes, row_bytes, side, inputs, weights), tiles)

    in_tiles(builder, (points, sums, rows), point_bytes, add)


def _add_products(builder: Any, values: tuple[Any, ...], tiles: int) -> None:
    """Emit the products of one or two tiles of points, given what `multiply_bf16_tiles` names."""
    points, point_bytes, row_bytes, side, inputs, weights = values

    def has_more(state: tuple[Any, ...]) -> Any:
        return builder.icmp_signed(">", state[-1], I64(0))

    def deeper(state: tuple[Any, ...]) -> tuple[Any, ...]:
        at, there, left = state
        for tile in range(tiles):
            offset = builder.mul(point_bytes, I64(tile * TILE_ROWS))
            call(builder, "tileloadd64", I8(OF_POINTS + tile), place(builder, at, offset, I8), point_bytes)
        for column in (0, 1):
            ours = place(builder, there, I64(TILE_BYTES * column), I8)
            call(builder, "tileloadd64", I8(OF_WEIGHTS + column), ours, I64(OUTPUT_BYTES))
        for number in range(2 * tiles):
            call(builder, "tdpbf16ps", I8(number), I8(OF_POINTS + number // 2), I8(OF_WEIGHTS + number % 2))
        further = builder.add(there, I64(DEPTH // 2 * OUTPUT_BYTES))
        return builder.add(at, I64(TILE_BYTES)), further, builder.sub(left, I64(DEPTH))

    def along(state: tuple[Any, ...]) -> tuple[Any, ...]:
        # All inputs of a point, and then those of the next one, follow each other.
        at, there, left = state
        length = builder.mul(inputs, side)
        _, there, _ = repeat(builder, (at, there, length), has_more, deeper)
        return builder.add(at, row_bytes), there, builder.sub(left, I64(1))

    repeat(builder, (points, weights, side), has_more, along)
