"""int16 networks of every kind of block and activation, and of people, against the slow forward pass."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from go_rules.points import BLACK, WHITE
from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.features import scratch_for
from nets.graph.convert import convert, load_model
from nets.graph.evaluator import OnnxEvaluator
from nets.human_profile import metadata_row, parse_profile
from nets.katago.model import Activation
from nets.loss import few_recorded
from nets.native.calibrate import calibrate, ranges
from nets.native.convolutions.packing import PLAIN, at_places, levels_of, steps
from nets.native.convolutions.tiling import FINER, LARGEST
from nets.native.evaluator import NativeEvaluator
from nets.native.pack import pack
from nets.native.simd.activations import CURVES, KINDS, LOWEST, activated, curve_at
from nets.native.simd.vectors import floats, load_floats, store
from nets.open import open_network
from nobi_machine.jit import kernel
from tests.nets.graph.test_katago_networks import NESTED, ORDINARY, POOLING, inputs
from tests.nets.native.networks import check, check_on, model_of, needs_kernels, nested, opened
from tests.nets.random_networks import ACTIVATIONS, RandomNetwork, content_of, made

pytestmark = pytest.mark.usefixtures("own_networks")

POOLING_INSIDE = nested("gpool_block", "ordinary_block", middle=40)
BLOCKS: dict[str, list[dict[str, Any]]] = {
    "plain": [ORDINARY, POOLING],
    "nested": [NESTED, ORDINARY, NESTED],
    "wide": [nested("ordinary_block", "ordinary_block", middle=33), POOLING_INSIDE],
    "deep": [nested(nested("ordinary_block", middle=6), "gpool_block"), NESTED],
    "points": [{"kind": "ordinary_block", "size": 1}, {"kind": "gpool_block", "size": 1}],
    "points inside": [nested({"kind": "ordinary_block", "size": 1, "middle": 6}), ORDINARY],
}


# Activations


@kernel
def _activate(values, curves, number, ones, to):
    for at in range(0, 4 * len(values), 64):
        curve = curve_at(curves, number, ones.ctypes.data, 0)
        value = activated(load_floats(values.ctypes.data, at), floats(-1e30), floats(1e30), curve)
        store(to.ctypes.data, at, value)


@needs_kernels
@pytest.mark.parametrize("kind", KINDS)
def test_activations(kind: Activation) -> None:
    values = np.concatenate([np.linspace(-12, 12, 4000), [-1e4, -100, -40, -30, 0, 30, 50, 1e4], np.zeros(8)])
    values = values.astype(np.float32)
    result = np.empty_like(values)
    _activate(values, CURVES, KINDS.index(kind), np.ones(16, np.float32), result)
    if kind is Activation.RELU:  # of which the formula makes nothing
        np.testing.assert_allclose(result, values, rtol=1e-6)
        return
    with np.errstate(over="ignore"):
        truth = ACTIVATIONS[kind.value](values.astype(np.float64))
    np.testing.assert_allclose(result, truth, rtol=1e-4, atol=1e-4)
    assert truth.min() >= LOWEST[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("largest", [LARGEST, FINER, PLAIN])
def test_levels(kind: Activation, largest: int) -> None:
    """They hold whatever an activation can be at least, and fit 16 bits wherever a transform takes them."""
    levels = levels_of(kind, largest)
    if largest != PLAIN:
        assert max(each.max() for each in at_places(levels, largest)) <= 32767
    for highest in (1e-4, 0.2, 5.0, 300.0):
        worth = steps(np.array([highest], np.float32), kind, levels)[0]
        assert highest / worth <= levels.most * 1.001
        if np.isfinite(LOWEST[kind]):
            assert LOWEST[kind] / worth >= levels.least - 0.5


# Blocks


@needs_kernels
@pytest.mark.parametrize(("name", "activation"), [*product(BLOCKS, ["RELU", "MISH", "SILU"]), ("plain", "IDENTITY")])
def test_blocks(name: str, activation: str) -> None:
    network, forward = made(15, BLOCKS[name], channels=40, activation=f"ACTIVATION_{activation}", seed=len(name))
    evaluator = opened(network.compressed(), optimism=0.3)
    coarseness = 4.0 if activation == "IDENTITY" else 1.0  # half as many levels, and nothing is ever 0
    check_on(((9, 9), (7, 4), (25, 13)), evaluator, forward, 0.3, coarseness)


@needs_kernels
@pytest.mark.parametrize("activation", ["RELU", "MISH"])
def test_finer_levels_lose_less(activation: str) -> None:
    network, forward = made(14, BLOCKS["wide"] * 2, channels=40, activation=f"ACTIVATION_{activation}")
    content = network.compressed()
    losses = []
    for largest in (LARGEST, FINER):
        evaluator, loss = opened(content, largest), 0.0
        for size in ((9, 9), (7, 4), (19, 19), (2, 2), (3, 6)):
            evaluation, truth = evaluator.evaluate(EvaluationRequest(*inputs(*size))), forward(*inputs(*size), 1.0)
            check(evaluation, truth)
            loss += float(np.abs(evaluation.policy - truth["policy"]).mean())
        losses.append(loss)
    assert losses[1] < 0.6 * losses[0]


@needs_kernels
def test_networks_of_several_activations() -> None:
    """As files may have them: every layer states its own."""
    network = RandomNetwork(14, channels=24, activation="ACTIVATION_MISH")
    turn = iter(["MISH", "RELU", "SILU", "RELU", "IDENTITY"] * 20)
    act = RandomNetwork.act

    def mixed(self: RandomNetwork) -> Any:
        self.activation = f"ACTIVATION_{next(turn)}"
        return act(self)

    network.act = mixed.__get__(network)  # type: ignore[method-assign]
    forward = network.write([POOLING, NESTED, ORDINARY])
    evaluator = opened(network.compressed(), optimism=0.3)
    check_on(((9, 9), (7, 4)), evaluator, forward, 0.3)


@needs_kernels
@pytest.mark.parametrize("kind", ["plain", "nested"])
def test_boards_together_and_one_by_one(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    nested_ = 14, [NESTED, POOLING_INSIDE]
    content = content_of() if kind == "plain" else content_of(*nested_, channels=40, activation="ACTIVATION_MISH")
    evaluator = opened(content)
    spatial, global_ = (np.concatenate([each] * 3) for each in inputs(9, 9))
    one_by_one = evaluator.evaluate(EvaluationRequest(spatial, global_))
    monkeypatch.setattr("nets.native.evaluator.NEAR_BYTES", 0)
    together = opened(content)
    for count in (9, 5):
        for one, all_ in zip(
            one_by_one, together.evaluate(EvaluationRequest(spatial[:count], global_[:count])), strict=True
        ):
            np.testing.assert_allclose(one[:count], all_, rtol=1e-4, atol=1e-5)


def test_frames_stay_empty() -> None:
    """Levels that a convolution of 3×3 reads lie in frames of zeros, which nothing else may be written to."""
    model = model_of(14, [NESTED, {"kind": "ordinary_block", "size": 1}, ORDINARY], activation="ACTIVATION_MISH")
    packed = pack(model, ranges(model, [inputs(5, 5)]))
    for layer in packed.layers:
        channels, is_framed = packed.buffers[layer["target"]]
        assert (channels, is_framed) == (layer["outputs"], layer["is_framed"])
        if layer["side"] == 1:
            assert layer["source"] != layer["target"], "it would read what it writes"
    for before, after in zip(packed.layers, packed.layers[1:], strict=False):
        assert after["source"] == before["target"]
        assert before["is_framed"] == (after["side"] == 3)


# People


@pytest.fixture
def human() -> tuple[bytes, Any]:
    network, forward = made(15, [NESTED, POOLING], channels=24, activation="ACTIVATION_MISH", meta=True)
    return network.compressed(), forward


def opened_human(content: bytes, profile: str) -> NativeEvaluator:
    model = load_model(content, "random")
    packed = pack(model, ranges(model, [inputs(*size) for size in ((9, 9), (7, 4))] * 8))
    parsed = parse_profile(profile)

    def other() -> OnnxEvaluator:
        return OnnxEvaluator(convert(content, "random", ""), "random", profile=parsed)

    return NativeEvaluator(packed, "random", other, 0.3, parsed)


@needs_kernels
def test_people(human: tuple[bytes, Any]) -> None:
    content, forward = human
    evaluator = opened_human(content, "preaz_3d_15k")
    assert evaluator.attributes.needs_colours
    colours = np.array([BLACK, WHITE, BLACK], np.int8)
    for name in ("preaz_3d_15k", "rank_9d"):
        profile = parse_profile(name)
        evaluator.use_profile(profile)
        assert evaluator.attributes.profile == profile
        for height, width in ((9, 9), (7, 4), (1, 5)):
            meta = np.array([metadata_row(profile, colour == BLACK, height * width) for colour in colours])
            evaluation = evaluator.evaluate(EvaluationRequest(*inputs(height, width), colours=colours))
            check(evaluation, forward(*inputs(height, width), 0.0, meta))  # optimism is not for people
    assert not evaluator.attributes.needs_colours


@needs_kernels
def test_profiles_where_they_belong(human: tuple[bytes, Any]) -> None:
    content, _ = human
    model = load_model(content, "random")
    packed = pack(model, ranges(model, [inputs(5, 5)]))
    with pytest.raises(EvaluatorError, match="--human-profile NAME"):
        NativeEvaluator(packed, "random", lambda: evaluator)
    evaluator = opened(content_of())
    assert evaluator.attributes.profile is None
    with pytest.raises(EvaluatorError, match="this is none"):
        evaluator.use_profile(parse_profile("rank_5k"))


@needs_kernels
def test_people_are_calibrated_of_all_kinds(human: tuple[bytes, Any]) -> None:
    content, _ = human
    model = load_model(content, "random")
    reference = OnnxEvaluator(convert(content, "random", ""), "random", profile=parse_profile("rank_5k"))
    verdict = calibrate(model, reference, few_recorded(scratch_for(reference)))
    assert verdict.loss["winrate_mean"] < 0.01
    assert "block0_after" in verdict.highest


# From a file


@needs_kernels
def test_large_networks_say_how_far_their_calibration_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, human: tuple[bytes, Any]
) -> None:
    monkeypatch.setattr("nets.open.SMALLEST_AUTO_BYTES", 0)
    monkeypatch.setattr("nets.loss.SLOWEST", 1e9)
    monkeypatch.setattr("nets.native.calibrate.LARGE", 0)
    monkeypatch.setattr("nets.native.calibrate.recorded_positions", few_recorded)
    path = tmp_path / "human.bin.gz"
    path.write_bytes(human[0])
    notes: list[str] = []
    evaluator = open_network(path, "int16", "cpu", note=notes.append, profile=parse_profile("rank_5k"))
    assert evaluator.attributes.precision == "int16"
    assert "up to a minute" in notes[0]
    assert "calibrating: 100 % done" in notes
    with pytest.raises(EvaluatorError, match="--human-profile NAME"):
        open_network(path, "int16", "cpu", note=notes.append)
