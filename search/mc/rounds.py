"""Flat Monte Carlo: every legal move gets the same number of playouts, and the best mean value is the best move.

Source: Bruegmann, "Monte Carlo Go" (1993), without its simulated annealing. There is no tree. Playout number i of a
search begins with move i modulo the number of moves, so after each round all moves have one playout more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.board import copy_position, is_legal, play
from go_rules.compilation.jit import kernel
from go_rules.points import EMPTY, N_POINTS, PASS, STRIDE, WHITE
from go_rules.position import new_stack
from go_rules.rules import RULES
from go_rules.superko import is_superko_banned
from search.playouts.board import load_position
from search.playouts.evaluation import PlayoutBuffers, evaluate, new_playout_buffers, value_of
from search.playouts.playout import PlayoutTools, is_playable


class Position(NamedTuple):
    """What all threads of a search share. Only `stop` changes while the search runs."""

    root: NDArray[np.void]
    """POSITION[1]: the position, the searched colour to play."""
    rules: NDArray[np.void]
    """RULES[1]."""
    seen: NDArray[np.uint64]
    """The superko keys of the game's positions (a set of go_rules/superko.py)."""
    banned: NDArray[np.int16]
    """[3, N_POINTS]: not 0 where a colour may not play (`excluded_until`)."""
    stop: NDArray[np.int64]
    """[1]: not 0 once the threads shall return."""


class MonteCarloBuffers(NamedTuple):
    """The memory of one thread, which no other thread writes to."""

    position: NDArray[np.void]
    """POSITION[1]: the position after a move."""
    playouts: PlayoutBuffers
    visits: NDArray[np.int64]
    """[N_POINTS]: playouts that began with a move, in the order of the candidates."""
    wins: NDArray[np.float64]
    """[N_POINTS]: the sum of their values, 0..1, as the player of the move sees them."""
    scores: NDArray[np.float64]
    """[N_POINTS]: the sum of their scores, white minus black."""


def new_position() -> Position:
    """Make the memory that the threads of a search share, with no position in it yet."""
    return Position(
        root=new_stack(1),
        rules=np.zeros(1, RULES),
        seen=np.zeros(16, np.uint64),
        banned=np.zeros((3, N_POINTS), np.int16),
        stop=np.zeros(1, np.int64),
    )


def new_buffers(tools: PlayoutTools) -> MonteCarloBuffers:
    """Make the memory of one thread, whose playouts use these tools."""
    return MonteCarloBuffers(
        position=new_stack(1),
        playouts=new_playout_buffers(tools),
        visits=np.zeros(N_POINTS, np.int64),
        wins=np.zeros(N_POINTS, np.float64),
        scores=np.zeros(N_POINTS, np.float64),
    )


@kernel
def list_candidates(position, buffers, no_path, found):
    """Write to `found` the legal moves that fill no own eye, row by row, and the pass; return their number.

    Excluded moves are left out, the pass only where there is another move. `no_path`: uint64[1], the empty path of a
    search without a tree. `found`: int16[N_POINTS].
    """
    pos = position.root[0]
    rules = position.rules[0]
    b = buffers.playouts.board[0]
    table = buffers.playouts.tools.table
    colour = np.int64(pos.to_play)
    load_position(b, pos)
    n = 0
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            if (
                pos.board[point] == EMPTY
                and position.banned[colour, point] == 0
                and is_playable(b, point, colour, table[b.around[point]])
                and is_legal(pos, point, colour, rules)
                and not is_superko_banned(pos, point, colour, rules, position.seen, no_path, 0)
            ):
                found[n] = point
                n += 1
    if n == 0 or position.banned[colour, PASS] == 0:
        found[n] = PASS
        n += 1
    return n


@kernel
def play_rounds(position, buffers, moves, score_weight, first, n):
    """Run the playouts number `first` to `first + n - 1`, or fewer if `position.stop` is set meanwhile.

    `moves`: int16[number of candidates].
    """
    after = buffers.position[0]
    rules = position.rules[0]
    colour = np.int64(position.root[0].to_play)
    for i in range(first, first + n):
        if position.stop[0] != 0:
            return
        which = i % len(moves)
        copy_position(after, position.root[0])
        play(after, np.int64(moves[which]), colour, rules)
        score = evaluate(after, rules, buffers.playouts)
        value = value_of(score, score_weight)
        buffers.visits[which] += 1
        buffers.wins[which] += value if colour == WHITE else 1.0 - value
        buffers.scores[which] += score
