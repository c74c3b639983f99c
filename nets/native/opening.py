"""Calibrates and opens networks for our own kernels, those of convolutions and those of transformer blocks alike.

The modules of a kind are imported once such a network is at hand, so that its kernels are not compiled before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nets.native.unsupported import is_transformer

if TYPE_CHECKING:
    from nets.evaluator import Evaluator
    from nets.human_profile import HumanProfile
    from nets.katago.model import Model
    from nets.native.evaluator import NativeEvaluator


def calibration_key(model: Model) -> str:
    """Return the end of the name of a calibration's file, with a hash of what the calibration depends on."""
    if is_transformer(model):
        from nets.native.transformers.calibrate import fingerprint as tokens_fingerprint

        return f"-{tokens_fingerprint()[:12]}-int16.npz"
    from nets.native.convolutions.calibrate import fingerprint

    return f"-{fingerprint()[:12]}-int16.json"


def calibrate_native(model: Model, reference: Evaluator, **options: Any) -> bytes:
    """Calibrate a prepared network, given its fp32 evaluator. Return the result as a file's content.

    `options` are those of `calibrate` in native/convolutions and native/transformers.
    """
    if is_transformer(model):
        from nets.native.transformers.calibrate import calibrate as calibrate_tokens

        return calibrate_tokens(model, reference, **options).to_bytes()
    from nets.native.convolutions.calibrate import calibrate

    return calibrate(model, reference, **options).to_bytes()


def open_native(
    model: Model,
    calibration: bytes,
    source: str,
    open_other: Callable[[], Evaluator],
    optimism: float,
    profile: HumanProfile | None,
) -> tuple[NativeEvaluator, str]:
    """Return the network's evaluator by what `calibrate_native` returned, and why `auto` does not use it, if so.

    The other arguments are those of NativeEvaluator. Raises EvaluatorError.
    """
    from nets.native.evaluator import NativeEvaluator

    if is_transformer(model):
        from nets.native.transformers.calibrate import from_bytes as tokens_from_bytes
        from nets.native.transformers.pack import pack_tokens
        from nets.native.transformers.workspace import TokensWorkspace

        tokens = tokens_from_bytes(calibration)
        packed = pack_tokens(model, tokens.in_bytes)
        evaluator = NativeEvaluator(model, packed, source, open_other, optimism, profile, TokensWorkspace)
        return evaluator, tokens.reason_against
    from nets.native.convolutions.calibrate import from_bytes
    from nets.native.convolutions.pack import pack

    verdict = from_bytes(calibration)
    plain = pack(model, verdict.highest, verdict.largest)
    return NativeEvaluator(model, plain, source, open_other, optimism, profile), verdict.reason_against
