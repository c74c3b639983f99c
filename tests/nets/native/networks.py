"""What tests of our own kernels share: random networks, opened and compared with their slow forward pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from nets.evaluator import EvaluationRequest
from nets.graph.convert import convert, load_model
from nets.graph.evaluator import OnnxEvaluator
from nets.katago.model import FloatArray, Model
from nets.native.calibrate import ranges
from nets.native.convolutions.tiling import LARGEST
from nets.native.evaluator import NativeEvaluator
from nets.native.pack import pack
from nets.native.simd.processor import is_available
from nets.native.transformers.packing import NO_INT8, Int8Parts
from nets.native.transformers.products import HAS_INT8, IN_GROUPS
from tests.nets.graph.test_katago_networks import inputs
from tests.nets.random_networks import RANDOM_BLOCKS, content_of

SIZES = ((5, 5), (7, 4), (2, 2), (3, 6), (9, 9), (19, 19), (25, 13))

needs_kernels = pytest.mark.skipif(not is_available(), reason="numba is off, or the processor has no such vectors")
needs_int8 = pytest.mark.skipif(not HAS_INT8, reason="the processor has no products of 8-bit integers")


def model_of(version: int = 8, blocks: list[dict[str, Any]] = RANDOM_BLOCKS, **options: Any) -> Model:
    """A network, prepared for the kernels; options as of `made`."""
    return load_model(content_of(version, blocks, **options), "random")


def nested(*inner: str | dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"kind": "nested_bottleneck_block", "inner": inner, **options}


def opened(
    content: bytes, largest: int = LARGEST, in_int8: Int8Parts = NO_INT8, in_bf16: bool = False, **options: Any
) -> NativeEvaluator:
    """Open a network that is calibrated on the positions it is tested with."""
    model = load_model(content, "random")
    packed = pack(model, ranges(model, [inputs(*size) for size in SIZES]), largest, in_int8, in_bf16)
    return NativeEvaluator(packed, "random", lambda: plain(content), **options)


def plain(content: bytes) -> OnnxEvaluator:
    return OnnxEvaluator(convert(content, "random", ""), "random")


OF_BYTES = 8.0 if IN_GROUPS else 3.0
"""How coarse networks with 8-bit matrices are: with products in groups their weights have some 5 bits."""


def check(evaluation: Any, truth: dict[str, FloatArray], coarseness: float = 1.0) -> None:
    for name, expected in truth.items():
        ours = getattr(evaluation, name)
        assert ours.dtype == np.float32
        assert ours.shape == expected.shape
        np.testing.assert_allclose(ours, expected, rtol=0.02, atol=0.05 * coarseness, err_msg=name)
        assert np.abs(ours - expected).mean() < 0.004 * coarseness * max(1, np.abs(expected).mean()), name


def check_on(
    sizes: Iterable[tuple[int, int]],
    evaluator: NativeEvaluator,
    forward: Any,
    optimism: float = 1.0,
    coarseness: float = 1.0,
) -> None:
    """Compare an evaluator with the forward pass on random positions of boards of these sizes."""
    for size in sizes:
        evaluation = evaluator.evaluate(EvaluationRequest(*inputs(*size)))
        check(evaluation, forward(*inputs(*size), optimism), coarseness)
