"""What a student begins as: the network of a file, all of it or without some blocks, or random weights of a shape.

At the start each block of random weights adds nothing to its input, and the first convolution of an ordinary one is
scaled down by the root of the depth (Zhang, Dauphin and Ma, "Fixup initialization", 2019).
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES
from nets.katago.model import (
    Activation,
    AttentionBlock,
    Block,
    BottleneckBlock,
    Convolution,
    FeedForwardBlock,
    FloatArray,
    Model,
    Multipliers,
    Normed,
    OrdinaryBlock,
    PolicyHead,
    RmsTip,
    Trunk,
    ValueHead,
)
from nets.katago.reader import fixed_rope
from nets.katago.writer import VERSION
from training.config import NetworkConfig
from training.errors import TrainingError
from training.files import read_network

EPSILON = 1e-6
"""Added to mean squares by the RMS norms."""
THETA = 100.0
"""The base of the frequencies by which queries and keys turn, as in KataGo's networks."""
NESTED = 2
"""Attention blocks, each with a feed-forward block, inside of a bottleneck, as in KataGo's networks."""
SMALL = 0.1
"""What the weights of the last layers are scaled by, so that the first evaluations are of no clear opinion."""


def read_student(path: Path, without: str = "") -> Model:
    """Read a network to go on training it, without the blocks of its trunk that are named like "6,7,8", counted from 0.
    The model is of the version that `encode_model` writes. Raises TrainingError."""
    model = read_network(path)
    if model.version < VERSION or model.trunk.metadata is not None:
        raise TrainingError(f"{path}: networks of this kind cannot learn (model version {model.version})")
    blocks = model.trunk.blocks
    try:
        left_out = {int(number) for number in without.split(",")} if without else set()
    except ValueError:
        raise TrainingError(f"--without {without}: not numbers of blocks like 6,7,8") from None
    last = len(blocks) - 1
    foreign = sorted(left_out - set(range(len(blocks))))
    if foreign:
        raise TrainingError(f"--without {without}: {path} has no block {foreign[0]}; its blocks are 0 to {last}")
    kept = tuple(block for number, block in enumerate(blocks) if number not in left_out)
    if not kept:
        raise TrainingError(f"--without {without}: no block of {path} is left")
    policy = model.policy
    assert policy.pass_second is not None
    second = replace(policy.second, weights=policy.second.weights[:2])
    policy = replace(policy, second=second, pass_second=np.ascontiguousarray(policy.pass_second[:, :2]))
    return replace(model, version=VERSION, trunk=replace(model.trunk, blocks=kept), policy=policy)


def random_model(config: NetworkConfig, seed: int) -> Model:
    """Return a network of a shape with random weights. Raises TrainingError where there is no such shape."""
    return _RandomModel(config, seed).model()


def shape_name(model: Model) -> str:
    """Return the shape as KataGo names its networks: `b10c64` has 10 blocks of 64 channels, `h6` 6 heads, nested
    bottlenecks where `nbt` follows, and attention where `tf` does."""
    blocks = model.trunk.blocks
    nested = [block for block in blocks if isinstance(block, BottleneckBlock)]
    inner = [block for each in nested for block in each.blocks]
    attention = [block for block in (*blocks, *inner) if isinstance(block, AttentionBlock)]
    others = [block for block in blocks if not isinstance(block, AttentionBlock | FeedForwardBlock)]
    heads = f"h{attention[0].heads}" if attention else ""
    kinds = ("nbt" if nested else "") + ("tf" if attention else "")
    return f"b{len(others) or len(attention)}c{model.trunk.channels}{heads}{kinds}"


class _RandomModel:
    """Draws the weights of a network of a shape."""

    def __init__(self, config: NetworkConfig, seed: int) -> None:
        self._config, self._random = config, np.random.default_rng(seed)
        self._activation = Activation.RELU if config.kind == "residual" else Activation.SILU

    def model(self) -> Model:
        config = self._config
        channels = config.channels
        if config.kind == "residual":
            blocks: tuple[Block, ...] = tuple(self._ordinary(channels) for _ in range(config.blocks))
        elif config.kind == "transformer":
            blocks = tuple(block for _ in range(config.blocks) for block in self._transformer(channels))
        else:
            blocks = tuple(self._nested(channels) for _ in range(config.blocks))
        tip: Normed | RmsTip = self._norm(channels)
        if config.kind != "residual":
            ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
            tip = RmsTip(ones, zeros, EPSILON, config.kind == "nested", self._activation)
        stem, stem_global = self._convolution(SPATIAL_PLANES, channels, 3), self._matrix(GLOBAL_FEATURES, channels)
        return Model(
            name="random",
            version=VERSION,
            spatial_inputs=SPATIAL_PLANES,
            global_inputs=GLOBAL_FEATURES,
            multipliers=Multipliers(),
            pass_alive_under_suicide=False,
            trunk=Trunk(stem, stem_global, None, blocks, tip),
            policy=self._policy(channels, config.policy_channels),
            value=self._value(channels, config.value_channels, config.value_hidden),
        )

    def _ordinary(self, channels: int) -> OrdinaryBlock:
        first = self._convolution(channels, channels, 3, 1.0 / math.sqrt(self._config.blocks))
        last = self._convolution(channels, channels, 3, 0.0)
        return OrdinaryBlock(self._norm(channels), first, self._norm(channels), last)

    def _transformer(self, channels: int) -> tuple[AttentionBlock, FeedForwardBlock]:
        heads = self._config.attention_heads
        if channels % (2 * heads):
            raise TrainingError(f"network.channels: {channels} in a block are no multiple of twice attention_heads")
        hidden = channels * 8 // 3
        ones, half = np.ones(channels, np.float32), math.sqrt(0.5)
        query, key, value = (self._matrix(channels, channels, half) for _ in range(3))
        first, gate = (self._matrix(channels, hidden, half) for _ in range(2))
        output, second = self._matrix(channels, channels, 0.0), self._matrix(hidden, channels, 0.0)
        rope = fixed_rope(THETA, channels // heads // 2)
        attention = AttentionBlock(heads, heads, ones, EPSILON, query, key, value, output, rope)
        return attention, FeedForwardBlock(ones, EPSILON, first, gate, second)

    def _nested(self, channels: int) -> BottleneckBlock:
        inner = channels // 2
        return BottleneckBlock(
            before=self._norm(channels),
            narrow=self._convolution(channels, inner, 1),
            blocks=tuple(block for _ in range(NESTED) for block in self._transformer(inner)),
            after=self._norm(inner),
            widen=self._convolution(inner, channels, 1, 0.0),
        )

    def _policy(self, channels: int, width: int) -> PolicyHead:
        return PolicyHead(
            first=self._convolution(channels, width, 1),
            pooled=self._convolution(channels, width, 1),
            pooled_norm=self._norm(width),
            pooled_to_bias=self._matrix(3 * width, width),
            first_norm=self._norm(width),
            second=self._convolution(width, 2, 1, SMALL),
            pass_first=self._matrix(3 * width, width),
            pass_bias=np.zeros(width, np.float32),
            pass_activation=self._activation,
            pass_second=self._matrix(width, 2, SMALL),
        )

    def _value(self, channels: int, width: int, hidden: int) -> ValueHead:
        return ValueHead(
            first=self._convolution(channels, width, 1),
            norm=self._norm(width),
            hidden=self._matrix(3 * width, hidden),
            hidden_bias=np.zeros(hidden, np.float32),
            hidden_activation=self._activation,
            value=self._matrix(hidden, 3, SMALL),
            value_bias=np.zeros(3, np.float32),
            score=self._matrix(hidden, SCORE_COLUMNS, SMALL),
            score_bias=np.zeros(SCORE_COLUMNS, np.float32),
            ownership=self._convolution(width, 1, 1, SMALL),
        )

    def _norm(self, channels: int) -> Normed:
        return Normed(np.ones(channels, np.float32), np.zeros(channels, np.float32), self._activation)

    def _convolution(self, inputs: int, outputs: int, side: int, scale: float = 1.0) -> Convolution:
        return Convolution(self._weights((outputs, inputs, side, side), inputs * side * side, scale), (1, 1))

    def _matrix(self, inputs: int, outputs: int, scale: float = 1.0) -> FloatArray:
        return self._weights((inputs, outputs), inputs, scale)

    def _weights(self, shape: tuple[int, ...], inputs: int, scale: float) -> FloatArray:
        """Return weights for which outputs are as large as inputs after ReLU (He and others, 2015), scaled."""
        deviation = np.float32(scale * math.sqrt(2.0 / inputs))
        return self._random.standard_normal(shape, np.float32) * deviation
