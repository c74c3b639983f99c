"""Writes the layers of a network into a graph: the trunk, the heads, and what makes an `Evaluation` of their numbers.

Blocks of convolutions read boards [N, C, H, W], and transformer blocks tokens [N, H*W, C].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.graph.graph import BoardValues, Graph
from nets.katago.model import (
    EXCLUDED,
    KO_FEATURE,
    TERRITORY_FEATURE,
    AttentionBlock,
    Block,
    BottleneckBlock,
    FeedForwardBlock,
    FloatArray,
    Model,
    Normed,
    OrdinaryBlock,
    PolicyHead,
    PoolingBlock,
    RmsTip,
    ScoreOutputs,
    Trunk,
    score_outputs,
)


class TrunkWriter:
    """Writes blocks one after another.

    The layout changes between boards and tokens only where convolutions and transformer blocks follow each other.
    """

    def __init__(self, graph: Graph, board: BoardValues, channels: int) -> None:
        self._graph, self._board, self._channels = graph, board, channels
        self._planes: str | None = None
        self._tokens: str | None = None

    def write(self, trunk: Trunk, spatial: str, features: str) -> str:
        """Write a whole trunk; return the name of what the heads read, [N, C, H, W].

        `spatial` is [N, 22, H, W], and `features` [N, C] are added at every point."""
        graph = self._graph
        stem = graph.convolve(spatial, trunk.stem, label="stem")
        self.start(graph.add("Add", stem, graph.per_channel(features), label="stem"))
        self.blocks(trunk.blocks, "block")
        return self._tip(trunk.tip)

    def start(self, planes: str) -> None:
        """Let what is written next read the board `planes` [N, C, H, W]."""
        self._planes, self._tokens = planes, None

    def blocks(self, blocks: tuple[Block, ...], prefix: str) -> None:
        """Write some blocks, which are labelled `prefix` and a number from 0 on."""
        for number, block in enumerate(blocks):
            self._block(block, f"{prefix}{number}")

    def planes(self) -> str:
        """Return the name of what was written last, as a board [N, C, H, W]."""
        if self._planes is None:
            assert self._tokens is not None
            self._planes = self._board.to_planes(self._tokens, self._channels)
        return self._planes

    def tokens(self) -> str:
        """Return the name of what was written last, as tokens [N, H*W, C]."""
        if self._tokens is None:
            assert self._planes is not None
            self._tokens = self._board.to_tokens(self._planes, self._channels)
        return self._tokens

    def _block(self, block: Block, label: str) -> None:
        graph = self._graph
        if isinstance(block, AttentionBlock):
            self._tokens, self._planes = write_attention(graph, self._board, block, self.tokens(), label), None
        elif isinstance(block, FeedForwardBlock):
            self._tokens, self._planes = write_feed_forward(graph, block, self.tokens(), label), None
        elif isinstance(block, BottleneckBlock):
            self.start(self._bottleneck(block, self.planes(), label))
        else:
            self.start(write_convolutions(graph, self._board, block, self.planes(), label))

    def _bottleneck(self, block: BottleneckBlock, x: str, label: str) -> str:
        graph = self._graph
        inner = TrunkWriter(graph, self._board, block.narrow.outputs)
        hidden = graph.taps[f"{label}_before"] = graph.normed(x, block.before, f"{label}_before")
        inner.start(graph.convolve(hidden, block.narrow, label=f"{label}_narrow"))
        inner.blocks(block.blocks, f"{label}_")
        hidden = graph.taps[f"{label}_after"] = graph.normed(inner.planes(), block.after, f"{label}_after")
        return graph.add("Add", graph.convolve(hidden, block.widen, label=f"{label}_widen"), x, label=label)

    def _tip(self, tip: Normed | RmsTip) -> str:
        graph = self._graph
        if isinstance(tip, Normed):
            return graph.normed(self.planes(), tip, "tip")
        x = self.tokens()
        square = graph.add("Mul", x, x)
        axes = [1, 2] if tip.spatial else [2]
        mean = graph.add("ReduceMean", square, axes=axes, keepdims=1)
        root = graph.add("Sqrt", graph.add("Add", mean, graph.scalar(tip.epsilon)))
        normed = graph.add("Mul", graph.add("Div", x, root), graph.weights(tip.gamma, "tip_gamma"))
        normed = graph.add("Add", normed, graph.weights(tip.beta, "tip_beta"))
        return self._board.to_planes(graph.activate(normed, tip.activation, "tip"), self._channels)


def write_convolutions(
    graph: Graph, board: BoardValues, block: OrdinaryBlock | PoolingBlock, x: str, label: str
) -> str:
    """Write a block that reads the board `x`, and return the name of its result."""
    hidden = graph.taps[f"{label}_before"] = graph.normed(x, block.before, f"{label}_before")
    bias = ""
    if isinstance(block, PoolingBlock):
        pooled = graph.convolve(hidden, block.pooled, block.pooled_norm, f"{label}_pooled")
        pooled = board.pool(graph.activate(pooled, block.pooled_norm.activation), label)
        bias = graph.dense(pooled, block.pooled_to_bias * block.between.scale, label=f"{label}_bias")
    hidden = graph.convolve(hidden, block.first, block.between, f"{label}_first")
    if bias:
        hidden = graph.add("Add", hidden, graph.per_channel(bias), label=f"{label}_add")
    hidden = graph.taps[f"{label}_between"] = graph.activate(hidden, block.between.activation)
    added = graph.convolve(hidden, block.second, label=f"{label}_second")
    return graph.add("Add", added, x, label=label)


# --- Transformer blocks ----------------------------------------------------------------------------------------------
# A token is a point, row by row from the top left.

NORMED, HIDDEN = "_normed", "_hidden"
"""End the names of the taps of a block's norm and of what its last matrix reads."""


def write_attention(graph: Graph, board: BoardValues, block: AttentionBlock, x: str, label: str) -> str:
    """Write a block that reads the tokens `x`, and return the name of its result."""
    normed = graph.taps[f"{label}{NORMED}"] = _rms_norm(graph, x, block.norm, block.epsilon, f"{label}_norm")
    query = block.query / np.float32(np.sqrt(block.query_dimension))  # the scale of the scores, taken here once
    queries, keys, values = (
        _product(graph, normed, matrix, f"{label}_{name}")
        for matrix, name in ((query, "queries"), (block.key, "keys"), (block.value, "values"))
    )
    groups = block.heads // block.kv_heads
    if block.rope is not None:
        frequencies = np.broadcast_to(block.rope, (block.kv_heads, block.query_dimension // 2, 2))
        queries = _turned(graph, board, np.repeat(frequencies, groups, axis=0), queries, f"{label}_queries")
        keys = _turned(graph, board, frequencies, keys, f"{label}_keys")
    mixed = graph.add(
        "MultiHeadAttention",
        queries,
        _for_each_query(graph, keys, block, block.query_dimension),
        _for_each_query(graph, values, block, block.value_dimension),
        label=f"{label}_mix",
        domain="com.microsoft",
        num_heads=block.heads,
        scale=1.0,
    )
    graph.taps[f"{label}{HIDDEN}"] = mixed
    return graph.add("Add", _product(graph, mixed, block.output, f"{label}_output"), x, label=label)


def _for_each_query(graph: Graph, x: str, block: AttentionBlock, size: int) -> str:
    """[N, H*W, kv_heads * size] with each head repeated for all query heads that it serves."""
    groups = block.heads // block.kv_heads
    if groups == 1:
        return x
    split = graph.add("Reshape", x, graph.integers(0, -1, block.kv_heads, 1, size))
    repeated = graph.add("Concat", *[split] * groups, axis=3)
    return graph.add("Reshape", repeated, graph.integers(0, -1, block.heads * size))


def write_feed_forward(graph: Graph, block: FeedForwardBlock, x: str, label: str) -> str:
    """Write a block that reads the tokens `x`, and return the name of its result."""
    normed = graph.taps[f"{label}{NORMED}"] = _rms_norm(graph, x, block.norm, block.epsilon, f"{label}_norm")
    matrices = [block.first] if block.gate is None else [block.first, block.gate]
    hidden, *gate = (_product(graph, normed, matrix, f"{label}_first") for matrix in matrices)
    hidden = graph.add("Mul", hidden, graph.add("Sigmoid", hidden))
    if gate:
        hidden = graph.add("Mul", hidden, gate[0], label=f"{label}_gate")
    graph.taps[f"{label}{HIDDEN}"] = hidden
    return graph.add("Add", _product(graph, hidden, block.second, f"{label}_second"), x, label=label)


def _product(graph: Graph, x: str, matrix: FloatArray, label: str) -> str:
    return graph.add("MatMul", x, graph.weights(matrix, f"{label}_weights"), label=label)


def _rms_norm(graph: Graph, x: str, weight: FloatArray, epsilon: float, label: str) -> str:
    """x / sqrt(mean of squares over the last axis + epsilon) * weight, as onnxruntime fuses it into one node."""
    square = graph.add("Pow", x, graph.scalar(2.0), label=label)
    mean = graph.add("ReduceMean", square, axes=[-1], keepdims=1, label=label)
    root = graph.add("Sqrt", graph.add("Add", mean, graph.scalar(epsilon)), label=label)
    return graph.add("Mul", graph.add("Div", x, root), graph.weights(weight, f"{label}_weight"), label=label)


def _turned(graph: Graph, board: BoardValues, frequencies: FloatArray, x: str, label: str) -> str:
    """Tokens whose interleaved pairs of channels are turned by their point's angles; `frequencies` [heads, pairs, 2].

    onnxruntime's operator has one table of angles for all heads, so it is told that there is one head.
    """
    cosine, sine = _rotation(graph, board, frequencies.reshape(-1, 2).astype(np.float64), label)
    first = graph.integers(0)
    return graph.add("RotaryEmbedding", x, first, cosine, sine, label=label, domain="com.microsoft", interleaved=1)


def _rotation(graph: Graph, board: BoardValues, pairs: NDArray[np.float64], label: str) -> tuple[str, str]:
    """Cosine and sine [H*W, pairs] of the angle by which each point turns each pair of channels; `pairs` [pairs, 2]
    are frequencies.

    The angle is a sum of one that depends on x and one that depends on y: theirs are tabulated, and combined by the
    addition theorems. Blocks with the same frequencies share the result.
    """
    key = pairs.tobytes()
    if key not in board.rotations:
        board.rotations[key] = _write_rotation(graph, board, pairs, label)
    return board.rotations[key]


def _write_rotation(graph: Graph, board: BoardValues, pairs: NDArray[np.float64], label: str) -> tuple[str, str]:
    zero, height, width = graph.integers(0), *graph.add_many("Split", 2, board.size)
    steps = np.arange(MAX_SIZE)[:, None]

    def table(function: Callable[[NDArray[np.float64]], NDArray[np.float64]], axis: int, side: str) -> str:
        values = function(steps * pairs[:, axis])
        values = values[None] if axis == 0 else values[:, None]
        whole = graph.weights(values, f"{label}_rotation")
        return graph.add("Slice", whole, zero, side, graph.integers(1 - axis))

    (cos_x, sin_x), (cos_y, sin_y) = (
        [table(function, axis, side) for function in (np.cos, np.sin)] for axis, side in ((0, width), (1, height))
    )
    cosine = graph.add("Sub", graph.add("Mul", cos_y, cos_x), graph.add("Mul", sin_y, sin_x))
    sine = graph.add("Add", graph.add("Mul", sin_y, cos_x), graph.add("Mul", cos_y, sin_x))
    shape = graph.integers(-1, len(pairs))
    return graph.add("Reshape", cosine, shape, label=label), graph.add("Reshape", sine, shape, label=label)


def write_policy(graph: Graph, board: BoardValues, head: PolicyHead, trunk: str) -> str:
    """Write the policy head and return the name of its logits [N, H*W + 1].

    Networks with an optimistic policy get the input `optimism` [N, 1]: from 0, the plain policy, to 1, the optimistic.
    """
    pooled = graph.convolve(trunk, head.pooled, head.pooled_norm, "policy_pooled")
    pooled = board.pool(graph.activate(pooled, head.pooled_norm.activation), "policy")
    bias = graph.dense(pooled, head.pooled_to_bias * head.first_norm.scale, label="policy_bias")
    hidden = graph.convolve(trunk, head.first, head.first_norm, "policy_first")
    hidden = graph.add("Add", hidden, graph.per_channel(bias), label="policy_add")
    hidden = graph.activate(hidden, head.first_norm.activation)

    used = min(2, head.channels)  # the two further channels of versions 16 and 17 predict values of moves, not moves
    second = dataclasses.replace(head.second, weights=head.second.weights[:used])
    points = graph.convolve(hidden, second, label="policy_second")
    passes = _pass_logits(graph, head, pooled, used)
    if used == 1:
        return graph.add("Concat", graph.add("Flatten", points, axis=1), passes, axis=1, label="policy")

    points = graph.add("Reshape", points, graph.integers(0, used, -1))
    logits = graph.add("Concat", points, graph.add("Unsqueeze", passes, graph.integers(2)), axis=2)
    plain, optimistic = (graph.add("Flatten", half, axis=1) for half in graph.add_many("Split", 2, logits, axis=1))
    optimism = graph.input("optimism", ["N", 1])
    return graph.add("Add", plain, graph.add("Mul", graph.add("Sub", optimistic, plain), optimism), label="policy")


def _pass_logits(graph: Graph, head: PolicyHead, pooled: str, used: int) -> str:
    if head.pass_second is None or head.pass_activation is None:
        return graph.dense(pooled, head.pass_first[:, :used], label="pass")
    hidden = graph.dense(pooled, head.pass_first, head.pass_bias, "pass_first")
    return graph.dense(graph.activate(hidden, head.pass_activation), head.pass_second[:, :used], label="pass_second")


def write_value(graph: Graph, board: BoardValues, model: Model, trunk: str, global_: str) -> tuple[str, str, str]:
    """Write the value head; its outputs are `value` [N, 3], `score` [N, 6] and `ownership` [N, H*W]."""
    head = model.value
    first = graph.activate(graph.convolve(trunk, head.first, head.norm, "value_first"), head.norm.activation)
    ownership = graph.add("Flatten", graph.convolve(first, head.ownership, label="ownership"), axis=1)
    ownership = graph.add("Tanh", ownership, label="ownership")
    hidden = graph.dense(board.pool_value(first, "value"), head.hidden, head.hidden_bias, "value_hidden")
    hidden = graph.activate(hidden, head.hidden_activation)

    outputs = score_outputs(model)
    weights = np.concatenate([head.value, outputs.weights], axis=1)
    bias = np.concatenate([head.value_bias, outputs.bias])
    sizes = [3, 2, len(outputs.factors)] if len(outputs.factors) else [3, 2]
    logits, plain, *positive = graph.add_many(
        "Split",
        len(sizes),
        graph.dense(hidden, weights, bias, "value_outputs"),
        graph.integers(*sizes),
        axis=1,
        label="value_split",
    )
    if model.version == 3:
        value = graph.add("Softmax", logits, axis=1, label="value")
        return value, _oldest_score(graph, board, value, plain), ownership
    value = graph.add("Softmax", _without_no_result(graph, logits, global_), axis=1, label="value")
    return value, _score(graph, outputs, value, plain, positive[0]), ownership


def _without_no_result(graph: Graph, logits: str, global_: str) -> str:
    """Lower the third logit where neither simple ko nor territory scoring makes a game without result possible."""
    superko = graph.add("Gather", global_, graph.integers(KO_FEATURE), axis=1, label="superko")
    territory = graph.add("Gather", global_, graph.integers(TERRITORY_FEATURE), axis=1, label="territory")
    excluded = graph.add("Relu", graph.add("Sub", superko, territory), label="excluded")
    return graph.add("Sub", logits, graph.add("Mul", excluded, graph.weights([[0.0, 0.0, EXCLUDED]], "no_result")))


def _score(graph: Graph, outputs: ScoreOutputs, value: str, plain: str, positive: str) -> str:
    """[N, 6]. The network's mean, lead and standard deviation presume a result; a game without one counts 0 points."""
    positive = graph.add("Mul", graph.add("Softplus", positive), graph.weights(outputs.factors, "score_units"))
    no_result = graph.add("Gather", value, graph.integers(2), axis=1, label="no_result")
    result = graph.add("Sub", graph.scalar(1.0), no_result, label="result")
    given_mean = graph.add("Gather", plain, graph.integers(0), axis=1)
    mean, lead = graph.add_many("Split", 2, graph.add("Mul", plain, result), axis=1, label="mean_lead")
    if len(outputs.factors) == 1:
        given_stdev, rest = positive, _unavailable(graph, value)
    else:
        given_stdev, time, errors = graph.add_many("Split", 3, positive, graph.integers(1, 1, 2), axis=1)
        errors = graph.add("Sqrt", errors) if outputs.has_root else errors
        rest = graph.add("Concat", time, errors, axis=1)
    # E[x^2] - E[x]^2 = result * (stdev^2 + mean^2) - (result * mean)^2 = result * (stdev^2 + mean^2 * no_result)
    spread = graph.add("Mul", given_stdev, given_stdev)
    spread = graph.add("Add", spread, graph.add("Mul", graph.add("Mul", given_mean, given_mean), no_result))
    stdev = graph.add("Sqrt", graph.add("Mul", spread, result), label="stdev")
    return graph.add("Concat", mean, stdev, lead, rest, axis=1, label="score")


def _oldest_score(graph: Graph, board: BoardValues, value: str, plain: str) -> str:
    """Version 3 knows one score, squashed by arctan with a scale of twice the board's width."""
    scores = graph.add("Mul", plain, graph.add("Mul", board.width, graph.scalar(2.0)))
    mean, lead = graph.add_many("Split", 2, scores, axis=1)
    none = graph.add("Mul", mean, graph.scalar(0.0))
    return graph.add("Concat", mean, none, lead, _unavailable(graph, value), axis=1, label="score")


def _unavailable(graph: Graph, value: str) -> str:
    """[N, 3] of -1: what such a network doesn't estimate."""
    return graph.add("Sub", graph.add("Mul", value, graph.scalar(0.0)), graph.scalar(1.0), label="unavailable")
