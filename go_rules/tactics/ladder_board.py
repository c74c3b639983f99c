"""The board on which ladders are read: one array of cells, and a journal of what was overwritten, by which a move is
taken back exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.board import neighbour
from go_rules.points import EMPTY, MAX_SIZE, N_POINTS, NO_POINT, STRIDE, WALL
from nobi_machine.jit import kernel, kernel_part

MAX_NODES = 25_000
"""How many moves are tried for one chain, or for one first move, before it counts as not caught."""

JOURNAL = 1 << 16
JOURNAL_MARGIN = 8 * N_POINTS
"""More cells than one move can overwrite, with its captures and the chains it joins."""

BOARD, CHAIN, NEXT, LIBERTIES, STONES = 0, N_POINTS, 2 * N_POINTS, 3 * N_POINTS, 4 * N_POINTS
"""Where the fields of a POSITION with these names begin in `cells`."""

LADDER_WORK = np.dtype(
    [
        ("cells", "i2", (5 * N_POINTS,)),  # the reader's board, see BOARD, CHAIN, ...
        ("changed", "i2", (JOURNAL,)),  # cells overwritten, oldest first
        ("before", "i2", (JOURNAL,)),  # what they held
        ("n_changed", "i4"),
        ("moves", "i2", (JOURNAL,)),  # moves still to be tried, those of the deepest node last
        ("n_moves", "i4"),
        ("seen", "i8", (N_POINTS,)),  # equal to `stamp`: counted already
        ("stamp", "i8"),
        ("nodes", "i4"),  # moves tried in this search
        ("max_depth", "i4"),  # moves after which a ladder counts as caught
        ("rows", "i8"),  # bit y: this reading looked at points of row y, walls counted; or two rows beside it
        ("columns", "i8"),  # the same of columns
        ("altered", "i8", (MAX_SIZE + 2,)),  # [y] bit x: the newest stone, or of a chain that has it or is beside it
    ],
    align=True,
)
"""The board and the counters of one search for ladders. It may start as zeros, and holds nothing between calls."""


def new_ladder_work() -> NDArray[np.void]:
    """Make a LADDER_WORK[1], whose element 0 the kernels take. Threads must not share one."""
    return np.zeros(1, LADDER_WORK)


@kernel
def load(pos, work):
    """Copy the stones of `pos` to the board of `work`, and forget what was there."""
    for point in range(N_POINTS):
        work.cells[BOARD + point] = pos.board[point]
    for point in range(N_POINTS):
        work.cells[CHAIN + point] = pos.chain[point]
        work.cells[NEXT + point] = pos.next[point]
        work.cells[LIBERTIES + point] = pos.liberties[point]
        work.cells[STONES + point] = pos.stones[point]
    work.n_changed = 0
    work.max_depth = pos.width * pos.height * 3 // 2


@kernel
def content_of(work, point):
    """Return EMPTY, BLACK, WHITE or WALL. All that is read from `cells` is int64, so that each kernel compiles once."""
    return np.int64(work.cells[BOARD + point])


@kernel
def head_of(work, stone):
    """Return the head of the chain of a stone."""
    return np.int64(work.cells[CHAIN + stone])


@kernel
def next_of(work, stone):
    """Return the next stone of the same chain; the last is followed by the first."""
    return np.int64(work.cells[NEXT + stone])


@kernel
def liberties_of(work, head):
    """Return the number of liberties of a chain."""
    return np.int64(work.cells[LIBERTIES + head])


@kernel
def stones_of(work, head):
    """Return the number of stones of a chain."""
    return np.int64(work.cells[STONES + head])


@kernel
def _set(work, cell, value):
    """Overwrite a cell and note its old value in the journal."""
    work.changed[work.n_changed] = cell
    work.before[work.n_changed] = work.cells[cell]
    work.n_changed += 1
    work.cells[cell] = value


@kernel
def take_back(work, n_changed):
    """Restore the board to what it was when the journal had `n_changed` entries."""
    i = work.n_changed
    while i > n_changed:
        i -= 1
        work.cells[work.changed[i]] = work.before[i]
    work.n_changed = n_changed


@kernel
def look_near(work, point):
    """Note that the reading depends on what is within two points of this one."""
    work.rows |= 1 << (point // STRIDE)
    work.columns |= 1 << (point % STRIDE)


@kernel
def is_legal(work, point, colour, ko):
    """Tell whether `colour` may play at the empty `point`. Suicide never helps in a ladder, so here it is illegal."""
    look_near(work, point)
    if point == ko:
        return False
    if work.n_changed + JOURNAL_MARGIN > JOURNAL:
        work.nodes = MAX_NODES  # the journal is full: give up
        return False
    for i in range(4):
        q = neighbour(point, i)
        content = content_of(work, q)
        if content == EMPTY:
            return True
        if content != WALL and (liberties_of(work, head_of(work, q)) == 1) != (content == colour):
            return True
    return False


@kernel
def place(work, point, colour):
    """Play a legal move, and return the point that ko bans now, or NO_POINT."""
    enemy = 3 - colour
    _set(work, BOARD + point, colour)
    _set(work, CHAIN + point, point)
    _set(work, NEXT + point, point)
    _set(work, STONES + point, np.int64(1))
    _set(work, LIBERTIES + point, np.int64(0))
    captured = 0
    captured_point = np.int64(NO_POINT)
    for i in range(4):
        q = neighbour(point, i)
        if content_of(work, q) == enemy:
            head = head_of(work, q)
            if not _met_before(work, point, i, head, enemy):
                left = liberties_of(work, head) - 1
                _set(work, LIBERTIES + head, left)
                if left == 0:
                    captured += _remove(work, head)
                    captured_point = q
    liberties = empty_neighbours(work, point)
    _set(work, LIBERTIES + point, liberties)
    joined = 0
    for i in range(4):
        q = neighbour(point, i)
        if content_of(work, q) == colour and head_of(work, q) != head_of(work, point):
            joined += 1
            if joined == 1:
                _extend(work, point, head_of(work, q), colour)
            else:
                _join(work, head_of(work, point), head_of(work, q))
    if joined > 1:
        head = head_of(work, point)
        _set(work, LIBERTIES + head, _count_liberties(work, head))
    if captured == 1 and joined == 0 and liberties == 1:
        return captured_point
    return NO_POINT


@kernel
def _met_before(work, point, i, head, colour):
    """Whether one of `point`'s neighbours before the i-th is a stone of the chain `head` of `colour`."""
    for j in range(i):
        q = neighbour(point, j)
        if content_of(work, q) == colour and head_of(work, q) == head:
            return True
    return False


@kernel
def _remove(work, head):
    """Take a chain off the board; return its number of stones."""
    colour = content_of(work, head)
    enemy = 3 - colour
    removed = 0
    stone = head
    while True:
        _set(work, BOARD + stone, np.int64(EMPTY))
        removed += 1
        for i in range(4):
            q = neighbour(stone, i)
            if content_of(work, q) == enemy:
                chain = head_of(work, q)
                if not _met_before(work, stone, i, chain, enemy):
                    _set(work, LIBERTIES + chain, liberties_of(work, chain) + 1)
        stone = next_of(work, stone)
        if stone == head:
            return removed


@kernel
def _extend(work, point, head, colour):
    """Add the new stone to the chain `head`, right behind its head, with the liberties only the new stone has."""
    gained = -1
    for i in range(4):
        empty = neighbour(point, i)
        if content_of(work, empty) == EMPTY:
            known = False
            for j in range(4):
                q = neighbour(empty, j)
                known = known or (q != point and content_of(work, q) == colour and head_of(work, q) == head)
            if not known:
                gained += 1
    _set(work, CHAIN + point, head)
    _set(work, NEXT + point, next_of(work, head))
    _set(work, NEXT + head, point)
    _set(work, STONES + head, stones_of(work, head) + 1)
    _set(work, LIBERTIES + head, liberties_of(work, head) + gained)


@kernel
def _join(work, keep, head):
    """Make two chains one, relabelling the smaller. Its liberties are left stale."""
    if stones_of(work, head) > stones_of(work, keep):
        keep, head = head, keep
    stone = head
    while True:
        _set(work, CHAIN + stone, keep)
        stone = next_of(work, stone)
        if stone == head:
            break
    after = next_of(work, keep)
    _set(work, NEXT + keep, next_of(work, head))
    _set(work, NEXT + head, after)
    _set(work, STONES + keep, stones_of(work, keep) + stones_of(work, head))


@kernel_part
def _count_liberties(work, head):
    work.stamp += 1
    count = 0
    stone = head
    while True:
        for i in range(4):
            q = neighbour(stone, i)
            if content_of(work, q) == EMPTY and work.seen[q] != work.stamp:
                work.seen[q] = work.stamp
                count += 1
        stone = next_of(work, stone)
        if stone == head:
            return count


@kernel
def first_liberties(work, head):
    """Return two liberties of a chain; the second is NO_POINT if the chain has only one."""
    first = np.int64(NO_POINT)
    stone = head
    while True:
        for i in range(4):
            q = neighbour(stone, i)
            if content_of(work, q) == EMPTY and q != first:
                if first != NO_POINT:
                    return first, q
                first = q
        stone = next_of(work, stone)
        if stone == head:
            return first, np.int64(NO_POINT)


@kernel
def empty_neighbours(work, point):
    """Count the empty points beside `point`."""
    count = 0
    for i in range(4):
        if content_of(work, neighbour(point, i)) == EMPTY:
            count += 1
    return count
