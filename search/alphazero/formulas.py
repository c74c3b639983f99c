"""The formulas of the papers: which edge of a node the next simulation follows.

AlphaGo Zero (Silver et al., "Mastering the game of Go without human knowledge", 2017) and AlphaZero (Silver et al., "A
general reinforcement learning algorithm", 2018) follow the edge with the highest Q + U (PUCT). Gumbel AlphaZero
(Danihelka et al., "Policy improvement by planning with Gumbel", 2022) follows the edge whose share of the visits is
furthest below its share of the improved policy.
"""

from __future__ import annotations

import math

import numpy as np

from go_rules.compilation.jit import kernel

DRAW, LOSS = 0, 1
"""Rules of first-play urgency: places in parameters.FIRST_PLAY."""

SMALLEST_PRIOR = 1e-12
"""The logit of a move is the logarithm of its prior, which is taken to be at least this."""


@kernel
def visits_of(edge):
    """Return N(s, a), the visits of an edge, with those in flight."""
    return np.int64(edge.visits) + np.int64(edge.in_flight)


@kernel
def is_valued(edge, losses):
    """Return whether `value_of` an edge has anything to average."""
    return edge.visits + losses * edge.in_flight > 0


@kernel
def value_of(edge, losses):
    """Return Q(s, a), the mean value of an edge, 0 without any; each visit in flight counts as `losses` visits lost."""
    lost = losses * edge.in_flight
    visits = edge.visits + lost
    return (edge.total - lost) / visits if visits > 0 else 0.0


@kernel
def exploration(visits, settings):
    """Return C(s) = log((1 + N(s) + c_base) / c_base) + c_init, AlphaZero's exploration rate."""
    return math.log((1.0 + visits + settings.c_base) / settings.c_base) + settings.c_init


@kernel
def first_play_value(node, settings):
    """Return the first-play urgency, the value of a move that was never tried."""
    value = 0.0 if settings.first_play == DRAW else -1.0 if settings.first_play == LOSS else np.float64(node.value)
    return value - settings.first_play_reduction


@kernel
def widened(visits, count, settings):
    """Return how many of the `count` likeliest moves a node with so many visits looks at: progressive widening."""
    if settings.policy_widening == 0.0:
        return count
    return min(count, max(1, math.ceil(settings.policy_widening * visits**settings.policy_widening_power)))


@kernel
def choose_by_puct(tree, index, settings):
    """Return the edge with the highest Q(s, a) + C(s) P(s, a) sqrt(N(s)) / (1 + N(s, a)).

    N(s) counts the node's own evaluation too, so that the first simulation goes to the likeliest move.
    """
    node = tree.nodes[index]
    first = node.first
    visits = 1
    for i in range(node.count):
        visits += visits_of(tree.edges[first + i])
    rate = exploration(visits, settings) * math.sqrt(visits)
    best = first
    best_score = -np.inf
    for i in range(widened(visits, np.int64(node.count), settings)):
        edge = tree.edges[first + i]
        if is_valued(edge, settings.flight_losses):
            value = value_of(edge, settings.flight_losses)
        else:
            value = first_play_value(node, settings)
        score = value + rate * edge.prior / (1.0 + visits_of(edge))
        if score > best_score:
            best = first + i
            best_score = score
    return best


@kernel
def mixed_value(tree, index, settings):
    """Return v_mix, what a move never tried is worth to Gumbel AlphaZero (the paper's appendix D).

    The node's own evaluation counts once, and the mean Q of the tried moves, weighted by the policy, as often as they
    were visited.
    """
    node = tree.nodes[index]
    visits = 0
    policy = 0.0
    weighted = 0.0
    for i in range(node.count):
        edge = tree.edges[node.first + i]
        if is_valued(edge, settings.flight_losses):
            visits += visits_of(edge)
            policy += edge.prior
            weighted += edge.prior * value_of(edge, settings.flight_losses)
    if visits == 0 or policy <= 0.0:
        return np.float64(node.value)
    return (node.value + visits * weighted / policy) / (1.0 + visits)


@kernel
def improved_logits(tree, index, settings, out):
    """Write log P(a) + sigma(completed Q(a)) of each edge of a node to `out`: the logits of the improved policy.

    sigma(q) = (c_visit + the most visits of an edge) * c_scale * q. The completed Q of a move never tried is v_mix.
    """
    node = tree.nodes[index]
    most = 0
    for i in range(node.count):
        most = max(most, visits_of(tree.edges[node.first + i]))
    scale = (settings.c_visit + most) * settings.c_scale
    untried = mixed_value(tree, index, settings)
    for i in range(node.count):
        edge = tree.edges[node.first + i]
        value = untried
        if is_valued(edge, settings.flight_losses):
            value = value_of(edge, settings.flight_losses)
        out[i] = math.log(max(np.float64(edge.prior), SMALLEST_PRIOR)) + scale * value


@kernel
def choose_by_improved_policy(tree, index, settings, shares):
    """Return the edge with the highest pi'(a) - N(a) / (1 + sum of N), where pi' is the improved policy.

    `shares` is scratch of at least as many numbers as the node has edges.
    """
    node = tree.nodes[index]
    improved_logits(tree, index, settings, shares)
    highest = -np.inf
    visits = 0
    for i in range(node.count):
        highest = max(highest, shares[i])
        visits += visits_of(tree.edges[node.first + i])
    total = 0.0
    for i in range(node.count):
        shares[i] = math.exp(shares[i] - highest)
        total += shares[i]
    best = node.first
    best_score = -np.inf
    for i in range(node.count):
        score = shares[i] / total - visits_of(tree.edges[node.first + i]) / (1.0 + visits)
        if score > best_score:
            best = node.first + i
            best_score = score
    return best
