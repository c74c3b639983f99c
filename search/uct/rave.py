"""RAVE: a move is also judged by the playouts in which it was played later ("all moves as first").

Source: Gelly and Silver (2011). The weight of the all-moves-as-first value is the hand-made schedule that Pachi and
michi use for the minimum of the mean squared error, with its bias as a number of equivalent visits.
"""

from __future__ import annotations

from go_rules.compilation.jit import kernel


@kernel
def rave_weight(visits, amaf_visits, equivalence):
    """Compute the share of the all-moves-as-first value, 0..1.

    It is near 1 for few visits, and 0 for many more than `equivalence`.
    """
    return amaf_visits / (amaf_visits + visits + visits * amaf_visits / equivalence)


@kernel
def credit_all_moves(nodes, first, number, colour, first_player, value):
    """Credit the playout's `value` to every child at whose point `colour` was the first to play, at any time."""
    for i in range(first, first + number):
        child = nodes[i]
        if first_player[child.move] == colour:
            child.amaf_visits += 1.0
            child.amaf_wins += value
