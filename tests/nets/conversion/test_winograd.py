"""Winograd's method against plain convolutions, and networks computed with it against those computed without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nets.conversion.convert import convert, convert_by_winograd
from nets.conversion.winograd import TILES, suits, transformed, transforms
from nets.evaluator import EvaluationRequest
from nets.human_profile import metadata_row, parse_profile
from nets.onnx.evaluator import OnnxEvaluator
from tests.nets.conversion.test_katago_networks import NESTED, ORDINARY, POOLING, inputs
from tests.nets.random_networks import RandomNetwork


@pytest.mark.parametrize("m", TILES)
def test_transforms_on_one_tile(m: int) -> None:
    random = np.random.default_rng(m)
    tile, kernel = random.standard_normal((m + 2, m + 2)), random.standard_normal((3, 3)).astype(np.float32)
    outputs, _, places = transforms(m)
    product = (places @ tile @ places.T) * transformed(kernel[None, None], m).reshape(m + 2, m + 2)
    truth = [[(tile[y : y + 3, x : x + 3] * kernel).sum() for x in range(m)] for y in range(m)]
    np.testing.assert_allclose(outputs @ product @ outputs.T, truth, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("m", TILES)
@pytest.mark.parametrize(
    ("blocks", "options", "activation"),
    [
        ([ORDINARY, POOLING, ORDINARY], {}, "RELU"),
        ([ORDINARY, POOLING], {}, "MISH"),
        ([NESTED, ORDINARY, NESTED], {}, "RELU"),
        ([{"kind": "ordinary_block", "dilation": 2}, POOLING], {}, "SILU"),
        ([ORDINARY], {"meta": True}, "RELU"),
    ],
)
def test_networks(m: int, blocks: list[dict[str, Any]], options: dict[str, Any], activation: str) -> None:
    network = RandomNetwork(15, activation=f"ACTIVATION_{activation}")
    forward = network.write(blocks, **options)
    profile = parse_profile("rank_5k") if "meta" in options else None
    evaluator = OnnxEvaluator(
        convert_by_winograd(network.compressed(), "random", "", m), "random", optimism=0.3, profile=profile
    )
    for height, width in ((1, 1), (2, 6), (9, 9), (19, 19), (25, 13), (5, 25)):
        spatial, global_ = inputs(height, width)
        meta = profile and np.array(metadata_row(profile, True, height * width))
        truth = forward(spatial, global_, 0.0 if profile else 0.3, meta)
        evaluation = evaluator.evaluate(EvaluationRequest(spatial, global_))
        for name, value in truth.items():
            np.testing.assert_allclose(getattr(evaluation, name), value, rtol=2e-3, atol=2e-4, err_msg=name)


def test_every_batch_has_at_most_one_kind_of_tile() -> None:
    assert [m for m in TILES if suits(m, 4, 19, 19)] == [4]
    assert [m for m in TILES if suits(m, 4, 9, 9)] == [3]
    assert not any(suits(m, 1, 9, 9) for m in TILES)


def test_variants_compute_what_the_network_does() -> None:
    from nets.onnx.evaluator import Variant

    network = RandomNetwork(8)
    network.write([ORDINARY, POOLING])
    content = network.compressed()
    opened: list[int] = []

    def load() -> bytes:
        opened.append(1)
        return convert_by_winograd(content, "random", "", 4)

    evaluator = OnnxEvaluator(convert(content, "random", ""), "random")
    spatial, global_ = inputs(19, 19)
    plain = evaluator.evaluate(EvaluationRequest(spatial, global_))
    evaluator.use_variants([Variant(lambda count, height, width: count > 1, load)])
    evaluator.evaluate(EvaluationRequest(spatial[:1], global_[:1]))
    assert not opened
    for _ in range(2):
        for a, b in zip(evaluator.evaluate(EvaluationRequest(spatial, global_)), plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    assert opened == [1]
