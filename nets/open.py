"""Opens a network's file: chooses the precision and the device, and returns an evaluator ready to run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nets.devices import CPU, Device, MissingDevice, device_for
from nets.evaluator import EvaluatorError
from nets.network_file import NetworkFile, Note, NotPackable, OpeningOptions, checked_by_trial

if TYPE_CHECKING:
    from nets.human_profile import HumanProfile
    from nets.native.evaluator import NativeEvaluator
    from nets.onnx.evaluator import OnnxEvaluator

    AnyEvaluator = OnnxEvaluator | NativeEvaluator

PRECISIONS = ("auto", "fp32", "int16", "fp16")
_NO_CHOICE = "this ONNX file is {}; only KataGo's files give a choice"
SMALLEST_AUTO_BYTES = 200_000
"""Smaller compressed KataGo networks stay in fp32 with `auto`: other things than the network take the time."""


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

    `device` is one of nets.devices.NAMES; `auto` is the processor. `threads` compute one evaluation together; with 1
    each calling thread computes its own. `optimism` is the default share of the optimistic policy in networks that have
    one. `note` is told what takes long and what was decided, a line each; without it these lines go to stderr.
    `profile` says whom a HumanSL network imitates; such a network needs one, and no other takes one.

    The first time, a KataGo network is converted, and calibrated for int16; the results are kept in the cache
    directory. On a processor the precision `auto` is int16 if that can compute the network and keeps the limits of
    nets/precision/loss.py (networks of less than SMALLEST_AUTO_BYTES stay in fp32, and int16 is for one thread an
    evaluation), on a GPU fp16 if it keeps them, else fp32. A precision asked for by name is used whatever it loses.
    Raises EvaluatorError, one line that names the file, or a device that is missing or does not start.
    """
    options = OpeningOptions(threads, optimism, profile, note or _note_on_stderr)
    return _open(Path(path), precision, device, lambda file: _open_on_processor(file, precision, options), options)


def check_network(
    path: Path, precision: str = "auto", device: str = "auto", profile: HumanProfile | None = None
) -> None:
    """Raise what `open_network` would raise, as far as can be found out without calibrating the network."""
    options = OpeningOptions(1, 1.0, profile, _note_on_stderr)

    def open_quickly(file: NetworkFile) -> AnyEvaluator:
        evaluator = _open_on_processor(file, "fp32" if file.is_katago else precision, options)
        if precision == "int16" and file.is_katago:
            file.packable_model()
        return evaluator

    _open(path, precision, device, open_quickly, options)


def check_device(device: str, precision: str = "auto") -> None:
    """Raise what `open_network` would raise about this device and precision, without starting the device."""
    _device(device, precision)


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
    chosen = _device(device, precision)
    file = NetworkFile(path)
    return on_processor(file) if chosen is CPU else _open_on_accelerator(file, precision, chosen, options)


def _device(name: str, precision: str) -> Device:
    """The device of this name, which computes in this precision. Raises EvaluatorError."""
    from nets.onnx.runtime import offered_providers

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


def _open_on_accelerator(file: NetworkFile, precision: str, device: Device, options: OpeningOptions) -> OnnxEvaluator:
    """A network on another device than the processor. Raises EvaluatorError where that does not work."""
    from nets.onnx.check import check_onnx

    plain = file.onnx()
    own = check_onnx(plain, file.source).precision
    if own != "fp32":
        if precision not in ("auto", own):
            raise EvaluatorError(f"{file.source}: {_NO_CHOICE.format(own)}")
        return checked_by_trial(options.open_onnx(plain, file.source, device), device)
    wanted = device.precisions[0] if precision == "auto" else precision
    if wanted == "fp16":
        evaluator = checked_by_trial(options.open_onnx(file.fp16(), file.source, device), device)
        reason = file.reason_against_fp16(device, options, evaluator) if precision == "auto" else ""
        if not reason:
            return evaluator
        options.note(f"{file.path.name}: using fp32, for in fp16 {reason}")
    return checked_by_trial(options.open_onnx(plain, file.source, device), device)


def _int16(file: NetworkFile, is_auto: bool, options: OpeningOptions) -> NativeEvaluator | None:
    """The network in int16, or None where `auto` is better off without. Raises EvaluatorError."""
    if is_auto and (len(file.content) < SMALLEST_AUTO_BYTES or options.threads > 1):
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
