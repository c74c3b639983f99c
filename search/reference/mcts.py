"""Monte Carlo tree search in plain Python, for any game of two players: read it from top to bottom.

Every iteration has four steps, which are four functions below:

    select      walk down the tree, at every node to the child for which the rule of selection gives most
    expand      give the node where the walk ended its children
    simulate    find out what it is worth: play on to the end by random moves, or ask a network
    back_up     tell every node of the walk

Whatever differs between the members of the family is one of the `Pieces`. docs/mcts.md explains it all.
Source: Browne et al., "A survey of Monte Carlo tree search methods" (2012), and what formulas.py names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, Protocol

State = Any  # a position; the search only hands it back to the game
Played = Sequence[tuple[int, str]]  # the moves of a playout in their order, each with its player
FIRST, SECOND = 0, 1  # the players; a result is what FIRST has won: 1 a win, 0.5 a draw, 0 a loss
PASS = "pass"  # the move that plays nothing, in games that have one


class Game(Protocol):
    """What the search has to know of a game. A position never changes: `play` makes a new one."""

    def start(self) -> State: ...
    def player(self, state: State) -> int: ...  # whose turn it is: FIRST or SECOND
    def moves(self, state: State) -> list[str]: ...  # the legal moves, as people write them
    def play(self, state: State, move: str) -> State: ...
    def result(self, state: State) -> float | None: ...  # what FIRST has won; None while the game goes on


class Prior(NamedTuple):
    """What a move is worth before it was tried: a share of a policy, and visits that are only imagined."""

    share: float  # the move's probability
    visits: float = 0.0  # Gelly and Silver, "Combining online and offline knowledge in UCT" (2007)
    wins: float = 0.0  # how many of these are won


@dataclass(eq=False)
class Node:
    """A position in the tree, and what is known of the move that leads there. Its mover sees wins and values."""

    state: State
    mover: int  # who made the move that leads here
    move: str = ""  # that move; empty at the root
    prior: Prior = field(default=Prior(1.0))
    visits: int = 0  # iterations that came through here, one under way included
    wins: float = 0.0  # the sum of their results
    own: float = 0.5  # the result of the first: what the node was worth before it had children
    amaf_visits: int = 0  # playouts through the parent in which `mover` played `move` first, now or later
    amaf_wins: float = 0.0  # "all moves as first": the sum of their results
    children: list[Node] = field(default_factory=list)  # largest prior first; none before the second visit

    @property
    def weight(self) -> float:
        """The number of visits, imagined ones included."""
        return self.visits + self.prior.visits

    @property
    def value(self) -> float:
        """The mean result, 0..1. There must be a visit, real or imagined."""
        return (self.wins + self.prior.wins) / self.weight


def rollout(game: Game, state: State, random: Random) -> tuple[float, Played]:
    """Play random moves to the end, and pass only where nothing else is left. Returns the result and the moves."""
    played: list[tuple[int, str]] = []
    while (result := game.result(state)) is None:
        move = random.choice([move for move in game.moves(state) if move != PASS] or [PASS])
        played.append((game.player(state), move))
        state = game.play(state, move)
    return result, played


def alike(game: Game, state: State) -> dict[str, Prior]:
    """Give all legal moves the same prior."""
    return dict.fromkeys(game.moves(state), Prior(1 / len(game.moves(state))))


@dataclass(frozen=True)
class Pieces:
    """The pieces that can be exchanged. Together they make a member of the family."""

    rule: Callable[[Node, Node], float]
    """The rule of selection: a node and one of its children give a number, and the child with the largest is next."""
    evaluate: Callable[[Game, State, Random], tuple[float, Played]] = rollout
    """What a position is worth: the result that FIRST may expect, and the moves of a playout if there was one."""
    priors: Callable[[Game, State], dict[str, Prior]] = alike
    """The moves of a position with their priors."""
    widening: Callable[[int], int] | None = None
    """How many children are looked at after so many visits of a node; None: all of them."""
    deepest: int = 1000
    """The largest depth of the tree: 1 is a tree of the root and its children."""


def search(game: Game, state: State, simulations: int, pieces: Pieces, random: Random) -> tuple[str, Node]:
    """Search a position in which the game goes on. Returns the most visited move and the root of the tree."""
    root = Node(state, mover=1 - game.player(state))
    expand(game, root, pieces)
    for _ in range(simulations):
        root.visits += 1
        iterate(game, [root], pieces, random)
    return max(root.children, key=lambda child: (child.visits, child.wins)).move, root


def iterate(game: Game, path: list[Node], pieces: Pieces, random: Random) -> None:
    """Run one iteration, from the last node of `path` on. `path` begins at the root and is counted as visited."""
    select(path, pieces)
    if path[-1].visits > 1 and len(path) <= pieces.deepest:
        expand(game, path[-1], pieces)
        select(path, pieces)
    result, played = simulate(game, path[-1], pieces, random)
    back_up(path, result, played)


def select(path: list[Node], pieces: Pieces) -> None:
    """Extend the path to a node without children.

    A visit counts on the way down, its result on the way up. Between the two it looks like a loss: the virtual loss,
    which keeps away other workers that search the same tree.
    """
    while (node := path[-1]).children:
        number = pieces.widening(node.visits) if pieces.widening else None
        child = max(node.children[:number], key=lambda child: pieces.rule(node, child))
        child.visits += 1
        path.append(child)


def expand(game: Game, node: Node, pieces: Pieces) -> None:
    """Give a node its children, unless the game is over there. Nodes are expanded on their second visit."""
    if game.result(node.state) is None:
        for move, prior in sorted(pieces.priors(game, node.state).items(), key=lambda each: -each[1].share):
            node.children.append(Node(game.play(node.state, move), game.player(node.state), move, prior))


def simulate(game: Game, leaf: Node, pieces: Pieces, random: Random) -> tuple[float, Played]:
    """Find out what a leaf is worth: the result if the game is over, else what the piece `evaluate` says."""
    result = game.result(leaf.state)
    return (result, ()) if result is not None else pieces.evaluate(game, leaf.state, random)


def back_up(path: Sequence[Node], result: float, played: Played) -> None:
    """Tell the nodes of the path the result, and also every child of them whose move came later in the game."""
    if path[-1].visits == 1:
        path[-1].own = seen_by(path[-1].mover, result)
    first_player: dict[str, int] = {}
    for player, move in played:
        first_player.setdefault(move, player)
    for node in reversed(path):
        node.wins += seen_by(node.mover, result)
        for child in node.children:
            if first_player.get(child.move) == child.mover and child.move != PASS:
                child.amaf_visits += 1
                child.amaf_wins += seen_by(child.mover, result)
        first_player[node.move] = node.mover


def seen_by(player: int, result: float) -> float:
    """Return a result as this player sees it."""
    return result if player == FIRST else 1 - result


def depth(node: Node) -> int:
    """Return how many moves deep a tree is."""
    return 1 + max(map(depth, node.children)) if node.children else 0


def statistics(root: Node) -> str:
    """Make the table of the root's moves, the most visited first: visits, wins, winrate, and depth of the tree."""
    lines = [" move  visits     wins      %  depth"]
    for child in sorted(root.children, key=lambda child: -child.visits):
        percent = f"{100 * child.wins / child.visits:.1f}" if child.visits else "-"
        lines.append(f"{child.move:>5} {child.visits:>7} {child.wins:>8.1f} {percent:>6} {1 + depth(child):>6}")
    return "\n".join(lines)
