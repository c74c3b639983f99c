"""The converter as one call: a KataGo model file's bytes in, an ONNX model's bytes out."""

from __future__ import annotations

from go_rules.machine.fingerprint import source_fingerprint
from nets.conversion.rows import RowsTrunk
from nets.conversion.to_onnx import prepared, to_onnx
from nets.evaluator import EvaluatorError
from nets.katago.model import Model
from nets.katago.parse import parse_model
from nets.katago.reader import ModelFormatError, decompress


def load_model(content: bytes, source: str) -> Model:
    """The prepared network in the content of a `.bin.gz` or `.txt.gz`; `source` is its name in errors. Raises
    EvaluatorError."""
    try:
        return prepared(parse_model(decompress(content)))
    except ModelFormatError as error:
        raise EvaluatorError(f"{source}: not a usable KataGo network: {error}") from None


def convert(content: bytes, source: str, sha256: str) -> bytes:
    """Convert the content of a `.bin.gz` or `.txt.gz` to the ONNX model that runs everywhere. `source` is its name in
    errors, `sha256` its hash for the model's metadata. Raises EvaluatorError."""
    return to_onnx(load_model(content, source), sha256).SerializeToString()


def winograd(content: bytes, source: str, sha256: str, m: int) -> bytes:
    """The same network with tiles of m×m points, for `uses_winograd` networks. Raises EvaluatorError."""
    return to_onnx(load_model(content, source), sha256, RowsTrunk(m)).SerializeToString()


def converter_fingerprint() -> str:
    """A hash of the converter's own sources: what it wrote before an edit is not what it writes now."""
    return source_fingerprint(__name__)
