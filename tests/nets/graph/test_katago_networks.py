"""The converter against a slow forward pass: every block kind, activation and version with its heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from go_rules.points import BLACK, WHITE
from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.graph.convert import convert
from nets.graph.evaluator import OnnxEvaluator
from nets.human_profile import metadata_row, parse_profile
from tests.nets.random_networks import RandomNetwork, content_of, made

ORDINARY = {"kind": "ordinary_block"}
POOLING = {"kind": "gpool_block"}
NESTED = {"kind": "nested_bottleneck_block", "inner": ("ordinary_block", "gpool_block")}
DEEP = {"kind": "nested_bottleneck_block", "inner": ("nested_bottleneck_block", "transformer_attention_block")}
ATTENTION = {"kind": "transformer_attention_block"}
FEED_FORWARD = {"kind": "transformer_ffn_block"}


def inputs(height: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three random positions; the first under superko, the second under simple ko, the third under territory rules."""
    random = np.random.default_rng(seed)
    spatial = (random.random((3, 22, height, width)) < 0.3).astype(np.float32)
    spatial[:, 0] = 1
    global_ = random.uniform(-1, 1, (3, 19)).astype(np.float32)
    global_[:, 6] = 1, 0, 1
    global_[:, 9] = 0, 0, 1
    return spatial, global_


def compare(network: RandomNetwork, blocks: list[dict[str, Any]], **options: Any) -> None:
    forward = network.write(blocks, **options)
    profile = parse_profile("preaz_3d_15k") if "meta" in options else None
    content = convert(network.compressed(), "random", "")
    evaluator = OnnxEvaluator(content, "random", optimism=0.3, profile=profile)
    colours = np.array([BLACK, WHITE, BLACK], np.int8)
    for height, width in ((5, 5), (7, 4), (19, 19)):
        spatial, global_ = inputs(height, width)
        meta = profile and np.array([metadata_row(profile, colour == BLACK, height * width) for colour in colours])
        truth = forward(spatial, global_, 0.0 if profile else 0.3, meta)  # as KataGo, none for people
        evaluation = evaluator.evaluate(EvaluationRequest(spatial, global_, colours=colours))
        for name, value in truth.items():
            np.testing.assert_allclose(getattr(evaluation, name), value, rtol=2e-3, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("version", range(3, 18))
def test_versions(version: int) -> None:
    compare(RandomNetwork(version), [ORDINARY, POOLING])


@pytest.mark.parametrize("activation", ["IDENTITY", "RELU", "MISH", "SILU"])
def test_activations(activation: str) -> None:
    compare(RandomNetwork(14, activation=f"ACTIVATION_{activation}"), [ORDINARY, POOLING, NESTED])


@pytest.mark.parametrize(
    "blocks",
    [
        [NESTED],
        [DEEP],
        [{"kind": "ordinary_block", "dilation": 2}],
        [{"kind": "gpool_block", "bare_norm": True}],
        [ATTENTION],
        [{"kind": "transformer_attention_block", "rope": "learned"}],
        [{"kind": "transformer_attention_block", "rope": "none", "heads": 3, "kv_heads": 3}],
        [{"kind": "transformer_attention_block", "heads": 6, "kv_heads": 1, "sizes": (6, 5)}],
        [FEED_FORWARD],
        [{"kind": "transformer_ffn_block", "gated": False}],
        [ORDINARY, ATTENTION, FEED_FORWARD, POOLING, ATTENTION],
    ],
    ids=lambda blocks: "+".join(block["kind"] for block in blocks),
)
def test_blocks(blocks: list[dict[str, Any]]) -> None:
    compare(RandomNetwork(17, activation="ACTIVATION_SILU"), blocks)


@pytest.mark.parametrize("tip", ["batch", "rms", "rms_spatial"])
def test_tips(tip: str) -> None:
    compare(RandomNetwork(15), [ATTENTION, ORDINARY], tip=tip)
    compare(RandomNetwork(17), [ORDINARY, ATTENTION], tip=tip)


@pytest.mark.parametrize("version", [15, 16, 17])
@pytest.mark.parametrize("activation", ["RELU", "MISH"])
def test_metadata_encoder(version: int, activation: str) -> None:
    compare(RandomNetwork(version, activation=f"ACTIVATION_{activation}"), [ORDINARY, NESTED], meta=True)


@pytest.mark.parametrize("size", [1, 5, 7])
def test_kernels_of_the_stem(size: int) -> None:
    compare(RandomNetwork(8), [ORDINARY], stem=size)


@pytest.mark.parametrize("version", [15, 16])
def test_transformers_of_each_version(version: int) -> None:
    compare(RandomNetwork(version), [ATTENTION, FEED_FORWARD, NESTED], tip="rms")


def test_people_and_transformers() -> None:
    compare(RandomNetwork(17, activation="ACTIVATION_SILU"), [ATTENTION, FEED_FORWARD], tip="rms", meta=True)


def test_four_policy_channels() -> None:
    compare(RandomNetwork(17), [ORDINARY], policy_channels=4)


def test_text_format() -> None:
    compare(RandomNetwork(8, binary=False), [ORDINARY, POOLING])
    compare(RandomNetwork(17, binary=False), [ATTENTION, FEED_FORWARD], tip="rms")


def test_optimism_of_each_position() -> None:
    network, forward = made(13, [ORDINARY])
    evaluator = OnnxEvaluator(convert(network.compressed(), "random", ""), "random")
    spatial, global_ = inputs(9, 9)
    policies = [forward(spatial, global_, optimism)["policy"] for optimism in (0.0, 0.5, 1.0)]
    mixed = evaluator.evaluate(EvaluationRequest(spatial, global_, np.array([0.0, 0.5, 1.0], np.float32))).policy
    for row in range(3):
        np.testing.assert_allclose(mixed[row], policies[row][row], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        evaluator.evaluate(EvaluationRequest(spatial, global_)).policy, policies[2], rtol=1e-3, atol=1e-4
    )


@pytest.fixture(scope="module")
def human() -> bytes:
    return convert(content_of(15, [ORDINARY], meta=True), "random", "")


def test_human_networks_need_a_profile(human: bytes) -> None:
    with pytest.raises(EvaluatorError, match=r"--human-profile NAME \(rank_20k to rank_9d") as caught:
        OnnxEvaluator(human, "random")
    assert "\n" not in str(caught.value)


def test_other_networks_take_none() -> None:
    content = convert(content_of(15, [ORDINARY]), "random", "")
    with pytest.raises(EvaluatorError, match="only for HumanSL networks"):
        OnnxEvaluator(content, "random", profile=parse_profile("rank_5k"))
    with pytest.raises(EvaluatorError, match="only for HumanSL networks"):
        OnnxEvaluator(content, "random").use_profile(parse_profile("rank_5k"))


def test_profiles_can_be_changed(human: bytes) -> None:
    spatial, global_ = inputs(9, 9)
    strong, weak = (OnnxEvaluator(human, "random", profile=parse_profile(name)) for name in ("rank_9d", "rank_20k"))
    truth = weak.evaluate(EvaluationRequest(spatial, global_)).policy
    assert not np.allclose(strong.evaluate(EvaluationRequest(spatial, global_)).policy, truth)
    strong.use_profile(parse_profile("rank_20k"))
    np.testing.assert_array_equal(strong.evaluate(EvaluationRequest(spatial, global_)).policy, truth)


def test_each_colour_has_its_rank(human: bytes) -> None:
    spatial, global_ = inputs(9, 9)
    even, uneven = (OnnxEvaluator(human, "random", profile=parse_profile(name)) for name in ("rank_5k", "rank_5k_9d"))
    assert uneven.attributes.needs_colours
    assert not even.attributes.needs_colours
    black, white = (
        uneven.evaluate(EvaluationRequest(spatial, global_, colours=np.full(3, c, np.int8))).policy
        for c in (BLACK, WHITE)
    )
    assert not np.allclose(black, white)
    assert not np.allclose(black, even.evaluate(EvaluationRequest(spatial, global_)).policy)
