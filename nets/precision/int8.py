"""Versions of networks in int8: calibrated on positions that the network plays itself, and measured before use."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from nets.conversion.to_onnx import TAP, to_onnx
from nets.conversion.transformer import NORMED
from nets.evaluator import Evaluator
from nets.katago.model import Model, OrdinaryBlock, PoolingBlock
from nets.onnx.evaluator import OnnxEvaluator, open_recorder
from nets.precision.calibration_games import Positions
from nets.precision.int8_transformer import IntegerTokensTrunk
from nets.precision.int8_trunk import Calibration, IntegerTrunk, can_be_quantized, is_plain
from nets.precision.loss import BATCH, LIMITS, compare, measurement_fingerprint, reason_against, shared_out
from nets.precision.own_games import SERIES, Series, own_positions

WIDENING = 1.15
"""Factor of all ranges: other positions reach further, and cutting off costs more than coarser steps."""
MOMENT_POINTS = 15_000
"""Second moments are taken over about so many points of boards."""
PLAYING_SECONDS = 40.0
"""The most processor time to spend on making positions. A slow network does with the first of them."""
LOSS_KEY = "nobi.int8_loss"
"""The key in a quantized network's metadata for its loss, and for why `auto` does not use it, as JSON."""

NOT_QUANTIZABLE = (
    "int8 is only for networks of plain convolution blocks with ReLU, or with transformer blocks, "
    "and not for HumanSL networks"
)

Progress = Callable[[float], None]


class NotQuantizable(Exception):
    """A network has no int8 version; the text says why, in one line."""


def quantize(
    model: Model,
    evaluator: Evaluator,
    source_sha256: str = "",
    series: Sequence[Series] = SERIES,
    progress: Progress = lambda share: None,
) -> bytes:
    """Return the int8 version of a prepared network, an ONNX model with its loss in the metadata.

    `evaluator` is the network in fp32. Positions come from the games of `series`; `progress` is told the share done,
    0 to 1. Raises NotQuantizable and EvaluatorError.
    """
    if not can_be_quantized(model):
        raise NotQuantizable(NOT_QUANTIZABLE)
    kept = own_positions(evaluator, tuple(series), 1, PLAYING_SECONDS, lambda share: progress(0.6 * share))
    others, checked = shared_out(kept)
    calibration = calibrate(model, others, lambda share: progress(0.6 + 0.2 * share))
    trunk = IntegerTrunk(calibration) if is_plain(model) else IntegerTokensTrunk(calibration)
    proto = to_onnx(model, source_sha256, trunk, "int8")
    progress(0.9)
    candidate = OnnxEvaluator(proto.SerializeToString(), model.name)
    loss, share = compare(evaluator, candidate, checked)
    entry = proto.metadata_props.add()
    entry.key, entry.value = (
        LOSS_KEY,
        json.dumps({**loss.__dict__, "time": share, "reason_against": reason_against(loss, share)}),
    )
    progress(1.0)
    return proto.SerializeToString()


def reason_against_int8(content: bytes) -> str:
    """Return why `auto` does not use a model that `quantize` wrote; empty if it may use it."""
    return str(_loss_of(content).get("reason_against", "what it loses was never measured"))


def summary(content: bytes) -> str:
    """Return one line about the loss of a model that `quantize` wrote."""
    loss = _loss_of(content)
    figures = ", ".join(f"{name.replace('_', ' ')} {loss[name]:.4f}" for name in LIMITS.__dict__ if name in loss)
    verdict = loss.get("reason_against") or "within the limits"
    return f"against fp32, on positions of its own: {figures}; takes {loss.get('time', 1):.2f} of the time; {verdict}"


def _loss_of(content: bytes) -> dict[str, Any]:
    for entry in ModelProto.FromString(content).metadata_props:
        if entry.key == LOSS_KEY:
            return dict(json.loads(entry.value))
    return {}


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Return a hash of all that a quantization depends on, except the network and its converter."""
    return measurement_fingerprint(__name__)


def calibrate(model: Model, positions: list[Positions], progress: Progress = lambda share: None) -> Calibration:
    """Record the ranges and second moments inside the trunk over `positions`. `progress` is told the share done."""
    record = open_recorder(to_onnx(model, with_taps=True).SerializeToString(), model.name)
    kernels = _kernels(model)
    points = sum(len(spatial) * spatial[0, 0].size for spatial, _ in positions)
    every = max(1, points // MOMENT_POINTS)
    total, done = sum(len(spatial) for spatial, _ in positions), 0
    lows: dict[str, NDArray[np.float32]] = {}
    highs: dict[str, NDArray[np.float32]] = {}
    moments: dict[str, NDArray[np.float64]] = {}
    for spatial, global_ in positions:
        for start in range(0, len(spatial), BATCH):
            planes = spatial[start : start + BATCH]
            recorded = record(planes, global_[start : start + BATCH])
            taps = {name.removeprefix(TAP): values for name, values in recorded.items() if name.startswith(TAP)}
            for tap, values in {"spatial": planes, **taps}.items():
                values = values if values.ndim == 4 else values.transpose(0, 2, 1)[..., None]  # tokens as boards
                low, high = values.min(axis=(0, 2, 3)), values.max(axis=(0, 2, 3))
                lows[tap] = np.minimum(lows.get(tap, low), low)
                highs[tap] = np.maximum(highs.get(tap, high), high)
                kernel = (1, 1) if tap.endswith(NORMED) else kernels.get(tap)
                if kernel is not None:
                    for row in range(-(done + start) % every, len(values), every):
                        moments[tap] = moments.get(tap, 0) + second_moments(values[row], kernel)
            progress((done + start) / total)
        done += len(spatial)
    ranges = {tap: _widened(lows[tap], highs[tap]) for tap in lows}
    return Calibration(ranges, moments)


def _kernels(model: Model) -> dict[str, tuple[int, ...]]:
    """The kernels that read the taps whose second moments are needed, those of tokens aside."""
    kernels = {"spatial": model.trunk.stem.weights.shape[2:]}
    for number, block in enumerate(model.trunk.blocks):
        if isinstance(block, (OrdinaryBlock, PoolingBlock)):
            kernels[f"block{number}_before"] = block.first.weights.shape[2:]
            kernels[f"block{number}_between"] = block.second.weights.shape[2:]
    return kernels


def _widened(low: NDArray[np.float32], high: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return np.minimum(low * WIDENING, 0), np.maximum(high * WIDENING, 0)


def second_moments(values: NDArray[np.float32], kernel: tuple[int, ...]) -> NDArray[np.float64]:
    """Sum the products of what a kernel [y, x] reads at two places over a board [C, H, W]: [C * y * x, C * y * x]."""
    channels, height, width = values.shape
    reach_y, reach_x = kernel[0] // 2, kernel[1] // 2
    padded = np.pad(values, ((0, 0), (reach_y, reach_y), (reach_x, reach_x)))
    read = [padded[:, y : y + height, x : x + width] for y in range(kernel[0]) for x in range(kernel[1])]
    columns = np.stack(read, axis=1).reshape(channels * len(read), height * width)
    return (columns @ columns.T).astype(np.float64)
