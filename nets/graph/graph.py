"""Writes an ONNX graph node by node. Values are named by strings; onnxruntime infers the shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from nets.katago.model import Activation, Convolution, FloatArray, Normed

OPSET = 17
"""The operator set of our models: onnxruntime 1.19 and all later versions run it."""
IR_VERSION = 8


class Graph:
    """An ONNX graph under construction, and the layers that trunk and heads both use."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []
        self.taps: dict[str, str] = {}
        """Values inside the trunk whose ranges a calibration needs: their names in the graph by the names of taps."""
        self._constants: dict[tuple[tuple[int, ...], str, bytes], str] = {}
        self._count = 0

    def input(self, name: str, shape: list[int | str]) -> str:
        """Declare a float32 input of the graph and return its name. Sides that vary have names in `shape`."""
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def output(self, name: str, value: str, shape: list[int | str] | None) -> None:
        """Make `value` a float32 output of the graph, called `name`. `shape`: None if it is not to be declared."""
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"{name}_out"))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def add(self, op: str, *inputs: str, label: str = "", **attributes: Any) -> str:
        """Append a node with one output and return the output's name."""
        return self.add_many(op, 1, *inputs, label=label, **attributes)[0]

    def add_many(self, op: str, outputs: int, *inputs: str, label: str = "", **attributes: Any) -> list[str]:
        """Append a node with so many outputs and return their names."""
        self._count += 1
        name = f"{label or op}_{self._count}"
        names = [name] if outputs == 1 else [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=name, **attributes))
        return names

    def weights(self, values: ArrayLike, label: str) -> str:
        """Add a float32 initializer and return its name."""
        self._count += 1
        name = f"{label}_{self._count}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values, np.float32), name))
        return name

    def integers(self, *values: int) -> str:
        """Add a 1-D int64 initializer, or use an equal one again, and return its name."""
        return self._shared(np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        """Add a 0-D float32 initializer, or use an equal one again, and return its name."""
        return self._shared(np.array(value, np.float32))

    def _shared(self, array: NDArray[Any]) -> str:
        key = (array.shape, array.dtype.str, array.tobytes())
        if key not in self._constants:
            self._constants[key] = f"constant_{len(self._constants)}"
            self.initializers.append(numpy_helper.from_array(array, self._constants[key]))
        return self._constants[key]

    # Layers used by trunk and heads alike.

    def convolve(self, x: str, convolution: Convolution, norm: Normed | None = None, label: str = "conv") -> str:
        """Add a convolution, together with a norm's scale and bias if there is one; the activation is not applied."""
        if norm is not None:
            convolution = convolution.followed_by(norm)
        weights, bias = convolution.weights, convolution.bias
        operands = [] if bias is None else [self.weights(bias, f"{label}_bias")]
        (kernel_y, kernel_x), (dilation_y, dilation_x) = weights.shape[2:], convolution.dilation
        pad_y, pad_x = kernel_y // 2 * dilation_y, kernel_x // 2 * dilation_x
        return self.add(
            "Conv",
            x,
            self.weights(weights, f"{label}_weights"),
            *operands,
            label=label,
            kernel_shape=[kernel_y, kernel_x],
            pads=[pad_y, pad_x, pad_y, pad_x],
            dilations=[dilation_y, dilation_x],
        )

    def dense(self, x: str, matrix: FloatArray, bias: FloatArray | None = None, label: str = "dense") -> str:
        """Add a product of vectors [N, in] with `matrix` [in, out], plus `bias` [out] if there is one."""
        operands = [] if bias is None else [self.weights(bias, f"{label}_bias")]
        return self.add("Gemm", x, self.weights(matrix, f"{label}_weights"), *operands, label=label)

    def activate(self, x: str, activation: Activation, label: str = "act") -> str:
        """Add an activation and return the name of its result, which is `x` where nothing changes."""
        if activation is Activation.IDENTITY:
            return x
        if activation is Activation.RELU:
            return self.add("Relu", x, label=label)
        if activation is Activation.SILU:
            return self.add("Mul", x, self.add("Sigmoid", x, label=label), label=label)
        return self.add("Mul", x, self.add("Tanh", self.add("Softplus", x, label=label), label=label), label=label)

    def normed(self, x: str, norm: Normed, label: str) -> str:
        """Add a batch norm that no convolution before it can absorb, and its activation, on [N, C, H, W].

        Written as BatchNormalization because onnxruntime turns that with the following Relu into a single pass over
        its blocked layout.
        """
        if norm.is_identity:
            return self.activate(x, norm.activation, label)
        ones = self.weights(np.ones(norm.channels), f"{label}_variance")
        zeros = self.weights(np.zeros(norm.channels), f"{label}_mean")
        scale, bias = self.weights(norm.scale, f"{label}_scale"), self.weights(norm.bias, f"{label}_bias")
        y = self.add("BatchNormalization", x, scale, bias, zeros, ones, epsilon=0.0, label=label)
        return self.activate(y, norm.activation, label)

    def per_channel(self, x: str) -> str:
        """Reshape vectors [N, C] to [N, C, 1, 1], so that they can be added to a board."""
        return self.add("Unsqueeze", x, self.integers(2, 3))


class BoardValues:
    """The values of a graph that follow from the input's height and width; they are written once."""

    def __init__(self, graph: Graph, spatial: str) -> None:
        self._graph = graph
        self.rotations: dict[bytes, tuple[str, str]] = {}
        """Cosines and sines already written, by the frequencies they are for (layers.py)."""
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
