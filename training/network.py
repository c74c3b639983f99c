"""One network in PyTorch for teachers and students, built from the parsed model of a KataGo file and turned back into
one.

A module has the names of the fields of the part of `nets/katago/model.py` that it computes, so what learned goes back
to where it came from. What the reader reads can teach from version 8 on; what the writer writes can learn.

Boards smaller than the canvas lie in its top left corner; plane 0 says where they are, and what convolutions and
attention read is kept at zero everywhere else, as it is outside the canvas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from nets.evaluator import LEAD, NO_RESULT, SCORE_COLUMNS, SCORE_MEAN, SCORE_STDEV, Evaluation
from nets.katago.model import (
    EXCLUDED,
    KO_FEATURE,
    TERRITORY_FEATURE,
    Activation,
    AttentionBlock,
    BottleneckBlock,
    Convolution,
    FeedForwardBlock,
    FloatArray,
    Model,
    Normed,
    OrdinaryBlock,
    PolicyHead,
    PoolingBlock,
    RmsTip,
    softplus_units,
)
from nets.katago.writer import VERSION
from training.errors import TrainingError
from training.files import read_network
from training.positions.canvas import OFF_BOARD

OLDEST_TEACHER = 8
"""The oldest model version that can teach: the outputs of older ones have other meanings."""

PLAIN, OPTIMISTIC, SOFT, REPLY = range(4)
"""Channels of the policy head: the next move, the optimistic policy, the next move at SOFT_TEMPERATURE, and the
opponent's reply. A file has the first two; the others begin as the first one at that temperature, and as zero."""
POLICIES = 4
"""How many channels the policy head has."""
SOFT_TEMPERATURE = 4.0
"""Temperature of the soft policy."""


class Outputs(NamedTuple):
    """A network's outputs for N positions before post-processing, float32, from the view of the side to move."""

    policy: Tensor
    """[N, POLICIES, S*S + 1] logits, OFF_BOARD outside the board"""
    value: Tensor
    """[N, 3] logits of win, loss, no result"""
    score: Tensor
    """[N, 6] the columns of `Evaluation.score`, which assume a result; -1 where the network does not estimate one"""
    ownership: Tensor
    """[N, S*S] before tanh"""


class NetworkEvaluation(NamedTuple):
    """A network's evaluation of N positions as float32 tensors, from the view of the side to move."""

    policy: Tensor
    """[N, S*S + 1] logits, OFF_BOARD outside the board"""
    optimistic: Tensor | None
    """[N, S*S + 1] logits, where the network has an optimistic policy"""
    value: Tensor
    """[N, 3] probabilities of win, loss, no result"""
    score: Tensor
    """[N, 6] the columns of `Evaluation.score`; -1 where the network does not estimate a column"""
    ownership: Tensor
    """[N, S*S] in [-1, 1]"""


class BoardMask(NamedTuple):
    """Where the boards of a batch lie on their canvas."""

    mask: Tensor | None
    """[N, 1, S, S] 1 on the board; None where all boards fill the canvas"""
    area: Tensor
    """[N, 1] points"""
    linear: Tensor
    """[N, 1] (w - 14) / 10, with w the root of the area"""

    @staticmethod
    def of(spatial: Tensor, fills_canvas: bool) -> BoardMask:
        """Read the boards from the planes [N, 22, S, S]."""
        mask = spatial[:, :1]
        area = mask.sum((2, 3), dtype=torch.float32)
        return BoardMask(None if fills_canvas else mask, area, (area.sqrt() - 14.0) / 10.0)

    def cut(self, x: Tensor) -> Tensor:
        """Set [N, C, S, S] to zero outside the board. What is in bf16 stays in bf16."""
        return x if self.mask is None else x * self.mask.to(x.dtype)

    def mean(self, x: Tensor) -> Tensor:
        """Return the means [N, C] of x [N, C, S, S], which is zero outside the board."""
        return x.sum((2, 3), dtype=torch.float32) / self.area

    def pool(self, x: Tensor) -> Tensor:
        """Pool x [N, C, S, S], zero outside the board, to [N, 3C]: mean, mean * linear, maximum on the board."""
        mean = self.mean(x)
        covered = x if self.mask is None else torch.where(self.mask > 0, x, OFF_BOARD)
        return torch.cat([mean, mean * self.linear, covered.amax((2, 3))], 1)

    def pool_value(self, x: Tensor) -> Tensor:
        """Pool x [N, C, S, S], zero outside the board, to [N, 3C]: mean, mean * linear, mean * (linear^2 - 0.1)."""
        mean = self.mean(x)
        return torch.cat([mean, mean * self.linear, mean * (self.linear.square() - 0.1)], 1)


class Convolve(nn.Conv2d):
    """A convolution without a bias, with zeros around the board."""

    def __init__(self, layer: Convolution) -> None:
        outputs, inputs, rows, columns = layer.weights.shape
        padding = rows // 2 * layer.dilation[0], columns // 2 * layer.dilation[1]
        super().__init__(inputs, outputs, (rows, columns), padding=padding, dilation=layer.dilation, bias=False)
        self.weight = learned(layer.weights)

    def to_model(self) -> Convolution:
        """Return the layer as it is now."""
        return Convolution(_array(self.weight), (self.dilation[0], self.dilation[1]))


class Multiply(nn.Linear):
    """The product with a matrix [in, out]."""

    def __init__(self, matrix: FloatArray) -> None:
        super().__init__(matrix.shape[0], matrix.shape[1], bias=False)
        self.weight = learned(matrix.T)

    def to_model(self) -> FloatArray:
        """Return the matrix [in, out] as it is now."""
        return np.ascontiguousarray(_array(self.weight).T)


class Part(nn.Module):
    """A part of a network; its layers have the names of the fields of `source`, the same part as plain data."""

    LAYERS: tuple[str, ...] = ()
    """The fields of `source` that are layers or weights, in the order of the optimisers' state in checkpoints."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self.source = source
        for name in self.LAYERS:
            setattr(self, name, new_layer(getattr(source, name)))

    def to_model(self) -> Any:
        """Return the part as it is now."""
        return replace(self.source, **{name: _plain(getattr(self, name)) for name in self.LAYERS})


class Scaled(Part):
    """A batch norm as scale and bias, with its activation; points outside the board become zero."""

    LAYERS = ("scale", "bias")

    def forward(self, x: Tensor, board: BoardMask) -> Tensor:
        """Scale and activate x [N, C, S, S]."""
        normed = torch.addcmul(self.bias[:, None, None], x, self.scale[:, None, None])
        return board.cut(activate(normed, self.source.activation))


class Tip(Part):
    """The end of a trunk without batch norm: an RMS norm, of each point or of the board, and the activation."""

    LAYERS = ("gamma", "beta")

    def forward(self, x: Tensor, board: BoardMask) -> Tensor:
        """Norm and activate x [N, C, S, S]."""
        square = x.square().mean(1, keepdim=True)
        if self.source.spatial:
            square = board.mean(board.cut(square))[:, :, None, None]
        normed = x * torch.rsqrt(square + self.source.epsilon)
        normed = normed * self.gamma[:, None, None] + self.beta[:, None, None]
        return board.cut(activate(normed, self.source.activation))


class Ordinary(Part):
    """A residual block of two convolutions."""

    LAYERS = ("before", "between", "first", "second")

    def forward(self, x: Tensor, board: BoardMask) -> Tensor:
        """Return x with what the block adds to it."""
        return x + self.second(self.between(self.first(self.before(x, board)), board))


class Pooling(Part):
    """A residual block in which some channels are pooled over the board and added to the others as a bias."""

    LAYERS = ("before", "between", "pooled_norm", "first", "pooled", "second", "pooled_to_bias")

    def forward(self, x: Tensor, board: BoardMask) -> Tensor:
        """Return x with what the block adds to it."""
        hidden = self.before(x, board)
        pooled = board.pool(self.pooled_norm(self.pooled(hidden), board))
        hidden = self.first(hidden) + self.pooled_to_bias(pooled)[:, :, None, None]
        return x + self.second(self.between(hidden, board))


class Bottleneck(Part):
    """A residual block whose inside is a sequence of blocks with fewer channels."""

    LAYERS = ("before", "after", "narrow", "widen", "blocks")

    def forward(self, x: Tensor, board: BoardMask) -> Tensor:
        """Return x with what the block adds to it."""
        hidden = self.narrow(self.before(x, board))
        for block in self.blocks:
            hidden = block(hidden, board)
        return x + self.widen(self.after(hidden, board))


class Transformer(Part):
    """What both blocks of a transformer share: several matrices side by side, which read the RMS norm of the input,
    and one that writes. The norm's weights are merged into those that read."""

    READ: tuple[str, ...] = ()
    """The fields of `source` that are the matrices that read; one of them may be None."""
    WRITTEN = ""

    def __init__(self, block: AttentionBlock | FeedForwardBlock) -> None:
        super().__init__(block)
        parts = {name: matrix for name in self.READ if (matrix := getattr(block, name)) is not None}
        self.widths = {name: matrix.shape[1] for name, matrix in parts.items()}
        self.joined = Multiply(np.concatenate(list(parts.values()), axis=1) * block.norm[:, None])
        self.last = Multiply(getattr(block, self.WRITTEN))

    def read(self, tokens: Tensor) -> tuple[Tensor, ...]:
        """Return what each matrix that reads makes of the norm of tokens [N, P, C]."""
        norm = torch.linalg.vector_norm(tokens, dim=2, keepdim=True, dtype=torch.float32)
        normed = tokens * torch.rsqrt(norm.square() / tokens.shape[2] + self.source.epsilon)
        parts: tuple[Tensor, ...] = self.joined(normed).split(list(self.widths.values()), 2)
        return parts

    def to_model(self) -> Any:
        """Return the part as it is now."""
        ends = np.cumsum(list(self.widths.values()))[:-1]
        parts = np.split(self.joined.to_model(), ends, axis=1)
        changed = {name: np.ascontiguousarray(part) for name, part in zip(self.widths, parts, strict=True)}
        changed |= {"norm": np.ones_like(self.source.norm), self.WRITTEN: self.last.to_model()}
        return replace(self.source, **changed)


class Attention(Transformer):
    """Self-attention over the points of each board, added to its input. Queries and keys are turned by their point's
    coordinates after they are computed (Su et al., "RoFormer", 2021), by frequencies that do not learn."""

    READ, WRITTEN = ("query", "key", "value"), "output"

    def __init__(self, block: AttentionBlock) -> None:
        super().__init__(block)
        frequencies = None if block.rope is None else torch.from_numpy(block.rope.copy())
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, x: Tensor, board: BoardMask) -> Tensor:
        """Return x with what the block adds to it."""
        heads, kv_heads = self.source.heads, self.source.kv_heads
        rows = tokens_of(x)
        shape = (*rows.shape[:2], kv_heads)
        query, key, value = self.read(rows)
        query = query.reshape(*shape, heads // kv_heads, -1)
        key, value = (part.reshape(*shape, 1, -1) for part in (key, value))
        if self.frequencies is not None:
            query, key = rotated(self._angles(x.shape[2], x.shape[3]), query, key)
        key, value = (part.expand(*shape, heads // kv_heads, -1) for part in (key, value))
        query, key, value = (part.flatten(2, 3).transpose(1, 2) for part in (query, key, value))
        visible = None if board.mask is None else board.mask.flatten(2)[:, :, None, :] > 0
        mixed = attend(query, key, value, visible)
        return board.cut(planes_of(rows + self.last(mixed.transpose(1, 2).flatten(2)), x))

    def _angles(self, height: int, width: int) -> Tensor:
        """Return the angle [P, key heads or 1, 1, pairs] by which each point rotates each pair."""
        steps = torch.arange(max(height, width), device=self.frequencies.device, dtype=torch.float32)
        by_x, by_y = (steps[:, None, None] * self.frequencies[:, :, axis] for axis in range(2))
        return (by_y[:height, None] + by_x[None, :width]).flatten(0, 1)[:, :, None]


class FeedForward(Transformer):
    """A feed-forward block of each point alone: silu(n @ first) @ second is added to its input. A gate multiplies
    silu(n @ first) by n @ gate (Shazeer, "GLU variants improve transformer", 2020)."""

    READ, WRITTEN = ("first", "gate"), "second"

    def forward(self, x: Tensor, board: BoardMask) -> Tensor:
        """Return x with what the block adds to it."""
        rows = tokens_of(x)
        first, *gate = self.read(rows)
        hidden = functional.silu(first)
        if gate:
            hidden = hidden * gate[0]
        return board.cut(planes_of(rows + self.last(hidden), x))


class PolicyLayers(Part):
    """The policy head: POLICIES logits for each point and for the pass."""

    LAYERS: tuple[str, ...] = ("first", "pooled", "pooled_norm", "first_norm", "pooled_to_bias", "second")
    LAYERS += ("pass_first", "pass_bias", "pass_second")

    def __init__(self, head: PolicyHead) -> None:
        last = "pass_first" if head.pass_second is None else "pass_second"
        passes: dict[str, Any] = {last: _with_all(getattr(head, last).T).T}
        super().__init__(replace(head, second=replace(head.second, weights=_with_all(head.second.weights)), **passes))

    def forward(self, x: Tensor, board: BoardMask) -> Tensor:
        """Return logits [N, POLICIES, S*S + 1]."""
        pooled = board.pool(self.pooled_norm(self.pooled(x), board))
        hidden = self.first(x) + self.pooled_to_bias(pooled)[:, :, None, None]
        points = self.second(self.first_norm(hidden, board))
        if board.mask is not None:
            points = torch.where(board.mask > 0, points, OFF_BOARD)
        passes = self.pass_first(pooled)
        if self.pass_second is not None:
            passes = self.pass_second(activate(passes + self.pass_bias, self.source.pass_activation))
        return torch.cat([points.flatten(2), passes[:, :, None]], 2)


class ValueLayers(Part):
    """The value head: value, score and ownership."""

    LAYERS = ("first", "norm", "hidden", "value", "score", "hidden_bias", "value_bias", "score_bias", "ownership")

    def __init__(self, model: Model) -> None:
        super().__init__(model.value)
        scale, (before, after, self.has_root) = model.multipliers, softplus_units(model.version, model.multipliers)
        for name, values in (
            ("before", [1.0, before[0], 1.0, *before[1:]]),
            ("units", [scale.score_mean, after[0], scale.lead, *after[1:]]),
            ("is_signed", [True, False, True, *[False] * len(before[1:])]),
        ):
            self.register_buffer(name, torch.tensor(values), persistent=False)

    def forward(self, x: Tensor, board: BoardMask) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits of the outcome [N, 3], the scores [N, 6], and the ownership [N, S*S] before tanh."""
        first = self.norm(self.first(x), board)
        hidden = activate(self.hidden(board.pool_value(first)) + self.hidden_bias, self.source.hidden_activation)
        score = (self.score(hidden) + self.score_bias)[:, : len(self.units)]
        score = torch.where(self.is_signed, score, functional.softplus(score * self.before)) * self.units
        if self.has_root:
            score = torch.cat([score[:, :4], score[:, 4:].sqrt()], 1)
        score = functional.pad(score, (0, SCORE_COLUMNS - score.shape[1]), value=-1.0)
        return self.value(hidden) + self.value_bias, score, self.ownership(first).flatten(1)


class Network(nn.Module):
    """A KataGo network. `name`, `pass_alive_under_suicide` (how its area features count pass-alive groups),
    `has_optimistic` (whether its file has an optimistic policy) and `has_errors` (whether it estimates the time left
    and short-term errors) are those of the file."""

    def __init__(self, model: Model) -> None:
        """Build the network of a model of version 8 or later, without metadata."""
        super().__init__()
        self.model = model
        self.name, self.pass_alive_under_suicide = model.name, model.pass_alive_under_suicide
        self.has_optimistic, self.has_errors = model.policy.channels > OPTIMISTIC, model.estimates_errors
        trunk = model.trunk
        self.stem, self.stem_global = new_layer(trunk.stem), new_layer(trunk.stem_global)
        self.blocks, self.tip = new_layer(trunk.blocks), new_layer(trunk.tip)
        self.policy, self.value = PolicyLayers(model.policy), ValueLayers(model)
        self.compiled_for: frozenset[tuple[int, int]] | None = None
        """Numbers of positions, and lines of their boards, for which compiled code of the blocks is used, and only
        where they learn; for all others they compute as they are written. None: for all alike."""

    def forward(self, spatial: Tensor, global_: Tensor, fills_canvas: bool = True) -> Outputs:
        """Evaluate `spatial` [N, 22, S, S] and `global_` [N, 19], float32. `fills_canvas` says that all boards are
        S×S. The stream of the trunk and the heads are in float32, under autocast too."""
        board = BoardMask.of(spatial, fills_canvas)
        x = self.stem(spatial).float() + self.stem_global(global_).float()[:, :, None, None]
        x = board.cut(x).contiguous(memory_format=torch.channels_last)
        is_compiled = self.compiled_for is None
        if self.compiled_for is not None and fills_canvas and torch.is_grad_enabled():
            is_compiled = (len(spatial), spatial.shape[-1]) in self.compiled_for
        for block in self.blocks:
            x = block(x, board) if is_compiled else block.forward(x, board)
        with torch.autocast(x.device.type, enabled=False):
            trunk = self.tip(x.float(), board)
            value, score, ownership = self.value(trunk, board)
            return Outputs(self.policy(trunk, board), value, score, ownership)

    def evaluate(self, spatial: Tensor, global_: Tensor, fills_canvas: bool = True) -> NetworkEvaluation:
        """Evaluate positions as `forward` does, and return what the outputs mean."""
        outputs = self(spatial, global_, fills_canvas)
        # The last outcome is 0 unless ko is simple or territory is scored.
        excluded = functional.relu(global_[:, KO_FEATURE] - global_[:, TERRITORY_FEATURE]) * EXCLUDED
        logits = outputs.value
        value = torch.cat([logits[:, :NO_RESULT], logits[:, NO_RESULT:] - excluded[:, None]], 1).softmax(1)
        optimistic = outputs.policy[:, OPTIMISTIC] if self.has_optimistic else None
        score = _of_all_games(outputs.score, value)
        return NetworkEvaluation(outputs.policy[:, PLAIN], optimistic, value, score, outputs.ownership.tanh())

    def parts(self) -> list[nn.Module]:
        """Return the parts that are worth compiling. Those of one kind share their code."""
        return [*self.blocks, self.policy, self.value]

    @property
    def has_wide_convolutions(self) -> bool:
        """Whether blocks have convolutions of more than a point."""
        convolutions = (part for part in self.blocks.modules() if isinstance(part, Convolve))
        return any(part.kernel_size != (1, 1) for part in convolutions)

    @property
    def parameter_count(self) -> int:
        """The number of weights."""
        return sum(parameter.numel() for parameter in self.parameters())

    def to_model(self, name: str, has_optimistic: bool, pass_alive_under_suicide: bool = False) -> Model:
        """Return the network as it is now, as a model of the version that `nets/katago/writer.py` writes.

        `has_optimistic` says whether its optimistic policy means anything; if not, the plain one takes its place.
        """
        channels = [PLAIN, OPTIMISTIC if has_optimistic else PLAIN]
        policy = self.policy.to_model()
        trunk = {name: _plain(getattr(self, name)) for name in ("stem", "stem_global", "blocks", "tip")}
        return replace(
            self.model,
            name=name,
            version=VERSION,
            pass_alive_under_suicide=pass_alive_under_suicide,
            trunk=replace(self.model.trunk, **trunk),
            policy=replace(
                policy,
                second=replace(policy.second, weights=policy.second.weights[channels]),
                pass_second=np.ascontiguousarray(policy.pass_second[:, channels]),
            ),
            value=self.value.to_model(),
        )


KINDS: dict[type, type[nn.Module]] = {
    Convolution: Convolve,
    Normed: Scaled,
    RmsTip: Tip,
    OrdinaryBlock: Ordinary,
    PoolingBlock: Pooling,
    BottleneckBlock: Bottleneck,
    AttentionBlock: Attention,
    FeedForwardBlock: FeedForward,
}
"""The module of each kind of layer and block."""


def new_layer(source: Any) -> Any:
    """Return what computes a layer, a block or a sequence of blocks, or the weights of a vector; None if there is
    none."""
    if isinstance(source, tuple):
        return nn.ModuleList(map(new_layer, source))
    if isinstance(source, np.ndarray):
        return Multiply(source) if source.ndim == 2 else learned(source)
    return None if source is None else KINDS[type(source)](source)


def check_teacher(model: Model, path: Path) -> None:
    """Check that the network of the file `path` can teach. Raises TrainingError."""
    if model.version < OLDEST_TEACHER or model.trunk.metadata is not None:
        raise TrainingError(f"{path}: networks of this kind cannot teach (model version {model.version})")


def load_network(path: Path) -> Network:
    """Read a network that teaches. Raises TrainingError."""
    model = read_network(path)
    check_teacher(model, path)
    return Network(model).requires_grad_(False).eval()


def evaluate_with(network: Network) -> Callable[[NDArray[np.float32], NDArray[np.float32]], Evaluation]:
    """Return a function that evaluates planes [N, 22, H, W] and global features [N, 19] with a network."""
    device = next(network.parameters()).device

    @torch.no_grad()
    def evaluate(spatial: NDArray[np.float32], global_: NDArray[np.float32]) -> Evaluation:
        planes, numbers = torch.from_numpy(spatial).to(device), torch.from_numpy(global_).to(device)
        found = network.evaluate(planes.contiguous(memory_format=torch.channels_last), numbers)
        parts = found.policy, found.value, found.score, found.ownership
        return Evaluation(*(part.cpu().contiguous().numpy() for part in parts))

    return evaluate


def rotated(angle: Tensor, *parts: Tensor) -> tuple[Tensor, ...]:
    """Rotate neighbouring pairs (a, b) of the last dimension by an angle: (a cos - b sin, a sin + b cos)."""
    if angle.device.type == "cpu":  # as complex numbers an eighth of the time; compilers for GPUs do not know these
        turns = torch.polar(torch.ones_like(angle), angle)
        pairs = (part.unflatten(-1, (-1, 2)).float().contiguous() for part in parts)
        products = (torch.view_as_real(torch.view_as_complex(each) * turns).flatten(-2) for each in pairs)
        return tuple(each.to(part.dtype) for each, part in zip(products, parts, strict=True))
    cosine, sine = angle.cos().to(parts[0].dtype), angle.sin().to(parts[0].dtype)
    halves = (part.unflatten(-1, (-1, 2)).unbind(-1) for part in parts)
    return tuple(torch.stack([a * cosine - b * sine, a * sine + b * cosine], -1).flatten(-2) for a, b in halves)


def attend(query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None) -> Tensor:
    """Return the means of `value` [N, heads, P, E], weighted by the softmax of query · key / √D, both [N, heads, P, D].
    Only points that are `visible` [N, 1, 1, P] count; None: all."""
    if query.device.type == "cpu" and query.dtype == torch.bfloat16:
        mixed: Tensor = _BoardByBoard.apply(query, key, value, visible)
        return mixed
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)


class _BoardByBoard(torch.autograd.Function):
    """Attention for one board after another, so that its scores stay in a core's cache; for the gradients they are
    computed again. PyTorch's own takes 1.7 times as long in bf16."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None) -> Tensor:
        query, key, value = (query * query.shape[3] ** -0.5).contiguous(), key.contiguous(), value.contiguous()
        mixed = torch.empty_like(value)
        for board in range(len(query)):
            torch.bmm(_attention_weights(query[board], key[board], visible, board), value[board], out=mixed[board])
        ctx.save_for_backward(query, key, value, visible, mixed)
        return mixed

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, visible, mixed = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        means = (gradient * mixed).sum(3, keepdim=True)
        to_query, to_key, to_value = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
        for board in range(len(query)):
            weights = _attention_weights(query[board], key[board], visible, board)
            torch.bmm(weights.transpose(1, 2), gradient[board], out=to_value[board])
            scores = torch.bmm(gradient[board], value[board].transpose(1, 2)).sub_(means[board]).mul_(weights)
            torch.bmm(scores, key[board], out=to_query[board])
            torch.bmm(scores.transpose(1, 2), query[board], out=to_key[board])
        return to_query.mul_(query.shape[3] ** -0.5), to_key, to_value, None


def _attention_weights(query: Tensor, key: Tensor, visible: Tensor | None, board: int) -> Tensor:
    """Return the weights [heads, P, P] with which each point of a board sees the others."""
    scores = torch.bmm(query, key.transpose(1, 2))
    return (scores if visible is None else scores.masked_fill_(~visible[board], -torch.inf)).softmax(2)


def learned(array: FloatArray) -> nn.Parameter:
    """Return weights that begin as an array."""
    return nn.Parameter(torch.from_numpy(array.astype(np.float32, "C")))


def activate(x: Tensor, activation: Activation | None) -> Tensor:
    """Apply an activation to x; None is the identity."""
    if activation is Activation.RELU:
        return functional.relu(x)
    if activation is Activation.MISH:
        return functional.mish(x)
    return functional.silu(x) if activation is Activation.SILU else x


def tokens_of(x: Tensor) -> Tensor:
    """Reshape [N, C, H, W] to [N, H*W, C], without a copy where the channels come last in memory."""
    return x.permute(0, 2, 3, 1).flatten(1, 2).contiguous()


def planes_of(tokens: Tensor, like: Tensor) -> Tensor:
    """Reshape tokens back to the shape of `like`: the inverse of `tokens_of`."""
    count, channels, height, width = like.shape
    return tokens.view(count, height, width, channels).permute(0, 3, 1, 2)


def _with_all(channels: FloatArray) -> FloatArray:
    """Return weights [POLICIES, ...] of the policy head out of those of a file, [1, 2 or 4, ...]."""
    plain = channels[PLAIN]
    optimistic = channels[OPTIMISTIC] if len(channels) > OPTIMISTIC else plain
    return np.stack([plain, optimistic, plain / np.float32(SOFT_TEMPERATURE), np.zeros_like(plain)])


def _of_all_games(score: Tensor, value: Tensor) -> Tensor:
    """Return the score columns [N, 6] of all games, from those of games with a result; the others count 0 points.

    `value` [N, 3] has the probability of no result."""
    result, no_result = 1.0 - value[:, NO_RESULT], value[:, NO_RESULT]
    mean, stdev = score[:, SCORE_MEAN], score[:, SCORE_STDEV]
    score = score.clone()
    score[:, SCORE_MEAN] = mean * result
    score[:, LEAD] *= result
    score[:, SCORE_STDEV] = ((stdev.square() + mean.square() * no_result) * result).sqrt()
    return score


def _array(parameter: Tensor) -> FloatArray:
    return np.ascontiguousarray(parameter.detach().float().cpu().numpy())


def _plain(part: Any) -> Any:
    """Return a layer, a part, a list of parts, or weights, as plain data."""
    if isinstance(part, nn.ModuleList):
        return tuple(map(_plain, part))
    return _array(part) if isinstance(part, Tensor) else part.to_model()
