"""A small network as an ONNX model, for tests that change it."""

from __future__ import annotations

import pytest
from onnx import ModelProto

from nets.graph.convert import convert
from tests.nets.random_networks import content_of


@pytest.fixture(scope="module")
def original() -> bytes:
    return convert(content_of(13, [{"kind": "ordinary_block"}], channels=6), "random", "")


@pytest.fixture
def model(original: bytes) -> ModelProto:
    proto = ModelProto()
    proto.ParseFromString(original)
    return proto
