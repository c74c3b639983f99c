"""Expand: leaves become network input, and the network's answer becomes priors and values.

A leaf's value is the network's, or, as in AlphaGo, (1 - lambda) times that and lambda times the result of a rollout.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.compilation.jit import kernel
from go_rules.points import PASS, STRIDE, WHITE
from go_rules.scoring import score_range
from nets import evaluator as net
from nets.features import encode_symmetry
from search.alphazero.backup import back_up
from search.alphazero.tree import EXPANDED, sort_by_prior
from search.playouts.board import area_score, load_position
from search.playouts.playout import MOVES_PER_POINT, playout


class Leaves(NamedTuple):
    """The leaves in flight: up to B, on a board of A points."""

    node: NDArray[np.int64]
    """[B]: the leaf's node."""
    depth: NDArray[np.int64]
    """[B]: moves from the root."""
    path: NDArray[np.int64]
    """[B, tree_depth]: the edges from the root."""
    colour: NDArray[np.int8]
    """[B]: the side to move."""
    symmetry: NDArray[np.int64]
    """[B]: the symmetry under which the network sees the leaf."""
    reach: NDArray[np.float64]
    """[B, 2]: the lowest and the highest score that its board can end with, the side to move's view."""
    rollout: NDArray[np.float64]
    """[B]: the result of a rollout, -1..1, the side to move's view; 0 where there was none."""
    spatial: NDArray[np.float32]
    """[B, 22, A]: the network's input."""
    global_: NDArray[np.float32]
    """[B, 19]: its other input."""


def new_leaves(count: int, tree_depth: int, area: int) -> Leaves:
    """Make room for `count` leaves in flight."""
    return Leaves(
        node=np.zeros(count, np.int64),
        depth=np.zeros(count, np.int64),
        path=np.zeros((count, tree_depth), np.int64),
        colour=np.zeros(count, np.int8),
        symmetry=np.zeros(count, np.int64),
        reach=np.zeros((count, 2), np.float64),
        rollout=np.zeros(count, np.float64),
        spatial=np.zeros((count, net.SPATIAL_PLANES, area), np.float32),
        global_=np.zeros((count, net.GLOBAL_FEATURES), np.float32),
    )


@kernel
def encode_leaf(walk, view, features, permutation, spatial, global_, reach):
    """Encode the position at the end of a walk, under the symmetry whose row of symmetry_permutations is `permutation`.

    `view`: features.IN_TREE or AT_ROOT. `features` is scratch. Fills `reach` [2], see Leaves.
    """
    last = walk.length[1] - 1
    colour = np.int64(walk.stack[last].to_play)
    low, high = score_range(walk.rules[0], walk.stack[last])
    reach[0], reach[1] = (low, high) if colour == WHITE else (-high, -low)
    encode_symmetry(
        walk.stack, last, colour, walk.rules[0], 0.0, view, walk.banned, features, permutation, spatial, global_
    )


@kernel
def roll_out(walk, board, tools):
    """Play the position at the end of a walk to its end by the fast rollout policy.

    Returns 1 if the side to move wins, -1 if it loses and 0 for a draw. `board` [1] and `tools` are scratch.
    """
    pos = walk.stack[walk.length[1] - 1]
    rules = walk.rules[0]
    load_position(board[0], pos)
    playout(board[0], np.int64(pos.to_play), np.int64(pos.recent[0]), tools, MOVES_PER_POINT * pos.width * pos.height)
    # Each side's stones in a playout cost the same under territory rules: what counts is the area.
    score = area_score(board[0]) + pos.white_bonus + rules.komi + rules.handicap_bonus
    if pos.to_play != WHITE:
        score = -score
    return 1.0 if score > 0.0 else -1.0 if score < 0.0 else 0.0


@kernel
def expand_and_back_up(tree, leaves, count, policy, value, score, permutations, width, uniform_share, rollout_share):
    """Expand the first `count` leaves with the network's answers, and back up each of them.

    `policy`, `value` and `score` are as in `Evaluation`, `permutations` as symmetry_permutations makes them.
    `uniform_share` is the part of the policy that all legal moves share alike, and `rollout_share` is lambda.
    """
    for i in range(count):
        index = leaves.node[i]
        permutation = permutations[leaves.symmetry[i]]
        set_priors(tree, index, policy[i], permutation, width, uniform_share)
        node = tree.nodes[index]
        own = np.float64(value[i, net.WIN] - value[i, net.LOSS])
        node.value = (1.0 - rollout_share) * own + rollout_share * leaves.rollout[i]
        node.score = min(max(score[i, net.SCORE_MEAN], leaves.reach[i, 0]), leaves.reach[i, 1])
        node.state = EXPANDED
        back_up(tree.edges, leaves.path[i], leaves.depth[i], np.float64(node.value), np.float64(node.score))


@kernel
def set_priors(tree, index, policy, permutation, width, uniform_share):
    """Set the priors of a node's edges to the softmax of their logits, and sort them.

    `policy` [A + 1]: the logits under the symmetry that shows move i at `permutation[i]`.
    """
    node = tree.nodes[index]
    highest = -np.inf
    for i in range(node.count):
        highest = max(highest, policy[permutation[place_of(tree.edges[node.first + i].move, width, len(policy))]])
    total = 0.0
    for i in range(node.count):
        edge = tree.edges[node.first + i]
        edge.prior = math.exp(policy[permutation[place_of(edge.move, width, len(policy))]] - highest)
        total += edge.prior
    for i in range(node.count):
        edge = tree.edges[node.first + i]
        edge.prior = (1.0 - uniform_share) * edge.prior / total + uniform_share / node.count
    sort_by_prior(tree.edges, np.int64(node.first), np.int64(node.count))


@kernel
def place_of(point, width, moves):
    """Return the place of a move among a network's `moves` moves: row by row, the pass last."""
    if point == PASS:
        return moves - 1
    return (point // STRIDE - 1) * width + point % STRIDE - 1
