"""Progressive widening: a node looks at its likeliest moves first, and at more of them the more it is visited.

Sources: Coulom, "Computing Elo ratings of move patterns in the game of Go" (2007), where it is called so; Chaslot et
al., "Progressive strategies for Monte-Carlo tree search" (2008), "progressive unpruning". The number of moves is a
power of the number of visits, as in Couetoux et al., "Continuous upper confidence trees" (2011).
"""

from __future__ import annotations

import math

from go_rules.compilation.jit import kernel


@kernel
def number_considered(visits, number, settings):
    """Compute how many of a node's `number` children are looked at after so many visits.

    That is ceil(widening * visits^exponent), but at least one. A `widening` of 0 looks at all of them.
    """
    if settings.widening <= 0.0:
        return number
    wide = math.ceil(settings.widening * visits**settings.widening_exponent)
    return max(1, min(number, int(wide)))


@kernel
def sort_by_prior(nodes, start, end):
    """Sort the new children nodes[start:end] by their priors, the likeliest first (insertion sort).

    Only moves and priors change places: new nodes are equal in everything else.
    """
    for i in range(start + 1, end):
        move, visits, wins = nodes[i].move, nodes[i].prior_visits, nodes[i].prior_wins
        likely = wins - (visits - wins)
        j = i
        while j > start and likely > 2.0 * nodes[j - 1].prior_wins - nodes[j - 1].prior_visits:
            nodes[j].move = nodes[j - 1].move
            nodes[j].prior_visits = nodes[j - 1].prior_visits
            nodes[j].prior_wins = nodes[j - 1].prior_wins
            j -= 1
        nodes[j].move = move
        nodes[j].prior_visits = visits
        nodes[j].prior_wins = wins
