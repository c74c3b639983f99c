"""Winograd's convolution F(m×m, 3×3): a tile of m×m outputs from (m+2)×(m+2) inputs with as many multiplications.

    output = A^T [(G w G^T) * (B^T input B)] A          Lavin and Gray, https://arxiv.org/abs/1509.09308

Per tile and pair of channels that is (m+2)^2 multiplications instead of 9 m^2: for m = 4 a quarter. In an ONNX graph
the product over channels becomes one matrix multiplication for each of the (m+2)^2 places in a tile, and the
transforms become multiplications by the Kronecker squares of B^T and A^T.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.conversion.graph import Graph
from nets.katago.model import FloatArray

KERNEL = 3
POINTS = (0.0, 1.0, -1.0, 2.0, -2.0)
"""Where the transforms evaluate polynomials, besides infinity; m + 1 of them are used."""
OUTSIDE = 1 << 20
"""A coordinate beyond every board."""


def transforms(m: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return A^T [m, m + 2], G [m + 2, 3] and B^T [m + 2, m + 2] by the method of Cook and Toom, transposed."""
    points = POINTS[: m + KERNEL - 2]
    a = len(points) + 1
    outputs, weights, inputs = np.zeros((m, a)), np.zeros((a, KERNEL)), np.zeros((a, a))
    for i, point in enumerate(points):
        others = [other for other in points if other != point]
        outputs[:, i] = point ** np.arange(m)
        weights[i] = point ** np.arange(KERNEL) / math.prod(point - other for other in others)
        inputs[i, : a - 1] = np.poly(others)[::-1]
    outputs[-1, -1] = weights[-1, -1] = 1
    inputs[-1] = np.poly(points)[::-1]
    return outputs, weights, inputs


def transformed(weights: FloatArray, m: int) -> FloatArray:
    """Transform the weights [out, in, 3, 3] of a convolution to [(m + 2)^2, in, out]."""
    _, g, _ = transforms(m)
    result = np.einsum("ay,bx,oiyx->abio", g, g, weights.astype(np.float64))
    return result.reshape(-1, *result.shape[2:]).astype(np.float32)


def tile_cost(m: int, height: int, width: int) -> int:
    """Return the number of multiplications per pair of channels on a board of this size."""
    return math.ceil(height / m) * math.ceil(width / m) * (m + KERNEL - 1) ** 2


TILES = (3, 4)
"""The values of m that are used: between them no board wastes much, and the rounding errors stay of the order of
1e-5 of the values."""
FEWEST_ROWS = 36
"""Tiles in a batch from which on the matrix multiplications outweigh what the method costs besides them; measured with
96 channels."""


def suits(m: int, count: int, height: int, width: int) -> bool:
    """Return whether tiles of m×m points are the fastest way to compute a batch of `count` boards of this size."""
    tiles = math.ceil(height / m) * math.ceil(width / m)
    return m == min(TILES, key=lambda other: tile_cost(other, height, width)) and count * tiles >= FEWEST_ROWS


class Tiles:
    """The transforms of one graph, written once, for boards in rows: [H*W, N, C], row by row from the top left."""

    def __init__(self, graph: Graph, size: str, m: int) -> None:
        """Write the transforms for tiles of m×m points. `size` names the board's height and width, int64 [2]."""
        self._graph = graph
        self.m, self.a = m, m + KERNEL - 1
        outputs, _, inputs = transforms(m)
        self._inputs = graph.weights(np.kron(inputs, inputs), "winograd_inputs")
        self._outputs = graph.weights(np.kron(outputs, outputs), "winograd_outputs")
        self._height, self._width = graph.add_many("Split", 2, size, axis=0, label="board_side")
        self._area = graph.add("Mul", self._height, self._width, label="points")
        last, tile = graph.integers(m - 1), graph.integers(m)
        self._down, self._across = (
            graph.add("Div", graph.add("Add", side, last), tile, label="tiles") for side in (self._height, self._width)
        )
        self._count = graph.add("Mul", self._down, self._across, label="tiles")
        self._rows_beyond: dict[int, str] = {}
        self._output_shapes: dict[int, str] = {}
        self._sources = self._source_table()
        self._targets = self._target_table()

    def convolve(self, x: str, weights: FloatArray, label: str) -> str:
        """Write a convolution of [H*W, N, in] with `weights` [out, in, 3, 3], without bias."""
        graph, (outputs, channels) = self._graph, weights.shape[:2]
        padded = graph.add("Concat", x, self._row_beyond(x, channels), axis=0, label=f"{label}_padded")
        tiles = graph.add("Gather", padded, self._sources, axis=0, label=f"{label}_tiles")
        tiles = graph.add("Reshape", tiles, graph.integers(self.a**2, -1))
        tiles = graph.add("MatMul", self._inputs, tiles, label=f"{label}_in")
        tiles = graph.add("Reshape", tiles, graph.integers(self.a**2, -1, channels))
        tiles = graph.add("MatMul", tiles, graph.weights(transformed(weights, self.m), f"{label}_weights"), label=label)
        tiles = graph.add("Reshape", tiles, graph.integers(self.a**2, -1))
        tiles = graph.add("MatMul", self._outputs, tiles, label=f"{label}_out")
        tiles = graph.add("Reshape", tiles, self._output_shape(outputs))
        return graph.add("Gather", tiles, self._targets, axis=0, label=f"{label}_rows")

    def _row_beyond(self, x: str, channels: int) -> str:
        """[1, N, C]: the zeros that stand for every point beyond the edge."""
        if channels not in self._rows_beyond:
            row = self._graph.add("Gather", x, self._graph.integers(0), axis=0, label="beyond")
            self._rows_beyond[channels] = self._graph.add("Mul", row, self._graph.scalar(0.0), label="beyond")
        return self._rows_beyond[channels]

    def _output_shape(self, channels: int) -> str:
        """The shape [m * m * tiles, N, channels]."""
        if channels not in self._output_shapes:
            outputs = self._graph.add("Mul", self._count, self._graph.integers(self.m**2))
            shape = self._graph.add("Concat", outputs, self._graph.integers(-1, channels), axis=0, label="tiles_shape")
            self._output_shapes[channels] = shape
        return self._output_shapes[channels]

    def _source_table(self) -> str:
        """[a * a, tiles]: the row of each place in each tile; H*W beyond the edge."""
        graph, a = self._graph, self.a
        starts = np.arange(math.ceil(MAX_SIZE / self.m)) * self.m - KERNEL // 2
        places = np.arange(a)[:, None] + starts
        places[places < 0] = OUTSIDE
        zero = graph.integers(0)
        y = graph.constant(places[:, None, :, None])
        y = graph.add("Slice", y, zero, self._down, graph.integers(2))
        x = graph.constant(places[None, :, None, :])
        x = graph.add("Slice", x, zero, self._across, graph.integers(3))
        x = graph.add("Where", graph.add("Less", x, self._width), x, graph.integers(OUTSIDE))
        rows = graph.add("Add", graph.add("Mul", y, self._width), x)
        rows = graph.add("Min", rows, self._area)
        return graph.add("Reshape", rows, graph.integers(a * a, -1), label="tile_sources")

    def _target_table(self) -> str:
        """[H*W]: where the output of each point stands among [m * m, tiles]."""
        graph = self._graph
        tile, place = np.divmod(np.arange(MAX_SIZE), self.m)
        zero = graph.integers(0)
        parts = []
        for axis, side, row_of_tiles, stride in ((0, self._height, self._across, self.m), (1, self._width, None, 1)):
            shape = (-1, 1) if axis == 0 else (1, -1)
            places, tiles = (
                graph.add("Slice", graph.constant(table.reshape(shape)), zero, side, graph.integers(axis))
                for table in (place * stride, tile)
            )
            if row_of_tiles is not None:
                tiles = graph.add("Mul", tiles, row_of_tiles)
            parts.append(graph.add("Add", graph.add("Mul", places, self._count), tiles))
        return graph.add("Reshape", graph.add("Add", *parts), graph.integers(-1), label="tile_targets")
