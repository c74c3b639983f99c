"""Network files, KataGo's and ONNX, changed at random in the ways that trip careless readers."""

from __future__ import annotations

import contextlib
import copy
import gzip
import random
import re
import struct
from typing import Any

import numpy as np

ORDINARY, POOLING = {"kind": "ordinary_block"}, {"kind": "gpool_block"}
NESTED = {"kind": "nested_bottleneck_block", "inner": ("ordinary_block", "gpool_block")}
ATTENTION, FEED_FORWARD = {"kind": "transformer_attention_block"}, {"kind": "transformer_ffn_block"}
KINDS: list[tuple[int, list[dict[str, Any]], dict[str, Any]]] = [
    (3, [ORDINARY, POOLING], {}),
    (8, [ORDINARY, POOLING], {}),
    (11, [NESTED, ORDINARY], {}),
    (13, [ORDINARY, POOLING], {}),
    (15, [ORDINARY], {"meta": True}),
    (15, [ATTENTION, FEED_FORWARD], {"tip": "rms"}),
    (17, [ORDINARY, ATTENTION, FEED_FORWARD, NESTED], {"tip": "rms_spatial", "policy_channels": 4}),
]
INTEGERS = [0, -1, 1, 2, 3, 7, 22, 255, 1000, 65535, 65536, 1 << 31, (1 << 31) - 1, 1 << 40, -(1 << 63), (1 << 63) - 1]
FLOATS = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-45, 1e-30, 1e10, 3e38, -3e38]


class Samples:
    """Well-formed networks to mutate."""

    def __init__(self) -> None:
        from nets.graph.convert import convert
        from tests.nets.random_networks import RandomNetwork

        self.katago: list[bytes] = []
        self.onnx: list[bytes] = []
        for binary in (True, False):
            for version, blocks, options in KINDS:
                network = RandomNetwork(version, binary=binary, channels=8)
                network.write(blocks, **options)
                self.katago.append(bytes(network.content))
                if binary:
                    self.onnx.append(convert(network.compressed(), "random", ""))

    def mutated(self, rng: random.Random) -> tuple[str, bytes]:
        """A file's ending and content."""
        if rng.random() < 0.5:
            return ".onnx", mutated_onnx(rng, rng.choice(self.onnx))
        content = mutated_katago(rng, rng.choice(self.katago), rng.choice(self.katago))
        if rng.random() < 0.3:
            return ".bin", content
        if rng.random() < 0.4:
            return ".bin.gz", mutated_gzip(rng, content)
        return ".bin.gz", compressed(content)


def compressed(content: bytes) -> bytes:
    """Content as one gzip member without a clock in it: the same seed gives the same file."""
    return gzip.compress(content, 1, mtime=0)


def mutated_gzip(rng: random.Random, content: bytes) -> bytes:
    """Content compressed in an unusual way, legal or not: many members, empty ones, bombs, padding, garbage."""
    kind = rng.randrange(7)
    if kind == 0:
        return mutated_bytes(rng, compressed(content))
    if kind == 1:
        size = rng.choice([1 << 10, 1 << 14, len(content) // 2 + 1])
        return b"".join(compressed(content[at : at + size]) for at in range(0, len(content), size))
    if kind == 2:
        empty = compressed(b"") * rng.choice([1, 100, 10_000, 60_000])
        return empty + compressed(content) if rng.random() < 0.5 else compressed(content) + empty
    if kind == 3:
        bomb = compressed(bytes(rng.choice([1 << 20, 30 << 20, 80 << 20])))
        return rng.choice([bomb, compressed(content) + bomb, bomb * 3])
    if kind == 4:
        return compressed(content) + rng.choice(
            [b"\0" * 100, b"\0" * 100 + b"x", b"garbage", rng.randbytes(50), b"\x1f\x8b"]
        )
    if kind == 5:  # the header's flags: text, a checksum, more fields, a name, a comment, and what no flag means
        whole = bytearray(compressed(content))
        whole[3] = rng.randrange(256)
        more = rng.choice([b"", b"name\0", b"\xff\xff" + b"x" * 65535, b"n" * 100_000 + b"\0"])
        return bytes(whole[:10]) + more + bytes(whole[10:])
    return compressed(compressed(content))


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """A few changed, removed, repeated and cut bytes."""
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(data) + 1), rng.choice([1, 2, 8, 100])
        kind = rng.randrange(4)
        if kind == 0 and at < len(data):
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + data[at + length :]
        elif kind == 2:
            data = data[:at] + data[at : at + length] * rng.choice([2, 3, 50]) + data[at + length :]
        elif rng.random() < 0.2:
            data = data[:at]
    return data


def mutated_katago(rng: random.Random, data: bytes, other: bytes) -> bytes:
    for _ in range(rng.choice([1, 1, 2, 3])):
        kind = rng.randrange(5)
        if kind == 0:
            data = mutated_bytes(rng, data)
        elif kind == 1:
            tokens = [found.span() for found in re.finditer(rb"(?<=[\s])-?\d+(?=\s)", data[:200_000])]
            if tokens:
                start, end = rng.choice(tokens)
                data = data[:start] + str(rng.choice(INTEGERS)).encode() + data[end:]
        elif kind == 2:
            arrays = [found.end() for found in re.finditer(b"@BIN@", data)]
            if arrays:
                at = rng.choice(arrays) + 4 * rng.randrange(8)
                count = rng.choice([1, 8, 64])
                values = struct.pack("<f", rng.choice(FLOATS)) * count
                data = data[:at] + values + data[at + len(values) :]
        elif kind == 3:
            layers = [found.start() for found in re.finditer(rb"\n(conv|norm|act|matrix|bias|rms)\n", data)]
            if len(layers) > 1:
                start, end = sorted(rng.sample(layers, 2))
                data = data[:start] + (data[start:end] * rng.choice([0, 2])) + data[end:]
        else:
            at = rng.randrange(min(len(data), len(other)))
            data = data[:at] + other[at:]
    return data


def mutated_onnx(rng: random.Random, data: bytes) -> bytes:
    from onnx import ModelProto

    kind = rng.random()
    if kind < 0.25:
        return mutated_bytes(rng, data)
    if kind < 0.3:
        return data + hostile_fields(rng)
    model = ModelProto.FromString(data)
    for _ in range(rng.choice([1, 1, 2, 3])):
        with contextlib.suppress(ValueError, TypeError, IndexError):  # what an earlier change left cannot be changed so
            _change_model(rng, model)
    return model.SerializeToString()


def hostile_fields(rng: random.Random) -> bytes:
    """Fields of a protobuf message that cost a careless parser memory or its stack."""
    many = rng.choice([10, 1000, 100_000, 2_000_000])
    deep = b""
    for _ in range(rng.choice([5, 20, 200])):  # a graph, in an attribute of a node of a graph, and so on
        for tag in (0x32, 0x2A, 0x0A):
            deep = bytes([tag]) + _varint(len(deep)) + deep
    return rng.choice(
        [
            b"\x0a\x00" * many,  # empty nodes, if in a graph
            b"\x08\x00" * many,  # numbers
            b"\x3a" + _varint(2 * many) + b"\x0a\x00" * many,  # a graph of empty nodes
            b"\x3a" + _varint(2 * many) + b"\x2a\x00" * many,  # a graph of empty tensors
            b"\x3a" + _varint(len(deep)) + deep,
            b"\x0b" * many,  # groups that begin
            b"\x0c" * many,  # groups that end
            b"\x3a" + b"\xff" * 9 + b"\x01",  # a length of 64 bits
            b"\xff" * 12,
            b"\x08" + b"\x80" * many,
        ]
    )


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _change_model(rng: random.Random, model: Any) -> None:
    from onnx import helper, numpy_helper

    from nets.graph.check import OPERATORS

    graph = model.graph
    node = rng.choice(graph.node)
    names = [name for each in graph.node for name in (*each.input, *each.output)] + ["spatial", "global", "", "nowhere"]
    kind = rng.randrange(16)
    if kind == 0:
        node.op_type = rng.choice([*sorted(OPERATORS), "Loop", "Tile", "Expand", "ConstantOfShape"])
        node.domain = rng.choice(["", "com.microsoft", "ai.onnx.ml"])
    elif kind == 1 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)
    elif kind == 2 and node.attribute:
        attribute = rng.choice(node.attribute)
        attribute.i = rng.choice(INTEGERS)
        if attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(INTEGERS)
        if rng.random() < 0.2:
            attribute.type = rng.randrange(15)
    elif kind == 3:
        name = rng.choice(
            ["axis", "keepdims", "group", "num_heads", "axes", "pads", "strides", "to", "allowzero", "perm"]
        )
        value: Any = rng.choice(
            [rng.choice(INTEGERS), [rng.choice(INTEGERS) for _ in range(rng.randrange(5))], 0.5, "x"]
        )
        if value != []:
            node.attribute.append(helper.make_attribute(name, value))
    elif kind == 4:
        tensor = rng.choice(graph.initializer)
        if tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(INTEGERS)
    elif kind == 5:
        tensor = rng.choice(graph.initializer)
        values = numpy_helper.to_array(tensor).copy()
        if values.size:
            values.reshape(-1)[rng.randrange(values.size)] = (
                rng.choice(FLOATS) if values.dtype.kind == "f" else rng.choice([0, -1, 1, 100])
            )
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    elif kind == 6:
        tensor = rng.choice(graph.initializer)
        shape = [rng.choice([1, 2, 8, 22]) for _ in range(rng.randrange(5))]
        tensor.CopyFrom(numpy_helper.from_array(np.ones(shape, numpy_helper.to_array(tensor).dtype), tensor.name))
    elif kind == 7:
        tensor = rng.choice(graph.initializer)
        tensor.data_type = rng.randrange(24)
    elif kind == 8:
        del graph.node[rng.randrange(len(graph.node))]
    elif kind == 9:
        graph.node.append(rng.choice(graph.node))
    elif kind == 10:
        tensor = rng.choice(graph.initializer)
        if rng.random() < 0.5:
            tensor.data_location = tensor.EXTERNAL
        for key, value in (("location", rng.choice(["/etc/passwd", "../x", "/dev/zero", ""])), ("length", "1000")):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
    elif kind == 11:
        sparse = rng.choice([graph.sparse_initializer.add, node.attribute.add().sparse_tensors.add])()
        sparse.values.CopyFrom(graph.initializer[0])
        sparse.dims.extend([1 << 40, 1 << 40])
    elif kind == 12:
        tensor = rng.choice(graph.initializer)
        del tensor.dims[:]
        tensor.dims.extend(rng.choice([[1 << 31, 1 << 31], [0, 1 << 62], [-1], [1] * 200, [1 << 20]]))
    elif kind == 13:
        attribute = node.attribute.add()
        attribute.name = rng.choice(["body", "then_branch", "value", "x" * 100_000, "\n"])
        attribute.g.CopyFrom(copy.deepcopy(graph)) if rng.random() < 0.5 else attribute.t.CopyFrom(graph.initializer[0])
        attribute.type = rng.randrange(15)
    elif kind == 14:
        rng.choice([model.functions.add, model.training_info.add, model.opset_import.add, graph.value_info.add])()
    else:
        value_info = rng.choice([*graph.input, *graph.output])
        dimensions = value_info.type.tensor_type.shape.dim
        if dimensions:
            rng.choice(dimensions).dim_value = rng.choice(INTEGERS)
