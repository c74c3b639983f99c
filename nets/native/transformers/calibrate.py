"""Calibration of a transformer: its weights of 8 bits, and what it loses by them. It is done once."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import EvaluationRequest, Evaluator
from nets.katago.model import Model
from nets.native.convolutions import calibrate as convolutions
from nets.native.evaluator import NativeEvaluator
from nets.native.profiles import PROFILES, varied
from nets.native.transformers.pack import Bytes, pack_tokens
from nets.native.transformers.products import HAS_BYTES, IN_GROUPS
from nets.native.transformers.rounding import of_feed_forward, rounded
from nets.native.transformers.workspace import TokensWorkspace
from nets.precision.calibration import Positions, Series, measurement_fingerprint, own_positions
from nets.precision.loss import CHECKED, compare, reason_against

VERDICT = "verdict"
"""The name of the array that holds a verdict's other fields, as JSON."""


@dataclass(frozen=True)
class Verdict:
    """The result of `calibrate`."""

    in_bytes: Mapping[str, Bytes]
    """The matrices of 8 bits, see `pack_tokens`; none if the loss or the processor does not allow them."""
    loss: Mapping[str, float]
    """The fields of nets.precision.loss.Loss, measured on other positions than the rounding."""
    reason_against: str
    """Why `auto` does not use the network in int16; empty if it may."""

    def to_bytes(self) -> bytes:
        fields = json.dumps({"loss": dict(self.loss), "reason_against": self.reason_against})
        arrays: dict[str, NDArray[np.generic]] = {VERDICT: np.frombuffer(fields.encode(), np.uint8)}
        for label, each in self.in_bytes.items():
            arrays |= {f"{label}:{name}": array for name, array in each._asdict().items()}
        content = io.BytesIO()
        np.savez_compressed(content, allow_pickle=False, **arrays)
        return content.getvalue()


def from_bytes(content: bytes) -> Verdict:
    """Read what `Verdict.to_bytes` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    fields = json.loads(arrays.pop(VERDICT).tobytes())
    labels = {name.partition(":")[0] for name in arrays}
    in_bytes = {label: Bytes(*(arrays[f"{label}:{name}"] for name in Bytes._fields)) for label in labels}
    return Verdict(in_bytes, fields["loss"], fields["reason_against"])


def calibrate(
    model: Model,
    reference: Evaluator,
    series: Sequence[Series] = convolutions.SERIES,
    progress: Callable[[float], None] = lambda share: None,
    player: Evaluator | None = None,
) -> Verdict:
    """Round the weights of a prepared network that the kernels know, and measure its loss against `reference` in fp32.

    As many of the matrices have 8 bits as the limits allow. If `player` is given, it plays the games that the positions
    come from: some networks are too slow to play many."""
    plain = varied(_evaluator(model, {}, reference))
    plain.evaluate(EvaluationRequest(*_empty(model)))  # compiles, which is no part of the time that positions may take
    player = player or plain
    seconds = convolutions.PLAYING_SECONDS
    kept = own_positions(player, tuple(series), 1, seconds, lambda share: progress(0.5 * share))
    kept = convolutions.affordable(kept, reference)
    progress(0.6)
    checked = [(spatial[::CHECKED], global_[::CHECKED]) for spatial, global_ in kept]
    choices: list[Mapping[str, Bytes]] = [{}]
    if HAS_BYTES:
        others = [(np.delete(s, np.s_[::CHECKED], 0), np.delete(g, np.s_[::CHECKED], 0)) for s, g in kept if len(s) > 1]
        in_bytes = rounded(model, others)
        choices = [in_bytes, of_feed_forward(model, in_bytes), {}]
        progress(0.75)
    for choice in choices:
        verdict = _judged(model, choice, reference, checked)
        if not verdict.reason_against:
            break
    progress(1.0)
    return verdict


def _judged(
    model: Model, in_bytes: Mapping[str, Bytes], reference: Evaluator, positions: Sequence[Positions]
) -> Verdict:
    candidate = _evaluator(model, in_bytes, reference)
    loss, share = compare(varied(reference), varied(candidate), positions)
    return Verdict(in_bytes, loss.__dict__, reason_against(loss, share))


def _evaluator(model: Model, in_bytes: Mapping[str, Bytes], reference: Evaluator) -> NativeEvaluator:
    profile = PROFILES[0] if model.trunk.metadata is not None else None
    packed = pack_tokens(model, in_bytes)
    return NativeEvaluator(model, packed, model.name, lambda: reference, profile=profile, workspace=TokensWorkspace)


def _empty(model: Model) -> Positions:
    spatial = np.zeros((1, model.trunk.stem.inputs, 5, 5), np.float32)
    spatial[:, 0] = 1
    return spatial, np.zeros((1, len(model.trunk.stem_global)), np.float32)


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Return a hash of what a calibration depends on, beside the network and its converter.

    Weights for other products of 8-bit levels may overflow in those of this processor."""
    return measurement_fingerprint(__name__, f"bytes: {HAS_BYTES}, in groups: {IN_GROUPS}")
