"""Networks of transformer blocks in our own kernels against the slow forward pass."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.graph.convert import load_model
from nets.graph.layers import NORMED
from nets.katago.model import AttentionBlock, BottleneckBlock, FeedForwardBlock
from nets.native.evaluator import NativeEvaluator
from nets.native.pack import pack
from nets.native.transformers.packing import Int8Parts
from nets.native.transformers.products import ATTENDS_INT8, HAS_INT8, IN_GROUPS
from nets.native.transformers.rounding import choices, recorded, rounded
from tests.conftest import REPOSITORY
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD, inputs
from tests.nets.native.networks import (
    OF_BYTES,
    SIZES,
    check,
    check_on,
    model_of,
    needs_int8,
    needs_kernels,
    nested,
    opened,
)
from tests.nets.random_networks import content_of, made

SILU = "ACTIVATION_SILU"
NESTED = nested(ATTENTION, FEED_FORWARD, middle=12)
DEEPER = nested(FEED_FORWARD, NESTED, ATTENTION, middle=34)

pytestmark = pytest.mark.usefixtures("own_networks")


@needs_kernels
@pytest.mark.parametrize(
    "blocks",
    [
        [ATTENTION],
        [{"kind": "transformer_attention_block", "rope": "learned"}],
        [{"kind": "transformer_attention_block", "rope": "none", "heads": 3, "kv_heads": 3}],
        [{"kind": "transformer_attention_block", "heads": 6, "kv_heads": 1, "sizes": (6, 5)}],
        [{"kind": "transformer_attention_block", "heads": 2, "kv_heads": 2, "sizes": (36, 40)}],
        [FEED_FORWARD],
        [{"kind": "transformer_ffn_block", "gated": False}],
        [ATTENTION, FEED_FORWARD, FEED_FORWARD, ATTENTION, ATTENTION],
        [NESTED],
        [NESTED, FEED_FORWARD, DEEPER, NESTED],
    ],
    ids=lambda blocks: f"{len(blocks)}-{'-'.join(str(value) for value in blocks[0].values())}",
)
def test_blocks(blocks: list[dict[str, Any]]) -> None:
    network, forward = made(17, blocks, activation=SILU, channels=20, tip="rms")
    evaluator = opened(network.compressed(), optimism=0.3)
    attributes = evaluator.attributes
    assert (attributes.precision, attributes.provider, attributes.has_optimism) == ("int16", "native", True)
    check_on(SIZES, evaluator, forward, 0.3)


@needs_kernels
@pytest.mark.parametrize("version", [8, 14, 15, 17])
@pytest.mark.parametrize("tip", ["batch", "rms", "rms_spatial"])
def test_versions_and_tips(version: int, tip: str) -> None:
    if version < 15 and tip != "batch":
        pytest.skip("this version has no such tip")
    activation = {14: "ACTIVATION_MISH", 17: "ACTIVATION_IDENTITY"}.get(version, "ACTIVATION_RELU")
    blocks = [ATTENTION, FEED_FORWARD, NESTED]
    network, forward = made(version, blocks, activation=activation, channels=40, seed=version, tip=tip)
    evaluator = opened(network.compressed(), optimism=0.3)
    check_on(((9, 9), (7, 4)), evaluator, forward, 0.3)


@needs_int8
@pytest.mark.parametrize("gated", [True, False])
def test_blocks_in_bytes(gated: bool) -> None:
    block = {**FEED_FORWARD, "gated": gated}
    network, forward = made(15, [ATTENTION, FEED_FORWARD, block, ATTENTION, block], channels=32, seed=1)
    content = network.compressed()
    model = load_model(content, "random")
    matrices = rounded(model, [inputs(9, 9, seed=1), inputs(7, 4, seed=1)], without_attention=IN_GROUPS)
    numbers = (1, 2, 4) if IN_GROUPS else range(5)
    assert sorted(matrices) == [f"block{number}_{name}" for number in numbers for name in ("first", "second")]
    shorts, integers = opened(content), opened(content, in_int8=Int8Parts(matrices, (), ()))
    for size in SIZES:
        truth = forward(*inputs(*size), 1.0)
        ours = integers.evaluate(EvaluationRequest(*inputs(*size)))
        check(ours, truth, coarseness=OF_BYTES)
        assert (ours.policy != shorts.evaluate(EvaluationRequest(*inputs(*size))).policy).any()


def test_inputs_of_unequal_sizes_lose_little_in_bytes() -> None:
    """Some inputs are large and have small weights: then each row's step is small only by the factors of inputs."""
    losses = []
    for spread in (0.0, 0.7):
        model = model_of(15, [FEED_FORWARD, FEED_FORWARD], channels=64, seed=1)
        block = model.trunk.blocks[1]
        assert isinstance(block, FeedForwardBlock)
        assert block.gate is not None
        sizes = np.exp(spread * np.random.default_rng(2).standard_normal(64)).astype(np.float32)
        block.norm[:] *= sizes
        for matrix in (block.first, block.gate):
            matrix[:] /= sizes[:, None]
        factors, weights, scale = rounded(model, [inputs(9, 9, seed=1)])["block1_first"]
        normed = next(values for _, values in recorded(model, [inputs(9, 9, seed=2)], 4, {f"block1{NORMED}"}))
        read = normed / block.norm * factors
        steps = np.abs(read).max(axis=-1, keepdims=True) / 127
        ours = np.rint(read / steps) * steps @ (weights * scale)
        truth = normed @ np.concatenate([block.first, block.gate], axis=1)
        losses.append(np.sqrt(np.square(ours - truth).mean() / np.square(truth).mean()))
    assert losses[1] < 1.25 * losses[0], losses


def test_choices_of_matrices_in_bytes() -> None:
    """From all but the first block of each kind to none: earlier attention blocks get 16 bits before later ones."""
    model = model_of(15, [ATTENTION, FEED_FORWARD, FEED_FORWARD, *[ATTENTION] * 4], channels=32, seed=1)
    found = choices(model, rounded(model, [inputs(7, 4, seed=1)]))
    taken = [" ".join(sorted(name.removeprefix("block") for name in choice.matrices)) for choice in found]
    later, attention = ("block3", "block4", "block5", "block6"), ("block0", "block3", "block4", "block5", "block6")
    expected = [
        ("2_first 2_second 3_first 3_second 4_first 4_second 5_first 5_second 6_first 6_second", later, attention),
        ("2_first 2_second 4_first 4_second 5_first 5_second 6_first 6_second", later[1:], attention),
        ("2_first 2_second 5_first 5_second 6_first 6_second", later[2:], attention),
        ("2_first 2_second 6_first 6_second", later[3:], attention),
        ("2_first 2_second", (), attention),
        ("2_first 2_second", (), ()),
        ("2_second", (), ()),
        ("", (), ()),
    ]
    if ATTENDS_INT8:
        assert [(each, *choice[1:]) for each, choice in zip(taken, found, strict=True)] == expected
    else:  # what is alike is listed once
        assert taken == [expected[number][0] for number in (0, 1, 2, 3, 4, 6, 7)]
        assert not any(choice.scores or choice.mixes for choice in found)


@needs_int8
@pytest.mark.skipif(not ATTENDS_INT8, reason="this processor's 8-bit products are not for attention")
@pytest.mark.parametrize(
    "attention",
    [
        ATTENTION,
        {**ATTENTION, "rope": "learned"},
        {**ATTENTION, "rope": "none", "heads": 6, "kv_heads": 2, "sizes": (36, 40)},
    ],
    ids=["fixed", "learned", "groups"],
)
def test_attention_in_bytes(attention: dict[str, object]) -> None:
    """Scores, mixes, and both, on boards whose points fill blocks of keys and that leave some over."""
    network, forward = made(15, [attention, attention], channels=32, seed=3)
    content = network.compressed()
    shorts, labels = opened(content), ("block0", "block1")
    for scores, mixes in ((labels, ()), ((), labels), (labels, labels)):
        ours = opened(content, in_int8=Int8Parts({}, scores, mixes))
        for size in SIZES:
            answer = ours.evaluate(EvaluationRequest(*inputs(*size)))
            check(answer, forward(*inputs(*size), 1.0), coarseness=OF_BYTES)
            assert (answer.policy != shorts.evaluate(EvaluationRequest(*inputs(*size))).policy).any()


def test_which_matrices_in_bottlenecks_get_bytes() -> None:
    """With fewer and fewer of their ends: no beginnings, then no earlier ends."""
    network, forward = made(15, [NESTED, NESTED], channels=40, seed=1)
    content = network.compressed()
    model = load_model(content, "random")
    matrices = rounded(model, [inputs(9, 9, seed=1), inputs(7, 4, seed=1)])
    inside = [f"block{outer}_{inner}_{name}" for outer in (0, 1) for inner in (0, 1) for name in ("first", "second")]
    ends = ["block0_narrow", "block0_widen", "block1_narrow", "block1_widen"]
    assert sorted(matrices) == sorted(inside + ends)
    found = [[name for name in choice.matrices if name in ends] for choice in choices(model, matrices)]
    assert [list(each) for each in dict.fromkeys(map(tuple, found))] == [ends[1:], ends[1::2], ends[3:], []]
    if HAS_INT8:
        check_on(SIZES, opened(content, in_int8=Int8Parts(matrices, (), ())), forward, coarseness=OF_BYTES)


@needs_kernels
@pytest.mark.parametrize("scores", [(), ("block0", "block1")])
@pytest.mark.parametrize("mixes", [(), ("block0", "block1")])
def test_what_is_no_number_in_a_position(scores: tuple[str, ...], mixes: tuple[str, ...]) -> None:
    """It is refused, and the next position is none the worse, though attention leaves places unused."""
    heads = [{**ATTENTION, "heads": number, "kv_heads": number, "sizes": (34, 5 * number)} for number in (3, 1)]
    evaluator = opened(content_of(15, heads, channels=32, seed=3), in_int8=Int8Parts({}, scores, mixes))
    spatial, global_ = inputs(9, 9)
    expected = evaluator.evaluate(EvaluationRequest(spatial, global_))
    wrong = spatial.copy()
    wrong[0, 1, 3, 3] = np.nan
    with pytest.raises(EvaluatorError, match="an output is not finite"):
        evaluator.evaluate(EvaluationRequest(wrong, global_))
    np.testing.assert_array_equal(evaluator.evaluate(EvaluationRequest(spatial, global_)).policy, expected.policy)


@needs_kernels
@pytest.mark.parametrize("scores", [(), ("block0",)])
@pytest.mark.parametrize("factor", [1e25, np.inf])
@pytest.mark.parametrize("part", ["query", "key"])
def test_queries_and_keys_beyond_floats(scores: tuple[str, ...], factor: float, part: str) -> None:
    """Their products would be, so they are refused whatever their levels."""
    model = model_of(15, [ATTENTION], channels=32, seed=3)
    block = model.trunk.blocks[0]
    assert isinstance(block, AttentionBlock)
    getattr(block, part)[:, 0] *= np.float32(factor)
    wrong = NativeEvaluator(pack(model, {}, in_int8=Int8Parts({}, scores, ())), "wrong", lambda: wrong)
    with pytest.raises(EvaluatorError, match="wrong: an output is not finite"):
        wrong.evaluate(EvaluationRequest(*inputs(9, 9)))


@needs_kernels
@pytest.mark.parametrize("activation", [SILU, "ACTIVATION_RELU"])
@pytest.mark.parametrize("part", ["norm", "narrow", "inner", "after", "widen"])
def test_what_is_no_number_inside_a_bottleneck(activation: str, part: str) -> None:
    model = model_of(17, [FEED_FORWARD, NESTED], channels=20, activation=activation)
    block = model.trunk.blocks[1]
    assert isinstance(block, BottleneckBlock)
    inner = block.blocks[0]
    assert isinstance(inner, AttentionBlock)
    arrays = (block.before.bias, block.narrow.weights, inner.norm, block.after.scale, block.widen.weights)
    array = arrays[("norm", "narrow", "inner", "after", "widen").index(part)]
    array.reshape(-1)[0] = np.nan
    wrong = NativeEvaluator(pack(model, {}), "wrong", lambda: wrong)
    with pytest.raises(EvaluatorError, match="wrong: an output is not finite"):
        wrong.evaluate(EvaluationRequest(*inputs(9, 9)))


@needs_kernels
def test_what_is_absurd() -> None:
    content = content_of(15, [ATTENTION, FEED_FORWARD])
    evaluator = opened(content)
    spatial, global_ = inputs(9, 9)
    assert all(
        np.isfinite(each).all() for each in evaluator.evaluate(EvaluationRequest(spatial * 1000, global_ * 1000))
    )
    for absurd in (np.nan, np.inf, 3e38):
        with pytest.raises(EvaluatorError, match="random: an output is not finite"):
            evaluator.evaluate(EvaluationRequest(spatial, np.full_like(global_, absurd)))
    for part in range(3):
        model = load_model(content, "random")
        block = model.trunk.blocks[part - 1]
        assert isinstance(block, (AttentionBlock, FeedForwardBlock))
        (model.trunk.stem.weights if part == 0 else block.norm)[0] = np.inf
        wrong = NativeEvaluator(pack(model, {}), "wrong", lambda: evaluator)
        with pytest.raises(EvaluatorError, match="wrong: an output is not finite"):
            wrong.evaluate(EvaluationRequest(spatial, global_))


@needs_kernels
@pytest.mark.slow
def test_processors_with_narrower_vectors() -> None:
    """The kernels for AVX2, on whatever processor this is."""
    environment = {**os.environ, "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+avx,+fma,+sse4.2,+popcnt"}
    code = (
        "from nets.native.simd.processor import features\nfrom nets.native.simd.x86 import NARROW_BYTES, WIDE\n"
        "from tests.nets.native.test_transformers import *\n"
        "from nets.native.transformers.products import IN_GROUPS\n"
        "assert features().isdisjoint((WIDE, NARROW_BYTES)) and IN_GROUPS\n"
        "from tests.nets.native.test_blocks import BLOCKS, made\n"
        "for blocks, tip in ((BLOCKS['wide'], 'batch'), ([ATTENTION, FEED_FORWARD, NESTED], 'rms')):\n"
        "    network, forward = made(17, blocks, activation=SILU, channels=70, tip=tip)\n"
        "    check_on(SIZES, opened(network.compressed()), forward)\n"
        "from tests.nets.native.test_transformer_parts import *\n"
        "test_fade(1)\n"
        "test_shares(81, 40.0)\n"
        "test_shares_of_bytes(81)\n"
        "test_products_of_bytes(5)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, env=environment, check=True, timeout=300)
