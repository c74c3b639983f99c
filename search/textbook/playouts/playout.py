"""Playouts: games played to the end by a simple policy, fast enough to average over thousands of them.

A position's value by one playout is its score, and who owned which point at the end.

The policy answers the last move where it matters, as MoGo's did (Gelly et al., "Modification of UCT with Patterns
in Monte-Carlo Go", 2006): take what is in atari, save one's own, play in the middle of a small space (its "nakade"),
play where a 3x3 pattern beside the last move invites; otherwise any move that fills no own eye. With all rates 0 but
self_atari_rate 1 it is the uniformly random policy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import BLACK, EMPTY, N_POINTS, NO_POINT, PASS, STRIDE, WHITE
from go_rules.position import PHASE_OVER
from go_rules.random import below, seed_state, uniform
from go_rules.rules import SCORING_AREA
from go_rules.scoring import tromp_taylor_area
from nobi_machine.jit import kernel
from search.textbook.playouts.board import (
    AROUND_OFFSETS,
    PLAYOUT_BOARD,
    area_score,
    beside,
    in_atari,
    is_capture_or_joins,
    is_self_atari,
    last_liberty,
    load_position,
    owner_of_empty,
    place,
    stones_beside,
)
from search.textbook.playouts.patterns import EMPTY_NEIGHBOUR, EMPTY_NEIGHBOURS, ENCLOSED, PATTERN, playout_table

POLICY = np.dtype(
    [
        ("capture_rate", "f8"),  # probability of looking for captures and chains to save beside the last move
        ("vital_rate", "f8"),  # probability of looking for the vital point of a small space beside it
        ("pattern_rate", "f8"),  # probability of looking for patterns around it
        ("self_atari_rate", "f8"),  # probability of not minding that a move puts the own chain in atari
    ],
    align=True,
)
"""How playouts choose their moves; all zero but self_atari_rate = 1 is uniformly random."""

MOVES_PER_POINT = 3
"""A playout ends after so many moves per point of the board and is scored as it stands. Only endless kos get there."""


class PlayoutTools(NamedTuple):
    """What playouts need besides the board. Every thread has its own."""

    table: NDArray[np.uint8]
    """[65536], see patterns.py."""
    policy: NDArray[np.void]
    """POLICY[1]."""
    random: NDArray[np.uint64]
    """[2], the state of the random numbers."""
    first: NDArray[np.int8]
    """[N_POINTS]: the colour that first played at a point in this playout, EMPTY if none did."""
    found: NDArray[np.int16]
    """[N_POINTS]: moves to choose from."""


def new_tools(seed: int, policy: np.ndarray) -> PlayoutTools:
    """Make the tools of one thread. `seed`: for its random moves; `policy`: POLICY[1], which is not copied."""
    return PlayoutTools(
        playout_table(), policy, seed_state(seed), np.zeros(N_POINTS, np.int8), np.zeros(N_POINTS, np.int16)
    )


def new_policy(
    capture_rate: float = 0.0, pattern_rate: float = 0.0, self_atari_rate: float = 1.0, vital_rate: float = 0.0
) -> np.ndarray:
    """Make a POLICY[1] with these rates; without any, it is uniformly random."""
    return np.array([(capture_rate, vital_rate, pattern_rate, self_atari_rate)], POLICY)


GUIDED = new_policy(capture_rate=0.9, vital_rate=0.9, pattern_rate=0.9, self_atari_rate=0.4)
"""How the players' playouts choose their moves."""


@kernel
def playout(b, colour, last, tools, max_moves):
    """Play a game on from `b` until both sides pass. `colour` moves first, after `last` (PASS or NO_POINT if none).

    Notes in `tools.first` who first played where. Returns the number of moves, passes included.
    """
    for point in range(N_POINTS):
        tools.first[point] = EMPTY
    passes = 0
    moves = 0
    while passes < 2 and moves < max_moves:
        point = choose_move(b, colour, last, tools)
        if point == PASS:
            passes += 1
            b.ko = NO_POINT
        else:
            passes = 0
            place(b, point, colour)
            if tools.first[point] == EMPTY:
                tools.first[point] = colour
        last = point
        moves += 1
        colour = 3 - colour
    return moves


@kernel
def choose_move(b, colour, last, tools):
    """Choose the policy's next move: a playable point, or PASS if there is none."""
    policy = tools.policy[0]
    random = tools.random
    if last > PASS:
        if policy.capture_rate > 0.0 and uniform(random) < policy.capture_rate:
            n = atari_replies(b, colour, last, tools.found)
            if n > 0:
                return np.int64(tools.found[below(random, n)])
        if policy.vital_rate > 0.0 and uniform(random) < policy.vital_rate:
            n = vital_points(b, last, tools.table, tools.found)
            if n > 0:
                return np.int64(tools.found[below(random, n)])
        if policy.pattern_rate > 0.0 and uniform(random) < policy.pattern_rate:
            n = pattern_replies(b, colour, last, tools.table, tools.found)
            if n > 0:
                return np.int64(tools.found[below(random, n)])
    return random_move(b, colour, tools.table, policy.self_atari_rate, random)


@kernel
def atari_replies(b, colour, last, found):
    """Find the moves that take the chain of `last` or save an own chain beside it. Returns how many are in `found`."""
    n = 0
    if b.board[last] == 3 - colour and in_atari(b, b.chain[last]):
        point = last_liberty(b, b.chain[last])
        if point != b.ko:
            found[n] = point
            n += 1
    for i in range(4):
        q = beside(last, i)
        if b.board[q] != colour or not in_atari(b, b.chain[q]):
            continue
        point = last_liberty(b, b.chain[q])
        if point != b.ko and not is_self_atari(b, point, colour):
            found[n] = point
            n += 1
        n = _counter_captures(b, b.chain[q], colour, found, n)
    return n


@kernel
def _counter_captures(b, head, colour, found, n):
    """Add to the `n` moves in `found` one that takes a chain in atari beside the chain `head`, if there is one."""
    stone = np.int64(head)
    while True:
        for i in range(4):
            q = beside(stone, i)
            if b.board[q] == 3 - colour and in_atari(b, b.chain[q]):
                point = last_liberty(b, b.chain[q])
                if point != b.ko:
                    found[n] = point
                    return n + 1
        stone = np.int64(b.next[stone])
        if stone == head:
            return n


@kernel
def pattern_replies(b, colour, last, table, found):
    """Find the playable moves around `last` that match a pattern. Returns how many are in `found`."""
    n = 0
    for i in range(8):
        point = np.uint64(last) + AROUND_OFFSETS[i]
        if b.board[point] != EMPTY:
            continue
        flags = table[b.around[point]]
        if (
            flags & (PATTERN * colour) != 0
            and is_playable(b, point, colour, flags)
            and not puts_itself_in_atari(b, point, colour, flags)
        ):
            found[n] = point
            n += 1
    return n


@kernel
def vital_points(b, last, table, found):
    """Find the middle of small spaces beside `last`. Returns how many are in `found`; each is legal for both sides."""
    n = 0
    for i in range(4):
        q = beside(last, i)
        if b.board[q] != EMPTY or table[b.around[q]] & ENCLOSED == 0:
            continue
        if table[b.around[q]] & EMPTY_NEIGHBOURS == EMPTY_NEIGHBOUR:
            # An end of such a space: its one empty neighbour may be the middle.
            for j in range(4):
                if b.board[beside(q, j)] == EMPTY:
                    q = beside(q, j)
                    break
        if is_vital(b, q, table):
            found[n] = q
            n += 1
    return n


@kernel
def is_vital(b, point, table):
    """Return whether `point` is the middle of a space of three to five that one colour encloses: two eyes, or one.

    The middle has two empty neighbours or more, none of which has another empty neighbour.
    """
    if table[b.around[point]] & EMPTY_NEIGHBOURS < 2 * EMPTY_NEIGHBOUR:
        return False
    for i in range(4):
        q = beside(point, i)
        if b.board[q] == EMPTY and table[b.around[q]] & (EMPTY_NEIGHBOURS | ENCLOSED) != EMPTY_NEIGHBOUR | ENCLOSED:
            return False
    sides = stones_beside(b.around[point])
    for i in range(4):
        q = beside(point, i)
        if b.board[q] == EMPTY:
            sides |= stones_beside(b.around[q])
    return sides != BLACK | WHITE


@kernel
def random_move(b, colour, table, self_atari_rate, random):
    """Draw a move uniformly from all playable ones; return PASS if there is none.

    A move that puts its own chain in atari is dropped with probability 1 - `self_atari_rate`.
    """
    untried = b.n_empties
    while untried > 0:
        i = below(random, untried)
        point = np.int64(b.empties[i])
        flags = table[b.around[point]]
        if is_playable(b, point, colour, flags) and (
            self_atari_rate >= 1.0
            or not puts_itself_in_atari(b, point, colour, flags)
            or uniform(random) < self_atari_rate
        ):
            return point
        # Out of the way, to the end of what is left to try.
        untried -= 1
        other = b.empties[untried]
        b.empties[i] = other
        b.slot[other] = i
        b.empties[untried] = point
        b.slot[point] = untried
    return np.int64(PASS)


@kernel
def is_playable(b, point, colour, flags):
    """Tell whether a playout may play the empty `point`: legal, no suicide, no own eye. `flags`: its table entry."""
    if flags & colour != 0:
        return False
    if flags & EMPTY_NEIGHBOURS != 0:
        return True
    return point != b.ko and is_capture_or_joins(b, point, colour)


@kernel
def puts_itself_in_atari(b, point, colour, flags):
    """Return whether the legal move at `point` takes nothing and leaves its own chain one liberty."""
    return flags & EMPTY_NEIGHBOURS < 2 * EMPTY_NEIGHBOUR and is_self_atari(b, point, colour)


SCORE_SCALE = 10.0
"""A lead of so many points gives half of what the score can add to a value."""


class PlayoutBuffers(NamedTuple):
    """The memory of one thread that plays games out. No other thread writes to it."""

    board: NDArray[np.void]
    """PLAYOUT_BOARD[1]."""
    tools: PlayoutTools
    area: NDArray[np.int8]
    """[N_POINTS]: scratch of the scoring."""
    ownership: NDArray[np.int64]
    """[N_POINTS]: playouts that ended with the point white's minus those with it black's."""
    totals: NDArray[np.float64]
    """[3]: number of playouts, sum of their scores (white minus black), and of the squares."""


def new_playout_buffers(tools: PlayoutTools) -> PlayoutBuffers:
    """Make the memory of one thread, whose playouts use these tools."""
    return PlayoutBuffers(
        board=np.zeros(1, PLAYOUT_BOARD),
        tools=tools,
        area=np.zeros(N_POINTS, np.int8),
        ownership=np.zeros(N_POINTS, np.int64),
        totals=np.zeros(3, np.float64),
    )


@kernel
def evaluate(pos, rules, buffers):
    """Compute the score of the POSITION `pos`, white minus black, at the end of one playout.

    A game that is over under area rules is counted as it stands. Adds to the ownership and totals of `buffers`, and
    leaves in `tools.first` who first played where.
    """
    if pos.phase == PHASE_OVER and rules.scoring == SCORING_AREA:
        score = final_score(pos, rules, buffers.area)
        for point in range(N_POINTS):
            buffers.tools.first[point] = EMPTY
            if buffers.area[point] != EMPTY:
                buffers.ownership[point] += 1 if buffers.area[point] == WHITE else -1
    else:
        score = playout_score(pos, rules, buffers)
        add_ownership(buffers.board[0], pos, buffers.ownership)
    buffers.totals[0] += 1.0
    buffers.totals[1] += score
    buffers.totals[2] += score * score
    return score


@kernel
def playout_score(pos, rules, buffers):
    """Play the POSITION `pos` to its end on `buffers.board`. Returns the score, white minus black."""
    b = buffers.board[0]
    load_position(b, pos)
    limit = MOVES_PER_POINT * pos.width * pos.height
    playout(b, np.int64(pos.to_play), np.int64(pos.recent[0]), buffers.tools, limit)
    # Each side's stones in a playout cost the same under territory rules: what counts is the area.
    return area_score(b) + pos.white_bonus + rules.komi + rules.handicap_bonus


@kernel
def final_score(pos, rules, area):
    """Count the score (white minus black, with komi) of a position as it stands, without group tax, of which playouts
    know nothing. Fills `area` [N_POINTS]: owners."""
    return tromp_taylor_area(pos, area) + pos.white_bonus + rules.komi + rules.handicap_bonus


@kernel
def add_ownership(b, pos, ownership):
    """Add a finished playout to `ownership`: +1 for each point of white, -1 for each point of black."""
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            owner = b.board[point]
            if owner == EMPTY:
                owner = owner_of_empty(b.around[point])
            if owner == WHITE:
                ownership[point] += 1
            elif owner == BLACK:
                ownership[point] -= 1


@kernel
def value_of(score, score_weight):
    """Turn a score (white minus black) into a value to white, 0..1: mostly the win, and a little the score's size."""
    win = 1.0 if score > 0.0 else 0.0 if score < 0.0 else 0.5
    return win + score_weight * (0.5 + 0.5 * score / (abs(score) + SCORE_SCALE) - win)
