"""AlphaZero's search as a page of slow Python: dictionaries, recursion and `Game`. The truth for the fast one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from go_rules.game import Game
from go_rules.points import PASS, board_points
from nets.evaluator import LOSS, WIN, EvaluationRequest, Evaluator, softmax
from nets.features import AT_ROOT, IN_TREE, encode, scratch_for
from search.textbook.parameters import AlphaZeroParameters


@dataclass
class NaiveNode:
    """A position: its own value v, the side to move's view, and N, W, P and children by move."""

    value: float = 0.0
    over: bool = False
    n: dict[int, int] = field(default_factory=dict)
    w: dict[int, float] = field(default_factory=dict)
    p: dict[int, float] = field(default_factory=dict)
    children: dict[int, NaiveNode] = field(default_factory=dict)


class NaiveSearch:
    """A PUCT search with one leaf at a time, under area rules without friendly passes."""

    def __init__(self, evaluator: Evaluator, parameters: AlphaZeroParameters) -> None:
        self.evaluator, self.parameters = evaluator, parameters

    def run(self, game: Game, simulations: int) -> NaiveNode:
        """Search the game's present position. Returns the root."""
        root = self.expand(game, AT_ROOT)
        for _ in range(simulations):
            self.simulate(root, game.copy(), 0)
        return root

    def simulate(self, node: NaiveNode, game: Game, depth: int) -> float:
        """One simulation from a node. Returns the leaf's value, the view of the side to move at the node."""
        if node.over:
            return node.value
        move = self.select(node)
        game.play(game.to_play, move)
        if move not in node.children:
            child = node.children[move] = self.arrive(game, depth + 1)
            value = -child.value
        else:
            value = -self.simulate(node.children[move], game, depth + 1)
        node.n[move] += 1
        node.w[move] += value
        return value

    def select(self, node: NaiveNode) -> int:
        """argmax Q + U. Among equals the likelier move, then the one further up and to the left."""
        total = 1 + sum(node.n.values())
        rate = math.log((1 + total + self.parameters.c_base) / self.parameters.c_base) + self.parameters.c_init
        urgency = {"draw": 0.0, "loss": -1.0, "parent": node.value}[self.parameters.first_play]

        def score(move: int) -> float:
            n = node.n[move]
            q = node.w[move] / n if n else urgency - self.parameters.first_play_reduction
            return q + rate * node.p[move] * math.sqrt(total) / (1 + n)

        return max(node.p, key=score)

    def arrive(self, game: Game, depth: int) -> NaiveNode:
        """A new node: the result of the game if it is over, unless the root's own pass ended it."""
        if game.is_over and depth > 1:
            white = game.score()
            score = white if game.to_play == 2 else -white
            return NaiveNode(float(np.sign(score)), over=True)
        return self.expand(game, IN_TREE)

    def expand(self, game: Game, view: int) -> NaiveNode:
        """Evaluate a position by the network."""
        spatial = np.zeros((1, 22, game.height, game.width), np.float32)
        global_ = np.zeros((1, 19), np.float32)
        banned = np.zeros(game.position["board"].shape, np.int8)
        points = [*board_points(game.width, game.height), PASS]
        moves = [point for point in points if point == PASS or game.is_legal(game.to_play, point)]
        position = game.position
        for point in points[:-1]:
            without_ko = position["ko"] != point and position["board"][point] == 0
            if game.rules.ko and without_ko and game.violation(game.to_play, point) == "superko":
                banned[point] = 1
        encode(
            game.stack, game.length - 1, game.to_play, game.record, 0.0, view, banned,
            scratch_for(self.evaluator), spatial[0], global_[0],
        )  # fmt: skip
        answer = self.evaluator.evaluate(EvaluationRequest(spatial, global_))
        logits = np.array([answer.policy[0][points.index(move)] for move in moves], np.float64)
        priors = softmax(logits)
        node = NaiveNode(float(answer.value[0, WIN] - answer.value[0, LOSS]))
        for i in np.argsort(-priors.astype(np.float32), kind="stable"):
            node.p[moves[i]], node.n[moves[i]], node.w[moves[i]] = float(priors[i]), 0, 0.0
        return node
