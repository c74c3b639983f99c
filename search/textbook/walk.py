"""One iteration of the search: select, expand, evaluate, back up. All players of the textbook walk like this.

Players without a network run whole iterations in a kernel, in many threads at once: `simulate`. Those with one walk
down to a leaf here (`seek_leaf`), and the network evaluates many leaves together (network.py).

The moves in the tree are played by the exact rules of go_rules; superko looks at the whole game and at the path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.board import copy_position, is_legal, neighbour, play
from go_rules.phases import give_turn, live_phase, passes_decide
from go_rules.points import EMPTY, MAX_MOVES, N_POINTS, PASS, STRIDE, WHITE
from go_rules.position import PHASE_OVER, new_stack
from go_rules.rules import RULES, SCORING_AREA
from go_rules.superko import history_key, is_superko_banned, new_seen, seen_refill
from go_rules.tactics.life import final_area, new_life_work
from nets.features import HISTORY
from nobi_machine.jit import kernel
from nobi_machine.records import record_fields, record_of
from search.request import SearchRequest, excluded_until
from search.textbook.parameters import FIRST_PLAY, AlphaZeroParameters, TextbookParameters, UctParameters
from search.textbook.playouts.board import in_atari, is_capture_or_joins, load_position
from search.textbook.playouts.patterns import EMPTY_NEIGHBOURS
from search.textbook.playouts.playout import (
    PlayoutBuffers,
    PlayoutTools,
    evaluate,
    final_score,
    new_playout_buffers,
    value_of,
)
from search.textbook.priors import measure_distances, set_pass_prior, set_prior
from search.textbook.rules import EVENLY, choose, weight_of
from search.textbook.tree import NONE, ROOT, clear_node, first_child, number_of_children, pack_children, sort_by_prior

PLAYOUT, NETWORK = 0, 1
"""What evaluates leaves."""

MAX_DEPTH = 300
"""The largest depth of a tree. Only positions full of kos get there."""

LEAF, COUNTED, COLLISION, FULL = 0, 1, 2, 3
"""How the walk of `seek_leaf` ends: at a new leaf to be evaluated; at a node whose value is known, which is backed up
already; at a node that is being evaluated, or without room for more nodes, where nothing was done."""

SETTINGS = np.dtype(
    [
        *dict.fromkeys((*record_fields(UctParameters), *record_fields(AlphaZeroParameters))),
        ("first_play", "i8"),  # place in FIRST_PLAY
        ("rule", "i8"),  # rules.EVENLY, UCB1, PUCT or IMPROVED
        ("leaf", "i8"),  # PLAYOUT or NETWORK
        ("largest_depth", "i8"),  # moves from the root to a leaf at most
    ],
    align=True,
)
"""The players' parameters as the kernels read them, 0 where a player has no such parameter."""


class Context(NamedTuple):
    """What all threads of a search share. Only `stop` changes while the search runs."""

    rules: NDArray[np.void]
    """RULES[1]."""
    settings: NDArray[np.void]
    """SETTINGS[1]."""
    seen: NDArray[np.uint64]
    """The superko keys of the game's positions (a set of go_rules/superko.py)."""
    until: NDArray[np.int16]
    """[3, N_POINTS]: excluded moves, see search.request.excluded_until."""
    stop: NDArray[np.int64]
    """[1]: not 0 once the threads shall return."""


class Buffers(NamedTuple):
    """The memory of one thread, which no other thread writes to."""

    stack: NDArray[np.void]
    """POSITION[HISTORY + MAX_DEPTH]: the game's last positions, then those after each move of the path."""
    length: NDArray[np.int64]
    """[2]: how many of them belong to the game (the root is the last of these), and how many there are at the leaf."""
    path: NDArray[np.int64]
    """[MAX_DEPTH + 1]: nodes from the root to the leaf."""
    keys: NDArray[np.uint64]
    """[MAX_DEPTH + 1]: superko keys of the positions after the moves of the path."""
    room: NDArray[np.int64]
    """[2]: this thread's part of the node array that is still free, from room[0] up to but without room[1]."""
    playouts: PlayoutBuffers
    distance: NDArray[np.int8]
    """[N_POINTS]: scratch of the priors."""
    shares: NDArray[np.float64]
    """[MAX_MOVES]: scratch of the improved policy."""
    life: NDArray[np.void]
    """LIFE_WORK[1]: scratch of scoring."""


def new_context(parameters: TextbookParameters, rule: int, leaf: int) -> Context:
    """Make a context with these parameters and no position yet. `rule`, `leaf`: as in SETTINGS."""
    settings = record_of(parameters, SETTINGS)
    settings["rule"], settings["leaf"] = rule, leaf
    settings["largest_depth"] = 1 if rule == EVENLY else MAX_DEPTH
    if isinstance(parameters, AlphaZeroParameters):
        settings["first_play"] = FIRST_PLAY.index(parameters.first_play)
    if leaf == NETWORK:
        settings["expand_visits"] = np.inf  # who asks the network expands the leaf
    return Context(
        rules=np.zeros(1, RULES),
        settings=settings,
        seen=new_seen(1),
        until=np.zeros((3, N_POINTS), np.int16),
        stop=np.zeros(1, np.int64),
    )


def new_buffers(tools: PlayoutTools) -> Buffers:
    """Make the memory of one thread, whose playouts use these tools."""
    return Buffers(
        stack=new_stack(HISTORY + MAX_DEPTH),
        length=np.zeros(2, np.int64),
        path=np.zeros(MAX_DEPTH + 1, np.int64),
        keys=np.zeros(MAX_DEPTH + 1, np.uint64),
        room=np.zeros(2, np.int64),
        playouts=new_playout_buffers(tools),
        distance=np.zeros(N_POINTS, np.int8),
        shares=np.zeros(MAX_MOVES, np.float64),
        life=new_life_work(),
    )


def place_root(ctx: Context, buffers: Buffers, request: SearchRequest) -> Context:
    """Let a thread's walks start from the requested position. Returns the context with its rules and superko keys."""
    game, colour = request.game, request.colour
    ctx.rules[0] = game.record
    # Between players two passes end the game and dead stones are agreed upon; a search has to play them out.
    ctx.rules["cleanup"] = 1
    ctx.until[:] = excluded_until(request.filter)
    count = min(HISTORY, game.length) if colour == game.to_play else 1
    buffers.stack[:count] = game.stack[game.length - count : game.length]
    buffers.length[:] = count
    root = buffers.stack[count - 1]
    give_turn(root, colour)
    if root["phase"] == PHASE_OVER:
        root["phase"] = live_phase(root, game.record)
        if ctx.settings["leaf"] == PLAYOUT:
            root["passes"] = 0  # else one more would end the game as it stands
    seen = new_seen(game.length)
    seen_refill(seen, game.keys)
    return ctx._replace(seen=seen)


# --- The four steps ---------------------------------------------------------------------------------------------------


@kernel
def simulate(nodes, ctx, buffers, n):
    """Run `n` iterations whose leaves are evaluated by playouts, or fewer if `ctx.stop` is set meanwhile."""
    for _ in range(n):
        if ctx.stop[0] != 0:
            return
        depth = select(nodes, ctx, buffers, np.int64(NONE))
        leaf = buffers.stack[buffers.length[1] - 1]
        score = evaluate(leaf, ctx.rules[0], buffers.playouts)
        value = value_of(score, ctx.settings[0].score_weight)
        back_up(nodes, ctx.settings[0], buffers.path, depth, leaf.to_play, value, score, buffers.playouts.tools.first)


@kernel
def select(nodes, ctx, buffers, forced):
    """Select: follow the rule from the root to a leaf. Expand the leaf if it has visits enough.

    Leaves the positions in `buffers.stack` and the nodes in `buffers.path`, each of them with one more visit in flight.
    Returns the number of moves. `forced`: the child to go to from the root; NONE chooses it as below the root.
    """
    settings = ctx.settings[0]
    rules = ctx.rules[0]
    last = buffers.length[0] - 1
    root_phase = buffers.stack[last].phase
    # A bare 0 has a type of its own, for which numba would compile all kernels below once more.
    index = np.int64(ROOT)
    depth = np.int64(0)
    buffers.path[0] = index
    nodes[index].in_flight += 1
    while depth < settings.largest_depth:
        pos = buffers.stack[last]
        if nodes[index].children == 0:
            if (
                index != ROOT and weight_of(nodes[index], settings) < settings.expand_visits
            ) or pos.phase != root_phase:
                break
            children = expand(nodes, ctx, buffers, last, depth)
            if children == 0:
                break
            nodes[index].children = children
        child = choose(nodes, index, settings, buffers.shares) if depth > 0 or forced == NONE else forced
        move = np.int64(nodes[child].move)
        colour = np.int64(pos.to_play)
        if move != PASS and not is_legal(pos, move, colour, rules):
            # Another thread is still writing these children; see tree.py.
            break
        index = child
        nodes[index].in_flight += 1
        copy_position(buffers.stack[last + 1], pos)
        last += 1
        play(buffers.stack[last], move, colour, rules)
        buffers.keys[depth] = history_key(pos, buffers.stack[last], rules)
        depth += 1
        buffers.path[depth] = index
    buffers.length[1] = last + 1
    return depth


@kernel
def expand(nodes, ctx, buffers, last, depth):
    """Expand: make children for the position `buffers.stack[last]`, `depth` moves from the root, with their priors.

    Before a network evaluates the position that is every legal move, and they have no priors yet; before playouts the
    moves that are `is_worth_trying`. Returns the packed children, 0 if there is no room.
    """
    pos = buffers.stack[last]
    rules = ctx.rules[0]
    settings = ctx.settings[0]
    b = buffers.playouts.board[0]
    tools = buffers.playouts.tools
    colour = np.int64(pos.to_play)
    start = buffers.room[0]
    if start + pos.width * pos.height + 1 > buffers.room[1]:
        return 0
    by_playouts = settings.leaf == PLAYOUT
    has_priors = by_playouts and settings.rule != EVENLY
    if by_playouts:
        load_position(b, pos)
        measure_distances(pos, np.int64(pos.recent[0]), buffers.distance, tools.found)
    end = start
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            if by_playouts and (
                pos.board[point] != EMPTY or not is_worth_trying(b, point, colour, tools.table[b.around[point]])
            ):
                continue
            if (
                ctx.until[colour, point] > depth
                or not is_legal(pos, point, colour, rules)
                or is_superko_banned(pos, point, colour, rules, ctx.seen, buffers.keys, depth)
            ):
                continue
            clear_node(nodes[end], point)
            if has_priors:
                set_prior(nodes[end], b, pos, colour, point, tools.table, buffers.distance, tools.random)
            end += 1
    if ctx.until[colour, PASS] <= depth or end == start:  # whatever is excluded, there is something to play
        clear_node(nodes[end], PASS)
        if has_priors:
            ends_and_wins = False
            if pos.passes == 1 and pos.button == 0 and rules.scoring == SCORING_AREA:
                score = final_score(pos, rules, buffers.playouts.area)
                ends_and_wins = score > 0.0 if colour == WHITE else score < 0.0
            set_pass_prior(nodes[end], ends_and_wins)
        end += 1
    if has_priors and settings.widening > 0.0:
        sort_by_prior(nodes, start, end)
    buffers.room[0] = end
    return pack_children(start, end - start)


@kernel
def is_worth_trying(b, point, colour, flags):
    """Return whether a move is neither suicide nor the filling of an own eye that nothing threatens.

    `flags`: the point's entry in the playouts' table (patterns.py).
    """
    if flags & EMPTY_NEIGHBOURS == 0 and not is_capture_or_joins(b, point, colour):
        return False
    if flags & colour == 0:
        return True
    for i in range(4):
        q = neighbour(point, i)
        if b.board[q] == colour and in_atari(b, b.chain[q]):
            return True
    return False


@kernel
def back_up(nodes, settings, path, depth, to_play, white_value, score, first_player):
    """Back up: count a visit of every node of a path, which ends `depth` moves below the root with `to_play` to move.

    `white_value` is 0..1 and `score` white's points minus black's. With RAVE, a playout whose `first_player` [N_POINTS]
    was the first to play at a point counts for all moves of that player's there, beside the path too.
    """
    # The colours alternate from the one to play at the end of the path.
    colour = np.int64(to_play)
    for level in range(depth, -1, -1):
        colour = 3 - colour
        value = white_value if colour == WHITE else 1.0 - white_value
        node = nodes[path[level]]
        node.in_flight -= 1
        node.visits += 1
        node.wins += value
        node.score += score
        if settings.rave_equivalence > 0.0 and level > 0:
            if node.move != PASS:
                first_player[node.move] = colour
            children = nodes[path[level - 1]].children
            first = first_child(children)
            for i in range(first, first + number_of_children(children)):
                if first_player[nodes[i].move] == colour:
                    nodes[i].amaf_visits += 1.0
                    nodes[i].amaf_wins += value


# --- Leaves for a network ---------------------------------------------------------------------------------------------


@kernel
def seek_leaf(nodes, ctx, buffers, forced):
    """Walk down to a leaf for a network. Returns (LEAF, COUNTED, COLLISION or FULL; depth; its packed children).

    The children of a LEAF are not its own yet: whoever has it evaluated publishes them. `forced`: see `select`.
    """
    depth = select(nodes, ctx, buffers, forced)
    node = nodes[buffers.path[depth]]
    last = buffers.length[1] - 1
    pos = buffers.stack[last]
    none = np.int64(0)
    if node.visits == 0:
        if node.in_flight > 1:
            release(nodes, buffers.path, depth)
            return COLLISION, depth, none
        if not is_over(pos, ctx.rules[0], depth):
            children = expand(nodes, ctx, buffers, last, depth)
            if children == 0:
                release(nodes, buffers.path, depth)
                return FULL, depth, none
            return LEAF, depth, children
        end_game(node, pos, ctx.rules[0], buffers.life)
    back_up_own(nodes, ctx.settings[0], buffers.path, depth, pos.to_play, buffers.playouts.tools.first)
    return COUNTED, depth, none


@kernel
def back_up_own(nodes, settings, path, depth, to_play, first_player):
    """Back up the own value of the node at the end of a path."""
    node = nodes[path[depth]]
    value = np.float64(node.own_value)
    back_up(
        nodes, settings, path, depth, to_play,
        value if to_play == WHITE else 1.0 - value, np.float64(node.own_score), first_player,
    )  # fmt: skip


@kernel
def release(nodes, path, depth):
    """Take back a visit that was begun along a path and came to nothing."""
    for level in range(depth + 1):
        nodes[path[level]].in_flight -= 1


@kernel
def is_over(pos, rules, depth):
    """Tell whether the passes that led to a position end the game for the search. The root's own pass never does."""
    return pos.phase == PHASE_OVER and depth != 1 and passes_decide(pos, rules)


@kernel
def end_game(node, pos, rules, life):
    """Give a node the result of the game that ended there."""
    score = final_area(pos, rules, live_phase(pos, rules), rules.suicide == 1, life[0])
    score += pos.white_bonus + rules.komi + rules.handicap_bonus
    node.own_score = score
    if pos.to_play != WHITE:
        score = -score
    node.own_value = 1.0 if score > 0.0 else 0.0 if score < 0.0 else 0.5
