"""A KataGo network as plain data: the layers of its trunk and heads, in the order they compute.

Convolution weights are [out, in, y, x], matrices [in, out]; all arrays float32. Batch norms hold what remains of them
at inference, one scale and one bias per channel: `scale * x + bias`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


class Activation(enum.Enum):
    """The functions between layers, by the names that they have in files."""

    IDENTITY = "ACTIVATION_IDENTITY"
    RELU = "ACTIVATION_RELU"
    MISH = "ACTIVATION_MISH"
    """x * tanh(softplus(x))"""
    SILU = "ACTIVATION_SILU"
    """x * sigmoid(x)"""


@dataclass(frozen=True)
class Convolution:
    """A convolution, padded with zeros so that the board keeps its size."""

    weights: FloatArray
    """[out, in, y, x], y and x odd."""
    dilation: tuple[int, int]
    """(y, x)"""
    bias: FloatArray | None = None
    """[out]; None in files, where only norms have biases."""

    @property
    def inputs(self) -> int:
        """The number of channels that it reads."""
        return self.weights.shape[1]

    @property
    def outputs(self) -> int:
        """The number of channels that it writes."""
        return self.weights.shape[0]

    @property
    def biases(self) -> FloatArray:
        """Return the biases [out], which are zeros where there are none."""
        return np.zeros(self.outputs, np.float32) if self.bias is None else self.bias

    def followed_by(self, norm: Normed) -> Convolution:
        """Return one convolution that does the work of this and of the norm after it, except its activation."""
        bias = norm.bias if self.bias is None else self.bias * norm.scale + norm.bias
        return Convolution(self.weights * norm.scale[:, None, None, None], self.dilation, bias)


@dataclass(frozen=True)
class Normed:
    """A batch norm and the activation after it."""

    scale: FloatArray
    """[C]"""
    bias: FloatArray
    """[C]"""
    activation: Activation

    @property
    def channels(self) -> int:
        """The number of channels that it scales."""
        return self.scale.size

    @property
    def is_identity(self) -> bool:
        """Whether scale and bias change nothing, so that only the activation is left."""
        return bool((self.scale == 1).all() and (self.bias == 0).all())

    def without_norm(self) -> Normed:
        """Return one with the same activation and no norm."""
        return Normed(np.ones_like(self.scale), np.zeros_like(self.bias), self.activation)


@dataclass(frozen=True)
class RmsTip:
    """The trunk's end in networks without batch norm: x / rms(x) * gamma + beta, then the activation."""

    gamma: FloatArray
    """[C]"""
    beta: FloatArray
    """[C]"""
    epsilon: float
    spatial: bool
    """The mean square is taken over channels and the whole board, instead of per point."""
    activation: Activation


@dataclass(frozen=True)
class OrdinaryBlock:
    """A residual block of two convolutions, computed in the order of its fields."""

    before: Normed
    first: Convolution
    between: Normed
    second: Convolution


@dataclass(frozen=True)
class PoolingBlock:
    """An ordinary block in which the board-wide pool of another convolution is added to the first one's output."""

    before: Normed
    first: Convolution
    pooled: Convolution
    pooled_norm: Normed
    pooled_to_bias: FloatArray
    """[3 * pooled, first]"""
    between: Normed
    second: Convolution


@dataclass(frozen=True)
class BottleneckBlock:
    """A residual block whose inside is a sequence of residual blocks with fewer channels."""

    before: Normed
    narrow: Convolution
    blocks: tuple[Block, ...]
    after: Normed
    widen: Convolution


@dataclass(frozen=True)
class AttentionBlock:
    """Residual self-attention over the points of the board; its norm is x / rms(x) * norm, per point."""

    heads: int
    kv_heads: int
    """Heads of keys and values; each serves heads / kv_heads query heads."""
    norm: FloatArray
    """[C]"""
    epsilon: float
    query: FloatArray
    """[C, heads * query dimension]"""
    key: FloatArray
    """[C, kv_heads * query dimension]"""
    value: FloatArray
    """[C, kv_heads * value dimension]"""
    output: FloatArray
    """[heads * value dimension, C]"""
    rope: FloatArray | None
    """[kv heads or 1, pairs, 2 (x, y)], rotary position embedding: pair i of a head turns by
    x * rope[i, 0] + y * rope[i, 1]."""

    @property
    def query_dimension(self) -> int:
        """The length of each head's queries and keys."""
        return self.query.shape[1] // self.heads

    @property
    def value_dimension(self) -> int:
        """The length of each head's values."""
        return self.value.shape[1] // self.kv_heads


@dataclass(frozen=True)
class FeedForwardBlock:
    """A residual block: silu(n @ first) [* (n @ gate)] @ second, where n is the RMS norm of the input."""

    norm: FloatArray
    """[C]"""
    epsilon: float
    first: FloatArray
    """[C, hidden]"""
    gate: FloatArray | None
    """[C, hidden]; None where nothing is gated."""
    second: FloatArray
    """[hidden, C]"""


Block = OrdinaryBlock | PoolingBlock | BottleneckBlock | AttentionBlock | FeedForwardBlock


@dataclass(frozen=True)
class MetadataEncoder:
    """In HumanSL networks: maps 192 numbers that describe the players, through two hidden layers, to trunk channels."""

    first: FloatArray
    """[192, first hidden layer]"""
    first_bias: FloatArray
    """[first hidden layer]"""
    first_activation: Activation
    second: FloatArray
    """[first hidden layer, second]"""
    second_bias: FloatArray
    """[second hidden layer]"""
    second_activation: Activation
    third: FloatArray
    """[second hidden layer, C]"""

    @property
    def inputs(self) -> int:
        """How many numbers describe the players."""
        return self.first.shape[0]


@dataclass(frozen=True)
class EvaluationCost:
    """About what an evaluation costs, by the sizes of a trunk: the heads are small beside it."""

    by_point: int
    """Multiplications for each point of the board: one by each weight."""
    by_pair: int
    """Multiplications for each pair of points, in attention."""

    def multiplications(self, points: int) -> int:
        """Return how many there are on a board of so many points."""
        return points * (self.by_point + points * self.by_pair)


@dataclass(frozen=True)
class Trunk:
    """Everything before the heads: the stem's convolution and global features, the blocks, and a last norm."""

    stem: Convolution
    stem_global: FloatArray
    """[global features, C], added at every point."""
    metadata: MetadataEncoder | None
    blocks: tuple[Block, ...]
    tip: Normed | RmsTip

    @property
    def work(self) -> EvaluationCost:
        """What an evaluation costs."""
        pairs = sum(block.query.shape[1] + block.output.shape[0] for block in _attention_blocks(self.blocks))
        return EvaluationCost(sum(array.size for array in _arrays((self.stem, self.blocks))), pairs)

    @property
    def channels(self) -> int:
        """The number of channels of the stream that the blocks read and write."""
        return self.stem.outputs


@dataclass(frozen=True)
class PolicyHead:
    """The likelihoods of moves, as logits: of points by convolutions, to which a board-wide pool adds; of the pass by
    that pool alone."""

    first: Convolution
    pooled: Convolution
    pooled_norm: Normed
    pooled_to_bias: FloatArray
    """[3 * pooled, first]"""
    first_norm: Normed
    second: Convolution
    """Its outputs are the policy and, from version 12 on, the optimistic policy; two more are not used."""
    pass_first: FloatArray
    """[3 * pooled, outputs]; with two matrices [3 * pooled, hidden]"""
    pass_bias: FloatArray | None
    """[hidden]; None, as the next two, where the pass has only one matrix (before version 15)."""
    pass_activation: Activation | None
    pass_second: FloatArray | None
    """[hidden, outputs]"""

    @property
    def channels(self) -> int:
        """How many logits it has for each point."""
        return self.second.outputs


@dataclass(frozen=True)
class ValueHead:
    """Who wins, by how much, and who owns each point, seen by the side to move."""

    first: Convolution
    norm: Normed
    hidden: FloatArray
    """[3 * first, hidden], of a board-wide pool of what `norm` gives"""
    hidden_bias: FloatArray
    """[hidden]"""
    hidden_activation: Activation
    value: FloatArray
    """[hidden, 3]: logits of win, loss, no result"""
    value_bias: FloatArray
    """[3]"""
    score: FloatArray
    """[hidden, 1, 2, 4 or 6] by version (`score_outputs`)"""
    score_bias: FloatArray
    """[1, 2, 4 or 6]"""
    ownership: Convolution
    """One output for each point, of what `norm` gives."""


@dataclass(frozen=True)
class Multipliers:
    """The units of the score head's outputs: points; moves for `variance_time`, win minus loss for the value error."""

    score_mean: float = 20.0
    score_stdev: float = 20.0
    lead: float = 20.0
    variance_time: float = 40.0
    shortterm_value_error: float = 0.25
    shortterm_score_error: float = 30.0


@dataclass(frozen=True)
class Model:
    """A whole network: what it is shown, its trunk, and its two heads."""

    name: str
    version: int
    """KataGo's number of the file's format and of the outputs, 3 to 17."""
    spatial_inputs: int
    """How many planes it is shown."""
    global_inputs: int
    """How many numbers it is shown besides."""
    multipliers: Multipliers
    pass_alive_under_suicide: bool
    """Whether the area features need pass-alive chains that are computed as if suicide were legal."""
    trunk: Trunk
    policy: PolicyHead
    value: ValueHead

    @property
    def only_safe_area(self) -> bool:
        """Whether the area features show certain area only, whatever the rules (KataGo's V4 features)."""
        return self.version == 5

    @property
    def estimates_errors(self) -> bool:
        """Whether it estimates the time left and short-term errors."""
        return self.version >= 9

    @property
    def parameters(self) -> int:
        """The number of weights in all layers."""
        return sum(array.size for array in _arrays(self))


def _attention_blocks(blocks: Sequence[Block]) -> Iterator[AttentionBlock]:
    """The attention blocks, those inside of bottlenecks too."""
    for block in blocks:
        if isinstance(block, AttentionBlock):
            yield block
        elif isinstance(block, BottleneckBlock):
            yield from _attention_blocks(block.blocks)


def _arrays(part: object) -> list[FloatArray]:
    if isinstance(part, np.ndarray):
        return [part]
    if isinstance(part, tuple):
        return [array for item in part for array in _arrays(item)]
    if hasattr(part, "__dataclass_fields__"):
        return [array for name in part.__dataclass_fields__ for array in _arrays(getattr(part, name))]
    return []


# --- What the last units of the value head mean ----------------------------------------------------------------------
# How a version's raw outputs become points and probabilities (KataGo's `cpp/neuralnet/nneval.cpp`).

KO_FEATURE, TERRITORY_FEATURE = 6, 9
"""Global features: 0 under the simple ko rule and 1 under the superko rules; 1 under territory scoring."""
EXCLUDED = 1e5
"""Subtracted from the logit of an outcome that the rules exclude, so that its probability is exactly 0."""
SHORTTERM_SCORE_V9 = 10.0


@dataclass(frozen=True)
class ScoreOutputs:
    """The score head's last matrix, rearranged: first the plain outputs, then those that pass through softplus."""

    weights: FloatArray
    """[hidden, 2 + positive]; the units of the plain outputs (mean, lead) are part of it."""
    bias: FloatArray
    factors: FloatArray
    """Factors of the softplus outputs: stdev[, time left (varTimeLeft), short-term errors of value and score]."""
    has_root: bool
    """The short-term errors are the square root of that product."""


def score_outputs(model: Model) -> ScoreOutputs:
    """Return the score head's matrix with the columns and units of the network's version put in one order."""
    head, scale, version = model.value, model.multipliers, model.version
    # Columns: 0 mean, 1 stdev, 2 lead, 3 time left (varTimeLeft), 4 and 5 short-term errors of value and score.
    lead = 2 if version >= 8 else 0
    plain = head.score[:, [0, lead]], head.score_bias[[0, lead]]
    if version == 3:
        return ScoreOutputs(*plain, np.zeros(0, np.float32), False)
    units = np.array([scale.score_mean, scale.lead if version >= 8 else scale.score_mean], np.float32)
    columns = [1, 3, 4, 5] if version >= 9 else [1]
    before, factors, has_root = softplus_units(version, scale)
    weights = np.concatenate([plain[0] * units, head.score[:, columns] * before], axis=1)
    bias = np.concatenate([plain[1] * units, head.score_bias[columns] * before])
    return ScoreOutputs(weights, bias, factors, has_root)


def softplus_units(version: int, scale: Multipliers) -> tuple[FloatArray, FloatArray, bool]:
    """Return the multipliers before and after softplus of the outputs that pass through it: the standard deviation and,
    from version 9 on, the time left and the short-term errors of value and score; and whether the short-term errors
    are the square roots of that."""
    before, after = [1.0, 1.0, 1.0, 1.0], [scale.score_stdev, scale.variance_time]
    if version >= 14:  # sqrt(m * softplus(x / 2) ** 2) = sqrt(m) * softplus(x / 2), of a multiplier m
        before[2:] = [0.5, 0.5]
        after += [math.sqrt(scale.shortterm_value_error), math.sqrt(scale.shortterm_score_error)]
    elif version >= 10:
        after += [scale.shortterm_value_error, scale.shortterm_score_error]
    else:
        after += [1.0, SHORTTERM_SCORE_V9]
    used = 4 if version >= 9 else 1
    return np.array(before[:used], np.float32), np.array(after[:used], np.float32), 10 <= version <= 13
