"""Ladders: which chains of one or two liberties are caught by a run of ataris, and with which first moves.

The networks were trained on these answers, so KataGo's definition is used. The attacker always gives atari or takes;
the defender extends from the one liberty or takes a chain in atari beside it. The chain is caught when it never gets a
third liberty. Kos favour the defender. A ladder that is too long counts as caught, one that takes too many moves to
read as not caught. In about one of a thousand positions of random play KataGo's answer depends on the order in which
its board lists the stones of a chain; there this module follows the definition.

The search plays its moves on a board of its own, one array of cells. A journal keeps what was overwritten, so that a
move is taken back exactly. Where a position is one that was read before and one stone more, only those chains are read
anew whose reading looked at a stone that is new, or at a chain beside it: one in seven in the middle of a game.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.board import neighbour
from go_rules.points import EMPTY, MAX_SIZE, N_POINTS, NO_POINT, PASS, STRIDE, WALL
from go_rules.position import KO_KEYS, STONE_KEYS
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
def is_legal(work, point, colour, ko):
    """Tell whether `colour` may play at the empty `point`. Suicide never helps in a ladder, so here it is illegal."""
    _look_near(work, point)
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


MOST_CHAINS = 48
"""So many readings of a position are kept for the next one."""

READING = np.dtype(
    [
        ("head", "i2"),  # of the chain that was read
        ("caught", "i1"),  # 1: it is caught
        ("moves", "i2", (2,)),  # the moves that catch a chain of two liberties, or NO_POINT
        ("rows", "i8"),  # where the reading looked: as LADDER_WORK's, with what is near
        ("columns", "i8"),
    ],
    align=True,
)

LADDERS = np.dtype(
    [
        ("key", "u8"),  # names the position: its stones, size and ko point
        ("rows", "u4", (3, MAX_SIZE)),  # [0, y] bit x: a stone that can be caught stands there;
        # [colour, y] bit x: a move there catches a chain of `colour` that has two liberties
        ("n_readings", "i8"),  # how many of `readings` are kept
        ("readings", READING, (MOST_CHAINS + 1,)),  # in the order of their heads; the last place is never kept
    ],
    align=True,
)
"""All ladders of one position, and the key of that position."""

SIZE_KEY = np.uint64(0x9E3779B97F4A7C15)
"""Spreads the size of the board over the bits of a key."""

CAUGHT, ESCAPED, UNDECIDED = 0, 1, 2


@kernel
def find_ladders(pos, work, memory):
    """Return the index in `memory` of the ladders of `pos`; they are searched now unless they are there already.

    A chain of one liberty is searched with its owner to move, a chain of two with the opponent to move. The answer
    depends on stones, board size and ko point, not on whose turn it is. `memory` is LADDERS[2^k], zeros at first;
    each position has one place in it, which it shares with others.
    """
    key = _ladder_key(pos, pos.hash)
    slot = np.int64(key & np.uint64(len(memory) - 1))
    out = memory[slot]
    if out.key == key:
        return slot
    out.key = key
    out.n_readings = 0
    for plane in range(3):
        for y in range(MAX_SIZE):
            out.rows[plane, y] = 0
    load(pos, work)
    earlier = memory[_without_newest_stone(pos, slot, work, memory)]
    at = 0
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for head in range(row, row + pos.width):
            if pos.board[head] == EMPTY or pos.chain[head] != head or pos.liberties[head] > 2:
                continue
            while at < earlier.n_readings and earlier.readings[at].head < head:
                at += 1
            reading = out.readings[out.n_readings]
            if at < earlier.n_readings and earlier.readings[at].head == head and _holds(work, earlier.readings[at]):
                _copy_reading(reading, earlier.readings[at])
            else:
                _read(pos, work, np.int64(head), reading)
            if out.n_readings < MOST_CHAINS:
                out.n_readings += 1
            if reading.caught == 1:
                _mark_reading(pos, reading, out)
    return slot


@kernel
def _ladder_key(pos, stones):
    """The key of a position with the hash `stones`, and with the size and the ko point of `pos`."""
    key = stones ^ (np.uint64(pos.width * STRIDE + pos.height) * SIZE_KEY)
    if pos.ko != NO_POINT:
        key ^= KO_KEYS[pos.ko]
    return key


@kernel
def _without_newest_stone(pos, slot, work, memory):
    """Return the index in `memory` of the ladders of `pos` without the stone of its last move, and set `work.altered`.

    Returns `slot`, the place of `pos` itself, where they are not known; no readings are kept there yet.
    """
    point = np.int64(pos.recent[0])
    if point <= PASS or pos.board[point] == EMPTY or pos.ko != NO_POINT:
        return slot
    key = _ladder_key(pos, pos.hash ^ STONE_KEYS[pos.board[point], point])
    earlier = np.int64(key & np.uint64(len(memory) - 1))
    if memory[earlier].key != key:
        return slot
    for y in range(MAX_SIZE + 2):
        work.altered[y] = 0
    _alter(work, point)
    for i in range(4):
        q = neighbour(point, i)
        if content_of(work, q) != EMPTY and content_of(work, q) != WALL:
            _alter(work, q)
    return earlier


@kernel
def _alter(work, stone):
    """Add a stone's chain to `work.altered`."""
    first = stone
    while True:
        work.altered[stone // STRIDE] |= 1 << (stone % STRIDE)
        stone = next_of(work, stone)
        if stone == first:
            break


@kernel
def _holds(work, reading):
    """Whether a reading looked at nothing that is altered."""
    for y in range(MAX_SIZE + 2):
        if (reading.rows >> y) & 1 and work.altered[y] & reading.columns:
            return False
    return True


@kernel
def _copy_reading(target, source):
    target.head = source.head
    target.caught = source.caught
    target.moves[0] = source.moves[0]
    target.moves[1] = source.moves[1]
    target.rows = source.rows
    target.columns = source.columns


@kernel
def _look_near(work, point):
    """Note that the reading depends on what is within two points of this one."""
    work.rows |= 1 << (point // STRIDE)
    work.columns |= 1 << (point % STRIDE)


@kernel
def _read(pos, work, head, reading):
    """Find out whether a chain of one or two liberties is caught, and by which first moves."""
    # Constants as int64: numba would compile the kernels anew for each literal.
    no_ko = np.int64(NO_POINT)
    depth = np.int64(0)
    work.rows = 0
    work.columns = 0
    reading.head = head
    reading.caught = 0
    reading.moves[0] = NO_POINT
    reading.moves[1] = NO_POINT
    attacker = 3 - content_of(work, head)
    in_atari = liberties_of(work, head) == 1
    first, second = (no_ko, no_ko) if in_atari else first_liberties(work, head)
    for i in range(1 if in_atari else 2):
        move, other = (first, second) if i == 0 else (second, first)
        start = work.n_changed
        if not in_atari:
            _look_near(work, other)
            if _is_way_out(work, other, move) or not is_legal(work, move, attacker, np.int64(pos.ko)):
                continue
            place(work, move, attacker)
        # The defender is to move, and a ko that the attacker has just started does not bind him.
        work.nodes = 0
        work.n_moves = 0
        if _is_caught(work, head, no_ko, depth) and work.nodes < MAX_NODES:
            reading.caught = 1
            reading.moves[i] = move
        take_back(work, start)
    reading.rows = _and_near(work.rows)
    reading.columns = _and_near(work.columns)


@kernel
def _and_near(bits):
    return bits | (bits << 1) | (bits << 2) | (bits >> 1) | (bits >> 2)


@kernel
def _mark_reading(pos, reading, out):
    """Mark a chain that is caught, and the moves that catch it."""
    stones_caught = np.int64(0)
    head = np.int64(reading.head)
    for i in range(2):
        if reading.moves[i] != NO_POINT:
            _mark(out, np.int64(pos.board[head]), np.int64(reading.moves[i]))
    stone = head
    while True:
        _mark(out, stones_caught, stone)
        stone = np.int64(pos.next[stone])
        if stone == head:
            break


@kernel
def _is_caught(work, target, ko, depth):
    """Whether the chain of the stone `target` is caught.

    `depth` is the number of moves played; if it is even, the defender is to move. `ko` is the point that ko bans.
    """
    if depth >= work.max_depth:
        return True
    if work.nodes >= MAX_NODES:
        return False
    defending = depth % 2 == 0
    first_move = work.n_moves
    if defending:
        outcome = _defences(work, target, ko)
    else:
        outcome = _attacks(work, target)
    if outcome != UNDECIDED:
        work.n_moves = first_move
        return outcome == CAUGHT
    defender = content_of(work, target)
    player = defender if defending else 3 - defender
    caught = defending  # who has no move that works, loses
    for i in range(first_move, work.n_moves):
        move = np.int64(work.moves[i])
        if is_legal(work, move, player, ko):
            start = work.n_changed
            new_ko = place(work, move, player)
            work.nodes += 1
            caught = _is_caught(work, target, new_ko, depth + 1)
            take_back(work, start)
            if caught != defending:
                break
            caught = defending
    work.n_moves = first_move
    return caught


@kernel
def _defences(work, target, ko):
    """List the defender's moves, captures first, or decide at once. Returns CAUGHT, ESCAPED or UNDECIDED."""
    head = head_of(work, target)
    if liberties_of(work, head) >= 2 or ko != NO_POINT:
        return ESCAPED
    defender = content_of(work, head)
    attacker = 3 - defender
    takes = work.n_moves
    liberty = np.int64(NO_POINT)
    work.stamp += 1
    stone = head
    while True:
        _look_near(work, stone)
        for i in range(4):
            q = neighbour(stone, i)
            content = content_of(work, q)
            if content == EMPTY:
                liberty = q
            elif content == attacker:
                chain = head_of(work, q)
                if liberties_of(work, chain) == 1 and work.seen[chain] != work.stamp:
                    work.seen[chain] = work.stamp
                    _list_once(work, takes, first_liberties(work, chain)[0])
        stone = next_of(work, stone)
        if stone == head:
            break
    _look_near(work, liberty)
    _list_once(work, takes, liberty)
    fewest, most = _liberties_after(work, liberty, defender)
    if fewest >= 3:
        return ESCAPED
    if most <= 1 and work.n_moves == takes + 1:
        return CAUGHT
    return UNDECIDED


@kernel
def _attacks(work, target):
    """List the attacker's moves, the likelier first, or decide at once. Returns CAUGHT, ESCAPED or UNDECIDED."""
    head = head_of(work, target)
    liberties = liberties_of(work, head)
    if liberties <= 1:
        return CAUGHT
    if liberties >= 3:
        return ESCAPED
    defender = content_of(work, head)
    first, second = first_liberties(work, head)
    _look_near(work, first)
    _look_near(work, second)
    open_first = empty_neighbours(work, first)
    open_second = empty_neighbours(work, second)
    if open_first == 0 and open_second == 0 and _is_double_ko(work, head, first, second):
        return CAUGHT
    first_is_open = _is_way_out(work, first, second)
    second_is_open = _is_way_out(work, second, first)
    if first_is_open and second_is_open:
        return ESCAPED
    if first_is_open or second_is_open:
        work.moves[work.n_moves] = first if first_is_open else second
        work.n_moves += 1
        return UNDECIDED
    if _pressure(work, second, open_second, defender) > _pressure(work, first, open_first, defender):
        first, second = second, first
    work.moves[work.n_moves] = first
    work.moves[work.n_moves + 1] = second
    work.n_moves += 2
    return UNDECIDED


@kernel
def _is_way_out(work, liberty, other):
    """Whether a chain of these two liberties escapes at the one if the other is filled: three ways out stay open."""
    distance = abs(liberty - other)
    return distance != 1 and distance != STRIDE and empty_neighbours(work, liberty) >= 3


@kernel
def _is_double_ko(work, head, first, second):
    """Whether both liberties are kos that gain the defender no liberty: only one of the two can be won."""
    defender = content_of(work, head)
    for i in range(2):
        liberty = first if i == 0 else second
        if not _is_ko_mouth(work, liberty, defender):
            return False
        start = work.n_changed
        place(work, liberty, defender)
        escapes = liberties_of(work, head_of(work, liberty)) > 2
        take_back(work, start)
        if escapes:
            return False
    attacker = 3 - defender
    stone = head
    while True:
        _look_near(work, stone)
        for i in range(4):
            q = neighbour(stone, i)
            if content_of(work, q) == attacker and liberties_of(work, head_of(work, q)) == 1:
                return False
        stone = next_of(work, stone)
        if stone == head:
            break
    return True


@kernel_part
def _is_ko_mouth(work, point, defender):
    """Whether the attacker takes a ko there: all around is the defender's, and only a single stone of it in atari."""
    taken = np.int64(NO_POINT)
    for i in range(4):
        q = neighbour(point, i)
        content = content_of(work, q)
        if content == WALL:
            continue
        if content != defender:
            return False
        if liberties_of(work, head_of(work, q)) == 1:
            if taken != NO_POINT:
                return False
            taken = q
    return taken != NO_POINT and stones_of(work, head_of(work, taken)) == 1


@kernel
def _pressure(work, liberty, open_points, defender):
    """How much the defender would gain at `liberty`, in half liberties: the attacker tries the greater first."""
    gain = 2 * open_points
    for i in range(4):
        q = neighbour(liberty, i)
        if content_of(work, q) == defender:
            liberties = liberties_of(work, head_of(work, q))
            if liberties > 1:
                gain += 2 * liberties - 3
    return gain


@kernel_part
def _liberties_after(work, point, colour):
    """Bounds, (fewest, most), on the liberties of a new stone of `colour` at `point`."""
    enemy = 3 - colour
    empty = 0
    takes = 0
    taken_stones = 0
    joined = 0
    most_joined = 0
    for i in range(4):
        q = neighbour(point, i)
        content = content_of(work, q)
        if content == EMPTY:
            empty += 1
        elif content == enemy:
            chain = head_of(work, q)
            if liberties_of(work, chain) == 1:
                takes += 1
                taken_stones += stones_of(work, chain)
        elif content == colour:
            others = liberties_of(work, head_of(work, q)) - 1
            joined += others
            if others > most_joined:
                most_joined = others
    fewest = takes + (most_joined if most_joined > empty else empty)
    return fewest, empty + taken_stones + joined


@kernel
def _list_once(work, first, point):
    """Add a move to the list that starts at `first`, unless it is there."""
    for i in range(first, work.n_moves):
        if work.moves[i] == point:
            return
    work.moves[work.n_moves] = point
    work.n_moves += 1


@kernel
def _mark(out, plane, point):
    out.rows[plane, point // STRIDE - 1] |= np.uint32(1 << (point % STRIDE - 1))
