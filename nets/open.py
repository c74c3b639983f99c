"""From a network's file to an evaluator ready to run."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nets.evaluator import EvaluatorError

if TYPE_CHECKING:
    from nets.human_profile import HumanProfile
    from nets.onnx_evaluator import OnnxEvaluator, Variant

PRECISIONS = ("auto", "fp32", "int8", "fp16")
DEVICES = ("auto", "cpu")
Note = Callable[[str], None]
KATAGO_SUFFIXES = (".bin.gz", ".txt.gz", ".bin", ".txt")
ONNX_SUFFIX = ".onnx"
SMALLEST_AUTO_BYTES = 200_000
"""Of a compressed KataGo network. Below, `auto` stays with fp32: other things than the network take the time."""
MAX_WINOGRAD_BYTES = 40 << 20
"""Of a compressed KataGo network. Weights for Winograd's method take 2.8 or 4 times the memory; where they outgrow the
processor's caches they are not read fast enough."""


def open_network(
    path: str | Path,
    precision: str = "auto",
    device: str = "auto",
    threads: int = 1,
    optimism: float = 1.0,
    note: Note | None = None,
    profile: HumanProfile | None = None,
) -> OnnxEvaluator:
    """Open a KataGo network or an ONNX file of this project's format.

    `threads` compute one evaluation together; with 1 each calling thread computes its own. `optimism` is the default
    share of the optimistic policy in networks that have one. A KataGo network is converted, and for int8 quantized,
    the first time, and kept in the cache directory. `auto` is int8 where what it loses is within the limits
    (quantize.py), else fp32; int8 is used whatever it loses. `note` is told what takes long and what was decided, a
    line each; without it they go to stderr. `profile` says whom a HumanSL network imitates; it needs one, and no other
    takes one. Raises EvaluatorError, one line naming the file.
    """
    path = Path(path)
    if precision not in PRECISIONS:
        raise EvaluatorError(f"unknown precision {precision} (known: {', '.join(PRECISIONS)})")
    if precision == "fp16":
        raise EvaluatorError(f"precision {precision} is not available for {path}")
    if device not in DEVICES:
        raise EvaluatorError(f"unknown device {device} (known: {', '.join(DEVICES)})")
    from nets.onnx_evaluator import OnnxEvaluator

    file = NetworkFile(path)
    if not file.is_katago:
        evaluator = OnnxEvaluator(file.content, str(path), threads=threads, optimism=optimism, profile=profile)
        if precision not in ("auto", evaluator.precision):
            raise EvaluatorError(f"{path}: this ONNX file is {evaluator.precision}; only KataGo's files give a choice")
        return evaluator
    if precision != "fp32":
        content = _int8(file, precision == "auto", note or _note_on_stderr)
        if content is not None:
            return OnnxEvaluator(content, str(path), threads=threads, optimism=optimism, profile=profile)
    return _open_fp32(file, threads, optimism, profile)


def check_network(
    path: Path, precision: str = "auto", device: str = "auto", profile: HumanProfile | None = None
) -> None:
    """Raise what `open_network` would, as far as can be found out without quantizing the network."""
    from nets.katago.convert import load_model
    from nets.katago.integers import can_be_quantized
    from nets.quantize import NOT_QUANTIZABLE

    file = NetworkFile(path)
    is_choice = file.is_katago and precision in ("auto", "int8")
    open_network(path, "fp32" if is_choice else precision, device, profile=profile)
    if precision == "int8" and file.is_katago and not can_be_quantized(load_model(file.content, file.source)):
        raise EvaluatorError(f"{file.source}: {NOT_QUANTIZABLE}")


def _open_fp32(file: NetworkFile, threads: int, optimism: float, profile: HumanProfile | None = None) -> OnnxEvaluator:
    from nets.onnx_evaluator import OnnxEvaluator

    evaluator = OnnxEvaluator(file.onnx(), file.source, threads=threads, optimism=optimism, profile=profile)
    if evaluator.facts.is_convolutional and len(file.content) <= MAX_WINOGRAD_BYTES:
        evaluator.use_variants(file.winograd_variants())
    return evaluator


def _int8(file: NetworkFile, is_auto: bool, note: Note) -> bytes | None:
    """The network in int8, or None where `auto` is better off with fp32. Raises EvaluatorError."""
    from nets.quantize import NotQuantizable, objection_of

    if is_auto and len(file.content) < SMALLEST_AUTO_BYTES:
        return None
    try:
        content = file.int8(note)
    except NotQuantizable as reason:
        if not is_auto:
            raise EvaluatorError(f"{file.source}: {reason}") from None
        return None
    objection = objection_of(content)
    if not objection:
        return content
    if is_auto:
        note(f"{file.path.name}: using fp32, for in int8 {objection}")
        return None
    note(f"{file.path.name}: using int8 as asked, though {objection}")
    return content


def _announced(note: Note) -> Callable[[float], None]:
    """Tells the share done in steps of a quarter."""
    told = [0]

    def progress(share: float) -> None:
        quarter = int(share * 4)
        if quarter > told[0]:
            told[0] = quarter
            note(f"quantizing: {25 * quarter} % done")

    return progress


def _note_on_stderr(line: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"nobi: {line}", file=sys.stderr, flush=True)


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
        self.path, self.source = path, str(path)
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

    def int8(self, note: Note) -> bytes:
        """The network in int8, with what it loses in its metadata. Raises EvaluatorError and NotQuantizable."""
        from nets.katago.convert import load_model
        from nets.katago.integers import can_be_quantized
        from nets.quantize import NOT_QUANTIZABLE, NotQuantizable, fingerprint, quantize

        def derive() -> bytes:
            model = load_model(self.content, self.source)
            if not can_be_quantized(model):
                raise NotQuantizable(NOT_QUANTIZABLE)
            note(f"{self.path.name}: quantizing for this machine, once; this takes up to a minute")
            return quantize(model, _open_fp32(self, 1, 1.0), self.sha256, progress=_announced(note))

        return self._derived(f"-{fingerprint()[:12]}-int8", derive)

    def _derived(self, kind: str, derive: Callable[[], bytes]) -> bytes:
        from nets.cache import cached
        from nets.katago.convert import converter_fingerprint

        return cached(f"{self.sha256[:24]}-{converter_fingerprint()[:16]}{kind}.onnx", derive)
