"""Damaged ONNX files: refused in one line, and never a crash."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.graph.evaluator import OnnxEvaluator
from tests.nets.graph.test_onnx_files import refusal


@pytest.mark.parametrize("content", [b"", b"\0", b"not a model", b"\xff" * 1000, b"\x08\x07"])
def test_other_files(content: bytes) -> None:
    refusal(content)


def test_truncations(original: bytes) -> None:
    for length in range(0, len(original) - 1, 211):
        refusal(original[:length])


def test_mutations(original: bytes) -> None:
    """A changed byte gives a network or a refusal, never a crash."""
    random = np.random.default_rng(0)
    for _ in range(150):
        data = bytearray(original)
        for at in random.integers(0, len(data), 3):
            data[at] = random.integers(256)
        with contextlib.suppress(EvaluatorError):
            evaluator = OnnxEvaluator(bytes(data), "file")
            evaluator.evaluate(EvaluationRequest(np.zeros((1, 22, 9, 9), np.float32), np.zeros((1, 19), np.float32)))


def field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message, less than 2^21 bytes long."""
    length, size = b"", len(content)
    while size > 127 or not length:
        length, size = length + bytes([size & 127 | (128 if size > 127 else 0)]), size >> 7
    length += bytes([size]) if len(content) > 127 else b""
    return bytes([number << 3 | 2]) + length + content


def test_finely_divided_files_are_not_parsed() -> None:
    """Two bytes a node: parsed, forty times the file's size."""
    graph = field(7, b"\x0a\x00" * 700_000)
    assert "20000 nodes" in refusal(graph)
    assert "not an ONNX model" in refusal(graph * 2)


def test_deeply_nested_files_are_not_parsed() -> None:
    content = b""
    for _ in range(5000):
        content = field(1, field(5, field(6, content)))
    assert "not an ONNX model" in refusal(field(7, content))
