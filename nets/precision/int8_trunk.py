"""The trunk in 8-bit integers, on boards [N, H, W, C]: convolutions read and write uint8, the residual stream is fp32.

Every convolution reads activations that passed a ReLU, so 0 means zero and padding is exact. What it writes is either
such an activation again, `level * step`, or a signed value, `level * step + low`; both with a step per channel that its
weights absorb. So all scales that onnxruntime sees are 1, the conversion is one multiplication where fp32 begins, and
a ReLU costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nets.conversion.board import Board
from nets.conversion.graph import Graph
from nets.katago.model import (
    Activation,
    Convolution,
    FeedForwardBlock,
    FloatArray,
    Model,
    Normed,
    OrdinaryBlock,
    PoolingBlock,
    Trunk,
)
from nets.precision.weight_rounding import round_weights

LEVELS = 255
EQUALIZATION = 0.5
"""How much of the differences between an activation's channels its steps follow: 1 gives each channel all levels, 0 all
channels the same step. In between the error is shared with the weights, which absorb the steps."""
NARROWEST = 1e-3
"""Least range of a channel, as a share of the widest channel's: a channel that never fired may do so one day."""
SPLIT = 0.25
"""Share of a pooled activation's range that has fine steps, see IntegerTrunk._pooling."""


@dataclass(frozen=True)
class Calibration:
    """Statistics of the values inside a trunk, by the names of their taps."""

    ranges: Mapping[str, tuple[FloatArray, FloatArray]]
    """Lowest and highest value [C] that should be told apart."""
    moments: Mapping[str, NDArray[np.float64]]
    """[C * y * x, C * y * x]: the sum of the products of what a convolution reads at two places; its error is measured
    by them."""

    def activation_steps(self, tap: str) -> FloatArray:
        """Return the steps [C] of an activation that passed a ReLU, whose lowest value is 0."""
        high = self.ranges[tap][1]
        high = np.maximum(high, max(NARROWEST * float(high.max()), 1e-6))
        return (high**EQUALIZATION * high.max() ** (1 - EQUALIZATION) / LEVELS).astype(np.float32)

    def signed_steps(self, tap: str) -> tuple[FloatArray, FloatArray]:
        """Return the steps and the lowest values, both [C], of a signed value."""
        low, high = self.ranges[tap]
        width = high - low
        width = np.maximum(width, max(NARROWEST * float(width.max()), 1e-6))
        middle = (high + low) / 2
        return (width / LEVELS).astype(np.float32), (middle - width / 2).astype(np.float32)

    def pooled_steps(self, tap: str) -> tuple[FloatArray, FloatArray]:
        """Return two steps [C] of a pooled activation: below and above the threshold at LEVELS times the first step."""
        high = self.ranges[tap][1]
        high = np.maximum(high, max(NARROWEST * float(high.max()), 1e-6))
        return (high * (SPLIT / LEVELS)).astype(np.float32), (high * ((1 - SPLIT) / LEVELS)).astype(np.float32)


def can_be_quantized(model: Model) -> bool:
    """Return whether a prepared network has an int8 version: it has feed-forward blocks, or it `is_plain`.

    HumanSL networks have none.
    """
    has_feed_forward = any(isinstance(block, FeedForwardBlock) for block in model.trunk.blocks)
    return model.trunk.metadata is None and (has_feed_forward or is_plain(model))


def is_plain(model: Model) -> bool:
    """Return whether IntegerTrunk can write all blocks of a prepared network's trunk."""
    trunk = model.trunk
    if not isinstance(trunk.tip, Normed):
        return False
    norms = [trunk.tip]
    for block in trunk.blocks:
        if not isinstance(block, (OrdinaryBlock, PoolingBlock)):
            return False
        norms += [block.before, block.between]
        norms += [block.pooled_norm] if isinstance(block, PoolingBlock) else []
    return all(norm.is_identity and norm.activation is Activation.RELU for norm in norms)


@dataclass(frozen=True)
class Output:
    """A convolution whose outputs are written as levels: (value - low) / step."""

    convolution: Convolution
    step: FloatArray
    low: FloatArray | float = 0.0


class IntegerTrunk:
    """Writes the trunk of a network that `is_plain`.

    The constants `low` of signed values are not added to the stream but remembered: it lacks them until it is read.
    """

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration

    def __call__(self, graph: Graph, board: Board, trunk: Trunk, spatial: str, features: str) -> str:
        self._graph, self._board = graph, board
        self._one, self._zero = graph.shared(np.float32(1)), graph.shared(np.uint8(0))
        planes = graph.add("QuantizeLinear", spatial, self._one, self._zero, label="spatial")  # exact: they are 0 or 1
        planes = graph.add("Transpose", planes, perm=[0, 2, 3, 1])
        step, lacking = self._calibration.signed_steps("stem")
        ones = np.ones(trunk.stem.inputs, np.float32)
        stem = self._convolve(planes, "spatial", ones, [Output(trunk.stem, step, lacking)], "stem")
        x = self._add(stem, step, graph.add("Unsqueeze", features, graph.integers(1, 2)), "stem")
        for number, block in enumerate(trunk.blocks):
            assert isinstance(block, (OrdinaryBlock, PoolingBlock))
            x, low = self._block(x, lacking, block, f"block{number}")
            lacking = lacking + low
        x = graph.add("Relu", graph.add("Add", x, graph.weights(lacking, "lacking")), label="tip")
        return graph.add("Transpose", x, perm=[0, 3, 1, 2], label="planes")

    def _block(
        self, x: str, lacking: FloatArray, block: OrdinaryBlock | PoolingBlock, label: str
    ) -> tuple[str, FloatArray]:
        """The stream after the block, and what it lacks in addition."""
        graph, tap = self._graph, f"{label}_before"
        step = self._calibration.activation_steps(tap)
        levels = graph.add("Mul", x, graph.weights(1 / step, f"{label}_per_step"), label=label)
        levels = self._levels(graph.add("Add", levels, graph.weights(lacking / step, f"{label}_lacking")), label)
        middle = self._calibration.activation_steps(f"{label}_between")
        if isinstance(block, PoolingBlock):
            hidden = self._pooling(levels, step, block, middle, label)
        else:
            hidden = self._convolve(levels, tap, step, [Output(block.first, middle)], f"{label}_first")
        step, low = self._calibration.signed_steps(f"{label}_second")
        tap = f"{label}_between"
        added = self._convolve(hidden, tap, middle, [Output(block.second, step, low)], f"{label}_second")
        return self._add(added, step, x, label), low

    def _pooling(self, levels: str, step: FloatArray, block: PoolingBlock, middle: FloatArray, label: str) -> str:
        """The block's first half, to the levels that its last convolution reads.

        The mean over a board of an activation that is nearly always small would drown in rounding. So it is written as
        two, min(v, t) in fine steps and max(v - t, 0) in coarse ones; mean and maximum of v are the sums of theirs.
        """
        graph = self._graph
        inner, low = self._calibration.signed_steps(f"{label}_first")
        fine, coarse = self._calibration.pooled_steps(f"{label}_pooled")
        outputs = [
            Output(block.first, inner, low),
            Output(block.pooled, fine),
            Output(block.pooled, coarse, fine * LEVELS),
        ]
        both = self._convolve(levels, f"{label}_before", step, outputs, f"{label}_first")
        sizes = graph.integers(block.first.outputs, 2 * block.pooled.outputs)
        hidden, pooled = graph.add_many("Split", 2, both, sizes, axis=3, label=label)
        pooled = self._values(pooled, label)
        mean = graph.add("ReduceMean", pooled, axes=[1, 2], keepdims=0, label=label)
        maximum = graph.add("ReduceMax", pooled, axes=[1, 2], keepdims=0, label=label)
        mean_scaled = graph.add("Mul", mean, self._board.linear)
        pool = graph.add("Concat", mean, mean_scaled, maximum, axis=1, label=f"{label}_pool")
        matrix = block.pooled_to_bias / middle
        by_part = matrix.reshape(3, 1, block.pooled.outputs, -1) * np.stack([fine, coarse])[:, :, None]
        matrix = by_part.reshape(-1, matrix.shape[-1])
        bias = graph.dense(pool, matrix, low / middle, label=f"{label}_bias")
        values = graph.add("Mul", self._values(hidden, label), graph.weights(inner / middle, f"{label}_step"))
        return self._levels(graph.add("Add", values, graph.add("Unsqueeze", bias, graph.integers(1, 2))), label)

    def _convolve(self, x: str, tap: str, step: FloatArray, outputs: Sequence[Output], label: str) -> str:
        """Convolve the levels `x`, of values `tap` = x * step, to levels of all outputs."""
        graph = self._graph
        weights = np.concatenate([o.convolution.weights / o.step[:, None, None, None] for o in outputs])
        bias = np.concatenate([(o.convolution.biases - o.low) / o.step for o in outputs])
        integers, scales = round_weights(weights, step, self._calibration.moments.get(tap))
        kernel_y, kernel_x = weights.shape[2:]
        dilation_y, dilation_x = outputs[0].convolution.dilation
        pad_y, pad_x = kernel_y // 2 * dilation_y, kernel_x // 2 * dilation_x
        return graph.add(
            "QLinearConv",
            x,
            self._one,
            self._zero,
            graph.array(integers, f"{label}_weights"),
            graph.weights(scales, f"{label}_scales"),
            graph.array(np.zeros(len(scales), np.int8), f"{label}_zeros"),
            self._one,
            self._zero,
            graph.array(np.round(bias / scales).astype(np.int32), f"{label}_bias"),
            label=label,
            domain="com.microsoft",
            channels_last=1,
            kernel_shape=[kernel_y, kernel_x],
            pads=[pad_y, pad_x, pad_y, pad_x],
            dilations=[dilation_y, dilation_x],
        )

    def _levels(self, x: str, label: str) -> str:
        """Round to 0..LEVELS; what is negative becomes 0."""
        return self._graph.add("QuantizeLinear", x, self._one, self._zero, label=f"{label}_levels")

    def _values(self, x: str, label: str) -> str:
        return self._graph.add("DequantizeLinear", x, self._one, self._zero, label=f"{label}_values")

    def _add(self, levels: str, step: FloatArray, x: str, label: str) -> str:
        """levels * step + x"""
        values = self._values(levels, label)
        values = self._graph.add("Mul", values, self._graph.weights(step, f"{label}_step"))
        return self._graph.add("Add", values, x, label=label)
