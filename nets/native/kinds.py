"""The two kinds of networks that our kernels run, of convolutions and of transformer blocks, behind the same functions.

What is particular to a kind is imported where such a network is at hand, and so its kernels are not compiled before.
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
    """Ends the name of a calibration's file: what it depends on beside the network and its converter, and its kind."""
    if is_transformer(model):
        from nets.native.transformers.calibrate import fingerprint as tokens_fingerprint

        return f"-{tokens_fingerprint()[:12]}-int16.npz"
    from nets.native.convolutions.calibrate import fingerprint

    return f"-{fingerprint()[:12]}-int16.json"


def calibrated(model: Model, reference: Evaluator, **options: Any) -> bytes:
    """What `calibrate` of the network's kind finds out, which takes the options."""
    if is_transformer(model):
        from nets.native.transformers.calibrate import calibrate as calibrate_tokens

        return calibrate_tokens(model, reference, **options).to_bytes()
    from nets.native.convolutions.calibrate import calibrate

    return calibrate(model, reference, **options).to_bytes()


def opened(
    model: Model,
    calibration: bytes,
    source: str,
    open_other: Callable[[], Evaluator],
    optimism: float,
    profile: HumanProfile | None,
) -> tuple[NativeEvaluator, str]:
    """The network by what `calibrated` found out, and what speaks against using it; the other arguments are those of
    NativeEvaluator. Raises EvaluatorError."""
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
