"""Converts the bytes of a KataGo model file to the bytes of an ONNX model."""

from __future__ import annotations

from nets.conversion.to_onnx import prepared, to_onnx
from nets.evaluator import EvaluatorError
from nets.katago.model import Model
from nets.katago.parse import parse_model
from nets.katago.reader import ModelFormatError, decompress


def load_model(content: bytes, source: str) -> Model:
    """Read the content of a `.bin.gz` or `.txt.gz` file and prepare the network for conversion and for our own kernels.

    `source` is its name in errors. Raises EvaluatorError.
    """
    try:
        return prepared(parse_model(decompress(content)))
    except ModelFormatError as error:
        raise EvaluatorError(f"{source}: not a usable KataGo network: {error}") from None


def convert(content: bytes, source: str, sha256: str) -> bytes:
    """Convert the content of a `.bin.gz` or `.txt.gz` to the ONNX model that runs everywhere. `source` is its name in
    errors, `sha256` its hash for the model's metadata. Raises EvaluatorError."""
    return to_onnx(load_model(content, source), sha256).SerializeToString()
