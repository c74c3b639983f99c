"""The converter as one call: a KataGo model file's bytes in, an ONNX model's bytes out."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from nets.evaluator import EvaluatorError
from nets.katago.parse import parse_model
from nets.katago.reader import ModelFormatError, decompress
from nets.katago.to_onnx import to_onnx


def convert(content: bytes, source: str, sha256: str) -> bytes:
    """Convert the content of a `.bin.gz` or `.txt.gz`. `source` is its name in errors, `sha256` its hash for the
    model's metadata. Raises EvaluatorError."""
    try:
        model = to_onnx(parse_model(decompress(content)), sha256)
    except ModelFormatError as error:
        raise EvaluatorError(f"{source}: not a usable KataGo network: {error}") from None
    return model.SerializeToString()


@lru_cache(maxsize=1)
def converter_fingerprint() -> str:
    """A hash of the converter's own sources: what it wrote before an edit is not what it writes now."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
