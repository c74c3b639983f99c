"""Select: walk down the tree from the root to a leaf, playing the moves, and give the leaf its node.

The positions along the way are exact: superko looks at the whole game and at the path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.board import copy_position, legal_points, play
from go_rules.compilation.jit import kernel
from go_rules.game import Game
from go_rules.phases import give_turn, live_phase, passes_decide
from go_rules.points import MAX_MOVES, N_POINTS, PASS, WHITE
from go_rules.position import PHASE_OVER, new_stack
from go_rules.rules import RULES
from go_rules.superko import history_key, is_superko_banned, new_seen, seen_refill
from go_rules.tactics.life import final_area, new_life_work
from nets.features import HISTORY
from search.alphazero.backup import back_up, release
from search.alphazero.formulas import choose_by_improved_policy, choose_by_puct
from search.alphazero.parameters import FIRST_PLAY, AlphaZeroParameters
from search.alphazero.tree import EDGES, NODES, NONE, ROOT, TERMINAL, WAITING
from search.parameter_records import record_fields, record_of

LEAF, COUNTED, COLLISION = 0, 1, 2
"""How a walk ends: at a new node to be evaluated; at a node whose value is known, which is backed up already; at a node
that is being evaluated, where nothing was done."""

BY_PUCT, BY_IMPROVED_POLICY = 0, 1
"""How edges are chosen below the root."""

SETTINGS = np.dtype([*record_fields(AlphaZeroParameters), ("first_play", "i8"), ("rule", "i8")], align=True)
"""AlphaZeroParameters as the kernels read them, and how edges are chosen."""


class Walk(NamedTuple):
    """What a walk needs besides the tree."""

    settings: NDArray[np.void]
    """SETTINGS[1]."""
    rules: NDArray[np.void]
    """RULES[1]."""
    stack: NDArray[np.void]
    """POSITION[HISTORY + tree_depth]: the game's last positions, then those after each move of the path."""
    length: NDArray[np.int64]
    """[2]: how many of them belong to the game (the root is the last of these), and how many there are at the leaf."""
    seen: NDArray[np.uint64]
    """The superko keys of the game's positions (a set of go_rules/superko.py)."""
    keys: NDArray[np.uint64]
    """[tree_depth]: superko keys of the positions after the moves of the path."""
    until: NDArray[np.int16]
    """[3, N_POINTS]: excluded moves, see search.request.excluded_until."""
    banned: NDArray[np.int8]
    """[N_POINTS]: 1 where superko forbids the side to move at the leaf to play."""
    points: NDArray[np.int16]
    """[MAX_MOVES]: scratch for legal moves."""
    shares: NDArray[np.float64]
    """[MAX_MOVES]: scratch of the improved policy."""
    life: NDArray[np.void]
    """LIFE_WORK[1]: scratch of scoring."""


def new_walk(parameters: AlphaZeroParameters, rule: int) -> Walk:
    """Make the memory of a walk. `rule`: how edges are chosen, BY_PUCT or BY_IMPROVED_POLICY."""
    settings = record_of(parameters, SETTINGS)
    settings["first_play"], settings["rule"] = FIRST_PLAY.index(parameters.first_play), rule
    return Walk(
        settings=settings,
        rules=np.zeros(1, RULES),
        stack=new_stack(HISTORY + parameters.tree_depth),
        length=np.zeros(2, np.int64),
        seen=new_seen(1),
        keys=np.zeros(parameters.tree_depth, np.uint64),
        until=np.zeros((3, N_POINTS), np.int16),
        banned=np.zeros(N_POINTS, np.int8),
        points=np.zeros(MAX_MOVES, np.int16),
        shares=np.zeros(MAX_MOVES, np.float64),
        life=new_life_work(),
    )


def place_root(walk: Walk, game: Game, colour: int, until: NDArray[np.int16]) -> Walk:
    """Let walks start from the game's present position with `colour` to move. Returns the walk with its superko keys.

    `until`: the excluded moves, as search.request.excluded_until says.
    """
    walk.rules[0] = game.record
    # Between players two passes end the game and dead stones are agreed upon; a search has to play them out.
    walk.rules["cleanup"] = 1
    walk.until[:] = until
    same_turn = colour == game.to_play
    count = min(HISTORY, game.length) if same_turn else 1
    walk.stack[:count] = game.stack[game.length - count : game.length]
    walk.length[0] = count
    root = walk.stack[count - 1]
    give_turn(root, colour)
    if root["phase"] == PHASE_OVER:
        root["phase"] = live_phase(root, game.record)
    seen = new_seen(game.length)
    seen_refill(seen, game.keys)
    return walk._replace(seen=seen)


@kernel
def arrive_at_root(tree, walk):
    """Make the walk end at the root, and give an empty tree its root node, whose evaluation is still to come."""
    walk.length[1] = walk.length[0]
    if tree.used[NODES] == 0:
        new_node(tree, walk, np.int64(0))
        return
    pos = walk.stack[walk.length[0] - 1]
    colour = np.int64(pos.to_play)
    count = legal_points(pos, colour, walk.rules[0], walk.points)
    mark_banned(walk, pos, colour, count, np.int64(0))


@kernel
def select(tree, walk, path, root_edge):
    """Walk down from the root to a leaf. Returns (LEAF, COUNTED or COLLISION; index of the last node; depth).

    Writes the edges of the way to `path`; their visits are in flight afterwards if the walk ended at a LEAF. The
    position of the leaf is the last on the walk's stack. `root_edge` is the edge to follow from the root; NONE chooses
    it as below the root. The tree has room for another node with all its edges.
    """
    settings = walk.settings[0]
    rules = walk.rules[0]
    last = walk.length[0] - 1
    depth = np.int64(0)
    index = np.int64(ROOT)
    while True:
        node = tree.nodes[index]
        if node.state == WAITING:
            release(tree.edges, path, depth)
            return COLLISION, index, depth
        if node.state == TERMINAL or depth == len(path):
            back_up(tree.edges, path, depth, np.float64(node.value), np.float64(node.score))
            return COUNTED, index, depth
        choice = np.int64(root_edge)
        if depth > 0 or choice == NONE:
            choice = choose(tree, index, settings, walk.shares)
        edge = tree.edges[choice]
        edge.in_flight += 1
        path[depth] = choice
        copy_position(walk.stack[last + 1], walk.stack[last])
        play(walk.stack[last + 1], np.int64(edge.move), np.int64(node.to_play), rules)
        walk.keys[depth] = history_key(walk.stack[last], walk.stack[last + 1], rules)
        last += 1
        depth += 1
        if edge.child == NONE:
            break
        index = np.int64(edge.child)
    walk.length[1] = last + 1
    edge.child = tree.used[NODES]
    index = new_node(tree, walk, depth)
    if is_over(walk.stack[last], rules, depth):
        end_game(tree.nodes[index], walk)
        back_up(tree.edges, path, depth, np.float64(tree.nodes[index].value), np.float64(tree.nodes[index].score))
        return COUNTED, index, depth
    return LEAF, index, depth


@kernel
def choose(tree, index, settings, shares):
    """Return the edge of a node that the next simulation follows."""
    if settings.rule == BY_PUCT:
        return choose_by_puct(tree, index, settings)
    return choose_by_improved_policy(tree, index, settings, shares)


@kernel
def new_node(tree, walk, depth):
    """Make a node of the position at the end of the stack, with an edge for each move that may be played there.

    The edges have no priors yet. `depth`: moves from the root. Returns the node's index.
    """
    pos = walk.stack[walk.length[1] - 1]
    colour = np.int64(pos.to_play)
    rules = walk.rules[0]
    index = tree.used[NODES]
    tree.used[NODES] += 1
    node = tree.nodes[index]
    node.state = WAITING
    node.to_play = colour
    node.first = tree.used[EDGES]
    node.value = 0.0
    node.score = 0.0
    count = legal_points(pos, colour, rules, walk.points)
    mark_banned(walk, pos, colour, count, depth)
    walk.points[count] = PASS
    edges = np.int64(node.first)
    for i in range(count + 1):
        point = np.int64(walk.points[i])
        if walk.banned[point] == 0 and walk.until[colour, point] <= depth:
            clear_edge(tree.edges[edges], point)
            edges += 1
    if edges == node.first:
        clear_edge(tree.edges[edges], PASS)  # whatever is excluded, there is something to play
        edges += 1
    node.count = edges - node.first
    tree.used[EDGES] = edges
    return index


@kernel
def clear_edge(edge, point):
    """Make a record an edge that nobody has followed."""
    edge.move = point
    edge.child = NONE
    edge.visits = 0
    edge.in_flight = 0
    edge.total = 0.0
    edge.score = 0.0
    edge.prior = 0.0


@kernel
def mark_banned(walk, pos, colour, count, depth):
    """Mark in `walk.banned` which of the first `count` points of `walk.points` superko forbids."""
    for i in range(N_POINTS):
        walk.banned[i] = 0
    for i in range(count):
        point = np.int64(walk.points[i])
        if is_superko_banned(pos, point, colour, walk.rules[0], walk.seen, walk.keys, depth):
            walk.banned[point] = 1


@kernel
def is_over(pos, rules, depth):
    """Tell whether the passes that led to a position end the game for the search. The root's own pass never does."""
    return pos.phase == PHASE_OVER and depth != 1 and passes_decide(pos, rules)


@kernel
def end_game(node, walk):
    """Make a node terminal, with the result of the game that ended there."""
    pos = walk.stack[walk.length[1] - 1]
    rules = walk.rules[0]
    score = final_area(pos, rules, live_phase(pos, rules), rules.suicide == 1, walk.life[0])
    score += pos.white_bonus + rules.komi + rules.handicap_bonus
    if pos.to_play != WHITE:
        score = -score
    node.state = TERMINAL
    node.score = score
    node.value = 1.0 if score > 0.0 else -1.0 if score < 0.0 else 0.0
