"""The network-guided search, slow and plain: the truth that the kernels are compared with.

Dictionaries, recursion and Python floats; one visit at a time; every average computed afresh from the children. It
knows nothing of workers, batches, virtual losses, symmetries, reuse and what only the root has. What the kernels round
it rounds alike (priors, the score's S curve: test_formulas.py), so that near ties fall the same way.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, NO_POINT, PASS, WHITE, board_points, column_of, point_at, row_of
from go_rules.position import PHASE_CLEANUP_2
from go_rules.rules import SCORING_AREA, SCORING_TERRITORY
from nets.evaluator import (
    GLOBAL_FEATURES,
    LEAD,
    LOSS,
    NO_RESULT,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    SPATIAL_PLANES,
    WIN,
    EvaluationRequest,
    Evaluator,
)
from nets.features import AT_ROOT, IN_TREE, encode, new_scratch
from search.nobi.memory.context import uniform_share
from search.nobi.parameters import SearchParameters
from search.nobi.tree.formulas import expected_score_value, score_table

Key = tuple[object, ...]


@dataclass
class Edge:
    move: int
    prior: float
    child: Node | None = None
    visits: int = 0

    def weight(self) -> float:
        if self.child is None or self.child.visits == 0:
            return 0.0
        return self.child.weight * self.visits / self.child.visits


@dataclass
class Bias:
    delta: float = 0.0
    weight: float = 0.0


@dataclass
class Node:
    colour: int
    terminal: bool = False
    visits: int = 0
    weight: float = 0.0
    weight_sq: float = 0.0
    win_loss: float = 0.0
    no_result: float = 0.0
    score: float = 0.0
    score_sq: float = 0.0
    lead: float = 0.0
    utility: float = 0.0
    utility_sq: float = 0.0
    bias: Bias | None = None
    bias_part: tuple[float, float] = (0.0, 0.0)
    """What it added to the bias' delta and weight."""
    own: dict[str, float] = field(default_factory=dict)
    """The node's own evaluation: win_loss, no_result, score, score_sq, lead, utility, weight; white's view."""
    untried: dict[int, float] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    pass_may_end: bool = False
    key: Key = ()


class NaiveSearch:
    """A search of one position. `run` may be called again for more visits."""

    def __init__(self, game: Game, evaluator: Evaluator, parameters: SearchParameters, center: float) -> None:
        self.agreement = not game.rules.cleanup
        self.game = game.copy()
        self.game.set_rules(dataclasses.replace(game.rules, cleanup=True))
        self.evaluator = evaluator
        is_strange = uniform_share(game.width, game.height) > 0
        self.p = dataclasses.replace(parameters, cpuct_stdev_scale=0.0) if is_strange else parameters
        self.center = center
        self.side = math.sqrt(game.width * game.height)
        self.points = [*board_points(game.width, game.height), PASS]
        self.nodes: dict[Key, Node] = {}
        self.biases: dict[Key, Bias] = {}
        self.table = score_table()
        self.radius = parameters.win_loss_factor + parameters.static_score_factor + parameters.dynamic_score_factor
        self.root = Node(game.to_play)
        self._expand(self.root, self.game, is_root=True)

    def run(self, visits: int) -> Node:
        while self.root.visits < visits:
            self._visit(self.root, self.game.copy(), [self.root])
        return self.root

    # --- One visit --------------------------------------------------------------------------------------------

    def _visit(self, node: Node, game: Game, path: list[Node]) -> bool:
        """Returns whether the visit counts for the node's parents."""
        if node.terminal or (not node.edges and not node.untried):
            self._count_own(node)
            return True
        edge, counts = self._choose(node)
        forced = self._forced(node, edge)
        if forced is not None:
            edge, counts = Edge(forced, node.untried[forced]), False
        before = game
        if edge not in node.edges:
            node.edges.append(edge)
            del node.untried[edge.move]
        game = before.copy()
        game.play(node.colour, self.points[edge.move])
        if edge.child is None:
            self._arrive(node, edge, game, len(path))
            return self._count(node, edge, counts)
        if edge.visits < edge.child.visits or any(other is edge.child for other in path):
            return self._count(node, edge, counts)
        counts = self._visit(edge.child, game, [*path, edge.child]) and counts
        return self._count(node, edge, counts)

    def _count(self, node: Node, edge: Edge, counts: bool) -> bool:
        if counts:
            edge.visits += 1
            node.visits += 1
            self._average(node)
        return counts

    def _arrive(self, parent: Node, edge: Edge, game: Game, depth: int) -> None:
        over = self._is_over(game, depth)
        key = self._key(game, over, parent)
        if self.p.graph_search and key in self.nodes:
            edge.child = self.nodes[key]
            return
        child = Node(3 - parent.colour, key=key)
        self.nodes[key] = child
        edge.child = child
        if over:
            child.terminal = True
            score = game.score()
            if game.is_no_result:
                score = 0.0
            win = 1.0 if score > 0 else 0.0 if score < 0 else self.p.draw_wins_for_white
            mean, square = score, score * score
            if score == round(score):
                mean = score + self.p.draw_wins_for_white - 0.5
                square = (score - 0.5) ** 2 * (1 - self.p.draw_wins_for_white)
                square += (score + 0.5) ** 2 * self.p.draw_wins_for_white
            child.own = {"win_loss": 2 * win - 1, "no_result": 0.0, "score": mean, "score_sq": square, "lead": mean}
            if game.is_no_result:
                child.own = dict.fromkeys(child.own, 0.0) | {"no_result": 1.0}
            child.own["weight"] = self.p.uncertainty_max_weight if self.errors_known else 1.0
            child.own["utility"] = self._utility(child.own)
            self._count_own(child)
        else:
            child.bias = self._bias(game)
            self._expand(child, game, is_root=False)

    def _bias(self, game: Game) -> Bias | None:
        last, before = game.moves[-1], game.stack[game.length - 2]
        earlier = int(before["recent"][0])
        if self.p.subtree_bias_factor == 0 or last.point == PASS or earlier == NO_POINT:
            return None
        pattern = []
        for dy in range(-2, 3):
            for dx in range(-2, 3):
                x, y = column_of(last.point) + dx, row_of(last.point) + dy
                if not (0 <= x < game.width and 0 <= y < game.height):
                    continue
                q = point_at(x, y)
                content = int(before["board"][q])
                in_atari = content in (BLACK, WHITE) and before["liberties"][before["chain"][q]] == 1
                pattern.append((dx, dy, content, bool(in_atari)))
        key = (last, earlier, int(before["ko"]), tuple(pattern))
        return self.biases.setdefault(key, Bias())

    def _own_utility(self, node: Node) -> float:
        if node.bias is None or node.bias.weight <= 0.001:
            return node.own["utility"]
        return node.own["utility"] + self.p.subtree_bias_factor * node.bias.delta / node.bias.weight

    def _is_over(self, game: Game, depth: int) -> bool:
        if game.is_no_result:
            return True
        if not game.is_over or (depth == 1 and self.p.conservative_pass):
            return False
        passes = 0
        while passes < len(game.moves) and game.moves[-1 - passes].point == PASS:
            passes += 1
        return not (game.rules.friendly_pass and game.rules.scoring == SCORING_AREA and passes == 2)

    def _key(self, game: Game, over: bool, parent: Node) -> Key:
        position = game.position
        board, marks = position["board"].tobytes(), position["marks"].tobytes()
        numbers = tuple(float(position[name]) for name in ("to_play", "ko", "passes", "phase", "white_bonus"))
        key: Key = (board, marks, numbers, over)
        return key if self._has_room(game) else (*key, parent.key, id(parent))

    def _has_room(self, game: Game) -> bool:
        point = game.moves[-1].point
        if point == PASS:
            return False
        board = game.position["board"]
        region, waiting = {point}, [point]
        if board[point] != EMPTY:
            while waiting:
                stone = waiting.pop()
                for q in (stone - 26, stone - 1, stone + 1, stone + 26):
                    if q not in region and board[q] == board[point]:
                        region.add(q)
                        waiting.append(q)
            waiting = list(region)
        while waiting:
            place = waiting.pop()
            for q in (place - 26, place - 1, place + 1, place + 26):
                if q not in region and board[q] == EMPTY:
                    region.add(q)
                    waiting.append(q)
        return len(region) > self.p.graph_repetition_bound

    # --- Evaluation -------------------------------------------------------------------------------------------

    def _expand(self, node: Node, game: Game, is_root: bool) -> None:
        area = game.width * game.height
        spatial = np.zeros((1, SPATIAL_PLANES, game.height, game.width), np.float32)
        global_ = np.zeros((1, GLOBAL_FEATURES), np.float32)
        legal = game.legal_moves(node.colour)
        ban = np.zeros(len(game.position["board"]), np.int8)
        for point in self.points[:-1]:
            ban[point] = game.violation(node.colour, point) == "superko"
        view = AT_ROOT if is_root and self.p.conservative_pass else IN_TREE
        first = max(0, game.length - 3)
        stack = game.stack[first : game.length].copy()
        encode(stack, len(stack) - 1, node.colour, game.record, 0.0, view, ban, new_scratch(), spatial[0], global_[0])
        policy, value, score, _ = (array[0] for array in self.evaluator.evaluate(EvaluationRequest(spatial, global_)))
        sign = 1.0 if node.colour == WHITE else -1.0
        beside = sum(map(float, (game.position["white_bonus"], game.record["handicap_bonus"], game.record["komi"])))
        reach = area * (2 if game.rules.scoring == SCORING_TERRITORY else 1) + 0.5 * int(game.position["button"])

        def possible(points: float) -> float:
            return min(beside + reach, max(beside - reach, sign * points))

        mean, stdev = possible(float(score[SCORE_MEAN])), min(reach, float(score[SCORE_STDEV]))
        node.own = {
            "win_loss": sign * float(value[WIN] - value[LOSS]),
            "no_result": float(value[NO_RESULT]),
            "score": mean,
            "score_sq": mean * mean + stdev * stdev,
            "lead": possible(float(score[LEAD])),
        }
        winloss_error, score_error = float(score[SHORTTERM_WINLOSS_ERROR]), float(score[SHORTTERM_SCORE_ERROR])
        self.errors_known = winloss_error >= 0
        node.own["utility"] = self._utility(node.own)
        node.own["weight"] = self._own_weight(node.own["score"], winloss_error, score_error)
        moves = [i for i in range(area + 1) if self.points[i] in legal]
        exponentials = {i: math.exp(float(policy[i]) - max(float(policy[j]) for j in moves)) for i in moves}
        total = sum(exponentials.values())
        uniform = uniform_share(game.width, game.height)
        node.untried = {
            i: kept((1 - uniform) * (value / total) + uniform / len(moves)) for i, value in exponentials.items()
        }
        if self.agreement and game.position["phase"] == PHASE_CLEANUP_2:
            node.untried = {}  # players who agree never get here: the network's judgement stands
        node.pass_may_end = bool(game.position["passes"] >= 1 or game.position["passed_here"])
        self._count_own(node)

    def _own_weight(self, score: float, winloss_error: float, score_error: float) -> float:
        if not self.p.uncertainty or winloss_error < 0:
            return 1.0
        step = 1e-4
        slope = 0.0
        for factor, center, width in (
            (self.p.static_score_factor, 0.0, 2.0 * self.side),
            (self.p.dynamic_score_factor, self.center, self.p.dynamic_score_center_scale * self.side),
        ):
            rise = math.atan((score + step - center) / width) - math.atan((score - step - center) / width)
            slope += factor * rise / (2 * step) * 2 / math.pi
        error = self.p.win_loss_factor * winloss_error + slope * score_error
        return self.p.uncertainty_coefficient / (error + self.p.uncertainty_coefficient / self.p.uncertainty_max_weight)

    def _utility(self, of: dict[str, float]) -> float:
        result = self.p.win_loss_factor * of["win_loss"] + self.p.no_result_utility * of["no_result"]
        stdev = math.sqrt(max(0.0, of["score_sq"] - of["score"] ** 2))
        static = expected_score_value(self.table, of["score"] / (2.0 * self.side), stdev / (2.0 * self.side))
        width = self.p.dynamic_score_center_scale * self.side
        dynamic = expected_score_value(self.table, (of["score"] - self.center) / width, stdev / width)
        return result + self.p.static_score_factor * static + self.p.dynamic_score_factor * dynamic

    # --- Averages ---------------------------------------------------------------------------------------------

    def _count_own(self, node: Node) -> None:
        node.visits += 1
        weight = node.own["weight"]
        node.weight += weight
        node.weight_sq += weight * weight
        for name in ("win_loss", "no_result", "score", "score_sq", "lead", "utility"):
            setattr(node, name, node.own[name])
        node.utility = self._own_utility(node)
        node.utility_sq = node.utility**2

    def _average(self, node: Node) -> None:
        edges = [edge for edge in node.edges if edge.visits > 0 and edge.child is not None and edge.child.visits > 0]
        sign = 1.0 if node.colour == WHITE else -1.0
        visited = sum(edge.weight() for edge in edges)
        weights = [edge.weight() for edge in edges]
        utilities = [sign * edge.child.utility for edge in edges]  # type: ignore[union-attr]
        if self.p.noise_pruning:
            for i in range(1, len(edges)):
                before = sum(weights[:i])
                mean = sum(w * u for w, u in zip(weights[:i], utilities[:i], strict=True)) / before
                share = before * edges[i].prior / sum(edge.prior for edge in edges[:i])
                gap = mean - utilities[i]
                if gap > 0 and weights[i] > 2 * share:
                    weights[i] -= (weights[i] - 2 * share) * (1 - math.exp(-gap / self.p.noise_prune_scale))
        if self.p.value_weight_exponent > 0 and edges:
            total = sum(weights)
            mean = sum(w * u for w, u in zip(weights, utilities, strict=True)) / total
            shifted = []
            for weight, utility in zip(weights, utilities, strict=True):
                z = (utility - mean) / math.sqrt(1e-8 + 1 / (1.5 * math.sqrt(weight)))
                shifted.append(weight * (student_cdf(z) + 0.0001) ** self.p.value_weight_exponent)
            weights = [weight * total / sum(shifted) for weight in shifted]
        if node.bias is not None and edges:
            mean = sum(w * e.child.utility for w, e in zip(weights, edges, strict=True)) / sum(weights)  # type: ignore[union-attr]
            weight = visited**self.p.subtree_bias_exponent
            delta = (mean - node.own["utility"]) * weight
            node.bias.delta += delta - node.bias_part[0]
            node.bias.weight += weight - node.bias_part[1]
            node.bias_part = (delta, weight)
        own = node.own["weight"]
        node.weight = own + sum(weights)
        node.weight_sq = own * own
        for edge, weight in zip(edges, weights, strict=True):
            node.weight_sq += (weight / edge.child.weight) ** 2 * edge.child.weight_sq  # type: ignore[union-attr]
        for name in ("win_loss", "no_result", "score", "score_sq", "lead", "utility"):
            mine = self._own_utility(node) if name == "utility" else node.own[name]
            total = own * mine + sum(w * getattr(e.child, name) for w, e in zip(weights, edges, strict=True))
            setattr(node, name, total / node.weight)
        squares = own * self._own_utility(node) ** 2
        squares += sum(w * e.child.utility_sq for w, e in zip(weights, edges, strict=True))  # type: ignore[union-attr]
        node.utility_sq = squares / node.weight

    # --- Selection --------------------------------------------------------------------------------------------

    def _choose(self, node: Node) -> tuple[Edge, bool]:
        sign = 1.0 if node.colour == WHITE else -1.0
        explored = sum(edge.weight() for edge in node.edges)
        growth = self.p.cpuct + self.p.cpuct_log * math.log((explored + self.p.cpuct_base) / self.p.cpuct_base)
        explore = growth * math.sqrt(explored + 0.01) * self._stdev_factor(node)
        mass = min(1.0, sum(edge.prior for edge in node.edges))
        share = min(1.0, mass**self.p.fpu_parent_power)
        reduction = self.p.root_fpu_reduction if node is self.root else self.p.fpu_reduction
        urgency = sign * (share * node.utility + (1 - share) * node.own["utility"]) - reduction * math.sqrt(mass)
        best, best_value = None, -math.inf
        for edge in node.edges:
            weight = edge.weight()
            utility = sign * edge.child.utility if weight > 0 else urgency  # type: ignore[union-attr]
            value = utility + explore * edge.prior / (1 + weight)
            if value > best_value:
                best, best_value = edge, value
        if node.untried:
            move = max(node.untried, key=lambda i: (node.untried[i], -i))
            if urgency + explore * node.untried[move] > best_value:
                best = Edge(move, node.untried[move])
        assert best is not None
        return best, True

    def _stdev_factor(self, node: Node) -> float:
        stdev = self.p.cpuct_stdev_prior
        if node.weight > 1:
            square = node.utility**2
            prior = self.p.cpuct_stdev_prior_weight
            total = (square + stdev**2) * prior + max(node.utility_sq, square) * node.weight
            stdev = math.sqrt(max(0.0, total / (prior + node.weight - 1) - square))
        return 1 + self.p.cpuct_stdev_scale * (stdev / self.p.cpuct_stdev_prior - 1)

    def _forced(self, node: Node, wanted: Edge) -> int | None:
        """The pass or the best other move, where a pass may end the game and nothing is known of it."""
        if not (self.p.explore_pass and node.pass_may_end and node.visits >= 3):
            return None
        pass_move = len(self.points) - 1
        tried = {edge.move for edge in node.edges}
        if pass_move not in tried and wanted.move != pass_move and pass_move in node.untried:
            return pass_move
        if tried <= {pass_move} and wanted.move == pass_move and wanted in node.edges and node.untried:
            return max(node.untried, key=lambda i: (node.untried[i], -i))
        return None


def kept(prior: float) -> float:
    """A prior with the 11 bits of mantissa that the tree keeps."""
    mantissa, exponent = math.frexp(prior)
    return math.ldexp(math.floor(mantissa * 4096 + 0.5) / 4096, exponent)


def student_cdf(z: float) -> float:
    """The distribution function of Student's t with 3 degrees of freedom."""
    x = z / math.sqrt(3)
    return 0.5 + (x / (1 + x * x) + math.atan(x)) / math.pi
