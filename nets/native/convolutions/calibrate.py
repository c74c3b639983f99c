"""Calibration for int16: the ranges of a network's activations, and what it loses by int16. It is done once."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nets.conversion.to_onnx import TAP, to_onnx
from nets.embedded import ReadyMade
from nets.evaluator import EvaluationRequest, Evaluator
from nets.katago.model import FloatArray, Model
from nets.native.convolutions.pack import pack
from nets.native.convolutions.tiling import FINER, LARGEST
from nets.native.evaluator import NativeEvaluator
from nets.native.profiles import PROFILES, metadata, varied
from nets.onnx.evaluator import open_recorder
from nets.precision.calibration import Positions, Series, measurement_fingerprint, own_positions
from nets.precision.loss import CHECKED, GROSS, Loss, compare, reason_against

SERIES = (
    Series(19, 19, games=3, moves=220, interval=7),
    Series(13, 13, games=3, moves=110, interval=7),
    Series(9, 9, games=6, moves=66, interval=4),
    Series(7, 11, games=3, moves=50, interval=6),
    Series(15, 15, games=2, moves=60, interval=10),
    Series(5, 5, games=4, moves=20, interval=4),
)
"""The games to calibrate with: fewer than for int8, since 16 bits leave room for ranges that are too wide."""
WIDENING = 1.75
"""Factor of all ranges: other positions reach further, and cutting off costs more than coarser levels. The mean
divergence of the policies over golden positions is 0.0006 with 1.25, 0.0002 with 1.75 and 0.0003 with 2.5."""
BATCH = 8
LARGE = 1_500_000
"""From so many parameters on a network is large: it would play too few games itself in the time allowed, and recording
a batch of boards would take much memory."""
PLAYING_SECONDS, EVALUATING_SECONDS = 15.0, 18.0
"""The most processor time to spend on making positions, and on evaluating them in fp32."""

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Verdict:
    """The result of `calibrate`."""

    highest: Mapping[str, FloatArray]
    """The highest values of activations that are told apart: [channels] by the names of their taps."""
    loss: Mapping[str, float]
    """The fields of nets.precision.loss.Loss, measured on other positions than the ranges."""
    reason_against: str
    """Why `auto` does not use the network in int16; empty if it may."""
    largest: int = LARGEST
    """The side of Winograd's largest tiles, in points."""

    def to_bytes(self) -> bytes:
        highest = {tap: [float(f"{value:.4g}") for value in values] for tap, values in self.highest.items()}
        facts = {"loss": dict(self.loss), "reason_against": self.reason_against, "largest": self.largest}
        return json.dumps({"highest": highest, **facts}).encode()


def from_bytes(content: bytes) -> Verdict:
    """Read what `Verdict.to_bytes` wrote."""
    fields = json.loads(content)
    highest = {tap: np.array(values, np.float32) for tap, values in fields["highest"].items()}
    return Verdict(highest, fields["loss"], fields["reason_against"], fields.get("largest", LARGEST))


def calibrate(
    model: Model,
    reference: Evaluator,
    series: Sequence[Series] = SERIES,
    progress: Progress = lambda share: None,
    player: Evaluator | None = None,
) -> Verdict:
    """Find the ranges of a prepared network that the kernels know, and measure its loss against `reference` in fp32.

    Where the loss with large tiles is too much, smaller tiles are used, which have finer levels. If `player` is given,
    it plays the games that the positions come from: some networks are too slow to play many."""
    player = player or varied(reference)
    kept = own_positions(player, tuple(series), 1, PLAYING_SECONDS, lambda share: progress(0.5 * share))
    kept = affordable(kept, reference)
    progress(0.6)
    highest = ranges(model, [(np.delete(s, np.s_[::CHECKED], 0), np.delete(g, np.s_[::CHECKED], 0)) for s, g in kept])
    progress(0.85)
    checked = [(spatial[::CHECKED], global_[::CHECKED]) for spatial, global_ in kept]
    for largest in (LARGEST, FINER):
        loss, share = _compare(model, highest, reference, checked, largest)
        if not reason_against(loss, 0.0):
            break
    progress(1.0)
    return Verdict(highest, loss.__dict__, reason_against(loss, share), largest)


def checked_here(ready: ReadyMade, model: Model, reference: Evaluator) -> Verdict:
    """Measure the loss of a verdict from another machine against `reference` on this one. Raises EvaluatorError."""
    verdict = from_bytes(ready.content)
    loss, share = _compare(model, verdict.highest, reference, ready.positions, verdict.largest)
    known = reason_against(Loss(**verdict.loss), 0.0)
    return replace(verdict, reason_against=known or reason_against(loss, share, GROSS))


def affordable(kept: Sequence[Positions], reference: Evaluator) -> list[Positions]:
    """Choose as many of the positions, evenly spread, as `reference` evaluates in EVALUATING_SECONDS."""
    spatial, global_ = kept[0]
    reference.evaluate(EvaluationRequest(spatial[:1], global_[:1]))
    started = time.thread_time()
    reference.evaluate(EvaluationRequest(spatial[:1], global_[:1]))
    point = (time.thread_time() - started) / spatial[0, 0].size
    every = math.ceil(point * sum(spatial[:, 0].size for spatial, _ in kept) / EVALUATING_SECONDS)
    return [(spatial[::every], global_[::every]) for spatial, global_ in kept]


def _compare(
    model: Model, highest: Mapping[str, FloatArray], reference: Evaluator, positions: Sequence[Positions], largest: int
) -> tuple[Loss, float]:
    profile = PROFILES[0] if model.trunk.metadata is not None else None
    packed = pack(model, highest, largest)
    candidate = NativeEvaluator(model, packed, model.name, lambda: reference, profile=profile)
    for spatial, global_ in positions:
        candidate.evaluate(
            EvaluationRequest(spatial[:1], global_[:1])
        )  # compiles, which is no part of the time that it takes
    return compare(varied(reference), varied(candidate), positions)


def ranges(model: Model, positions: Sequence[Positions]) -> dict[str, FloatArray]:
    """Find the top of the range of each channel at each tap over `positions`, a little widened."""
    record = open_recorder(to_onnx(model, with_taps=True).SerializeToString(), model.name)
    is_human, batch = model.trunk.metadata is not None, BATCH if model.parameters < LARGE else 1
    highest: dict[str, FloatArray] = {}
    turn = 0
    for spatial, global_ in positions:
        for start in range(0, len(spatial), batch):
            part = spatial[start : start + batch], global_[start : start + batch]
            meta = metadata(turn, len(part[0]), spatial[0, 0].size) if is_human else None
            turn += 1
            for name, values in record(*part, meta).items():
                if name.startswith(TAP):
                    tap, top = name.removeprefix(TAP), np.abs(values).max(axis=(0, 2, 3)) * np.float32(WIDENING)
                    highest[tap] = np.maximum(highest.get(tap, top), top)
    return highest


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Return a hash of the code that a calibration depends on, beside the network and its converter."""
    return measurement_fingerprint(__name__)
