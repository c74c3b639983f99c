"""The board of playouts: less exact than POSITION (go_rules/position.py), and several times faster.

Chains count pseudo-liberties: an empty point counts once for every stone of the chain beside it. Their number,
the sum of the points and the sum of their squares share one 64-bit word, so that placing a stone, joining two
chains and taking one off the board are single additions; the sums tell a chain in atari and its last liberty
(the method of Łukasz Lew's libEGO). Each point also knows its eight neighbours as one 16-bit number, under which
tables answer for eyes and patterns (patterns.py).

Left out are what playouts never need: superko, suicide (never played), prisoners and the hash. Points are those of
go_rules.points, so nothing is translated between the two boards.
"""

from __future__ import annotations

import numpy as np

from go_rules.points import BLACK, EMPTY, N_POINTS, NO_POINT, STRIDE, WALL, WHITE
from nobi_machine.jit import kernel

PLAYOUT_BOARD = np.dtype(
    [
        # Per point (N_POINTS entries).
        ("liberties", "u8", (N_POINTS,)),  # packed pseudo-liberties, see `_liberty`; at chain heads only
        ("board", "i1", (N_POINTS,)),  # EMPTY, BLACK, WHITE or WALL
        ("around", "u2", (N_POINTS,)),  # contents of the eight neighbours, two bits each: bit 2 * i is AROUND[i]'s
        ("chain", "u2", (N_POINTS,)),  # head of the stone's chain; undefined where there is no stone
        ("next", "u2", (N_POINTS,)),  # next stone of the same chain, a ring; undefined without a stone
        ("stones", "u2", (N_POINTS,)),  # number of stones, at chain heads only
        ("empties", "u2", (N_POINTS,)),  # the empty points in any order, n_empties of them
        ("slot", "u2", (N_POINTS,)),  # where a point is in `empties`; undefined where there is a stone
        # Scalars.
        ("n_empties", "i8"),
        ("on_board", "i8", (3,)),  # stones of colour c, at index c (0 unused)
        ("ko", "i8"),  # the one point banned by simple ko, or NO_POINT
    ],
    align=True,
)
"""Not ready for use before `load_position` has filled it."""

AROUND = (-STRIDE, -1, 1, STRIDE, -STRIDE - 1, -STRIDE + 1, STRIDE - 1, STRIDE + 1)
"""Offsets of the eight neighbours: north, west, east, south, then the diagonals."""

# A packed count: number << 52 | sum of points << 31 | sum of squared points. On 25x25 there are at most 2500
# pseudo-liberties; their points sum to less than 2^21 and their squares to less than 2^31.
NUMBER_SHIFT = np.uint64(52)
SUM_SHIFT = np.uint64(31)
SUM_MASK = np.uint64(2**21 - 1)
SQUARES_MASK = np.uint64(2**31 - 1)
NO_LIBERTIES = np.uint64(0)


AROUND_OFFSETS = np.array(AROUND).astype(np.uint64)
"""AROUND as unsigned numbers, which wrap round: numba looks whether a signed index counts from the end."""


@kernel
def beside(point, i):
    """Return the neighbour of `point` to the north (i = 0), west (1), east (2) or south (3), as an unsigned index."""
    return np.uint64(point) + AROUND_OFFSETS[i]


@kernel
def load_position(b, pos):
    """Make `b` a playout board that shows the POSITION `pos`."""
    for point in range(N_POINTS):
        b.board[point] = pos.board[point]
        b.around[point] = 0
    # What is beyond the last row of the board is never asked for.
    for point in range((pos.height + 1) * STRIDE):
        b.liberties[point] = NO_LIBERTIES
        b.chain[point] = pos.chain[point]
        b.next[point] = pos.next[point]
        b.stones[point] = pos.stones[point]
    b.n_empties = 0
    b.on_board[BLACK] = 0
    b.on_board[WHITE] = 0
    b.ko = pos.ko
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            here = np.uint64(point)
            around = np.int64(0)
            for i in range(8):
                around |= np.int64(pos.board[here + AROUND_OFFSETS[i]]) << (2 * i)
            b.around[here] = around
            content = pos.board[here]
            if content != EMPTY:
                b.on_board[content] += 1
                continue
            b.empties[b.n_empties] = here
            b.slot[here] = b.n_empties
            b.n_empties += 1
            for i in range(4):
                q = beside(here, i)
                if pos.board[q] in (BLACK, WHITE):
                    b.liberties[pos.chain[q]] += _liberty(here)


@kernel
def in_atari(b, head):
    """Return whether the chain with this head has exactly one liberty."""
    return _is_one_point(b.liberties[head])


@kernel
def last_liberty(b, head):
    """Find the one liberty of the chain with this head, which must be in atari."""
    packed = b.liberties[head]
    return np.int64(((packed >> SUM_SHIFT) & SUM_MASK) // (packed >> NUMBER_SHIFT))


@kernel
def is_capture_or_joins(b, point, colour):
    """Return whether a move without empty neighbours takes something or joins a chain with other liberties.

    If it does neither, it is suicide. Simple ko is not looked at.
    """
    for i in range(4):
        q = beside(point, i)
        content = b.board[q]
        if content != WALL and in_atari(b, b.chain[q]) == (content != colour):
            return True
    return False


@kernel
def is_self_atari(b, point, colour):
    """Return whether a stone at the empty `point` would take nothing and its chain have at most one liberty."""
    packed = NO_LIBERTIES
    for i in range(4):
        q = beside(point, i)
        content = b.board[q]
        if content == EMPTY:
            packed += _liberty(q)
        elif content == colour:
            head = b.chain[q]
            packed -= _liberty(point)
            if not _beside_earlier(b, point, i, head, colour):
                packed += b.liberties[head]
        elif content != WALL and in_atari(b, b.chain[q]):
            return False
    return _is_one_point(packed)


@kernel
def place(b, point, colour):
    """Play a legal move that is not suicide (unchecked). Returns the number of stones captured."""
    enemy = 3 - colour
    unit = _liberty(point)
    own = NO_LIBERTIES
    # The point becomes a stone for its neighbours, and its slot in the list goes to the last empty point.
    b.board[point] = colour
    _toggle_around(b, point, colour)
    b.on_board[colour] += 1
    b.n_empties -= 1
    last = b.empties[b.n_empties]
    slot = b.slot[point]
    b.empties[slot] = last
    b.slot[last] = slot

    for i in range(4):
        q = beside(point, i)
        content = b.board[q]
        if content == EMPTY:
            own += _liberty(q)
        elif content != WALL:
            b.liberties[b.chain[q]] -= unit
    b.chain[point] = point
    b.next[point] = point
    b.stones[point] = 1
    b.liberties[point] = own

    captured = 0
    b.ko = NO_POINT
    for i in range(4):
        q = beside(point, i)
        content = b.board[q]
        if content == colour:
            if b.chain[q] != b.chain[point]:
                _merge(b, b.chain[point], b.chain[q])
        elif content == enemy and b.liberties[b.chain[q]] == NO_LIBERTIES:
            captured += _remove_chain(b, b.chain[q], enemy)
            b.ko = q
    if captured != 1 or own != NO_LIBERTIES or b.stones[b.chain[point]] != 1:
        b.ko = NO_POINT
    return captured


@kernel
def area_score(b):
    """Count white's points minus black's, komi aside. An empty point counts for the colour that alone is beside it.

    At the end of a playout that is the area score: no two empty points touch there.
    """
    score = b.on_board[WHITE] - b.on_board[BLACK]
    for i in range(b.n_empties):
        owner = owner_of_empty(b.around[b.empties[i]])
        if owner == WHITE:
            score += 1
        elif owner == BLACK:
            score -= 1
    return score


@kernel
def stones_beside(around):
    """Find which colours have stones beside a point, from its `around`: EMPTY, BLACK, WHITE or BLACK | WHITE."""
    sides = 0
    for i in range(4):
        content = (around >> (2 * i)) & 3
        if content != WALL:
            sides |= content
    return sides


@kernel
def owner_of_empty(around):
    """Return the colour that alone has stones beside an empty point, from its `around`; else EMPTY."""
    sides = stones_beside(around)
    return sides if sides != BLACK | WHITE else EMPTY


@kernel
def _is_one_point(packed):
    """Whether packed points are all the same one: their variance is zero. True for none at all, too."""
    total = (packed >> SUM_SHIFT) & SUM_MASK
    return (packed >> NUMBER_SHIFT) * (packed & SQUARES_MASK) == total * total


@kernel
def _liberty(point):
    """One pseudo-liberty at `point`, packed."""
    p = np.uint64(point)
    return (np.uint64(1) << NUMBER_SHIFT) | (p << SUM_SHIFT) | (p * p)


@kernel
def _beside_earlier(b, point, i, head, colour):
    """Whether one of `point`'s neighbours before the i-th is a stone of the chain `head`."""
    for j in range(i):
        q = beside(point, j)
        if b.board[q] == colour and b.chain[q] == head:
            return True
    return False


@kernel
def _toggle_around(b, point, colour):
    """Tell the eight neighbours that a stone of `colour` comes to `point`, or goes."""
    b.around[point - STRIDE] ^= colour << 6
    b.around[point - 1] ^= colour << 4
    b.around[point + 1] ^= colour << 2
    b.around[point + STRIDE] ^= colour
    b.around[point - STRIDE - 1] ^= colour << 14
    b.around[point - STRIDE + 1] ^= colour << 12
    b.around[point + STRIDE - 1] ^= colour << 10
    b.around[point + STRIDE + 1] ^= colour << 8


@kernel
def _merge(b, one, other):
    """Join two chains, relabelling the smaller."""
    if b.stones[other] > b.stones[one]:
        one, other = other, one
    stone = other
    while True:
        b.chain[stone] = one
        stone = b.next[stone]
        if stone == other:
            break
    after = b.next[one]
    b.next[one] = b.next[other]
    b.next[other] = after
    b.stones[one] += b.stones[other]
    b.liberties[one] += b.liberties[other]


@kernel
def _remove_chain(b, head, colour):
    """Take a chain off the board; returns its number of stones."""
    enemy = 3 - colour
    removed = 0
    stone = np.int64(head)
    while True:
        b.board[stone] = EMPTY
        _toggle_around(b, stone, colour)
        b.empties[b.n_empties] = stone
        b.slot[stone] = b.n_empties
        b.n_empties += 1
        unit = _liberty(stone)
        for i in range(4):
            q = beside(stone, i)
            if b.board[q] == enemy:
                b.liberties[b.chain[q]] += unit
        removed += 1
        stone = np.int64(b.next[stone])
        if stone == head:
            break
    b.on_board[colour] -= removed
    return removed
