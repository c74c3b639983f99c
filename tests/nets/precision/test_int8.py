"""int8 networks: the arithmetic on random networks, the limits on golden positions, and what happens where they are
missed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from nets.constant import ConstantEvaluator
from nets.conversion.convert import convert, load_model
from nets.evaluator import Evaluation, EvaluationRequest, EvaluatorError
from nets.onnx.check import check_onnx
from nets.onnx.evaluator import OnnxEvaluator
from nets.open import open_network
from nets.precision import int8 as quantization
from nets.precision.int8 import calibrate, quantize, reason_against_int8, second_moments
from nets.precision.int8_trunk import can_be_quantized
from nets.precision.loss import LIMITS, Loss, compare, reason_against
from nets.precision.own_games import own_positions
from nets.precision.weight_rounding import Groups, round_in_groups, round_weights
from tests.nets.conversion.test_katago_networks import ATTENTION, FEED_FORWARD, NESTED, ORDINARY, POOLING
from tests.nets.golden import COLOURS, encoded, game_of, new_scratch, positions
from tests.nets.random_networks import RandomNetwork
from tests.nets.small_series import SMALL_SERIES


@pytest.fixture(autouse=True)
def cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def network() -> RandomNetwork:
    random = RandomNetwork(8, channels=16)
    random.write([ORDINARY, POOLING, ORDINARY])
    return random


@pytest.fixture
def path(network: RandomNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network that `auto` quantizes, on a few positions, where int16 is not to be had."""
    monkeypatch.setattr("nets.native.unsupported.is_available", lambda: False)
    monkeypatch.setattr("nets.open.SMALLEST_AUTO_BYTES", 0)
    monkeypatch.setattr("nets.precision.int8.quantize.__defaults__", ("", SMALL_SERIES, lambda share: None))
    path = tmp_path / "network.bin.gz"
    path.write_bytes(network.compressed())
    return path


def test_integers_compute_nearly_the_same(network: RandomNetwork) -> None:
    content = network.compressed()
    plain = OnnxEvaluator(convert(content, "random", ""), "random")
    integers = OnnxEvaluator(quantize(load_model(content, "random"), plain, "", SMALL_SERIES), "random")
    assert integers.attributes.precision == "int8"
    for spatial, global_ in own_positions(plain, SMALL_SERIES, seed=2):
        truth, ours = (
            plain.evaluate(EvaluationRequest(spatial, global_)),
            integers.evaluate(EvaluationRequest(spatial, global_)),
        )
        for name in ("policy", "value", "ownership"):
            spread = np.abs(getattr(truth, name) - getattr(truth, name).mean()).mean()
            assert np.abs(getattr(ours, name) - getattr(truth, name)).mean() < 0.1 * spread, name


@pytest.mark.parametrize("gated", [True, False])
def test_feed_forward_blocks_compute_nearly_the_same(gated: bool) -> None:
    random = RandomNetwork(15, channels=16, seed=1)
    forward = random.write([ATTENTION, {**FEED_FORWARD, "gated": gated}, ORDINARY, ATTENTION, FEED_FORWARD])
    content = random.compressed()
    plain = OnnxEvaluator(convert(content, "random", ""), "random")
    quantized = quantize(load_model(content, "random"), plain, "", SMALL_SERIES)
    products = [node for node in ModelProto.FromString(quantized).graph.node if node.op_type == "MatMulIntegerToFloat"]
    assert [len(node.input) for node in products] == [6] * (3 + gated)
    integers = OnnxEvaluator(quantized, "random")
    assert integers.attributes.precision == "int8"
    for spatial, global_ in own_positions(plain, SMALL_SERIES, seed=2):
        truth, ours = forward(spatial, global_, optimism=1.0), integers.evaluate(EvaluationRequest(spatial, global_))
        for name in ("policy", "value", "ownership"):
            spread = np.abs(truth[name] - truth[name].mean()).mean()
            error = np.abs(getattr(ours, name) - truth[name]).mean()
            assert 1e-5 * spread < error < 0.1 * spread, name


def test_moments_of_tokens() -> None:
    random = RandomNetwork(15, channels=16)
    random.write([ATTENTION, FEED_FORWARD])
    content = random.compressed()
    plain = OnnxEvaluator(convert(content, "random", ""), "random")
    calibration = calibrate(load_model(content, "random"), own_positions(plain, SMALL_SERIES))
    low, high = calibration.ranges["block1_normed"]
    assert low.shape == high.shape == (16,)
    assert calibration.moments["block1_normed"].shape == (16, 16)


def test_ranges_and_moments(network: RandomNetwork) -> None:
    content = network.compressed()
    model = load_model(content, "random")
    plain = OnnxEvaluator(convert(content, "random", ""), "random")
    calibration = calibrate(model, own_positions(plain, SMALL_SERIES))
    names = {f"block{i}_{tap}" for i in range(3) for tap in ("before", "between", "second")}
    assert set(calibration.ranges) == names | {"spatial", "stem", "block1_first", "block1_pooled"}
    assert all((low <= high).all() for low, high in calibration.ranges.values())
    assert all((low == 0).all() for tap, (low, _) in calibration.ranges.items() if tap.endswith(("before", "between")))
    assert calibration.moments["block0_before"].shape == (16 * 9, 16 * 9)


def test_positions_of_a_network_that_only_passes() -> None:
    class Passing(ConstantEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            answer = super().evaluate(request)
            answer.policy[:, -1] = 100.0
            return answer

    positions = own_positions(Passing(), SMALL_SERIES)
    assert [spatial.shape[2:] for spatial, _ in positions] == [(each.height, each.width) for each in SMALL_SERIES]
    assert all(len(spatial) >= 1 for spatial, _ in positions)


def test_second_moments() -> None:
    values = np.random.default_rng(0).standard_normal((2, 4, 5)).astype(np.float32)
    truth = np.zeros((18, 18))
    padded = np.pad(values, ((0, 0), (1, 1), (1, 1)))
    for y in range(4):
        for x in range(5):
            read = padded[:, y : y + 3, x : x + 3].ravel()
            truth += np.outer(read, read)
    np.testing.assert_allclose(second_moments(values, (3, 3)), truth, rtol=1e-4, atol=1e-4)


def test_rounding_in_turn_is_better_on_the_inputs_it_was_made_for() -> None:
    random = np.random.default_rng(0)
    mixing = random.standard_normal((18, 18))
    read = (random.random((500, 18)) @ mixing).astype(np.float32)
    weights, step = random.standard_normal((4, 2, 3, 3)).astype(np.float32), np.array([0.5, 0.02], np.float32)
    moments = (read.T @ read).astype(np.float64)
    errors = []
    for given in (None, moments):
        integers, scales = round_weights(weights, step, given)
        assert integers.dtype == np.int8
        back = integers * scales[:, None, None, None] / step[:, None, None]
        errors.append(np.square(read @ (back - weights).reshape(4, -1).T).sum())
    assert errors[1] < 0.7 * errors[0]


def test_rounding_in_groups_keeps_to_their_limit() -> None:
    random = np.random.default_rng(0)
    read = random.random((500, 64)) @ random.standard_normal((64, 64))
    matrix, moments = random.standard_normal((40, 64)) ** 3, read.T @ read
    groups = Groups(random.permutation(np.repeat(np.arange(8), 8)), 128)
    integers, scales = round_in_groups(matrix, moments, groups)
    for sign in (1, -1):
        sums = [np.bincount(groups.numbers, np.maximum(sign * row.astype(int), 0)) for row in integers]
        assert 100 < np.max(sums) <= 128
    errors = [read @ (back * scales[:, None] - matrix).T for back in (integers, np.round(matrix / scales[:, None]))]
    assert np.square(errors[0]).sum() < 0.7 * np.square(errors[1]).sum()


def test_what_cannot_be_quantized() -> None:
    for blocks, activation in (([NESTED], "RELU"), ([ORDINARY], "MISH")):
        network = RandomNetwork(14, activation=f"ACTIVATION_{activation}")
        network.write(blocks)
        assert not can_be_quantized(load_model(network.compressed(), "random"))


def test_unsuitable_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.open.SMALLEST_AUTO_BYTES", 0)
    network = RandomNetwork(14, activation="ACTIVATION_MISH")
    network.write([{"kind": "ordinary_block", "dilation": 2}])
    path = tmp_path / "mish.bin.gz"
    path.write_bytes(network.compressed())
    assert open_network(path, "auto").attributes.precision == "fp32"
    with pytest.raises(EvaluatorError, match=r"mish\.bin\.gz: int8 is only for"):
        open_network(path, "int8")


def test_auto_is_int8_where_the_limits_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantization, "reason_against", lambda loss, share: "")
    notes: list[str] = []
    assert open_network(path, "auto", note=notes.append).attributes.precision == "int8"
    assert "once" in notes[0]
    notes.clear()
    assert open_network(path, "auto", note=notes.append).attributes.precision == "int8"
    assert not notes, "the second time there is nothing to do"


def test_auto_falls_back_and_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantization, "reason_against", lambda loss, share: "its lead is wrong")
    notes: list[str] = []
    assert open_network(path, "auto", note=notes.append).attributes.precision == "fp32"
    assert notes[-1] == "network.bin.gz: using fp32, for in int8 its lead is wrong"
    assert open_network(path, "int8", note=notes.append).attributes.precision == "int8"
    assert "as asked" in notes[-1]


def test_reasons_against_it() -> None:
    good = Loss(0.001, 0.01, 0.1, 0.001, 0.01)
    assert reason_against(good, 0.4) == ""
    assert "1.20 of the time" in reason_against(good, 1.2)
    for name, limit in LIMITS.__dict__.items():
        for bad in (0.5 if limit < 0.5 else float("nan"), float("nan")):
            assert name.replace("_", " ") in reason_against(dataclasses.replace(good, **{name: bad}), 0.4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "golden"),
    [("g170-b6c96-s175395328-d26788732", "g170-b6c96"), ("b7c96h3tfrs-test5-cnorm", "b7c96h3tfrs-test5")],
)
def test_limits_on_golden_positions(shared: Callable[[str], Path], net: str, golden: str) -> None:
    source = shared(f"nets/{net}.bin.gz")
    rows = list(positions(shared(f"golden/{golden}.jsonl.gz")))
    plain = open_network(source, "fp32")
    model = load_model(source.read_bytes(), net)
    content = quantize(model, plain)
    assert not reason_against_int8(content) or "of the time" in reason_against_int8(content)
    scratch = new_scratch(plain.attributes.pass_alive_under_suicide)
    by_size: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    for row in rows:
        by_size.setdefault(tuple(row["size"]), []).append(encoded(game_of(row), COLOURS[row["to_play"]], scratch))
    batches = [tuple(np.stack(each) for each in zip(*entries, strict=True)) for entries in by_size.values()]
    loss, _ = compare(plain, OnnxEvaluator(content, "int8"), batches)  # type: ignore[arg-type]
    assert reason_against(loss, 0.0) == "", loss


def test_a_product_that_would_end_the_process_is_refused() -> None:
    random = RandomNetwork(15, channels=16, seed=1)
    random.write([ATTENTION, FEED_FORWARD])
    content = random.compressed()
    plain = OnnxEvaluator(convert(content, "random", ""), "random")
    model = ModelProto.FromString(quantize(load_model(content, "random"), plain, "", SMALL_SERIES))
    product = next(node for node in model.graph.node if node.op_type == "MatMulIntegerToFloat")
    product.input[-1] = ""
    with pytest.raises(EvaluatorError, match="lacks an input"):
        check_onnx(model.SerializeToString(), "emptied")
    del product.input[-1]
    with pytest.raises(EvaluatorError, match="lacks an input"):
        check_onnx(model.SerializeToString(), "cut")
