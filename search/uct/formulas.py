"""The value by which a move is selected: UCB1 over its playouts, its all-moves-as-first value and its prior.

Sources: Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem" (2002), for UCB1;
Kocsis and Szepesvari, "Bandit based Monte-Carlo planning" (2006), for UCB1 in a tree; Gelly and Wang, "Exploration
exploitation in Go: UCT for Monte-Carlo Go" (2006), for first-play urgency.
"""

from __future__ import annotations

import math

from go_rules.compilation.jit import kernel
from search.uct.rave import rave_weight

TIE_BREAK = 1e-3
"""Among moves that were never visited, the share of the prior that decides which is first."""


@kernel
def selection_value(node, log_parent_visits, settings):
    """Compute what the search maximises over a node's children: the value, 0..1, and UCB1's exploration term.

    A child (`node`) without visits, those of its prior included, has the first-play urgency and a little of its prior.
    """
    visits = node.visits + settings.prior_weight * node.prior_visits
    if visits <= 0.0:
        return settings.first_play_urgency + TIE_BREAK * node.prior_wins / (node.prior_visits + 1.0)
    value = (node.wins + settings.prior_weight * node.prior_wins) / visits
    if settings.rave_equivalence > 0.0 and node.amaf_visits > 0.0:
        share = rave_weight(visits, node.amaf_visits, settings.rave_equivalence)
        value += share * (node.amaf_wins / node.amaf_visits - value)
    if settings.exploration > 0.0:
        value += settings.exploration * math.sqrt(log_parent_visits / visits)
    return value
