"""A network's file and the other forms of the network that are made from it and cached."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nets.at_hand import ONNX_SUFFIX, SUFFIXES
from nets.devices import CPU, Device
from nets.evaluator import EvaluatorError
from nobi_machine.files import read_regular
from nobi_machine.fingerprint import source_fingerprint
from nobi_machine.text import printable_path

if TYPE_CHECKING:
    from nets.human_profile import HumanProfile
    from nets.katago.model import Model
    from nets.native.calibrate import Verdict
    from nets.onnx.evaluator import OnnxEvaluator

Note = Callable[[str], None]


class NotPackable(EvaluatorError):
    """Our own kernels cannot run a network in int16; the text says why."""


@dataclass(frozen=True)
class OpeningOptions:
    """How to open a network; the fields are arguments of `open_network` (nets/open.py)."""

    threads: int
    """How many threads compute one evaluation together."""
    optimism: float
    """Default share of the optimistic policy, 0 to 1."""
    profile: HumanProfile | None
    """Whom a HumanSL network imitates; None for every other network."""
    note: Note
    """Is told what takes long and what was decided."""

    def open_onnx(self, content: bytes, source: str, device: Device = CPU) -> OnnxEvaluator:
        """Open an ONNX model; `source` is its name in errors. Raises EvaluatorError."""
        from nets.onnx.evaluator import OnnxEvaluator

        return OnnxEvaluator(
            content, source, threads=self.threads, optimism=self.optimism, profile=self.profile, device=device
        )


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
        from nets.conversion.convert import convert

        return self._derived("", lambda: convert(self.content, self.source, self.sha256))

    def open_plainly(self, options: OpeningOptions) -> OnnxEvaluator:
        """Open the network in its own precision on the processor. Raises EvaluatorError."""
        return options.open_onnx(self.onnx(), self.source)

    def packable_model(self) -> Model:
        """Return the network prepared for our own kernels. Raises NotPackable if they cannot run it, EvaluatorError."""
        from nets.conversion.convert import load_model
        from nets.native.unsupported import unsupported_reason

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
        from nets.conversion.fold import is_convolutional
        from nets.embedded import ready_made_int16
        from nets.native.calibrate import LARGE, calibrate, checked_here
        from nets.native.profiles import PROFILES

        ready = ready_made_int16(self.sha256, model)
        if ready is not None:
            found = checked_here(ready, model, self.open_plainly(OpeningOptions(1, 1.0, None, note)))
            if not found.reason_against:
                return found
        is_large = model.parameters >= LARGE
        takes = "some seconds" if is_convolutional(model) and not is_large else "up to a minute"
        note(f"{self.path.name}: calibrating for this machine, once; this takes {takes}")
        profile = None if model.trunk.metadata is None else PROFILES[0]
        reference = self.open_plainly(OpeningOptions(1, 1.0, profile, note))
        return calibrate(model, reference, progress=_announced(note) if is_large else lambda share: None)

    def fp16(self) -> bytes:
        """Return the network in fp16. Raises EvaluatorError."""
        from nets.precision.fp16 import fingerprint, to_half

        return self._derived(f"-{fingerprint()[:12]}-fp16", lambda: to_half(self.onnx(), self.source))

    def reason_against_fp16(self, device: Device, options: OpeningOptions, candidate: OnnxEvaluator) -> str:
        """Return why `auto` does not use `candidate`, this network in fp16 on a device; empty if it may. Measured once.
        Raises EvaluatorError."""
        from nets.onnx.runtime import runtime_version
        from nets.precision.fp16 import fingerprint, from_verdict, reason_against_fp16, to_verdict

        def derive() -> bytes:
            options.note(f"{self.path.name}: comparing fp16 with fp32 on {device.name}, once")
            reference = checked_by_trial(options.open_onnx(self.onnx(), self.source, device), device)
            return to_verdict(reason_against_fp16(reference, candidate))

        return from_verdict(
            self._derived(f"-{fingerprint()[:12]}-fp16-{device.name}-{runtime_version()}", derive, ".json")
        )

    def _derived(self, kind: str, derive: Callable[[], bytes], suffix: str = ".onnx") -> bytes:
        from nets.cache import cached

        converter = source_fingerprint("nets.conversion.convert")  # not imported: that takes long
        name = f"{self.sha256[:24]}-{converter[:16]}{kind}{suffix}"
        return cached(name, f"{self.sha256} {converter} {name}", derive)


def checked_by_trial(evaluator: OnnxEvaluator, device: Device) -> OnnxEvaluator:
    """Return the evaluator after one evaluation, since some devices start and cannot compute. Raises EvaluatorError."""
    try:
        evaluator.warm_up(1, 9, 9)
    except EvaluatorError as error:
        raise EvaluatorError(f"device {device.name} does not work: {error}") from None
    return evaluator


def _announced(note: Note) -> Callable[[float], None]:
    """Return a function that notes the share done of a calibration, in steps of a quarter."""
    told = [0]

    def progress(share: float) -> None:
        quarter = int(share * 4)
        if quarter > told[0]:
            told[0] = quarter
            note(f"calibrating: {25 * quarter} % done")

    return progress
