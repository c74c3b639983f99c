"""What only the root gets: noise on its priors, moves taken out, and the network's own evaluation for reports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import board_points
from nets.evaluator import Evaluation
from search.alphazero.leaves import place_of
from search.alphazero.parameters import AlphaZeroParameters
from search.alphazero.tree import ROOT, Tree, edges_of, sort_by_prior
from search.puct.root.moves import pass_alive, useless_moves
from search.result import RawEvaluation


def dirichlet(count: int, total: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Draw Dirichlet noise for `count` moves, whose alphas sum to `total`: shares that sum to 1."""
    noise = generator.gamma(total / count, size=count)
    # With tiny alphas all of it may round to 0.
    return noise / noise.sum() if noise.sum() > 0.0 else np.full(count, 1.0 / count)


def add_noise(tree: Tree, parameters: AlphaZeroParameters, generator: np.random.Generator) -> None:
    """Mix Dirichlet noise into the root's priors: P = (1 - share) P + share * noise."""
    edges = edges_of(tree)
    noise = dirichlet(len(edges), parameters.dirichlet_total, generator)
    edges["prior"] = (1.0 - parameters.dirichlet_share) * edges["prior"] + parameters.dirichlet_share * noise
    sort_by_prior(tree.edges, np.int64(tree.nodes[ROOT]["first"]), np.int64(len(edges)))


def drop_useless(tree: Tree, game: Game, colour: int) -> None:
    """Take moves out of the root that are never better than a pass: those in areas that are settled for ever."""
    points = board_points(game.width, game.height)
    safe = pass_alive(game.position, game.record)
    useless = np.array([points[i] for i in useless_moves(game, colour, safe, points)], np.int64)
    edges = edges_of(tree)
    kept = edges[~np.isin(edges["move"], useless)]
    if 0 < len(kept) < len(edges):
        kept["prior"] /= max(float(kept["prior"].sum()), 1e-30)
        edges[: len(kept)] = kept
        tree.nodes[ROOT]["count"] = len(kept)


def raw_evaluation(evaluation: Evaluation, tree: Tree, width: int, height: int) -> RawEvaluation:
    """Return the network's own evaluation of the root, the only position of `evaluation`, for reports."""
    policy = np.full(width * height + 1, -1.0)
    for edge in edges_of(tree):
        policy[place_of(int(edge["move"]), width, len(policy))] = edge["prior"]
    return RawEvaluation.of(evaluation, policy)
