"""Evaluate by a network: leaves become its input, and its answers become priors and values.

Several leaves are evaluated together. A leaf's value is the network's, or, as in AlphaGo, (1 - lambda) times that and
lambda times the result of a rollout.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.board import is_legal
from go_rules.game import Game
from go_rules.points import BLACK, N_POINTS, PASS, STRIDE, WHITE, board_points
from go_rules.scoring import score_range
from go_rules.superko import is_superko_banned
from nets import evaluator as net
from nets.evaluator import Evaluation, EvaluationRequest, Evaluator
from nets.features import encode_symmetry, scratch_for
from nets.symmetry import symmetry_permutations
from nobi_machine.jit import kernel, kernel_for_python
from search.nobi.memory.context import uniform_share
from search.nobi.root import pass_alive, useless_moves
from search.result import RawEvaluation
from search.textbook.limits import Threads
from search.textbook.parameters import AlphaZeroParameters
from search.textbook.playouts.playout import playout_score
from search.textbook.tree import (
    ROOT,
    children_of,
    first_child,
    number_of_children,
    pack_children,
    place_of_children,
    sort_by_prior,
)
from search.textbook.walk import Buffers, Context, back_up_own

DIRICHLET_TOTAL = 10.83
"""The noise's alpha times the number of legal moves: 0.03 on 19x19."""


class Leaves(NamedTuple):
    """The leaves in flight: up to B, on a board of A points."""

    path: NDArray[np.int64]
    """[B, MAX_DEPTH + 1]: the nodes from the root to the leaf."""
    depth: NDArray[np.int64]
    """[B]: moves from the root."""
    children: NDArray[np.int64]
    """[B]: the leaf's packed children, which are not published yet."""
    colour: NDArray[np.int8]
    """[B]: the side to move."""
    symmetry: NDArray[np.int64]
    """[B]: the symmetry under which the network sees the leaf."""
    reach: NDArray[np.float64]
    """[B, 2]: the lowest and the highest score that its board can end with, white's points minus black's."""
    rollout: NDArray[np.float64]
    """[B]: the result of a rollout, 0..1, the side to move's view; 0 where there was none."""
    spatial: NDArray[np.float32]
    """[B, 22, A]: the network's input."""
    global_: NDArray[np.float32]
    """[B, 19]: its other input."""


class LeafBatch:
    """Leaves of one board's size on their way to the network and back."""

    def __init__(
        self,
        evaluator: Evaluator,
        parameters: AlphaZeroParameters,
        size: tuple[int, int],
        path_length: int,
        generator: np.random.Generator,
    ) -> None:
        """`size`: width and height. `generator`: for symmetries."""
        width, height = size
        room = parameters.leaves_in_flight
        self.room = room
        """The most leaves that are evaluated together."""
        self.count = 0
        """How many there are now."""
        self.evaluations = 0
        """How many positions were evaluated since the batch was made."""
        self.size = size
        self._evaluator, self._parameters, self._generator = evaluator, parameters, generator
        self._owners = np.zeros(width * height)
        self._owners_weight = 0.0
        self._permutations = symmetry_permutations(width, height)
        self._uniform_share = uniform_share(width, height)
        self._features = scratch_for(evaluator)
        self._banned = np.zeros(N_POINTS, np.int8)
        self._leaves = Leaves(
            path=np.zeros((room, path_length), np.int64),
            depth=np.zeros(room, np.int64),
            children=np.zeros(room, np.int64),
            colour=np.zeros(room, np.int8),
            symmetry=np.zeros(room, np.int64),
            reach=np.zeros((room, 2), np.float64),
            rollout=np.zeros(room, np.float64),
            spatial=np.zeros((room, net.SPATIAL_PLANES, width * height), np.float32),
            global_=np.zeros((room, net.GLOBAL_FEATURES), np.float32),
        )

    def add(self, ctx: Context, buffers: Buffers, depth: int, children: int, view: int) -> None:
        """Add the leaf at which a walk has ended, with its packed children. `view`: features.IN_TREE or AT_ROOT."""
        leaves, i = self._leaves, self.count
        leaves.path[i], leaves.depth[i], leaves.children[i] = buffers.path, depth, children
        leaves.colour[i] = buffers.stack["to_play"][buffers.length[1] - 1]
        choices = len(self._permutations)
        leaves.symmetry[i] = self._generator.integers(choices) if self._parameters.random_symmetry else 0
        permutation = self._permutations[leaves.symmetry[i]]
        encode_leaf(
            ctx, buffers, view, self._features, self._banned, permutation,
            leaves.spatial[i], leaves.global_[i], leaves.reach[i],
        )  # fmt: skip
        leaves.rollout[i] = roll_out(ctx, buffers) if self._parameters.rollout_share > 0.0 else 0.0
        self.count += 1

    def finish(self, nodes: NDArray[np.void], ctx: Context, buffers: Buffers, threads: Threads) -> Evaluation:
        """Have the leaves evaluated in these threads, and take up what the network says: children with their
        priors, and values, which are backed up. Returns the network's answer. Raises EvaluatorError."""
        evaluation = self._evaluate(threads)
        take_up(
            nodes, ctx, buffers, self._leaves, self.count, evaluation.policy, evaluation.value, evaluation.score,
            self._permutations, self.size[0], self._uniform_share, self._parameters.rollout_share,
        )  # fmt: skip
        self._add_owners(evaluation)
        self.evaluations += self.count
        self.count = 0
        return evaluation

    def ownership(self, colour: int) -> NDArray[np.float32]:
        """Return the mean ownership of all evaluations, +1 `colour`'s: float32[H*W]."""
        sign = 1.0 if colour == WHITE else -1.0
        mean: NDArray[np.float32] = (sign * self._owners / self._owners_weight).astype(np.float32)
        return mean

    def forget_owners(self, kept: float) -> None:
        """Let the ownership of earlier evaluations count for the share `kept` from now on."""
        self._owners *= kept
        self._owners_weight *= kept

    def _evaluate(self, threads: Threads) -> Evaluation:
        leaves, (width, height) = self._leaves, self.size
        spatial = leaves.spatial[: self.count].reshape(self.count, net.SPATIAL_PLANES, height, width)

        def part(rows: NDArray[np.int64]) -> Evaluation:
            chosen = slice(int(rows[0]), int(rows[-1]) + 1)
            return self._evaluator.evaluate(
                EvaluationRequest(spatial[chosen], leaves.global_[chosen], colours=leaves.colour[chosen])
            )

        parts = np.array_split(np.arange(self.count), min(threads.number, self.count))
        if len(parts) == 1:
            return part(parts[0])
        answers = list(threads.pool.map(part, parts))
        return Evaluation(*(np.concatenate(column) for column in zip(*answers, strict=True)))

    def _add_owners(self, evaluation: Evaluation) -> None:
        turned = self._permutations[self._leaves.symmetry[: self.count], :-1].astype(np.int64)
        signs = np.where(self._leaves.colour[: self.count] == BLACK, -1.0, 1.0)
        self._owners += signs @ np.take_along_axis(evaluation.ownership, turned, axis=1)
        self._owners_weight += self.count


@kernel
def encode_leaf(ctx, buffers, view, features, banned, permutation, spatial, global_, reach):
    """Encode the position at the end of a walk, under the symmetry whose row of symmetry_permutations is `permutation`.

    `view`: features.IN_TREE or AT_ROOT. `features` and `banned` [N_POINTS] are scratch. Fills `reach` [2], see Leaves.
    """
    last = buffers.length[1] - 1
    depth = buffers.length[1] - buffers.length[0]
    pos = buffers.stack[last]
    rules = ctx.rules[0]
    colour = np.int64(pos.to_play)
    for point in range(N_POINTS):
        banned[point] = 0
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            if is_legal(pos, point, colour, rules) and is_superko_banned(
                pos, point, colour, rules, ctx.seen, buffers.keys, depth
            ):
                banned[point] = 1
    reach[0], reach[1] = score_range(rules, pos)
    encode_symmetry(buffers.stack, last, colour, rules, 0.0, view, banned, features, permutation, spatial, global_)


@kernel
def roll_out(ctx, buffers):
    """Play the position at the end of a walk to its end by the fast rollout policy.

    Returns 1 if the side to move wins, 0 if it loses and 0.5 for a draw.
    """
    pos = buffers.stack[buffers.length[1] - 1]
    score = playout_score(pos, ctx.rules[0], buffers.playouts)
    if pos.to_play != WHITE:
        score = -score
    return 1.0 if score > 0.0 else 0.0 if score < 0.0 else 0.5


@kernel
def take_up(
    nodes, ctx, buffers, leaves, count, policy, value, score, permutations, width, uniform_share, rollout_share
):
    """Expand the first `count` leaves with the network's answers, and back up each of them.

    `policy`, `value` and `score` are as in `Evaluation`, `permutations` as symmetry_permutations makes them.
    `uniform_share` is the part of the policy that all legal moves share alike, and `rollout_share` is lambda. A root
    that had visits before is only evaluated anew.
    """
    for i in range(count):
        path = leaves.path[i]
        depth = leaves.depth[i]
        set_priors(nodes, leaves.children[i], policy[i], permutations[leaves.symmetry[i]], width, uniform_share)
        node = nodes[path[depth]]
        win = 0.5 + 0.5 * np.float64(value[i, net.WIN] - value[i, net.LOSS])
        node.own_value = (1.0 - rollout_share) * win + rollout_share * leaves.rollout[i]
        white_score = score[i, net.SCORE_MEAN] if leaves.colour[i] == WHITE else -score[i, net.SCORE_MEAN]
        node.own_score = min(max(white_score, leaves.reach[i, 0]), leaves.reach[i, 1])
        node.children = leaves.children[i]
        if depth > 0 or node.visits == 0:
            back_up_own(nodes, ctx.settings[0], path, depth, leaves.colour[i], buffers.playouts.tools.first)
        else:
            node.in_flight -= 1


@kernel
def set_priors(nodes, children, policy, permutation, width, uniform_share):
    """Set the priors of packed children to the softmax of their logits, and sort them.

    `policy` [A + 1]: the logits under the symmetry that shows move i at `permutation[i]`.
    """
    first = first_child(children)
    number = number_of_children(children)
    moves = len(policy)
    highest = -np.inf
    for i in range(first, first + number):
        highest = max(highest, policy[permutation[place_of_move(nodes[i].move, width, moves)]])
    total = 0.0
    for i in range(first, first + number):
        node = nodes[i]
        node.prior = math.exp(policy[permutation[place_of_move(node.move, width, moves)]] - highest)
        total += node.prior
    for i in range(first, first + number):
        node = nodes[i]
        node.prior = (1.0 - uniform_share) * node.prior / total + uniform_share / number
    sort_by_prior(nodes, first, first + number)


@kernel_for_python
def place_of_move(point, width, moves):
    """Return the place of a move among a network's `moves` moves: row by row, the pass last."""
    if point == PASS:
        return moves - 1
    return (point // STRIDE - 1) * width + point % STRIDE - 1


# --- What only the root gets ------------------------------------------------------------------------------------------


def raw_evaluation(evaluation: Evaluation, nodes: NDArray[np.void], width: int, height: int) -> RawEvaluation:
    """Return the network's own evaluation of the root, the only position of `evaluation`, for reports."""
    policy = np.full(width * height + 1, -1.0)
    for child in children_of(nodes):
        policy[place_of_move(int(child["move"]), width, len(policy))] = child["prior"]
    return RawEvaluation.of(evaluation, policy)


def drop_useless(nodes: NDArray[np.void], game: Game, colour: int) -> None:
    """Take moves out of the root that are never better than a pass: those in areas that are settled for ever."""
    points = board_points(game.width, game.height)
    safe = pass_alive(game.position, game.record)
    useless = np.array([points[i] for i in useless_moves(game, colour, safe, points)], np.int64)
    children = children_of(nodes)
    kept = children[~np.isin(children["move"], useless)]
    if 0 < len(kept) < len(children):
        kept["prior"] /= max(float(kept["prior"].sum()), 1e-30)
        children[: len(kept)] = kept
        nodes[ROOT]["children"] = pack_children(place_of_children(nodes).start, len(kept))


def add_noise(nodes: NDArray[np.void], parameters: AlphaZeroParameters, generator: np.random.Generator) -> None:
    """Mix Dirichlet noise into the root's priors: P = (1 - share) P + share * noise."""
    children, places = children_of(nodes), place_of_children(nodes)
    noise = dirichlet(len(children), DIRICHLET_TOTAL, generator)
    children["prior"] = (1.0 - parameters.dirichlet_share) * children["prior"] + parameters.dirichlet_share * noise
    sort_by_prior(nodes, np.int64(places.start), np.int64(places.stop))


def dirichlet(count: int, total: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Draw Dirichlet noise for `count` moves, whose alphas sum to `total`: shares that sum to 1."""
    noise = generator.gamma(total / count, size=count)
    # With tiny alphas all of it may round to 0.
    return noise / noise.sum() if noise.sum() > 0.0 else np.full(count, 1.0 / count)
