"""From a network's file to an evaluator ready to run."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nets.devices import CPU, Device, MissingDevice, candidates
from nets.embedded import embedded_network
from nets.evaluator import EvaluatorError

if TYPE_CHECKING:
    from nets.human_profile import HumanProfile
    from nets.katago.model import Model
    from nets.native.evaluator import NativeEvaluator
    from nets.onnx_evaluator import OnnxEvaluator, Variant

    AnyEvaluator = OnnxEvaluator | NativeEvaluator

PRECISIONS = ("auto", "fp32", "int16", "int8", "fp16")
Note = Callable[[str], None]
_NO_CHOICE = "this ONNX file is {}; only KataGo's files give a choice"
KATAGO_SUFFIXES = (".bin.gz", ".txt.gz", ".bin", ".txt")
ONNX_SUFFIX = ".onnx"
SMALLEST_AUTO_BYTES = 200_000
"""Of a compressed KataGo network. Below, `auto` stays with fp32: other things than the network take the time."""
MAX_WINOGRAD_BYTES = 40 << 20
"""Of a compressed KataGo network. Weights for Winograd's method take 2.8 or 4 times the memory; where they outgrow the
processor's caches they are not read fast enough."""


class NotPackable(EvaluatorError):
    """Why a network cannot be run by our own kernels, in int16."""


@dataclass(frozen=True)
class _Terms:
    """What a network is opened for, whatever computes it."""

    threads: int
    optimism: float
    profile: HumanProfile | None
    note: Note

    def open(self, content: bytes, source: str, device: Device = CPU) -> OnnxEvaluator:
        from nets.onnx_evaluator import OnnxEvaluator

        return OnnxEvaluator(
            content, source, threads=self.threads, optimism=self.optimism, profile=self.profile, device=device
        )


def open_network(
    path: str | Path,
    precision: str = "auto",
    device: str = "auto",
    threads: int = 1,
    optimism: float = 1.0,
    note: Note | None = None,
    profile: HumanProfile | None = None,
) -> AnyEvaluator:
    """Open a KataGo network or an ONNX file of this project's format.

    `device` is one of nets.devices.NAMES; `auto` is the first that onnxruntime offers, computes in `precision` and
    starts. `threads` compute one evaluation together; with 1 each calling thread computes its own. `optimism` is the
    default share of the optimistic policy in networks that have one. A KataGo network is converted, and for int16 and
    int8 calibrated, the first time, and the result kept in the cache directory. On a processor `auto` is the first of
    int16 and int8 that can compute the network and loses no more than is allowed (quantize.py), on a GPU fp16 under
    the same condition, else fp32; what is asked for by name is used whatever it loses. `note` is told what takes long
    and what was decided, a line each; without it they go to stderr. `profile` says whom a HumanSL network imitates; it
    needs one, and no other takes one. Raises EvaluatorError, one line naming the file, or the device that is not there
    or does not start.
    """
    terms = _Terms(threads, optimism, profile, note or _note_on_stderr)
    return _open(Path(path), precision, device, lambda file: _open_on_processor(file, precision, terms), terms)


def check_network(
    path: Path, precision: str = "auto", device: str = "auto", profile: HumanProfile | None = None
) -> None:
    """Raise what `open_network` would, as far as can be found out without quantizing the network."""
    terms = _Terms(1, 1.0, profile, _note_on_stderr)

    def open_quickly(file: NetworkFile) -> AnyEvaluator:
        from nets.katago.convert import load_model
        from nets.katago.integers import can_be_quantized
        from nets.quantize import NOT_QUANTIZABLE

        evaluator = _open_on_processor(file, "fp32" if file.is_katago else precision, terms)
        if precision == "int8" and file.is_katago and not can_be_quantized(load_model(file.content, file.source)):
            raise EvaluatorError(f"{file.source}: {NOT_QUANTIZABLE}")
        if precision == "int16" and file.is_katago:
            file.packable_model()
        return evaluator

    _open(path, precision, device, open_quickly, terms)


def check_device(device: str, precision: str = "auto") -> None:
    """Raise what `open_network` would about a device and a precision of that name, without starting the device."""
    _devices(device, precision)


def _open(
    path: Path, precision: str, device: str, on_processor: Callable[[NetworkFile], AnyEvaluator], terms: _Terms
) -> AnyEvaluator:
    """Open a network on the first device that works. Raises EvaluatorError."""
    if precision not in PRECISIONS:
        raise EvaluatorError(f"unknown precision {precision} (known: {', '.join(PRECISIONS)})")
    devices = _devices(device, precision)
    from nets.onnx_evaluator import DeviceError

    file = NetworkFile(path)
    for each, next_ in zip(devices, (*devices[1:], None), strict=True):
        try:
            return on_processor(file) if each is CPU else _open_on_accelerator(file, precision, each, terms)
        except DeviceError as error:
            if next_ is None:
                raise
            terms.note(f"{error}; using {next_.name}")
    raise AssertionError("there is always a device to try")


def _devices(name: str, precision: str) -> list[Device]:
    """The devices to try. Raises EvaluatorError."""
    from nets.onnx_evaluator import offered_providers

    try:
        devices = candidates(name, offered_providers())
    except MissingDevice as error:
        raise EvaluatorError(str(error)) from None
    able = [device for device in devices if precision in ("auto", *device.precisions)]
    if not able:
        computes = "; ".join(f"{device.name} computes in {' or '.join(device.precisions)}" for device in devices)
        raise EvaluatorError(f"precision {precision} is not to be had here: {computes}")
    return able


def _open_on_processor(file: NetworkFile, precision: str, terms: _Terms) -> AnyEvaluator:
    if not file.is_katago:
        evaluator = terms.open(file.content, file.source)
        if precision not in ("auto", evaluator.precision):
            raise EvaluatorError(f"{file.source}: {_NO_CHOICE.format(evaluator.precision)}")
        return evaluator
    if precision in ("auto", "int16"):
        native = _int16(file, precision == "auto", terms)
        if native is not None:
            return native
    if precision != "fp32":
        content = _int8(file, precision == "auto", terms.note)
        if content is not None:
            return terms.open(content, file.source)
    return _open_fp32(file, terms)


def _open_fp32(file: NetworkFile, terms: _Terms) -> OnnxEvaluator:
    evaluator = terms.open(file.onnx(), file.source)
    if evaluator.facts.is_convolutional and len(file.content) <= MAX_WINOGRAD_BYTES:
        evaluator.use_variants(file.winograd_variants())
    return evaluator


def _open_on_accelerator(file: NetworkFile, precision: str, device: Device, terms: _Terms) -> OnnxEvaluator:
    """A network on another device than the processor. Raises DeviceError where that does not work."""
    from nets.onnx_check import check_onnx
    from nets.onnx_evaluator import DeviceError

    plain = file.onnx()
    own = check_onnx(plain, file.source).precision
    if own not in device.precisions:
        raise DeviceError(f"device {device.name} does not compute in {own}, which {file.source} is in")
    if own != "fp32":
        if precision not in ("auto", own):
            raise EvaluatorError(f"{file.source}: {_NO_CHOICE.format(own)}")
        return _tried(terms.open(plain, file.source, device), device)
    wanted = device.precisions[0] if precision == "auto" else precision
    if wanted == "fp16":
        evaluator = _tried(terms.open(file.fp16(), file.source, device), device)
        objection = file.fp16_objection(device, terms, evaluator) if precision == "auto" else ""
        if not objection:
            return evaluator
        terms.note(f"{file.path.name}: using fp32, for in fp16 {objection}")
    return _tried(terms.open(plain, file.source, device), device)


def _tried(evaluator: OnnxEvaluator, device: Device) -> OnnxEvaluator:
    """The evaluator after one evaluation: many a device starts and cannot compute. Raises DeviceError."""
    import numpy as np

    from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
    from nets.onnx_evaluator import DeviceError

    empty = np.zeros((1, SPATIAL_PLANES, 9, 9), np.float32)
    empty[:, 0] = 1.0
    try:
        evaluator.evaluate(empty, np.zeros((1, GLOBAL_FEATURES), np.float32))
    except EvaluatorError as error:
        raise DeviceError(f"device {device.name} does not work: {error}") from None
    return evaluator


def _int16(file: NetworkFile, is_auto: bool, terms: _Terms) -> NativeEvaluator | None:
    """The network in int16, or None where `auto` is better off without. Raises EvaluatorError."""
    if is_auto and (len(file.content) < SMALLEST_AUTO_BYTES or terms.threads > 1):
        return None
    from nets.native.kinds import opened

    try:
        model = file.packable_model()
    except NotPackable:
        if not is_auto:
            raise
        return None
    if (terms.profile is None) != (model.trunk.metadata is None):
        _open_fp32(file, terms)  # refuses a profile that is missing, or that means nothing to the network
    calibration = file.int16(model, terms.note)
    other = partial(_open_fp32, file, terms)
    evaluator, objection = opened(model, calibration, file.source, other, terms.optimism, terms.profile)
    if objection and is_auto:
        terms.note(f"{file.path.name}: not using int16, for in it {objection}")
        return None
    if objection:
        terms.note(f"{file.path.name}: using int16 as asked, though {objection}")
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


def _embedded(note: Note) -> OnnxEvaluator | None:
    """The embedded network, in fp32, where the installation has it."""
    path = embedded_network()
    return None if path is None else _open_fp32(NetworkFile(path), _Terms(1, 1.0, None, note))


def _announced(note: Note, what: str) -> Callable[[float], None]:
    """Tells the share done in steps of a quarter."""
    told = [0]

    def progress(share: float) -> None:
        quarter = int(share * 4)
        if quarter > told[0]:
            told[0] = quarter
            note(f"{what}: {25 * quarter} % done")

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
        from nets.embedded import ready_made_int8
        from nets.katago.convert import load_model
        from nets.katago.integers import can_be_quantized
        from nets.quantize import NOT_QUANTIZABLE, NotQuantizable, checked_here, fingerprint, quantize

        def derive() -> bytes:
            ready = ready_made_int8(self.sha256)
            if ready is not None:
                return checked_here(ready, self.source, _Terms(1, 1.0, None, note).open(self.onnx(), self.source))
            model = load_model(self.content, self.source)
            if not can_be_quantized(model):
                raise NotQuantizable(NOT_QUANTIZABLE)
            note(f"{self.path.name}: quantizing for this machine, once; this takes up to a minute")
            reference = _open_fp32(self, _Terms(1, 1.0, None, note))
            return quantize(model, reference, self.sha256, progress=_announced(note, "quantizing"))

        return self._derived(f"-{fingerprint()[:12]}-int8", derive)

    def packable_model(self) -> Model:
        """The network prepared for our own kernels. Raises EvaluatorError, NotPackable where they cannot run it."""
        from nets.katago.convert import load_model
        from nets.native.objections import objection_to_packing

        model = load_model(self.content, self.source)
        objection = objection_to_packing(model)
        if objection:
            raise NotPackable(f"{self.source}: {objection}")
        return model

    def int16(self, model: Model, note: Note) -> bytes:
        """A calibration of `packable_model` for int16. Raises EvaluatorError."""
        from nets.embedded import ready_made_int16
        from nets.native.calibrate import LARGE, checked_here
        from nets.native.kinds import calibrated, calibration_key
        from nets.native.objections import is_transformer
        from nets.native.players import PROFILES

        def derive() -> bytes:
            ready = ready_made_int16(self.sha256)
            if ready is not None:
                return checked_here(ready, model, _Terms(1, 1.0, None, note).open(self.onnx(), self.source)).to_bytes()
            is_large = model.parameters >= LARGE
            takes = "up to a minute" if is_large or is_transformer(model) else "some seconds"
            note(f"{self.path.name}: calibrating for this machine, once; this takes {takes}")
            profile = None if model.trunk.metadata is None else PROFILES[0]
            reference = _open_fp32(self, _Terms(1, 1.0, profile, note))
            if not is_large:
                return calibrated(model, reference)
            progress = _announced(note, "calibrating")
            return calibrated(model, reference, progress=progress, player=_embedded(note))

        return self._derived(calibration_key(model), derive, "")

    def fp16(self) -> bytes:
        """The network in fp16, from one in fp32. Raises EvaluatorError."""
        from nets.half import fingerprint, to_half

        return self._derived(f"-{fingerprint()[:12]}-fp16", lambda: to_half(self.onnx(), self.source))

    def fp16_objection(self, device: Device, terms: _Terms, candidate: OnnxEvaluator) -> str:
        """What speaks against `candidate`, this network in fp16 on a device; empty where nothing does. Measured once.
        Raises EvaluatorError."""
        from nets.half import fingerprint, from_verdict, half_objection, to_verdict
        from nets.onnx_evaluator import runtime_version

        def derive() -> bytes:
            terms.note(f"{self.path.name}: comparing fp16 with fp32 on {device.name}, once")
            reference = _tried(terms.open(self.onnx(), self.source, device), device)
            return to_verdict(half_objection(reference, candidate))

        return from_verdict(
            self._derived(f"-{fingerprint()[:12]}-fp16-{device.name}-{runtime_version()}", derive, ".json")
        )

    def _derived(self, kind: str, derive: Callable[[], bytes], suffix: str = ".onnx") -> bytes:
        from nets.cache import cached
        from nets.katago.convert import converter_fingerprint

        return cached(f"{self.sha256[:24]}-{converter_fingerprint()[:16]}{kind}{suffix}", derive)
