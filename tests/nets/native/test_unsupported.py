"""Which networks our own kernels refuse, and in what words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nets.native.order import MOST_STREAMS
from nets.native.pack import unknown_to_kernels, unsupported_reason, weight_bytes
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD, NESTED, ORDINARY
from tests.nets.native.networks import model_of, needs_kernels, nested


def too_deep(inner: str) -> dict[str, Any]:
    block: str | dict[str, Any] = inner
    for _ in range(MOST_STREAMS):
        block = nested(block)
    assert isinstance(block, dict)
    return block


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        ([{"kind": "ordinary_block", "dilation": 2}], "convolutions of 3x3 or 1x1"),
        ([ATTENTION, {"kind": "ordinary_block", "size": 5}], "convolutions of 3x3 or 1x1"),
        ([nested(FEED_FORWARD, {"kind": "gpool_block", "size": 5})], "convolutions of 3x3 or 1x1"),
        ([too_deep("ordinary_block")], "nested at most 3 deep"),
        ([NESTED, too_deep("transformer_attention_block")], "nested at most 3 deep"),
        (
            [{"kind": "ordinary_block", "middle": 40 * number} for number in range(1, 6)],
            "few different numbers of channels",
        ),
    ],
)
@needs_kernels
def test_what_cannot_be_packed(blocks: list[dict[str, Any]], reason: str) -> None:
    model = model_of(15, blocks)
    assert unknown_to_kernels(model)
    assert reason in unsupported_reason(model)


@needs_kernels
def test_networks_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(15, [ORDINARY, ATTENTION], channels=64)
    assert not unknown_to_kernels(model)
    monkeypatch.setattr("nets.native.pack.MOST_BYTES", weight_bytes(model) - 1)
    assert "MiB" in unsupported_reason(model)
    monkeypatch.setattr("nets.native.pack.MOST_BYTES", weight_bytes(model))
    assert not unknown_to_kernels(model)


def test_a_matrix_that_is_too_large() -> None:
    model = model_of(15, [ATTENTION])
    assert not unknown_to_kernels(model)
    wide = np.broadcast_to(np.float32(0), (8, 8 << 20))
    object.__setattr__(model.trunk.blocks[0], "query", wide)
    assert "MiB" in unknown_to_kernels(model)
