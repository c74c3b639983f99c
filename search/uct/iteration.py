"""One iteration of the UCT search: select (and expand), evaluate by a playout, back up.

The kernels are here; the threads that call them are in player.py. The moves in the tree are played by the exact rules
of go_rules, superko included. Playouts have their own, simpler board (search/playouts/board.py).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.board import copy_position, is_legal, neighbour, play
from go_rules.compilation.jit import kernel
from go_rules.points import EMPTY, N_POINTS, PASS, STRIDE, WHITE
from go_rules.position import new_stack
from go_rules.rules import RULES, SCORING_AREA
from go_rules.superko import is_superko_banned, position_key
from search.parameter_records import record_fields, record_of
from search.playouts.board import in_atari, is_capture_or_joins, load_position
from search.playouts.evaluation import PlayoutBuffers, evaluate, final_score, new_playout_buffers, value_of
from search.playouts.patterns import EMPTY_NEIGHBOURS
from search.playouts.playout import PlayoutTools
from search.uct.formulas import selection_value
from search.uct.parameters import MAX_DEPTH, UctParameters
from search.uct.priors import measure_distances, set_pass_prior, set_prior
from search.uct.rave import credit_all_moves
from search.uct.tree import ROOT, clear_node, first_child, number_of_children, pack_children
from search.uct.virtual_loss import add_virtual_loss, turn_loss_into_visit
from search.uct.widening import number_considered, sort_by_prior

NO_CHILD = -1

UCT_SETTINGS = np.dtype(record_fields(UctParameters), align=True)
"""UctParameters as the kernels read them."""


class UctContext(NamedTuple):
    """What all threads of a search share. Only `stop` changes while the search runs."""

    root: NDArray[np.void]
    """POSITION[1]: where the search starts, the searched colour to play."""
    rules: NDArray[np.void]
    """RULES[1]."""
    settings: NDArray[np.void]
    """UCT_SETTINGS[1]."""
    seen: NDArray[np.uint64]
    """The superko keys of the game's positions (a set of go_rules/superko.py)."""
    banned: NDArray[np.int16]
    """[3, N_POINTS]: a colour may not play a point in the first so many moves from the root (0: it may)."""
    stop: NDArray[np.int64]
    """[1]: not 0 once the threads shall return."""


class ThreadBuffers(NamedTuple):
    """The memory of one thread, which no other thread writes to."""

    position: NDArray[np.void]
    """POSITION[1]: the end of the present path."""
    playouts: PlayoutBuffers
    path: NDArray[np.int64]
    """[MAX_DEPTH + 1]: nodes from the root to the leaf."""
    keys: NDArray[np.uint64]
    """[MAX_DEPTH + 1]: superko keys of the positions after the moves of the path."""
    room: NDArray[np.int64]
    """[2]: this thread's part of the node array that is still free, from room[0] up to but without room[1]."""
    distance: NDArray[np.int8]
    """[N_POINTS]: scratch of the priors."""


def new_context(parameters: UctParameters) -> UctContext:
    """Make a context with these parameters and no position yet."""
    return UctContext(
        root=new_stack(1),
        rules=np.zeros(1, RULES),
        settings=record_of(parameters, UCT_SETTINGS),
        seen=np.zeros(16, np.uint64),
        banned=np.zeros((3, N_POINTS), np.int16),
        stop=np.zeros(1, np.int64),
    )


def new_buffers(tools: PlayoutTools) -> ThreadBuffers:
    """Make the memory of one thread, whose playouts use these tools."""
    return ThreadBuffers(
        position=new_stack(1),
        playouts=new_playout_buffers(tools),
        path=np.zeros(MAX_DEPTH + 1, np.int64),
        keys=np.zeros(MAX_DEPTH + 1, np.uint64),
        room=np.zeros(2, np.int64),
        distance=np.zeros(N_POINTS, np.int8),
    )


@kernel
def simulate(nodes, ctx, buffers, n):
    """Run `n` iterations, or fewer if `ctx.stop` is set meanwhile. Returns how many it ran."""
    for done in range(n):
        if ctx.stop[0] != 0:
            return done
        depth = select(nodes, ctx, buffers)
        score = evaluate(buffers.position[0], ctx.rules[0], buffers.playouts)
        back_up(nodes, ctx, buffers, depth, score)
    return n


@kernel
def select(nodes, ctx, buffers):
    """Select: follow the best moves from the root to a leaf. Expand the leaf if it has visits enough.

    Leaves the position in `buffers.position` and the nodes in `buffers.path`; returns the number of moves.
    """
    pos = buffers.position[0]
    rules = ctx.rules[0]
    copy_position(pos, ctx.root[0])
    # A bare 0 has a type of its own, for which numba would compile all kernels below once more.
    index = np.int64(ROOT)
    depth = np.int64(0)
    buffers.path[0] = ROOT
    add_virtual_loss(nodes[ROOT], ctx.settings[0])
    while depth < ctx.settings[0].largest_depth and pos.phase == ctx.root[0].phase:
        children = nodes[index].children
        if children == 0:
            if index != ROOT and nodes[index].visits < ctx.settings[0].expand_visits:
                break
            children = expand(nodes, ctx, buffers, index, depth)
            if children == 0:
                break
        colour = np.int64(pos.to_play)
        child = select_child(nodes, ctx, index, children, colour, depth)
        if child == NO_CHILD:
            break
        move = np.int64(nodes[child].move)
        if move != PASS and not is_legal(pos, move, colour, rules):
            # Another thread is still writing these children; see tree.py.
            break
        add_virtual_loss(nodes[child], ctx.settings[0])
        play(pos, move, colour, rules)
        buffers.keys[depth] = position_key(pos, rules)
        depth += 1
        index = child
        buffers.path[depth] = index
    return depth


@kernel
def select_child(nodes, ctx, index, children, colour, depth):
    """Choose the child with the highest value among those that may be played; return NO_CHILD if there is none.

    With progressive widening only the first children are looked at, more with every visit of the node.
    """
    settings = ctx.settings[0]
    visits = max(1.0, np.float64(nodes[index].visits))
    log_visits = math.log(visits)
    best = NO_CHILD
    best_value = -1.0
    first = first_child(children)
    number = number_of_children(children)
    considered = number_considered(visits, number, settings)
    for i in range(number):
        if i >= considered and best != NO_CHILD:
            break
        child = nodes[first + i]
        value = selection_value(child, log_visits, settings)
        if value > best_value and ctx.banned[colour, child.move] <= depth:
            best = first + i
            best_value = value
    return best


@kernel
def expand(nodes, ctx, buffers, index, depth):
    """Give a node its children with their priors: every legal move that `is_worth_trying`, and the pass.

    Returns the packed `children`, 0 if there is no room.
    """
    pos = buffers.position[0]
    b = buffers.playouts.board[0]
    rules = ctx.rules[0]
    settings = ctx.settings[0]
    table = buffers.playouts.tools.table
    random = buffers.playouts.tools.random
    colour = np.int64(pos.to_play)
    load_position(b, pos)
    start = buffers.room[0]
    if start + b.n_empties + 1 > buffers.room[1]:
        return 0
    measure_distances(pos, np.int64(pos.recent[0]), buffers.distance, buffers.playouts.tools.found)
    end = start
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            if (
                pos.board[point] != EMPTY
                or not is_worth_trying(b, point, colour, table[b.around[point]])
                or not is_legal(pos, point, colour, rules)
                or is_superko_banned(pos, point, colour, rules, ctx.seen, buffers.keys, depth)
            ):
                continue
            clear_node(nodes[end], point)
            set_prior(nodes[end], b, pos, colour, point, table, buffers.distance, settings, random)
            end += 1
    clear_node(nodes[end], PASS)
    ends_and_wins = False
    if pos.passes == 1 and pos.button == 0 and rules.scoring == SCORING_AREA:
        score = final_score(pos, rules, buffers.playouts.area)
        ends_and_wins = score > 0.0 if colour == WHITE else score < 0.0
    set_pass_prior(nodes[end], ends_and_wins, settings)
    end += 1
    if settings.widening > 0.0:
        sort_by_prior(nodes, start, end)
    buffers.room[0] = end
    children = pack_children(start, end - start)
    nodes[index].children = children
    return children


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
def back_up(nodes, ctx, buffers, depth, score):
    """Back up: credit the moves of the path, and the all-moves-as-first values of the nodes along it."""
    settings = ctx.settings[0]
    white_value = value_of(score, settings.score_weight)
    first_player = buffers.playouts.tools.first
    # The colours alternate from the one to play at the end of the path.
    colour = np.int64(buffers.position[0].to_play)
    for level in range(depth, 0, -1):
        colour = 3 - colour
        value = white_value if colour == WHITE else 1.0 - white_value
        node = nodes[buffers.path[level]]
        turn_loss_into_visit(node, settings)
        node.wins += value
        node.score += score
        if node.move != PASS:
            first_player[node.move] = colour
        if settings.rave_equivalence > 0.0:
            children = nodes[buffers.path[level - 1]].children
            credit_all_moves(nodes, first_child(children), number_of_children(children), colour, first_player, value)
    turn_loss_into_visit(nodes[ROOT], settings)
    nodes[ROOT].score += score
