"""From a network's file to an evaluator ready to run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nets.evaluator import EvaluatorError

if TYPE_CHECKING:
    from nets.onnx_evaluator import OnnxEvaluator, Variant

PRECISIONS = ("auto", "fp32", "int8", "fp16")
DEVICES = ("auto", "cpu")
KATAGO_SUFFIXES = (".bin.gz", ".txt.gz", ".bin", ".txt")
ONNX_SUFFIX = ".onnx"
MAX_WINOGRAD_BYTES = 40 << 20
"""Of a compressed KataGo network. Weights for Winograd's method take 2.8 or 4 times the memory; where they outgrow the
processor's caches they are not read fast enough."""


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

    file = NetworkFile(path)
    evaluator = OnnxEvaluator(file.onnx(), str(path), threads=threads, optimism=optimism)
    if file.is_katago and evaluator.facts.is_convolutional and len(file.content) <= MAX_WINOGRAD_BYTES:
        evaluator.use_variants(file.winograd_variants())
    return evaluator


def load_onnx(path: Path) -> bytes:
    """The ONNX model of a network's file, converted where it is KataGo's. Raises EvaluatorError."""
    return NetworkFile(path).onnx()


class NetworkFile:
    """A network's file and what is derived from it, kept in the cache directory where it is KataGo's."""

    def __init__(self, path: Path) -> None:
        """Reads the file. Raises EvaluatorError."""
        from nets.katago.reader import ModelFormatError, read_bytes

        name = path.name.lower()
        if not name.endswith((*KATAGO_SUFFIXES, ONNX_SUFFIX)):
            known = ", ".join((*KATAGO_SUFFIXES, ONNX_SUFFIX))
            raise EvaluatorError(f"{path}: not a network file (known endings: {known})")
        try:
            self.content = read_bytes(path)
        except ModelFormatError as error:
            raise EvaluatorError(f"{path}: {error}") from None
        except OSError as error:
            raise EvaluatorError(f"{path}: {error.strerror or error}") from None
        self.source = str(path)
        self.is_katago = not name.endswith(ONNX_SUFFIX)
        self.sha256 = hashlib.sha256(self.content).hexdigest()

    def onnx(self) -> bytes:
        """The ONNX model that runs everywhere. Raises EvaluatorError."""
        if not self.is_katago:
            return self.content
        from nets.katago.convert import convert

        return self._derived("", lambda: convert(self.content, self.source, self.sha256))

    def winograd_variants(self) -> list[Variant]:
        """Graphs that compute large enough batches of a network of convolutions faster."""
        from nets.katago.convert import winograd
        from nets.katago.winograd import TILES, suits
        from nets.onnx_evaluator import Variant

        def load(m: int) -> bytes:
            return self._derived(f"-tiles{m}", lambda: winograd(self.content, self.source, self.sha256, m))

        return [Variant(partial(suits, m), partial(load, m)) for m in TILES]

    def _derived(self, kind: str, derive: Callable[[], bytes]) -> bytes:
        from nets.cache import cached
        from nets.katago.convert import converter_fingerprint

        return cached(f"{self.sha256[:24]}-{converter_fingerprint()[:16]}{kind}.onnx", derive)
