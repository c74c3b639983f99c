"""Calibration for int16: ranges of activations, weights of 8 bits, and what a network loses by both. It is done once.

Convolutions read levels whose ranges are found here. Transformer blocks round each row by itself; as much of them has 8
bits as the limits allow, with a margin.
"""

from __future__ import annotations

import io
import json
import math
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import EvaluationRequest, Evaluator
from nets.features import scratch_for
from nets.katago.model import FloatArray, Model
from nets.loss import (
    GROSS,
    LIMITS,
    Answer,
    Positions,
    PrecisionLoss,
    answers,
    compare_answers,
    few_recorded,
    reason_against,
    recorded_positions,
    shared_out,
    with_doublings,
)
from nets.native.convolutions.packing import readings
from nets.native.convolutions.tiling import FINER, LARGEST
from nets.native.evaluator import NativeEvaluator
from nets.native.order import steps
from nets.native.pack import pack
from nets.native.packed import Packed
from nets.native.profiles import PROFILES, varied
from nets.native.simd.products import HERE
from nets.native.transformers.packing import NO_INT8, Int8Matrix, Int8Parts
from nets.native.transformers.products import HAS_INT8, IN_GROUPS
from nets.native.transformers.rounding import choices, nearest, recorded, rounded

WIDENING = 1.75
"""Factor of all ranges: other positions reach further, and cutting off costs more than coarser levels. The mean
divergence of the policies over golden positions is 0.0006 with 1.25, 0.0002 with 1.75 and 0.0003 with 2.5."""
BATCH = 8
LARGE = 1_500_000
"""From so many parameters on a network is large: recording a batch of boards would take much memory."""
EVALUATING_SECONDS = 18.0
"""The most processor time to spend on evaluating positions in fp32."""

SURE = replace(
    LIMITS,
    winrate_mean=0.006,
    winrate_worst_5_percent=0.0155,
    lead_mean=math.inf,
    close_lead_mean=0.17,
    policy_kl=0.0075,
    other_top_moves=0.05,
)
"""What 8 bits may lose on the recorded positions. On others a network may lose more: on golden ones the 99th percentile
of the winrate was mostly 1.0 to 1.7 times what the worst 5 % are here (once 2.4 times), and the mean difference of all
leads 1.2 to 2 times that of close ones (docs/log/speed.md)."""

Progress = Callable[[float], None]

VERDICT = "verdict"
"""The name of the array that holds a verdict's other fields, as JSON."""
RANGE, MATRIX = "range", "matrix"
"""The names of the other arrays begin so."""


@dataclass(frozen=True)
class Verdict:
    """The result of `calibrate`."""

    highest: Mapping[str, FloatArray]
    """The highest values of activations that are told apart: [channels] by the names of their taps."""
    loss: Mapping[str, float]
    """The fields of nets.loss.PrecisionLoss, measured on other positions than the ranges."""
    reason_against: str
    """Why `auto` does not use the network in int16; empty if it may."""
    largest: int = LARGEST
    """The side of Winograd's largest tiles, in points."""
    in_int8: Int8Parts = NO_INT8
    """What has 8 bits, see `pack`; nothing if the loss or the processor does not allow it."""
    in_bf16: bool = False
    """Whether convolutions are in bf16, see `pack`; not if the loss or the processor does not allow it."""

    def to_bytes(self, model: Model) -> bytes:
        """Write the verdict about a prepared network as the content of an .npz file, for `from_bytes`.

        Of weights of 8 bits it has how they differ from the nearest ones, which is about a bit for each."""
        facts = {
            "loss": dict(self.loss),
            "reason_against": self.reason_against,
            "largest": self.largest,
            "scores": self.in_int8.scores,
            "mixes": self.in_int8.mixes,
            "in_bf16": self.in_bf16,
        }
        arrays: dict[str, NDArray[np.generic]] = {VERDICT: np.frombuffer(json.dumps(facts).encode(), np.uint8)}
        arrays |= {f"{RANGE}:{tap}": values for tap, values in self.highest.items()}
        for label, weights in nearest(model, self.in_int8.matrices).items():
            matrix = self.in_int8.matrices[label]
            matrix = matrix._replace(weights=matrix.weights - weights)  # modulo 256
            arrays |= {f"{MATRIX}:{label}:{name}": array for name, array in matrix._asdict().items()}
        content = io.BytesIO()
        np.savez_compressed(content, allow_pickle=False, **arrays)
        return content.getvalue()


def from_bytes(content: bytes, model: Model) -> Verdict:
    """Read what `Verdict.to_bytes` wrote about this network. Raises ValueError, KeyError or TypeError if it is damaged
    or about another one."""
    arrays = _arrays(content)
    facts = json.loads(arrays.pop(VERDICT).tobytes())
    highest = {name.removeprefix(f"{RANGE}:"): array for name, array in arrays.items() if name.startswith(RANGE)}
    labels = {name.split(":")[1] for name in arrays if name.startswith(MATRIX)}
    matrices = {
        label: Int8Matrix(*(arrays[f"{MATRIX}:{label}:{name}"] for name in Int8Matrix._fields)) for label in labels
    }
    for label, weights in nearest(model, matrices).items():
        matrices[label] = matrices[label]._replace(weights=matrices[label].weights + weights)
    in_int8 = Int8Parts(matrices, tuple(facts["scores"]), tuple(facts["mixes"]))
    return Verdict(highest, facts["loss"], facts["reason_against"], facts["largest"], in_int8, facts["in_bf16"])


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """Read the arrays of an .npz file by their names. Raises ValueError if it is damaged."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(str(error)) from None


def calibrate(
    model: Model,
    reference: Evaluator,
    positions: Sequence[Positions] | None = None,
    progress: Progress = lambda share: None,
    *,
    may_have_bf16: bool = HERE.has_bf16_tiles,
    may_have_int8: bool = HAS_INT8,
) -> Verdict:
    """Calibrate a prepared network that the kernels know, and measure its loss against `reference` in fp32.

    As much of transformers has 8 bits as the limits allow. Convolutions are in bf16 where the processor has tile
    registers for it and the loss allows it; else in integers, and where the loss with large tiles is too much, smaller
    tiles are used, which have finer levels. The positions are those of nets/loss.py where no
    others are given. Without `may_have_bf16` convolutions are in integers, for any processor; without `may_have_int8`
    transformers are in 16 bits, for any too.
    """
    has_rows = depends_on_products(model)
    has_layers = not all(step.in_rows for step in steps(model.trunk.blocks))
    if positions is None:
        positions = recorded_positions(scratch_for(reference))
    others, checked = shared_out(affordable(positions, reference))
    progress(0.1)
    highest = ranges(model, [*others, *with_doublings(others)]) if has_layers else {}
    progress(0.25 if has_rows else 0.7)
    matrices: Mapping[str, Int8Matrix] = {}
    with ThreadPoolExecutor(1, "calibration") as beside:
        answered = beside.submit(answers, varied(reference), checked)
        if has_rows and may_have_int8:
            # Weights that are added in groups are rounded too coarsely for attention.
            matrices = rounded(model, others, without_attention=IN_GROUPS)
            progress(0.7)
        expected = answered.result()
    kinds = [(LARGEST, False), (FINER, False)] if has_layers else [(LARGEST, False)]
    if has_layers and may_have_bf16:
        kinds.insert(0, (LARGEST, True))
    for (largest, in_bf16), choice in product(kinds, choices(model, matrices)):
        verdict = Verdict(highest, {}, "", largest, choice, in_bf16)
        loss, share = _loss(model, verdict, reference, expected, checked)
        if not reason_against(loss, 0.0, limits=_limits(verdict)):
            break
    progress(1.0)
    return replace(verdict, loss=loss.__dict__, reason_against=reason_against(loss, share, limits=_limits(verdict)))


def depends_on_products(model: Model) -> bool:
    """Return whether what `calibrate` finds depends on the processor's kind of products of 8-bit levels (PRODUCTS)."""
    return any(step.in_rows for step in steps(model.trunk.blocks))


def _limits(verdict: Verdict) -> PrecisionLoss:
    return SURE if verdict.in_bf16 or any(verdict.in_int8) else LIMITS


def checked_here(verdict: Verdict, model: Model, reference: Evaluator) -> Verdict:
    """Measure the loss of a verdict from another machine, which has to be one for integers, against `reference` on this
    one, over a few positions; and that of convolutions in bf16 where the processor has tile registers for it, which is
    taken where it is within the limits. Raises EvaluatorError."""
    positions = few_recorded(scratch_for(reference))
    expected = answers(varied(reference), positions)
    if HERE.has_bf16_tiles and verdict.highest:
        low = replace(verdict, in_bf16=True)
        loss, share = _loss(model, low, reference, expected, positions)
        if not reason_against(loss, 0.0, limits=_limits(low)):
            return replace(low, loss=loss.__dict__, reason_against=reason_against(loss, share, GROSS))
    loss, share = _loss(model, verdict, reference, expected, positions)
    known = reason_against(PrecisionLoss(**verdict.loss), 0.0, limits=_limits(verdict))
    return replace(verdict, reason_against=known or reason_against(loss, share, GROSS))


def affordable(kept: Sequence[Positions], reference: Evaluator) -> list[Positions]:
    """Return as many of the positions, evenly spread, as `reference` evaluates in EVALUATING_SECONDS."""
    spatial, global_ = kept[0]
    reference.evaluate(EvaluationRequest(spatial[:1], global_[:1]))
    started = time.thread_time()
    reference.evaluate(EvaluationRequest(spatial[:1], global_[:1]))
    point = (time.thread_time() - started) / spatial[0, 0].size
    every = math.ceil(point * sum(spatial[:, 0].size for spatial, _ in kept) / EVALUATING_SECONDS)
    # A coarse clock says 0. At least two of each series are kept, one to calibrate with and one to measure the loss on.
    strides = [max(1, min(every, len(spatial) // 2)) for spatial, _ in kept]
    return [(spatial[::each], global_[::each]) for each, (spatial, global_) in zip(strides, kept, strict=True)]


def packed_by(verdict: Verdict, model: Model) -> Packed:
    """Write a prepared network for the kernels as its calibration says."""
    return pack(model, verdict.highest, verdict.largest, verdict.in_int8, verdict.in_bf16)


def _loss(
    model: Model, verdict: Verdict, reference: Evaluator, expected: Sequence[Answer], positions: Sequence[Positions]
) -> tuple[PrecisionLoss, float]:
    """What the network loses as a verdict says, and its share of the time of `expected`, which are the reference's."""
    profile = PROFILES[0] if model.trunk.metadata is not None else None
    candidate = NativeEvaluator(packed_by(verdict, model), model.name, lambda: reference, profile=profile)
    for spatial, global_ in positions:  # compiles, which is no part of the time that it takes
        candidate.evaluate(EvaluationRequest(spatial[:1], global_[:1]))
    return compare_answers(expected, answers(varied(candidate), positions))


def ranges(model: Model, positions: Sequence[Positions]) -> dict[str, FloatArray]:
    """Find the top of the range of each channel that convolutions read over `positions`, times WIDENING. Returns
    float32 [channels] by tap."""
    wanted = {each.tap for each in readings([step for step in steps(model.trunk.blocks) if not step.in_rows])}
    highest: dict[str, FloatArray] = {}
    batch = BATCH if model.parameters < LARGE else 1
    for tap, values in recorded(model, positions, batch, wanted):
        top = np.abs(values).max(axis=(0, 2, 3)) * np.float32(WIDENING)
        highest[tap] = np.maximum(highest.get(tap, top), top)
    return highest
