"""The board kernels: clear and copy a position, ask which moves are legal, play a move with its captures.

`play` does not check its move: ask `is_legal` first. Superko is not decided here, since it needs the game's history
(superko.py).
"""

from __future__ import annotations

import numpy as np

from go_rules.phases import count_pass, forget_moves, live_phase
from go_rules.points import BLACK, EAST, EMPTY, N_POINTS, NO_POINT, NORTH, PASS, SOUTH, STRIDE, WALL, WEST
from go_rules.position import (
    HISTORY_MOVES,
    MARK_KO_RECAPTURE_BLOCKED,
    PHASE_CLEANUP_2,
    PHASE_MAIN,
    PHASE_OVER,
    STONE_KEYS,
)
from go_rules.rules import SCORING_TERRITORY
from nobi_machine.jit import kernel, kernel_for_python, kernel_part

SCRATCH = 64
"""A bit of `marks` that is 0 between kernels; walks along a chain use it to count each point once."""

STEPS = np.array([NORTH, WEST, EAST, SOUTH])


@kernel
def neighbour(point, i):
    """Return the neighbour of `point` to the north (i = 0), west (1), east (2) or south (3)."""
    return point + STEPS[i]


@kernel_for_python
def clear(pos, width, height, button):
    """Make `pos` the empty board with black to play. `button` is 1 if the rules have a button, else 0."""
    for point in range(N_POINTS):
        pos.board[point] = WALL
        pos.marks[point] = 0
        pos.chain[point] = 0
        pos.next[point] = 0
        pos.liberties[point] = 0
        pos.stones[point] = 0
    for y in range(height):
        for x in range(width):
            pos.board[(y + 1) * STRIDE + x + 1] = EMPTY
    pos.hash = np.uint64(0)
    for colour in range(3):
        pos.captured[colour] = 0
    pos.white_bonus = 0
    pos.move_number = 0
    pos.width = width
    pos.height = height
    pos.ko = NO_POINT
    for i in range(HISTORY_MOVES):
        pos.recent[i] = NO_POINT
    pos.to_play = BLACK
    pos.passes = 0
    pos.passed_here = 0
    pos.phase = 0
    pos.button = button


@kernel_for_python
def copy_position(target, source):
    """Copy `source` to `target` field by field: numba assigns whole records 20 times slower."""
    for point in range(N_POINTS):
        target.board[point] = source.board[point]
        target.marks[point] = source.marks[point]
    for point in range(N_POINTS):
        target.chain[point] = source.chain[point]
        target.next[point] = source.next[point]
        target.liberties[point] = source.liberties[point]
        target.stones[point] = source.stones[point]
    target.hash = source.hash
    for colour in range(3):
        target.captured[colour] = source.captured[colour]
    target.white_bonus = source.white_bonus
    target.move_number = source.move_number
    target.width = source.width
    target.height = source.height
    target.ko = source.ko
    for i in range(HISTORY_MOVES):
        target.recent[i] = source.recent[i]
    target.to_play = source.to_play
    target.passes = source.passes
    target.passed_here = source.passed_here
    target.phase = source.phase
    target.button = source.button


@kernel_for_python
def is_legal(pos, point, colour, rules):
    """Tell whether `colour` may play at `point` now. Superko is not checked.

    A pass is always legal. A move on a stone is legal only as a "pass for ko" in a clean-up phase (`blocked_stone`).
    """
    if point == PASS:
        return True
    if pos.board[point] != EMPTY:
        return pos.marks[point] & MARK_KO_RECAPTURE_BLOCKED != 0 and blocked_stone(pos, point, colour) != NO_POINT
    if point == pos.ko and colour == pos.to_play:
        return False
    own_support = False
    for i in range(4):
        q = neighbour(point, i)
        content = pos.board[q]
        if content == EMPTY:
            return True
        if content == colour:
            own_support = True
            if pos.liberties[pos.chain[q]] > 1:
                return True
        elif content != WALL and pos.liberties[pos.chain[q]] == 1:
            return True
    return rules.suicide == 1 and own_support


@kernel
def legal_points(pos, colour, rules, out):
    """Write the points where `colour` may play to `out`, row by row, and return their number.

    The pass is left out, and superko is not regarded. `out` is an array of at least height * width integers.
    """
    n = 0
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            if is_legal(pos, point, colour, rules):
                out[n] = point
                n += 1
    return n


@kernel
def hash_after(pos, point, colour):
    """Compute the Zobrist hash of the stones after `colour` plays `point`, without playing it."""
    result = pos.hash
    if point == PASS:
        return result
    enemy = 3 - colour
    result ^= STONE_KEYS[colour, point]
    captures = False
    alive = False
    for i in range(4):
        q = neighbour(point, i)
        content = pos.board[q]
        if content == EMPTY:
            alive = True
        elif content == colour:
            if pos.liberties[pos.chain[q]] > 1:
                alive = True
        elif content == enemy:
            head = pos.chain[q]
            if pos.liberties[head] == 1 and not _head_seen_before(pos, point, i, head):
                captures = True
                result ^= _chain_keys(pos, head, enemy)
    if not captures and not alive:
        result ^= STONE_KEYS[colour, point]
        for i in range(4):
            q = neighbour(point, i)
            if pos.board[q] == colour:
                head = pos.chain[q]
                if not _head_seen_before(pos, point, i, head):
                    result ^= _chain_keys(pos, head, colour)
    return result


@kernel_for_python
def place_stone(pos, point, colour):
    """Put a stone on an empty point and remove what it captures, itself included if it is suicide.

    Only stones, chains, liberties, `captured` and the hash change. Returns (number of enemy stones captured, number of
    own stones removed by suicide, a captured point or NO_POINT).
    """
    enemy = 3 - colour
    pos.board[point] = colour
    pos.hash ^= STONE_KEYS[colour, point]
    pos.chain[point] = point
    pos.next[point] = point
    pos.stones[point] = 1
    pos.liberties[point] = 0

    captured = 0
    captured_point = NO_POINT
    for i in range(4):
        q = neighbour(point, i)
        if pos.board[q] == enemy:
            head = pos.chain[q]
            if not _head_seen_before(pos, point, i, head):
                pos.liberties[head] -= 1
                if pos.liberties[head] == 0:
                    captured_point = q
                    captured += remove_chain(pos, np.int64(head))

    liberties = 0
    for i in range(4):
        if pos.board[neighbour(point, i)] == EMPTY:
            liberties += 1
    pos.liberties[point] = liberties

    merged = 0
    for i in range(4):
        q = neighbour(point, i)
        if pos.board[q] == colour:
            head = pos.chain[q]
            if head != pos.chain[point]:
                merged += 1
                _merge(pos, point, head)
    if merged > 0:
        head = pos.chain[point]
        pos.liberties[head] = count_liberties(pos, np.int64(head))
    head = pos.chain[point]
    if pos.liberties[head] == 0:
        return captured, remove_chain(pos, np.int64(head)), captured_point
    return captured, 0, captured_point


@kernel_for_python
def remove_chain(pos, head):
    """Take a chain off the board, give its neighbours their liberties back, and return its number of stones."""
    colour = pos.board[head]
    enemy = 3 - colour
    removed = 0
    stone = head
    while True:
        pos.board[stone] = EMPTY
        pos.hash ^= STONE_KEYS[colour, stone]
        removed += 1
        stone = pos.next[stone]
        if stone == head:
            break
    stone = head
    while True:
        for i in range(4):
            q = neighbour(stone, i)
            if pos.board[q] == enemy:
                chain = pos.chain[q]
                if not _head_seen_before(pos, stone, i, chain):
                    pos.liberties[chain] += 1
        pos.marks[stone] &= ~MARK_KO_RECAPTURE_BLOCKED
        stone = pos.next[stone]
        if stone == head:
            break
    pos.captured[colour] += removed
    return removed


@kernel_part
def count_liberties(pos, head):
    """Count the liberties of a chain point by point, with a scratch bit of `pos.marks` to count each once."""
    count = 0
    stone = head
    while True:
        for i in range(4):
            q = neighbour(stone, i)
            if pos.board[q] == EMPTY and pos.marks[q] & SCRATCH == 0:
                pos.marks[q] |= SCRATCH
                count += 1
        stone = pos.next[stone]
        if stone == head:
            break
    stone = head
    while True:
        for i in range(4):
            pos.marks[neighbour(stone, i)] &= ~SCRATCH
        stone = pos.next[stone]
        if stone == head:
            break
    return count


@kernel
def _head_seen_before(pos, point, i, head):
    """Whether one of `point`'s neighbours before the i-th is a stone of the chain `head`."""
    colour = pos.board[head]
    for j in range(i):
        q = neighbour(point, j)
        if pos.board[q] == colour and pos.chain[q] == head:
            return True
    return False


@kernel
def _chain_keys(pos, head, colour):
    result = np.uint64(0)
    stone = head
    while True:
        result ^= STONE_KEYS[colour, stone]
        stone = pos.next[stone]
        if stone == head:
            break
    return result


@kernel
def _merge(pos, point, head):
    """Join the chain `head` to the chain of `point`, relabelling the smaller of the two. Liberties are left stale."""
    keep = pos.chain[point]
    if pos.stones[head] > pos.stones[keep]:
        keep, head = head, keep
    stone = head
    while True:
        pos.chain[stone] = keep
        stone = pos.next[stone]
        if stone == head:
            break
    after = pos.next[keep]
    pos.next[keep] = pos.next[head]
    pos.next[head] = after
    pos.stones[keep] += pos.stones[head]


@kernel_for_python
def play(pos, point, colour, rules):
    """Play a move or PASS that is known to be legal, and return the number of enemy stones captured.

    Updates all of `pos`: stones, ko, recent moves, passes, phase, side to play, bonus points. A move after the end of
    a game resumes its last phase. What depends on the game's history is left to Game: `passed_here`, which is 0
    afterwards, and no result by a long cycle.
    """
    if pos.phase == PHASE_OVER:
        # Someone plays on after the end: the networks see the last move, not what led to it.
        pos.phase = live_phase(pos, rules)
        forget_moves(pos, np.int64(1))
    if colour != pos.to_play:
        forget_moves(pos, np.int64(0))
    for i in range(HISTORY_MOVES - 1, 0, -1):
        pos.recent[i] = pos.recent[i - 1]
    pos.recent[0] = point
    pos.move_number += 1
    pos.to_play = 3 - colour
    pos.ko = NO_POINT
    if point == PASS:
        count_pass(pos, colour, rules)
        pos.passed_here = 0
        return 0
    pos.passes = 0
    pos.passed_here = 0
    if pos.phase != PHASE_MAIN:
        blocked = blocked_stone(pos, point, colour)
        if blocked != NO_POINT:
            pos.marks[blocked] &= ~MARK_KO_RECAPTURE_BLOCKED
            return 0
    captured, removed, captured_point = place_stone(pos, point, colour)
    if captured == 1 and removed == 0 and pos.stones[pos.chain[point]] == 1 and pos.liberties[point] == 1:
        if pos.phase == PHASE_MAIN:
            pos.ko = captured_point
        else:
            pos.marks[point] |= MARK_KO_RECAPTURE_BLOCKED
    if rules.scoring == SCORING_TERRITORY and pos.phase != PHASE_CLEANUP_2:
        pos.white_bonus += 1 if colour == BLACK else -1
    return captured


@kernel
def blocked_stone(pos, point, colour):
    """Return the stone whose mark a move at `point` would remove in a clean-up phase, or NO_POINT.

    A stone that took a ko is marked: it may not be retaken yet. A move that would take it, or a move on the stone
    itself while it could be taken, is a "pass for ko": it removes the mark and changes nothing else on the board.
    """
    if pos.board[point] == EMPTY:
        stone = ko_capture(pos, point, colour)
    elif pos.board[point] == 3 - colour and pos.stones[pos.chain[point]] == 1 and pos.liberties[point] == 1:
        stone = point
    else:
        return NO_POINT
    is_blocked = stone != NO_POINT and pos.marks[stone] & MARK_KO_RECAPTURE_BLOCKED != 0
    return stone if is_blocked else NO_POINT


@kernel
def ko_capture(pos, point, colour):
    """Return the stone that `colour` would take by a ko capture at `point`, or NO_POINT."""
    if pos.board[point] != EMPTY:
        return NO_POINT
    enemy = 3 - colour
    taken = NO_POINT
    for i in range(4):
        q = neighbour(point, i)
        content = pos.board[q]
        if content == WALL:
            continue
        if content != enemy:
            return NO_POINT
        if pos.liberties[pos.chain[q]] == 1:
            if taken != NO_POINT or pos.stones[pos.chain[q]] != 1:
                return NO_POINT
            taken = q
    return taken
