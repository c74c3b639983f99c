"""Opens a network's file: chooses the precision and the device, and returns an evaluator ready to run.

Other forms of the network that are made from the file are kept in the cache directory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nets.at_hand import ONNX_SUFFIX, SUFFIXES
from nets.devices import CPU, Device, MissingDevice, device_for, offered_providers, runtime_version
from nets.evaluator import Evaluator, EvaluatorError
from nobi_machine.files import read_regular
from nobi_machine.fingerprint import source_fingerprint
from nobi_machine.text import printable_path

if TYPE_CHECKING:
    from nets.graph.accelerator import AcceleratedEvaluator
    from nets.graph.evaluator import OnnxEvaluator
    from nets.human_profile import HumanProfile
    from nets.katago.model import Model
    from nets.native.calibrate import Verdict
    from nets.native.evaluator import NativeEvaluator

    AnyEvaluator = OnnxEvaluator | NativeEvaluator | AcceleratedEvaluator

PRECISIONS = ("auto", "fp32", "int16", "fp16")
_NO_CHOICE = "this ONNX file is {}; only KataGo's files give a choice"
SMALLEST_AUTO_BYTES = 200_000
"""Smaller compressed KataGo networks stay in fp32 with `auto`: other things than the network take the time."""


def open_network(
    path: str | Path,
    precision: str = "auto",
    device: str = "auto",
    optimism: float = 1.0,
    note: Note | None = None,
    profile: HumanProfile | None = None,
    most: int = 0,
) -> AnyEvaluator:
    """Open a KataGo network or an ONNX file of this project's format.

    `device` is one of nets.devices.NAMES; `auto` is the processor. `optimism` is the default share of the optimistic
    policy in networks that have one. `note` is told what takes long and what was decided, a line each; without it these
    lines go to stderr.
    `profile` says whom a HumanSL network imitates; such a network needs one, and no other takes one. `most` is how many
    positions a device other than the processor computes at a time at most, 0 as many as suit it.

    The first time, a KataGo network is converted, and calibrated for int16; the results are kept in the cache
    directory. On a processor the precision `auto` is int16 if that can compute the network and keeps the limits of
    nets/loss.py (networks of less than SMALLEST_AUTO_BYTES stay in fp32), on a GPU fp16 if it keeps them, else fp32.
    A precision asked for by name is used whatever it loses.
    Raises EvaluatorError, one line that names the file, or a device that is missing or does not start.
    """
    options = OpeningOptions(optimism, profile, note or _note_on_stderr, most)
    return _open(Path(path), precision, device, lambda file: _open_on_processor(file, precision, options), options)


def check_network(
    path: Path, precision: str = "auto", device: str = "auto", profile: HumanProfile | None = None
) -> None:
    """Raise what `open_network` would raise, as far as can be found out without calibrating the network."""
    options = OpeningOptions(1.0, profile, _note_on_stderr)

    def open_quickly(file: NetworkFile) -> AnyEvaluator:
        evaluator = _open_on_processor(file, "fp32" if file.is_katago else precision, options)
        if precision == "int16" and file.is_katago:
            file.packable_model()
        return evaluator

    _open(path, precision, device, open_quickly, options)


def _open(
    path: Path,
    precision: str,
    device: str,
    on_processor: Callable[[NetworkFile], AnyEvaluator],
    options: OpeningOptions,
) -> AnyEvaluator:
    """Open a network on its device. Raises EvaluatorError."""
    if precision not in PRECISIONS:
        raise EvaluatorError(f"unknown precision {precision} (known: {', '.join(PRECISIONS)})")
    chosen = check_device(device, precision)
    file = NetworkFile(path)
    return on_processor(file) if chosen is CPU else _open_on_accelerator(file, precision, chosen, options)


def check_device(name: str, precision: str = "auto") -> Device:
    """Return the device of this name, which computes in this precision, without starting it. Raises EvaluatorError."""
    try:
        device = device_for(name, offered_providers)
    except MissingDevice as error:
        raise EvaluatorError(str(error)) from None
    if precision not in ("auto", *device.precisions):
        computes = " or ".join(device.precisions)
        raise EvaluatorError(f"precision {precision} is not to be had: {device.name} computes in {computes}")
    return device


def _open_on_processor(file: NetworkFile, precision: str, options: OpeningOptions) -> AnyEvaluator:
    if not file.is_katago:
        evaluator = file.open_plainly(options)
        own = evaluator.attributes.precision
        if precision not in ("auto", own):
            raise EvaluatorError(f"{file.source}: {_NO_CHOICE.format(own)}")
        return evaluator
    if precision in ("auto", "int16"):
        native = _int16(file, precision == "auto", options)
        if native is not None:
            return native
    return file.open_plainly(options)


def _open_on_accelerator(
    file: NetworkFile, precision: str, device: Device, options: OpeningOptions
) -> AcceleratedEvaluator:
    """A network on another device than the processor, which goes on where that fails later. Raises EvaluatorError."""
    evaluator = _on_accelerator(file, precision, device, options)
    evaluator.fall_back_on(partial(file.open_plainly, options), options.note)
    return evaluator


def _on_accelerator(file: NetworkFile, precision: str, device: Device, options: OpeningOptions) -> AcceleratedEvaluator:
    from nets.graph.check import check_onnx

    narrow = dataclasses.replace(device, options={**device.options, **device.fp16_options})
    plain = file.onnx()
    own = check_onnx(plain, file.source).precision
    if own != "fp32":
        if precision not in ("auto", own):
            raise EvaluatorError(f"{file.source}: {_NO_CHOICE.format(own)}")
        return options.open_accelerated(plain, file.source, narrow)
    wanted = device.precisions[0] if precision == "auto" else precision
    if wanted == "fp16":
        evaluator = options.open_accelerated(file.fp16(), file.source, narrow)
        reason = file.reason_against_fp16(device, options, evaluator) if precision == "auto" else ""
        if not reason:
            return evaluator
        options.note(f"{file.path.name}: using fp32, for in fp16 {reason}")
    return options.open_accelerated(plain, file.source, device)


def _int16(file: NetworkFile, is_auto: bool, options: OpeningOptions) -> NativeEvaluator | None:
    """The network in int16, or None where `auto` is better off without. Raises EvaluatorError."""
    if is_auto and len(file.content) < SMALLEST_AUTO_BYTES:
        return None
    from nets.native.evaluator import NativeEvaluator
    from nets.native.packed import from_bytes

    try:
        packed, reason = from_bytes(file.int16(options))
    except NotPackable:
        if not is_auto:
            raise
        return None
    other = partial(file.open_plainly, options)
    evaluator = NativeEvaluator(packed, file.source, other, options.optimism, options.profile)
    if reason and is_auto:
        options.note(f"{file.path.name}: not using int16, for in it {reason}")
        return None
    if reason:
        options.note(f"{file.path.name}: using int16 as asked, though {reason}")
    return evaluator


def _note_on_stderr(line: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"nobi: {line}", file=sys.stderr, flush=True)


def load_onnx(path: Path) -> bytes:
    """Return the ONNX model of a network's file; a KataGo network is converted. Raises EvaluatorError."""
    return NetworkFile(path).onnx()


# --- A file, and what is made from it --------------------------------------------------------------------------------

Note = Callable[[str], None]


class NotPackable(EvaluatorError):
    """Our own kernels cannot run a network in int16; the text says why."""


@dataclass(frozen=True)
class OpeningOptions:
    """How to open a network; the fields are arguments of `open_network`."""

    optimism: float
    """Default share of the optimistic policy, 0 to 1."""
    profile: HumanProfile | None
    """Whom a HumanSL network imitates; None for every other network."""
    note: Note
    """Is told what takes long and what was decided."""
    most: int = 0
    """Positions that a device other than the processor computes at a time at most; 0 as many as suit it."""

    def open_accelerated(self, content: bytes, source: str, device: Device) -> AcceleratedEvaluator:
        """Open an ONNX model on a device. Raises EvaluatorError."""
        from nets.graph.accelerator import SIZES, AcceleratedEvaluator
        from nets.graph.bound import bound_sessions
        from nets.graph.simulated import simulated_sessions

        opened = (
            bound_sessions(content, device, self.note)
            if device.simulated is None
            else simulated_sessions(*device.simulated)
        )
        most = self.most or SIZES[-1]
        return AcceleratedEvaluator(content, source, device, opened, self.optimism, self.profile, most)


class NetworkFile:
    """A network's file. What is made from a KataGo network is kept in the cache directory."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises EvaluatorError."""
        from nets.katago.reader import MAX_BYTES

        name = path.name.lower()
        if os.path.exists(path) and not name.endswith(SUFFIXES):
            known = ", ".join(SUFFIXES)
            raise EvaluatorError(f"{printable_path(path)}: not a network file (known endings: {known})")
        try:
            self.content = read_regular(path, MAX_BYTES)
        except OSError as error:
            raise EvaluatorError(f"{printable_path(path)}: {error.strerror}") from None
        self.path, self.source = path, printable_path(path)
        self.is_katago = not name.endswith(ONNX_SUFFIX)
        self.sha256 = hashlib.sha256(self.content).hexdigest()

    def onnx(self) -> bytes:
        """Return the network as the ONNX model that runs everywhere. Raises EvaluatorError."""
        if not self.is_katago:
            return self.content
        from nets.graph.convert import convert

        return self._derived("", lambda: convert(self.content, self.source, self.sha256))

    def open_plainly(self, options: OpeningOptions) -> OnnxEvaluator:
        """Open the network in its own precision on the processor. Raises EvaluatorError."""
        from nets.graph.evaluator import OnnxEvaluator

        return OnnxEvaluator(self.onnx(), self.source, optimism=options.optimism, profile=options.profile)

    def packable_model(self) -> Model:
        """Return the network prepared for our own kernels. Raises NotPackable if they cannot run it, EvaluatorError."""
        from nets.graph.convert import load_model
        from nets.native.pack import unsupported_reason

        model = load_model(self.content, self.source)
        reason = unsupported_reason(model)
        if reason:
            raise NotPackable(f"{self.source}: {reason}")
        return model

    def int16(self, options: OpeningOptions) -> bytes:
        """Return the network as our own kernels read it (nets/native/packed.py), after a calibration the first time.

        Raises NotPackable if they cannot run it, EvaluatorError."""
        from nets.native.packed import packed_key, to_bytes

        def derive() -> bytes:
            from nets.native.calibrate import packed_by

            model = self.packable_model()
            if (options.profile is None) != (model.trunk.metadata is None):
                self.open_plainly(options)  # refuses a profile that is missing, or that means nothing to the network
            verdict = self._calibration(model, options.note)
            return to_bytes(packed_by(verdict, model), verdict.reason_against)

        return self._derived(packed_key(), derive, "")

    def _calibration(self, model: Model, note: Note) -> Verdict:
        """Calibrate `packable_model`, or take over the calibration that ships with it if that holds here. Raises
        EvaluatorError."""
        from nets.embedded import ready_made_int16
        from nets.graph.prepare import is_convolutional
        from nets.native.calibrate import LARGE, calibrate, checked_here
        from nets.native.profiles import PROFILES

        ready = ready_made_int16(self.sha256, model)
        if ready is not None:
            found = checked_here(ready, model, self.open_plainly(OpeningOptions(1.0, None, note)))
            if not found.reason_against:
                return found
        is_large = model.parameters >= LARGE
        takes = "some seconds" if is_convolutional(model) and not is_large else "up to a minute"
        note(f"{self.path.name}: calibrating for this machine, once; this takes {takes}")
        profile = None if model.trunk.metadata is None else PROFILES[0]
        reference = self.open_plainly(OpeningOptions(1.0, profile, note))
        return calibrate(model, reference, progress=_announced(note) if is_large else lambda share: None)

    def fp16(self) -> bytes:
        """Return the network in fp16. Raises EvaluatorError."""
        from nets.graph.convert import to_half

        return self._derived(f"-{_fp16_key()}", lambda: to_half(self.onnx(), self.source))

    def reason_against_fp16(self, device: Device, options: OpeningOptions, candidate: Evaluator) -> str:
        """Return why `auto` does not use `candidate`, this network in fp16 on a device; empty if it may. Measured once.
        Raises EvaluatorError."""
        from nets.graph.convert import reason_against_fp16

        def derive() -> bytes:
            options.note(f"{self.path.name}: comparing fp16 with fp32 on {device.name}, once")
            reference = options.open_accelerated(self.onnx(), self.source, device)
            return reason_against_fp16(reference, candidate).encode()

        return self._derived(f"-{_fp16_key()}-{device.name}-{runtime_version()}", derive, ".txt").decode()

    def _derived(self, kind: str, derive: Callable[[], bytes], suffix: str = ".onnx") -> bytes:
        from nets.cache import cached

        converter = source_fingerprint("nets.graph.convert")  # not imported: that takes long
        name = f"{self.sha256[:24]}-{converter[:16]}{kind}{suffix}"
        return cached(name, f"{self.sha256} {converter} {name}", derive)


def _fp16_key() -> str:
    """Name what the fp16 version of an ONNX model depends on besides it."""
    return f"{source_fingerprint('nets.graph.convert')[:12]}-fp16"


def _announced(note: Note) -> Callable[[float], None]:
    """Return a function that notes the share done of a calibration, in steps of a quarter."""
    told = [0]

    def progress(share: float) -> None:
        quarter = int(share * 4)
        if quarter > told[0]:
            told[0] = quarter
            note(f"calibrating: {25 * quarter} % done")

    return progress
