"""From a network's file to an evaluator ready to run."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from nets.evaluator import EvaluatorError

if TYPE_CHECKING:
    from nets.onnx_evaluator import OnnxEvaluator

PRECISIONS = ("auto", "fp32", "int8", "fp16")
DEVICES = ("auto", "cpu")
KATAGO_SUFFIXES = (".bin.gz", ".txt.gz", ".bin", ".txt")
ONNX_SUFFIX = ".onnx"


def open_network(
    path: str | Path, precision: str = "auto", device: str = "auto", threads: int = 1, optimism: float = 1.0
) -> OnnxEvaluator:
    """Open a KataGo network or an ONNX file of this project's format.

    `threads` compute one evaluation together; with 1 each calling thread computes its own. `optimism` is the default
    share of the optimistic policy in networks that have one. A KataGo network is converted the first time and kept in
    the cache directory. Raises EvaluatorError, one line naming the file.
    """
    path = Path(path)
    if precision not in PRECISIONS:
        raise EvaluatorError(f"unknown precision {precision} (known: {', '.join(PRECISIONS)})")
    if precision not in ("auto", "fp32"):
        raise EvaluatorError(f"precision {precision} is not available for {path}")
    if device not in DEVICES:
        raise EvaluatorError(f"unknown device {device} (known: {', '.join(DEVICES)})")
    from nets.onnx_evaluator import OnnxEvaluator

    return OnnxEvaluator(load_onnx(path), str(path), threads=threads, optimism=optimism)


def load_onnx(path: Path) -> bytes:
    """The ONNX model of a network's file, converted where it is KataGo's. Raises EvaluatorError."""
    from nets.katago.reader import ModelFormatError, read_bytes

    name = path.name.lower()
    if not name.endswith((*KATAGO_SUFFIXES, ONNX_SUFFIX)):
        known = ", ".join((*KATAGO_SUFFIXES, ONNX_SUFFIX))
        raise EvaluatorError(f"{path}: not a network file (known endings: {known})")
    try:
        content = read_bytes(path)
    except ModelFormatError as error:
        raise EvaluatorError(f"{path}: {error}") from None
    except OSError as error:
        raise EvaluatorError(f"{path}: {error.strerror or error}") from None
    return content if name.endswith(ONNX_SUFFIX) else _converted(path, content)


def _converted(path: Path, content: bytes) -> bytes:
    from nets.cache import cached
    from nets.katago.convert import convert, converter_fingerprint

    digest = hashlib.sha256(content).hexdigest()
    return cached(f"{digest[:24]}-{converter_fingerprint()[:16]}.onnx", lambda: convert(content, str(path), digest))
