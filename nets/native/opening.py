"""Opens networks for our own kernels, once they are calibrated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nets.native.calibrate import from_bytes
from nets.native.evaluator import NativeEvaluator
from nets.native.pack import pack

if TYPE_CHECKING:
    from nets.evaluator import Evaluator
    from nets.human_profile import HumanProfile
    from nets.katago.model import Model


def open_native(
    model: Model,
    calibration: bytes,
    source: str,
    open_other: Callable[[], Evaluator],
    optimism: float,
    profile: HumanProfile | None,
) -> tuple[NativeEvaluator, str]:
    """Return the evaluator of a prepared network by its calibration, and why `auto` does not use it, if so.

    `calibration` is what `Verdict.to_bytes` wrote. The other arguments are those of NativeEvaluator. Raises
    EvaluatorError.
    """
    verdict = from_bytes(calibration)
    packed = pack(model, verdict.highest, verdict.largest, verdict.in_bytes)
    return NativeEvaluator(model, packed, source, open_other, optimism, profile), verdict.reason_against
