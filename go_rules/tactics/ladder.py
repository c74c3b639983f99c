"""Ladders: which chains of one or two liberties are caught by a run of ataris, and with which first moves.

The networks were trained on these answers, so KataGo's definition is used. The attacker always gives atari or takes;
the defender extends from the one liberty or takes a chain in atari beside it. The chain is caught when it never gets a
third liberty. Kos favour the defender. A ladder that is too long counts as caught, one that takes too many moves to
read as not caught. In about one of a thousand positions of random play KataGo's answer depends on the order in which
its board lists the stones of a chain; there this module follows the definition.

Where a position is one that was read before and one stone more, only those chains are read anew whose reading looked at
that stone, or at a chain beside it: one in seven in the middle of a game.
"""

from __future__ import annotations

import numpy as np

from go_rules.board import neighbour
from go_rules.points import EMPTY, MAX_SIZE, NO_POINT, PASS, STRIDE, WALL
from go_rules.position import KO_KEYS, STONE_KEYS
from go_rules.tactics.ladder_board import (
    MAX_NODES,
    content_of,
    empty_neighbours,
    first_liberties,
    head_of,
    is_legal,
    liberties_of,
    load,
    look_near,
    next_of,
    place,
    stones_of,
    take_back,
)
from nobi_machine.jit import kernel, kernel_part

MOST_CHAINS = 48
"""So many readings of a position are kept for the next one."""

READING = np.dtype(
    [
        ("head", "i2"),  # of the chain that was read
        ("caught", "i1"),  # 1: it is caught
        ("moves", "i2", (2,)),  # the moves that catch a chain of two liberties, or NO_POINT
        ("rows", "u4"),  # where the reading looked: as LADDER_WORK's, with what is near
        ("columns", "u4"),
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
            look_near(work, other)
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
        look_near(work, stone)
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
    look_near(work, liberty)
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
    look_near(work, first)
    look_near(work, second)
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
        look_near(work, stone)
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
