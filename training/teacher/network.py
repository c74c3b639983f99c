"""KataGo networks as PyTorch modules: teachers on any device, for batches of boards of different sizes.

The layers are those that nets/conversion writes to ONNX, from the same parsed model.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from nets.katago.model import (
    AttentionBlock,
    Block,
    BottleneckBlock,
    Model,
    Normed,
    OrdinaryBlock,
    PolicyHead,
    PoolingBlock,
    RmsTip,
    ValueHead,
)
from nets.katago.score_outputs import score_outputs
from training.errors import TrainingError
from training.files import read_network
from training.positions.canvas import OFF_BOARD
from training.student.board import Board
from training.student.evaluation import score_of, value_of
from training.student.network import OPTIMISTIC
from training.teacher.layers import Convolve, Multiply, activate, constant, convolution, dense
from training.teacher.transformer import Attention, FeedForward

OLDEST = 8
"""The oldest model version that can teach: the outputs of older ones have other meanings."""


class TeacherEvaluation(NamedTuple):
    """A teacher's evaluation of N positions as float32 tensors, from the view of the side to move."""

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


def load_torch_teacher(path: Path) -> TorchTeacher:
    """Read a KataGo network from a file. Raises TrainingError."""
    model = read_network(path)
    check_teacher(model, path)
    return TorchTeacher(model).requires_grad_(False).eval()


def check_teacher(model: Model, path: Path) -> None:
    """Check that the network of the file `path` can teach. Raises TrainingError."""
    if model.version < OLDEST or model.trunk.metadata is not None:
        raise TrainingError(f"{path}: networks of this kind cannot teach (model version {model.version})")


def has_errors(model: Model) -> bool:
    """Return whether a network estimates the time left and short-term errors."""
    return model.version >= 9


class TorchTeacher(nn.Module):
    """A KataGo network as a PyTorch module.

    `has_errors` says whether it estimates the time left and short-term errors, `has_optimistic` whether it has an
    optimistic policy, `pass_alive_under_suicide` how its area features count pass-alive groups.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.name = model.name
        self.pass_alive_under_suicide = model.pass_alive_under_suicide
        self.has_errors = has_errors(model)
        self.stem, self.stem_global = convolution(model.trunk.stem), dense(model.trunk.stem_global)
        self.blocks = nn.ModuleList(_block(block) for block in model.trunk.blocks)
        self.tip = _Scaled(model.trunk.tip) if isinstance(model.trunk.tip, Normed) else _RmsTip(model.trunk.tip)
        self.policy = _Policy(model.policy)
        self.has_optimistic = self.policy.used > OPTIMISTIC
        self.value = _Value(model, model.value)

    def forward(self, spatial: Tensor, global_: Tensor, fills_canvas: bool = True) -> TeacherEvaluation:
        """Evaluate `spatial` [N, 22, S, S] and `global_` [N, 19], float32. `fills_canvas`: all boards are S×S."""
        board = Board.of(spatial, fills_canvas)
        x = self.stem(spatial) + self.stem_global(global_)[:, :, None, None]
        x = board.cut(x).contiguous(memory_format=torch.channels_last)
        for block in self.blocks:
            x = block(x, board)
        trunk = self.tip(x, board)
        policy = self.policy(trunk, board)
        value, score, ownership = self.value(trunk, board, global_)
        optimistic = policy[:, OPTIMISTIC] if self.has_optimistic else None
        return TeacherEvaluation(policy[:, 0], optimistic, value, score, ownership)

    def parts(self) -> list[nn.Module]:
        """Return the parts that are worth compiling. Those of one kind share their code."""
        return [*self.blocks, self.policy, self.value]

    def lower(self, dtype: torch.dtype) -> TorchTeacher:
        """Convolve and multiply in this precision from now on. Residual sums, norms and heads stay in float32."""
        for module in (self.stem, *self.blocks.modules()):
            if isinstance(module, Convolve | Multiply):
                module.to(dtype)
        return self


def _block(block: Block) -> nn.Module:
    if isinstance(block, OrdinaryBlock):
        return _Ordinary(block)
    if isinstance(block, PoolingBlock):
        return _Pooling(block)
    if isinstance(block, BottleneckBlock):
        return _Bottleneck(block)
    return Attention(block) if isinstance(block, AttentionBlock) else FeedForward(block)


class _Scaled(nn.Module):
    """A batch norm as scale and bias, with its activation; points outside the board become zero."""

    def __init__(self, norm: Normed) -> None:
        super().__init__()
        self.scale, self.bias = constant(norm.scale), constant(norm.bias)
        self.activation = norm.activation

    def forward(self, x: Tensor, board: Board) -> Tensor:
        return board.cut(activate(x * self.scale[:, None, None] + self.bias[:, None, None], self.activation))


class _RmsTip(nn.Module):
    def __init__(self, tip: RmsTip) -> None:
        super().__init__()
        self.gamma, self.beta = constant(tip.gamma), constant(tip.beta)
        self.epsilon, self.spatial, self.activation = tip.epsilon, tip.spatial, tip.activation

    def forward(self, x: Tensor, board: Board) -> Tensor:
        square = x.square().mean(1, keepdim=True)
        if self.spatial:
            square = board.mean(board.cut(square))[:, :, None, None]
        normed = x * torch.rsqrt(square + self.epsilon)
        normed = normed * self.gamma[:, None, None] + self.beta[:, None, None]
        return board.cut(activate(normed, self.activation))


class _Ordinary(nn.Module):
    def __init__(self, block: OrdinaryBlock) -> None:
        super().__init__()
        self.before, self.between = _Scaled(block.before), _Scaled(block.between)
        self.first, self.second = convolution(block.first), convolution(block.second)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        return x + self.second(self.between(self.first(self.before(x, board)), board))


class _Pooling(nn.Module):
    def __init__(self, block: PoolingBlock) -> None:
        super().__init__()
        self.before, self.between, self.pooled_norm = map(_Scaled, (block.before, block.between, block.pooled_norm))
        self.first, self.pooled, self.second = map(convolution, (block.first, block.pooled, block.second))
        self.to_bias = dense(block.pooled_to_bias)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        hidden = self.before(x, board)
        pooled = board.pool(self.pooled_norm(self.pooled(hidden), board))
        hidden = self.first(hidden) + self.to_bias(pooled)[:, :, None, None]
        return x + self.second(self.between(hidden, board))


class _Bottleneck(nn.Module):
    def __init__(self, block: BottleneckBlock) -> None:
        super().__init__()
        self.before, self.after = _Scaled(block.before), _Scaled(block.after)
        self.narrow, self.widen = convolution(block.narrow), convolution(block.widen)
        self.blocks = nn.ModuleList(_block(inner) for inner in block.blocks)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        hidden = self.narrow(self.before(x, board))
        for block in self.blocks:
            hidden = block(hidden, board)
        return x + self.widen(self.after(hidden, board))


class _Policy(nn.Module):
    def __init__(self, head: PolicyHead) -> None:
        super().__init__()
        self.first, self.pooled = convolution(head.first), convolution(head.pooled)
        self.pooled_norm, self.first_norm = _Scaled(head.pooled_norm), _Scaled(head.first_norm)
        self.to_bias = dense(head.pooled_to_bias)
        self.second = convolution(head.second)
        self.pass_first = dense(head.pass_first, head.pass_bias)
        self.pass_activation = head.pass_activation
        self.pass_second = None if head.pass_second is None else dense(head.pass_second)
        self.used = min(2, head.channels)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        """Return logits [N, 1 or 2, S*S + 1]: the policy and, where there is one, the optimistic policy."""
        pooled = board.pool(self.pooled_norm(self.pooled(x), board))
        hidden = self.first(x) + self.to_bias(pooled)[:, :, None, None]
        points = self.second(self.first_norm(hidden, board)).float()
        if board.mask is not None:
            points = torch.where(board.mask > 0, points, OFF_BOARD)
        passes = self.pass_first(pooled)
        if self.pass_second is not None:
            passes = self.pass_second(activate(passes, self.pass_activation))
        logits = torch.cat([points.flatten(2), passes.float()[:, :, None]], 2)
        return logits[:, : self.used]


class _Value(nn.Module):
    def __init__(self, model: Model, head: ValueHead) -> None:
        super().__init__()
        outputs = score_outputs(model)
        self.first, self.norm = convolution(head.first), _Scaled(head.norm)
        self.hidden, self.activation = dense(head.hidden, head.hidden_bias), head.hidden_activation
        self.value = dense(head.value, head.value_bias)
        self.score = dense(outputs.weights, outputs.bias)
        self.factors, self.has_root = constant(outputs.factors), outputs.has_root
        self.ownership = convolution(head.ownership)

    def forward(self, x: Tensor, board: Board, global_: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        first = self.norm(self.first(x), board)
        hidden = activate(self.hidden(board.pool_value(first)), self.activation)
        value = value_of(self.value(hidden).float(), global_.float())
        ownership = self.ownership(first).float().tanh().flatten(1)
        return value, score_of(self._points(self.score(hidden).float()), value), ownership

    def _points(self, score: Tensor) -> Tensor:
        """Return the columns [N, 6] of `Evaluation.score`, which assume a result, from the score matrix's outputs."""
        positive = functional.softplus(score[:, 2:]) * self.factors.float()
        if positive.shape[1] == 1:
            rest = torch.full_like(score[:, :1], -1.0).expand(-1, 3)
        else:
            errors = positive[:, 2:].sqrt() if self.has_root else positive[:, 2:]
            rest = torch.cat([positive[:, 1:2], errors], 1)
        return torch.cat([score[:, :1], positive[:, :1], score[:, 1:2], rest], 1)
