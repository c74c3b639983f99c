"""Writes what depends on the board's size, since a graph runs on every size: factors of global pooling, point order."""

from __future__ import annotations

from nets.conversion.graph import Graph


class Board:
    """The values of a graph that follow from the input's height and width; they are written once."""

    def __init__(self, graph: Graph, spatial: str) -> None:
        self._graph = graph
        self.rotations: dict[bytes, tuple[str, str]] = {}
        """Cosines and sines already written, by the frequencies they are for (transformer.py)."""
        self.size = graph.add("Shape", spatial, start=2, end=4, label="board_size")
        """int64 [2]: H, W"""
        area = graph.add("Cast", graph.add("ReduceProd", self.size, keepdims=0), to=1, label="area")
        self.width = graph.add("Sqrt", area, label="width")
        """The square root of the area: w below."""
        self.linear = graph.add(
            "Mul", graph.add("Sub", self.width, graph.scalar(14.0)), graph.scalar(0.1), label="linear"
        )
        """(w - 14) / 10"""
        square = graph.add("Mul", self.linear, self.linear)
        self.quadratic = graph.add("Sub", square, graph.scalar(0.1), label="quadratic")
        """((w - 14) / 10)^2 - 0.1"""

    def pool(self, x: str, label: str) -> str:
        """Add the global pooling [N, 3C] of a board [N, C, H, W]: mean, mean times `linear`, maximum."""
        mean = self._mean(x, label)
        maximum = self._graph.add("Flatten", self._graph.add("GlobalMaxPool", x, label=label), axis=1)
        return self._join(label, mean, self._graph.add("Mul", mean, self.linear), maximum)

    def pool_value(self, x: str, label: str) -> str:
        """Add the value head's pooling [N, 3C] of a board [N, C, H, W]: mean, mean * linear, mean * quadratic."""
        mean = self._mean(x, label)
        linear = self._graph.add("Mul", mean, self.linear)
        return self._join(label, mean, linear, self._graph.add("Mul", mean, self.quadratic))

    def _mean(self, x: str, label: str) -> str:
        return self._graph.add("Flatten", self._graph.add("GlobalAveragePool", x, label=label), axis=1)

    def _join(self, label: str, *parts: str) -> str:
        return self._graph.add("Concat", *parts, axis=1, label=f"{label}_pool")

    def to_tokens(self, x: str, channels: int) -> str:
        """Turn a board [N, C, H, W] into tokens [N, H*W, C], one a point."""
        flat = self._graph.add("Reshape", x, self._graph.integers(0, channels, -1))
        return self._graph.add("Transpose", flat, perm=[0, 2, 1], label="tokens")

    def to_planes(self, x: str, channels: int) -> str:
        """Turn tokens [N, H*W, C] back into a board [N, C, H, W]."""
        turned = self._graph.add("Transpose", x, perm=[0, 2, 1])
        shape = self._graph.add("Concat", self._graph.integers(0, channels), self.size, axis=0)
        return self._graph.add("Reshape", turned, shape, label="planes")
