"""A small network as an ONNX model, for tests that change it."""

from __future__ import annotations

import pytest
from onnx import ModelProto

from nets.graph.convert import convert
from tests.nets.random_networks import RandomNetwork


@pytest.fixture(scope="module")
def original() -> bytes:
    network = RandomNetwork(13, channels=6)
    network.write([{"kind": "ordinary_block"}])
    return convert(network.compressed(), "random", "")


@pytest.fixture
def model(original: bytes) -> ModelProto:
    proto = ModelProto()
    proto.ParseFromString(original)
    return proto
