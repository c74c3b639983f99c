"""Rules of selection, whose constants are set by `functools.partial`, progressive widening, and Gumbel AlphaZero:
sequential halving at the root, and below it a rule of selection by an improved policy.

Source of the last: Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by planning with Gumbel" (2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from search.reference.mcts import Game, Node, Pieces, State, expand, iterate, seen_by, simulate


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


@dataclass(frozen=True)
class Gumbel:
    """The constants of the method: moves tried at the root, at most, and how much values count against priors."""

    considered: int = 16
    visit_offset: float = 50
    value_scale: float = 1

    def rule(self, node: Node, child: Node) -> float:
        """Return how far a child's visits lag behind its probability in the improved policy."""
        scores = [self.improved(node, each) for each in node.children]
        total = sum(math.exp(score - max(scores)) for score in scores)
        probability = math.exp(self.improved(node, child) - max(scores)) / total
        return probability - child.visits / (1 + sum(each.visits for each in node.children))

    def improved(self, node: Node, child: Node) -> float:
        """Return the logarithm of a child's probability in the improved policy, up to a constant."""
        most = max(each.visits for each in node.children)
        value = child.value if child.visits else completed(node)
        return math.log(max(child.prior.share, 1e-9)) + (self.visit_offset + most) * self.value_scale * value

    def search(self, game: Game, state: State, simulations: int, pieces: Pieces, random: Random) -> tuple[str, Node]:
        """Search as `mcts.search` does, with sequential halving at the root: noise and priors draw a sample of moves,
        all of it are visited equally often, then the better half, and so on."""
        root = Node(state, mover=1 - game.player(state))
        expand(game, root, pieces)
        root.own = seen_by(root.mover, simulate(game, root, pieces, random)[0])
        noise = {child.move: -math.log(random.expovariate(1)) for child in root.children}

        def score(child: Node) -> float:
            return noise[child.move] + self.improved(root, child)

        sample = sorted(root.children, key=score, reverse=True)[: min(self.considered, simulations)]
        phases = max(1, math.ceil(math.log2(len(sample))))
        while root.visits < simulations:
            for _ in range(max(1, simulations // (phases * len(sample)))):
                for child in sample[: simulations - root.visits]:
                    root.visits += 1
                    child.visits += 1
                    iterate(game, [root, child], pieces, random)
            sample = sorted(sample, key=score, reverse=True)[: max(2, len(sample) // 2)]
        most = max(child.visits for child in root.children)
        return max((child for child in root.children if child.visits == most), key=score).move, root


def completed(node: Node) -> float:
    """Return the value that stands in for those of children without visits: a mix of the node's own and theirs."""
    visited = [child for child in node.children if child.visits]
    visits, shares = sum(child.visits for child in visited), sum(child.prior.share for child in visited)
    mean = sum(child.prior.share * child.value for child in visited) / shares if visited else 0
    return (1 - node.own + visits * mean) / (1 + visits)
