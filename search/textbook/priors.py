"""Priors: what a new node's moves are worth before any playout, by tactics, patterns, distance and the edge."""

from __future__ import annotations

import numpy as np

from go_rules.board import neighbour
from go_rules.points import EMPTY, N_POINTS, PASS, STRIDE, WALL
from go_rules.random import uniform
from nobi_machine.jit import kernel
from search.textbook.playouts.board import in_atari, is_self_atari
from search.textbook.playouts.patterns import PATTERN

FAR = 4
"""The largest distance. Everything further away counts as this far."""

EVEN = 8.0
"""Visits, half of them won, with which every move begins. What follows is added to them, as visits won or lost. The
sizes are about those that Fuego, Pachi and michi publish of theirs."""
CAPTURE = 15.0
"""Won, for taking a stone or saving one; twice that for more."""
SELF_ATARI = 10.0
"""Lost, for a move that puts its own chain in atari."""
INVITED = 8.0
"""Won, for a move that a 3x3 pattern invites to."""
NEAR = 20.0
"""Won, for a move beside the last one; less at distance 2 and 3."""
EDGE = 8.0
"""Far from stones: lost on the first two lines, won on the third."""
PASSED = 10.0
"""Lost, for a pass."""


@kernel
def set_prior(node, b, pos, colour, point, table, distance, random):
    """Set the prior of `colour` playing `point` on the playout board `b`, which shows the POSITION `pos`.

    `distance`: int8[N_POINTS], see `measure_distances`.
    """
    _add(node, 0.5 * EVEN, 0.5 * EVEN)
    # A little noise, so that equal moves are not tried from the top left corner on.
    _add(node, 0.01 * uniform(random), 0.0)
    taken, saved = _stones_decided(b, point, colour)
    self_atari = is_self_atari(b, point, colour)
    if taken > 0:
        _add(node, CAPTURE * (1.0 if taken == 1 else 2.0), 0.0)
    if self_atari:
        _add(node, 0.0, SELF_ATARI)
    elif saved > 0:
        _add(node, CAPTURE * (1.0 if saved == 1 else 2.0), 0.0)
    if table[b.around[point]] & (PATTERN * colour) != 0:
        _add(node, INVITED, 0.0)
    if distance[point] < FAR:
        _add(node, NEAR * (FAR - distance[point]) / (FAR - 1.0), 0.0)
    line = _line(pos, point)
    if line <= 3 and _is_far_from_stones(b, point):
        if line == 3:
            _add(node, EDGE, 0.0)
        else:
            _add(node, 0.0, EDGE)


@kernel
def set_pass_prior(node, wins_game):
    """Set the prior of a pass. `wins_game`: whether the pass ends the game and the passing side has won it."""
    _add(node, 0.5 * EVEN, 0.5 * EVEN)
    if wins_game:
        _add(node, 10.0 * PASSED, 0.0)
    else:
        _add(node, 0.0, PASSED)


@kernel
def measure_distances(pos, last, distance, waiting):
    """Fill `distance` with how far points are from the move `last`, up to FAR; stones of a chain are one point.

    That is the distance in the common fate graph (Graepel et al., "Learning on graphs in the game of Go", 2001).
    `waiting`: int16[N_POINTS], scratch.
    """
    for point in range(N_POINTS):
        distance[point] = FAR
    if last <= PASS:
        return
    zero = np.int64(0)
    n = _reach(pos, np.int64(last), zero, distance, waiting, zero)
    done = 0
    while done < n:
        here = np.int64(waiting[done])
        done += 1
        further = distance[here] + 1
        if further >= FAR:
            continue
        for i in range(4):
            q = neighbour(here, i)
            if pos.board[q] != WALL and distance[q] > further:
                n = _reach(pos, q, further, distance, waiting, n)


@kernel
def _reach(pos, point, steps, distance, waiting, n):
    """Give a point, or all stones of its chain, their distance and append them to the `n` in `waiting`."""
    stone = np.int64(point)
    while True:
        distance[stone] = steps
        waiting[n] = stone
        n += 1
        if pos.board[point] == EMPTY:
            return n
        stone = np.int64(pos.next[stone])
        if stone == point:
            return n


@kernel
def _stones_decided(b, point, colour):
    """Stones that a move takes, and own stones in atari that it touches."""
    taken = 0
    touched = 0
    for i in range(4):
        q = neighbour(point, i)
        content = b.board[q]
        if content in (EMPTY, WALL) or not in_atari(b, b.chain[q]):
            continue
        if content == colour:
            touched += b.stones[b.chain[q]]
        else:
            taken += b.stones[b.chain[q]]
    return taken, touched


@kernel
def _line(pos, point):
    """1 on the edge, 2 beside it, and so on."""
    x = point % STRIDE
    y = point // STRIDE
    return min(min(x, pos.width + 1 - x), min(y, pos.height + 1 - y))


@kernel
def _is_far_from_stones(b, point):
    """Whether no stone is within three steps."""
    x = point % STRIDE
    y = point // STRIDE
    for dy in range(-3, 4):
        reach = 3 - abs(dy)
        for dx in range(-reach, reach + 1):
            if 0 < x + dx < STRIDE and 0 < y + dy < STRIDE:
                content = b.board[point + dy * STRIDE + dx]
                if content not in (EMPTY, WALL):
                    return False
    return True


@kernel
def _add(node, wins, losses):
    node.prior_visits += wins + losses
    node.prior += wins
