"""The value of a move during the search: a mix of its playouts, its all-moves-as-first value and its prior.

Source: Gelly and Silver (2011). The weight of the all-moves-as-first value is the hand-made schedule that Pachi and
michi use for the minimum of the mean squared error, with its bias as a number of equivalent visits.
"""

from __future__ import annotations

import math

from go_rules.machine.jit import kernel


@kernel
def rave_weight(visits, amaf_visits, equivalence):
    """The share of the all-moves-as-first value, 0..1: near 1 for few visits, 0 for many more than `equivalence`."""
    return amaf_visits / (amaf_visits + visits + visits * amaf_visits / equivalence)


@kernel
def selection_value(node, log_parent_visits, settings):
    """What the search maximises over a node's children, 0..1 plus the exploration term."""
    visits = node.visits + node.prior_visits
    if visits <= 0.0:
        return 1e6
    value = (node.wins + node.prior_wins) / visits
    if settings.rave_equivalence > 0.0 and node.amaf_visits > 0.0:
        share = rave_weight(visits, node.amaf_visits, settings.rave_equivalence)
        value += share * (node.amaf_wins / node.amaf_visits - value)
    if settings.exploration > 0.0:
        value += settings.exploration * math.sqrt(log_parent_visits / visits)
    return value


@kernel
def credit_all_moves(nodes, first, number, colour, first_player, value):
    """Credit the playout's `value` to every child at whose point `colour` was the first to play, at any time."""
    for i in range(first, first + number):
        child = nodes[i]
        if first_player[child.move] == colour:
            child.amaf_visits += 1.0
            child.amaf_wins += value
