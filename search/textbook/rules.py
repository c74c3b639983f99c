"""The rules of selection: which child of a node the next iteration follows. Read them in this order:

| rule | players | follows the child |
| --- | --- | --- |
| EVENLY | `mc` | with the fewest visits |
| UCB1 | `uct`, `rave` | with the highest mean, and a term that grows while a child is left out |
| PUCT | `alphago`, `puct` | with the highest mean, and a term that a policy weighs |
| IMPROVED | `gumbel` | that lags furthest behind its share of the improved policy |

A visit counts as a loss, or as several, while it is under way, so that others try other moves meanwhile: the virtual
loss of Chaslot, Winands and van den Herik, "Parallel Monte-Carlo tree search" (2008).
"""

from __future__ import annotations

import math

import numpy as np

from nobi_machine.jit import kernel, kernel_for_python
from search.textbook.tree import first_child, number_of_children

EVENLY, UCB1, PUCT, IMPROVED = 0, 1, 2, 3

TIE_BREAK = 1e-3
"""Among moves that UCB1 has never tried, the share of the prior that decides which is first."""

DRAW, LOSS = 0, 1
"""Rules of first-play urgency: places in parameters.FIRST_PLAY."""

SMALLEST_PRIOR = 1e-12
"""The logit of a move is the logarithm of its prior, which is taken to be at least this."""


@kernel
def choose(nodes, index, settings, shares):
    """Return the child of a node that the next iteration follows.

    `shares` is scratch of at least as many numbers as the node has children.
    """
    children = nodes[index].children
    first = first_child(children)
    end = first + number_of_children(children)
    if settings.rule == UCB1:
        return choose_by_ucb1(nodes, index, first, end, settings)
    if settings.rule == PUCT:
        return choose_by_puct(nodes, index, first, end, settings)
    if settings.rule == IMPROVED:
        return choose_by_improved_policy(nodes, index, first, end, settings, shares)
    return choose_evenly(nodes, first, end)


@kernel
def visits_of(node):
    """Return N of a node, with those in flight."""
    return np.int64(node.visits) + np.int64(node.in_flight)


@kernel
def weight_of(node, settings):
    """Return the visits by which the wins of a node are divided: each in flight counts as so many virtual losses."""
    return node.visits + settings.virtual_loss * node.in_flight


@kernel
def number_considered(visits, number, settings):
    """Return how many of a node's `number` children are looked at after so many visits: progressive widening.

    That is ceil(widening * sqrt(visits)), but at least one. A `widening` of 0 looks at all of them. The likeliest
    lie first.

    Sources: Coulom, "Computing Elo ratings of move patterns in the game of Go" (2007), where it is called so; Chaslot
    et al., "Progressive strategies for Monte-Carlo tree search" (2008), "progressive unpruning". The number of moves is
    a power of the number of visits, as in Couetoux et al., "Continuous upper confidence trees" (2011).
    """
    if settings.widening <= 0.0:
        return number
    return max(1, min(number, math.ceil(settings.widening * math.sqrt(visits))))


# --- Flat Monte Carlo -------------------------------------------------------------------------------------------------


@kernel
def choose_evenly(nodes, first, end):
    """Return the child with the fewest visits, the first of several."""
    best = first
    for i in range(first + 1, end):
        if visits_of(nodes[i]) < visits_of(nodes[best]):
            best = i
    return best


# --- UCT and RAVE -----------------------------------------------------------------------------------------------------


@kernel
def choose_by_ucb1(nodes, index, first, end, settings):
    """Return the child with the highest `ucb1_value`."""
    visits = max(1.0, np.float64(weight_of(nodes[index], settings)))
    log_visits = math.log(visits)
    best = first
    best_value = -np.inf
    for i in range(first, first + number_considered(visits, end - first, settings)):
        value = ucb1_value(nodes[i], log_visits, settings)
        if value > best_value:
            best = i
            best_value = value
    return best


@kernel
def ucb1_value(node, log_parent_visits, settings):
    """Compute what UCT maximises: the mean value with the imagined visits, 0..1, and UCB1's exploration term.

    A child without visits, imagined ones included, has the first-play urgency and a little of its prior.

    Sources: Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem" (2002), for UCB1;
    Kocsis and Szepesvari, "Bandit based Monte-Carlo planning" (2006), for UCB1 in a tree; Gelly and Wang, "Exploration
    exploitation in Go: UCT for Monte-Carlo Go" (2006), for first-play urgency; Gelly and Silver, "Combining online and
    offline knowledge in UCT" (2007), for imagined visits.
    """
    visits = weight_of(node, settings) + settings.prior_weight * node.prior_visits
    if visits <= 0.0:
        return settings.first_play_urgency + TIE_BREAK * node.prior / (node.prior_visits + 1.0)
    value = (node.wins + settings.prior_weight * node.prior) / visits
    if settings.rave_equivalence > 0.0 and node.amaf_visits > 0.0:
        share = rave_share(visits, node.amaf_visits, settings.rave_equivalence)
        value += share * (node.amaf_wins / node.amaf_visits - value)
    if settings.exploration > 0.0:
        value += settings.exploration * math.sqrt(log_parent_visits / visits)
    return value


@kernel
def rave_share(visits, amaf_visits, equivalence):
    """Compute the share of the all-moves-as-first value, 0..1: near 1 for few visits, 0 for many more than
    `equivalence`.

    RAVE judges a move also by the playouts in which it was played later. Source: Gelly and Silver, "Monte-Carlo tree
    search and rapid action value estimation in computer Go" (2011). The share is the hand-made schedule that Pachi and
    michi use for the minimum of the mean squared error, with its bias as a number of equivalent visits.
    """
    return amaf_visits / (amaf_visits + visits + visits * amaf_visits / equivalence)


# --- AlphaGo, AlphaGo Zero and AlphaZero ------------------------------------------------------------------------------


@kernel
def is_valued(node, settings):
    """Return whether `q_of` a node has anything to average."""
    return weight_of(node, settings) > 0


@kernel
def q_of(node, settings):
    """Return Q(s, a), the mean value of a move, -1..1 as the papers on networks have it; 0 without any."""
    weight = weight_of(node, settings)
    return 2.0 * node.wins / weight - 1.0 if weight > 0 else 0.0


@kernel
def exploration_rate(visits, settings):
    """Return C(s) = log((1 + N(s) + c_base) / c_base) + c_init, AlphaZero's exploration rate."""
    return math.log((1.0 + visits + settings.c_base) / settings.c_base) + settings.c_init


@kernel
def first_play_value(node, settings):
    """Return the first-play urgency of the moves from a node, -1..1: the value of a move that was never tried."""
    value = 0.0 if settings.first_play == DRAW else -1.0 if settings.first_play == LOSS else 2.0 * node.own_value - 1.0
    return value - settings.first_play_reduction


@kernel
def choose_by_puct(nodes, index, first, end, settings):
    """Return the child with the highest Q(s, a) + C(s) P(s, a) sqrt(N(s)) / (1 + N(s, a)).

    N(s) counts the node's own evaluation too, so that the first simulation goes to the likeliest move.

    Sources: Silver et al., "Mastering the game of Go without human knowledge" (2017), AlphaGo Zero, and "A general
    reinforcement learning algorithm that masters chess, shogi, and Go through self-play" (2018), AlphaZero.
    """
    visits = 1
    for i in range(first, end):
        visits += visits_of(nodes[i])
    rate = exploration_rate(visits, settings) * math.sqrt(visits)
    untried = first_play_value(nodes[index], settings)
    best = first
    best_score = -np.inf
    for i in range(first, first + number_considered(visits, end - first, settings)):
        node = nodes[i]
        value = q_of(node, settings) if is_valued(node, settings) else untried
        score = value + rate * node.prior / (1.0 + visits_of(node))
        if score > best_score:
            best = i
            best_score = score
    return best


# --- Gumbel AlphaZero: Danihelka et al., "Policy improvement by planning with Gumbel" (2022) --------------------------


@kernel
def mixed_value(nodes, index, first, end, settings):
    """Return v_mix, -1..1, what a move never tried is worth (the paper's appendix D).

    The node's own evaluation counts once, and the mean Q of the tried moves, weighted by the policy, as often as they
    were visited.
    """
    own = 2.0 * nodes[index].own_value - 1.0
    visits = 0
    policy = 0.0
    weighted = 0.0
    for i in range(first, end):
        node = nodes[i]
        if is_valued(node, settings):
            visits += visits_of(node)
            policy += node.prior
            weighted += node.prior * q_of(node, settings)
    if visits == 0 or policy <= 0.0:
        return own
    return (own + visits * weighted / policy) / (1.0 + visits)


@kernel_for_python
def improved_logits(nodes, index, settings, out):
    """Write log P(a) + sigma(completed Q(a)) of each child of a node to `out`: the logits of the improved policy.

    sigma(q) = (c_visit + the most visits of a child) * c_scale * q. The completed Q of a move never tried is v_mix.
    """
    children = nodes[index].children
    first = first_child(children)
    end = first + number_of_children(children)
    most = 0
    for i in range(first, end):
        most = max(most, visits_of(nodes[i]))
    scale = (settings.c_visit + most) * settings.c_scale
    untried = mixed_value(nodes, index, first, end, settings)
    for i in range(first, end):
        value = q_of(nodes[i], settings) if is_valued(nodes[i], settings) else untried
        out[i - first] = math.log(max(np.float64(nodes[i].prior), SMALLEST_PRIOR)) + scale * value


@kernel
def choose_by_improved_policy(nodes, index, first, end, settings, shares):
    """Return the child with the highest pi'(a) - N(a) / (1 + sum of N), where pi' is the improved policy."""
    improved_logits(nodes, index, settings, shares)
    highest = -np.inf
    visits = 0
    for i in range(first, end):
        highest = max(highest, shares[i - first])
        visits += visits_of(nodes[i])
    total = 0.0
    for i in range(end - first):
        shares[i] = math.exp(shares[i] - highest)
        total += shares[i]
    best = first
    best_score = -np.inf
    for i in range(first, end):
        score = shares[i - first] / total - visits_of(nodes[i]) / (1.0 + visits)
        if score > best_score:
            best = i
            best_score = score
    return best
