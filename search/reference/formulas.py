"""Rules of selection, whose constants are set by `functools.partial`, and progressive widening."""

from __future__ import annotations

import math

from search.reference.mcts import Node


def evenly(node: Node, child: Node) -> float:
    """Visit all children in turn. With a tree of depth 1 that is flat Monte Carlo."""
    return -child.visits


def ucb1(node: Node, child: Node, exploration: float = math.sqrt(2)) -> float:
    """Return the upper confidence bound of the child's value. Children without visits come first.

    Source: Kocsis and Szepesvári, "Bandit based Monte-Carlo planning" (2006), who call a search with this rule UCT.
    """
    if child.weight == 0:
        return math.inf
    return child.value + exploration * math.sqrt(math.log(node.visits) / child.weight)


def rave(node: Node, child: Node, equivalence: float = 100, exploration: float = 0.7) -> float:
    """Mix the child's value with its all-moves-as-first value, for fewer visits than `equivalence` mainly that.

    Source: Gelly and Silver, "Monte-Carlo tree search and rapid action value estimation in computer Go" (2011).
    """
    if child.weight == 0 or child.amaf_visits == 0:
        return ucb1(node, child, exploration)
    share = child.amaf_visits / (child.amaf_visits + child.weight + child.weight * child.amaf_visits / equivalence)
    return ucb1(node, child, exploration) + share * (child.amaf_wins / child.amaf_visits - child.value)


def puct(node: Node, child: Node, exploration: float = 1, unvisited: float = 0.5) -> float:
    """Let a policy's probabilities say what is looked at first, and how much. `unvisited`: a new child's value.

    Source: Silver et al., "Mastering the game of Go without human knowledge" (2017). There values are -1..1, not 0..1.
    """
    visits = 1 + sum(each.visits for each in node.children)
    value = child.value if child.visits else unvisited
    return value + exploration * child.prior.share * math.sqrt(visits) / (1 + child.visits)


def widening(visits: int, factor: float = 2, power: float = 0.5) -> int:
    """Return how many children a node has to choose from after so many visits: progressive widening.

    Source: Couëtoux et al., "Continuous upper confidence trees" (2011).
    """
    return math.ceil(factor * visits**power)
