"""Writes transformers with 8-bit integers where that loses little: in the matrices that read a feed-forward norm.

They are 44 % of the multiplications by weights. What the others would lose was measured on b7c96h3tfrs: rounding what
queries, keys and values are made of adds half to all losses for 6 % of the time; what SwiGLU puts out has rare peaks
for which 255 steps are too few; and attention's own products are too narrow to gain. All of that stays fp32.
"""

from __future__ import annotations

import numpy as np

from nets.conversion.board import Board
from nets.conversion.graph import Graph
from nets.conversion.transformer import NORMED, rms_norm
from nets.conversion.trunk import PlainTrunk
from nets.katago.model import FeedForwardBlock, FloatArray, Trunk
from nets.precision.int8_trunk import LEVELS, Calibration
from nets.precision.weight_rounding import round_weights

EQUALIZATION = 0.6
"""How much of the differences between a norm's channels its steps follow, as in int8_trunk.py."""
NARROWEST = 1e-2
"""Least range of a channel, as a share of the widest channel's."""


class IntegerTokensTrunk:
    """Writes the trunk of a network with feed-forward blocks; all other blocks stay fp32."""

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration

    def __call__(self, graph: Graph, board: Board, trunk: Trunk, spatial: str, features: str) -> str:
        return PlainTrunk(graph, board, trunk.channels, self._products).write(trunk, spatial, features)

    def _products(
        self, graph: Graph, x: str, block: FeedForwardBlock, matrices: list[FloatArray], label: str
    ) -> list[str]:
        """The norm puts out levels, `value / step + zero`; the matrices take the steps into their weights."""
        step, zero = self._steps(f"{label}{NORMED}")
        moments = self._calibration.moments[f"{label}{NORMED}"]
        one, middle = graph.shared(np.float32(1)), graph.shared(np.uint8(zero))
        normed = rms_norm(graph, x, block.norm / step, block.epsilon, f"{label}_norm")
        levels = graph.add("QuantizeLinear", normed, one, middle, label=f"{label}_levels")
        order = np.argsort(-np.diag(moments))  # what is rounded first is made good best, so the largest inputs are
        products = []
        for matrix in matrices:
            shuffled, scales = round_weights(matrix.T[:, order, None, None], step[order], moments[np.ix_(order, order)])
            integers = np.empty(matrix.shape, np.int8)
            integers[order] = shuffled[:, :, 0, 0].T
            products.append(
                graph.add(
                    "MatMulIntegerToFloat",
                    levels,
                    graph.array(integers, f"{label}_weights"),
                    one,
                    graph.weights(scales, f"{label}_scales"),
                    middle,
                    # The rules let it be left out; nets/onnx/check.py says why it is not. Products cannot share one:
                    # onnxruntime changes it with the weights, under a new name.
                    graph.array(np.array(0, np.int8), f"{label}_zero"),
                    label=f"{label}_first",
                    domain="com.microsoft",
                )
            )
        return products

    def _steps(self, tap: str) -> tuple[FloatArray, int]:
        """What a level of each channel is worth, and the level of 0."""
        low, high = self._calibration.ranges[tap]
        reach = np.maximum(-low, high)
        reach = np.maximum(reach, max(NARROWEST * float(reach.max()), 1e-6))
        factor = (reach / reach.max()) ** EQUALIZATION
        lowest, highest = float((low / factor).min()), float((high / factor).max())
        step = max(highest - lowest, 1e-6) / LEVELS
        return (factor * step).astype(np.float32), int(np.clip(round(-lowest / step), 0, LEVELS))
