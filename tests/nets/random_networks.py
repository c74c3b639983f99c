"""Networks with random weights in KataGo's file format, each with its own slow forward pass.

Every function below both writes a layer's part of the file and returns that layer as a plain numpy function of
boards [N, H, W, C] or vectors [N, C]. So the truth about a file is made of the numbers that went into it, in the
layout and order in which KataGo's exporter states them, and shares nothing with the parser and converter under test.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Layer = Callable[[Array], Array]

SCORES = {3: 1, 4: 2, 5: 2, 6: 2, 7: 2, 8: 4}
INPUTS = {3: (22, 14), 4: (22, 14), 5: (22, 14), 6: (13, 12), 7: (22, 16)}
ACTIVATIONS: dict[str, Layer] = {
    "ACTIVATION_IDENTITY": lambda x: x,
    "ACTIVATION_RELU": lambda x: np.maximum(x, 0),
    "ACTIVATION_MISH": lambda x: x * np.tanh(softplus(x)),
    "ACTIVATION_SILU": lambda x: x / (1 + np.exp(-x)),
}


RANDOM_BLOCKS = [{"kind": "ordinary_block"}, {"kind": "gpool_block"}, {"kind": "ordinary_block"}]


def made(version: int = 8, blocks: list[dict[str, Any]] = RANDOM_BLOCKS, **options: Any) -> tuple[RandomNetwork, Any]:
    """Make a network and its forward pass; options are fields of RandomNetwork and what `write` takes."""
    written = {name: options.pop(name) for name in ("tip", "meta", "policy_channels", "stem") if name in options}
    network = RandomNetwork(version, **options)
    return network, network.write(blocks, **written)


def content_of(version: int = 8, blocks: list[dict[str, Any]] = RANDOM_BLOCKS, **options: Any) -> bytes:
    """The content of a file with such a network."""
    return made(version, blocks, **options)[0].compressed()


def softplus(x: Array) -> Array:
    return np.logaddexp(x, 0)


def softmax(x: Array) -> Array:
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


@dataclass
class RandomNetwork:
    """The file being written and the settings that every layer follows."""

    version: int
    binary: bool = True
    channels: int = 8
    activation: str = "ACTIVATION_RELU"
    seed: int = 0
    heads: tuple[int, int, int, int] = (5, 4, 5, 9)
    """Channels of the policy head's first convolution and of its pooled one, of the value head's, and of its hidden
    layer."""
    content: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    # Tokens

    def put(self, *tokens: object) -> None:
        self.content += "".join(f"{token}\n" for token in tokens).encode()

    def floats(self, *shape: int, spread: float = 1.0, around: float = 0.0) -> Array:
        values = (around + spread * self.random.standard_normal(shape)).astype(np.float32)
        return self.array(values)

    def array(self, values: Array) -> Array:
        if self.binary:
            self.content += b"@BIN@" + values.astype("<f4").tobytes() + b"\n"
        else:
            self.put(" ".join(repr(float(value)) for value in values.ravel()))
        return values.astype(np.float64)

    # Layers

    def convolution(self, inputs: int, outputs: int, size: int = 3, dilation: int = 1) -> Layer:
        self.put("conv", size, size, inputs, outputs, dilation, dilation)
        weights = self.floats(size, size, inputs, outputs, spread=(size * size * inputs) ** -0.5)

        def layer(x: Array) -> Array:
            height, width = x.shape[1:3]
            reach = size // 2 * dilation
            padded = np.pad(x, ((0, 0), (reach, reach), (reach, reach), (0, 0)))
            result = np.zeros((*x.shape[:3], outputs))
            for i in range(size):
                for j in range(size):
                    y0, x0 = i * dilation, j * dilation
                    result += padded[:, y0 : y0 + height, x0 : x0 + width] @ weights[i, j]
            return result

        return layer

    def matrix(self, inputs: int, outputs: int, spread: float | None = None) -> Layer:
        self.put("matrix", inputs, outputs)
        weights = self.floats(inputs, outputs, spread=spread or inputs**-0.5)
        return lambda x: x @ weights

    def bias(self, channels: int) -> Layer:
        self.put("bias", channels)
        values = self.floats(channels, spread=0.3)
        return lambda x: x + values

    def batch_norm(self, channels: int, scaled: bool = True, shifted: bool = True) -> Layer:
        self.put("norm", channels, 0.001, int(scaled), int(shifted))
        mean, variance = self.floats(channels, spread=0.3), self.array(self.random.uniform(0.5, 2, channels))
        gamma = self.floats(channels, spread=0.3, around=1.0) if scaled else 1.0
        beta = self.floats(channels, spread=0.3) if shifted else 0.0
        return lambda x: (x - mean) / np.sqrt(variance + 0.001) * gamma + beta

    def act(self) -> Layer:
        self.put("act")
        if self.version < 11:
            return ACTIVATIONS["ACTIVATION_RELU"]
        self.put(self.activation)
        return ACTIVATIONS[self.activation]

    def rms_norm(self, channels: int) -> Layer:
        self.put("rms", channels, 1e-5)
        weights = self.floats(channels, spread=0.3, around=1.0)
        return lambda x: x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5) * weights

    # Blocks

    def block(self, kind: str, channels: int, **options: Any) -> Layer:
        self.put(kind, "block")
        return getattr(self, f"_{kind}")(channels, **options)

    def _ordinary_block(self, channels: int, dilation: int = 1, middle: int = 6, size: int = 3) -> Layer:
        layers = [self.batch_norm(channels), self.act(), self.convolution(channels, middle, size, dilation)]
        layers += [self.batch_norm(middle, scaled=False), self.act(), self.convolution(middle, channels)]
        return lambda x: x + in_turn(layers, x)

    def _gpool_block(
        self, channels: int, bare_norm: bool = False, sizes: tuple[int, int] = (5, 4), size: int = 3
    ) -> Layer:
        before = [self.batch_norm(channels), self.act()]
        regular, pooled = self.convolution(channels, sizes[0], size), [self.convolution(channels, sizes[1], size)]
        pooled += [self.batch_norm(sizes[1], scaled=not bare_norm, shifted=not bare_norm), self.act()]
        to_bias = self.matrix(3 * sizes[1], sizes[0])
        after = [self.batch_norm(sizes[0]), self.act(), self.convolution(sizes[0], channels)]

        def layer(x: Array) -> Array:
            hidden = in_turn(before, x)
            bias = to_bias(pool(in_turn(pooled, hidden)))
            return x + in_turn(after, regular(hidden) + bias[:, None, None])

        return layer

    def _nested_bottleneck_block(
        self, channels: int, inner: tuple[str | dict[str, Any], ...] = ("ordinary_block",), middle: int = 6
    ) -> Layer:
        self.put(len(inner))
        layers = [self.batch_norm(channels), self.act(), self.convolution(channels, middle, 1)]
        for each in inner:
            options = {"kind": each} if isinstance(each, str) else dict(each)
            layers.append(self.block(options.pop("kind"), middle, **options))
        layers += [self.batch_norm(middle), self.act(), self.convolution(middle, channels, 1)]
        return lambda x: x + in_turn(layers, x)

    def _transformer_attention_block(
        self, channels: int, heads: int = 4, kv_heads: int = 2, sizes: tuple[int, int] = (8, 3), rope: str = "fixed"
    ) -> Layer:
        size, value_size = sizes
        self.put(heads, kv_heads, size, value_size, int(rope != "none"), int(rope == "learned"))
        norm = self.rms_norm(channels)
        query, key = self.matrix(channels, heads * size), self.matrix(channels, kv_heads * size)
        value, output = self.matrix(channels, kv_heads * value_size), self.matrix(heads * value_size, channels)
        frequencies = np.zeros((kv_heads, size // 2, 2))
        if rope == "learned":
            self.put("frequencies", kv_heads, size // 2, 2)
            frequencies = self.floats(kv_heads, size // 2, 2)
        elif rope == "fixed":
            self.put("theta", 100.0)
            for pair in range(size // 2):
                axis, i = (1, pair) if pair < size // 4 else (0, pair - size // 4)
                frequencies[:, pair, axis] = 100.0 ** (-2 * i / (size // 2))

        def rotate(x: Array, head: int, width: int) -> Array:
            points = np.arange(x.shape[1])
            for pair in range(size // 2):
                f_x, f_y = frequencies[head, pair]
                angle = points % width * f_x + points // width * f_y
                turn = np.cos(angle) + 1j * np.sin(angle)
                both = (x[..., 2 * pair] + 1j * x[..., 2 * pair + 1]) * turn
                x[..., 2 * pair], x[..., 2 * pair + 1] = both.real, both.imag
            return x

        def layer(x: Array) -> Array:
            count, height, width, _ = x.shape
            tokens = norm(x.reshape(count, height * width, channels))
            mixed = []
            for head in range(heads):
                source = head // (heads // kv_heads)
                part = slice(source * size, (source + 1) * size)
                queries = rotate(query(tokens)[..., head * size : (head + 1) * size].copy(), source, width)
                keys = rotate(key(tokens)[..., part].copy(), source, width)
                shares = softmax(queries @ keys.transpose(0, 2, 1) / np.sqrt(size))
                mixed.append(shares @ value(tokens)[..., source * value_size : (source + 1) * value_size])
            return x + output(np.concatenate(mixed, axis=-1)).reshape(x.shape)

        return layer

    def _transformer_ffn_block(self, channels: int, gated: bool = True, hidden: int = 12) -> Layer:
        self.put(channels, hidden, int(gated))
        norm, first = self.rms_norm(channels), self.matrix(channels, hidden)
        gate = self.matrix(channels, hidden) if gated else None
        second = self.matrix(hidden, channels)

        def layer(x: Array) -> Array:
            n = norm(x)
            values = ACTIVATIONS["ACTIVATION_SILU"](first(n))
            return x + second(values * gate(n) if gate else values)

        return layer

    # The whole

    def write(self, blocks: list[dict[str, Any]], **options: Any) -> Callable[..., dict[str, Array]]:
        """Write the file and return its forward pass: (spatial [N, 22, H, W], global [N, 19], optimism, meta [N, 192])
        to the fields of an `Evaluation`. Options: `tip` (batch, rms, rms_spatial), `meta`, `policy_channels`, `stem`
        (the first kernel's size)."""
        version, channels, tip = self.version, self.channels, options.get("tip", "batch")
        planes, features = INPUTS.get(version, (22, 19))
        self.put("random", version, planes, features)
        units = [20.0, 20.0, 20.0, 40.0, 0.25, 30.0]
        if version >= 13:
            units = [18.0, 21.0, 19.0, 41.0, 0.3, 32.0]
            self.put(25.0, *units)
        if version >= 15:
            self.put(int("meta" in options), 0, *[0] * 6)
        self.put("trunk", len(blocks), channels, 6, 5, 4, 4)
        if version >= 15:
            self.put(int(tip != "batch"), *[0] * 5)
        stem, stem_global = self.convolution(planes, channels, options.get("stem", 3)), self.matrix(features, channels)
        encoder = self._encoder() if "meta" in options else None
        layers = []
        for block in blocks:
            settings = {key: value for key, value in block.items() if key != "kind"}
            layers.append(self.block(block["kind"], channels, **settings))
        layers += [self.batch_norm(channels) if tip == "batch" else self._rms_tip(tip), self.act()]
        policy = self._policy(options.get("policy_channels", 2))
        value = self._value(units)

        def forward(
            spatial: Array, global_: Array, optimism: float = 0.0, meta: Array | None = None
        ) -> dict[str, Array]:
            planes_v7, features_v7 = spatial.transpose(0, 2, 3, 1).astype(np.float64), global_.astype(np.float64)
            x, g = older_inputs(version, planes_v7, features_v7)
            bias = stem_global(g)
            if encoder is not None:
                bias = bias + encoder(meta)
            trunk = in_turn(layers, stem(x) + bias[:, None, None])
            return {"policy": policy(trunk, optimism), **value(trunk, features_v7)}

        return forward

    def _encoder(self) -> Callable[[Array | None], Array]:
        self.put("encoder", 192)
        layers = [self.matrix(192, 7), self.bias(7), self.act(), self.matrix(7, 6), self.bias(6), self.act()]
        layers.append(self.matrix(6, self.channels))

        def encode(meta: Array | None) -> Array:
            assert meta is not None
            return in_turn(layers, meta)

        return encode

    def _rms_tip(self, tip: str) -> Layer:
        self.put("tip", self.channels, 1e-4, int(tip == "rms_spatial"), 0)
        gamma, beta = self.floats(self.channels, around=1.0), self.floats(self.channels)
        axes = (1, 2, 3) if tip == "rms_spatial" else (3,)
        return lambda x: x / np.sqrt((x**2).mean(axis=axes, keepdims=True) + 1e-4) * gamma + beta

    def _policy(self, policy_channels: int) -> Callable[[Array, float], Array]:
        version, outputs = self.version, 1
        self.put("policy")
        if version >= 12:
            outputs = 4 if version == 16 else 2
        if version >= 17:
            outputs = policy_channels
            self.put(outputs, 0, 0, 0)
        width, pooled_width = self.heads[:2]
        first, pooled = self.convolution(self.channels, width, 1), [self.convolution(self.channels, pooled_width, 1)]
        pooled += [self.batch_norm(pooled_width), self.act()]
        to_bias = self.matrix(3 * pooled_width, width)
        rest = [self.batch_norm(width), self.act(), self.convolution(width, outputs, 1)]
        passes = None
        if version >= 15:
            passes = [self.matrix(3 * pooled_width, 5), self.bias(5), self.act(), self.matrix(5, outputs)]
        passes = passes or [self.matrix(3 * pooled_width, outputs)]

        def head(trunk: Array, optimism: float) -> Array:
            pool_ = pool(in_turn(pooled, trunk))
            points = in_turn(rest, first(trunk) + to_bias(pool_)[:, None, None])
            logits = np.concatenate([points.reshape(len(trunk), -1, outputs), in_turn(passes, pool_)[:, None]], axis=1)
            if outputs == 1:
                return logits[..., 0]
            return logits[..., 0] + (logits[..., 1] - logits[..., 0]) * optimism

        return head

    def _value(self, units: list[float]) -> Callable[[Array, Array], dict[str, Array]]:
        version = self.version
        self.put("value")
        if version >= 17:
            self.put(0, 0, 0)
        width, hidden = self.heads[2:]
        first = [self.convolution(self.channels, width, 1), self.batch_norm(width), self.act()]
        hidden_layers = [self.matrix(3 * width, hidden), self.bias(hidden), self.act()]
        outcome = [self.matrix(hidden, 3), self.bias(3)]
        scores = SCORES.get(version, 6)
        score_layers = [self.matrix(hidden, scores), self.bias(scores)]
        ownership = self.convolution(width, 1, 1)

        def head(trunk: Array, features: Array) -> dict[str, Array]:
            x = in_turn(first, trunk)
            late = in_turn(hidden_layers, pool_value(x))
            logits = in_turn(outcome, late)
            if version > 3:
                possible = (features[:, 6] == 0) | (features[:, 9] == 1)
                logits[~possible, 2] = -np.inf
            value = softmax(logits)
            raw = in_turn(score_layers, late)
            area = trunk.shape[1] * trunk.shape[2]
            score = np.stack([finished_score(version, units, v, r, area) for v, r in zip(value, raw, strict=True)])
            return {"value": value, "score": score, "ownership": np.tanh(ownership(x)).reshape(len(trunk), -1)}

        return head

    def compressed(self) -> bytes:
        return gzip.compress(bytes(self.content), 1, mtime=0)


def in_turn(layers: list[Layer], x: Array) -> Array:
    for layer in layers:
        x = layer(x)
    return x


def pool(x: Array) -> Array:
    root = np.sqrt(x.shape[1] * x.shape[2])
    mean = x.mean(axis=(1, 2))
    return np.concatenate([mean, mean * (root - 14) / 10, x.max(axis=(1, 2))], axis=1)


def pool_value(x: Array) -> Array:
    root = np.sqrt(x.shape[1] * x.shape[2])
    mean = x.mean(axis=(1, 2))
    return np.concatenate([mean, mean * (root - 14) / 10, mean * ((root - 14) ** 2 / 100 - 0.1)], axis=1)


def finished_score(version: int, units: list[float], value: Array, raw: Array, area: int) -> list[float]:
    """Mean, standard deviation, lead, variance of time left, short-term errors of one position."""
    result = 1 - value[2]
    if version == 3:
        mean = 2 * np.sqrt(area) * raw[0]
        return [mean, 0, mean, -1, -1, -1]
    mean, stdev = units[0] * raw[0], units[1] * softplus(raw[1])
    squares = (mean**2 + stdev**2) * result
    lead = (units[2] * raw[2] if version >= 8 else mean) * result
    start = [mean * result, np.sqrt(squares - (mean * result) ** 2), lead]
    if version < 9:
        return [*start, -1, -1, -1]
    time = units[3] * softplus(raw[3])
    if version == 9:
        errors = [softplus(raw[4]), 10 * softplus(raw[5])]
    elif version < 14:
        errors = [np.sqrt(softplus(raw[4]) * units[4]), np.sqrt(softplus(raw[5]) * units[5])]
    else:
        errors = [np.sqrt(units[4]) * softplus(raw[4] / 2), np.sqrt(units[5]) * softplus(raw[5] / 2)]
    return [*start, time, *errors]


def older_inputs(version: int, x: Array, g: Array) -> tuple[Array, Array]:
    """The version's own inputs for a position whose V7 features are `x` [N, H, W, 22] and `g` [N, 19]."""
    if version >= 8:
        return x, g
    if version == 7:
        return x, np.concatenate([g[:, :15], g[:, 18:]], axis=1)
    komi = g[:, 5:6] * 20 / 15
    if version == 6:
        history_ko_encore = np.concatenate([x[..., :3], x[..., 6:14], x[..., 20:]], axis=-1)
        return history_ko_encore, np.concatenate([g[:, :5], komi, g[:, 6:10], g[:, 12:14]], axis=1)
    return x, np.concatenate([g[:, :5], komi, g[:, 6:10], g[:, 12:15], g[:, 18:]], axis=1)
