"""Ladders: which chains of one or two liberties are caught by a run of ataris, and with which first moves.

The networks were trained on these answers, so KataGo's definition is used. The attacker always gives atari or takes;
the defender extends from the one liberty or takes a chain in atari beside it. The chain is caught when it never gets a
third liberty. Kos favour the defender. A ladder that is too long counts as caught, one that takes too many moves to
read as not caught. In about one of a thousand positions of random play KataGo's answer depends on the order in which
its board lists the stones of a chain; there this module follows the definition.

The search plays its moves on a board of its own (ladder_board.py).
"""

from __future__ import annotations

import numpy as np

from go_rules.board import neighbour
from go_rules.compilation.jit import kernel, kernel_part
from go_rules.points import EMPTY, MAX_SIZE, NO_POINT, STRIDE, WALL
from go_rules.tactics.ladder_board import (
    MAX_NODES,
    content_of,
    empty_neighbours,
    first_liberties,
    head_of,
    is_legal,
    liberties_of,
    load,
    next_of,
    place,
    stones_of,
    take_back,
)
from go_rules.zobrist import KO_KEYS

LADDERS = np.dtype(
    [
        ("key", "u8"),  # names the position: its stones, size and ko point
        ("rows", "u4", (3, MAX_SIZE)),  # [0, y] bit x: a stone that can be caught stands there;
        # [colour, y] bit x: a move there catches a chain of `colour` that has two liberties
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
    key = pos.hash ^ (np.uint64(pos.width * STRIDE + pos.height) * SIZE_KEY)
    if pos.ko != NO_POINT:
        key ^= KO_KEYS[pos.ko]
    slot = np.int64(key & np.uint64(len(memory) - 1))
    out = memory[slot]
    if out.key == key:
        return slot
    out.key = key
    for plane in range(3):
        for y in range(MAX_SIZE):
            out.rows[plane, y] = 0
    load(pos, work)
    # Constants as int64: numba would compile the kernels anew for each literal.
    no_ko = np.int64(NO_POINT)
    depth = np.int64(0)
    stones_caught = np.int64(0)
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for head in range(row, row + pos.width):
            if pos.board[head] == EMPTY or pos.chain[head] != head or pos.liberties[head] > 2:
                continue
            colour = np.int64(pos.board[head])
            in_atari = pos.liberties[head] == 1
            first, second = (no_ko, no_ko) if in_atari else first_liberties(work, head)
            caught = False
            for i in range(1 if in_atari else 2):
                move = first if i == 0 else second
                start = work.n_changed
                if not in_atari:
                    if not is_legal(work, move, 3 - colour, np.int64(pos.ko)):
                        continue
                    place(work, move, 3 - colour)
                # The defender is to move, and a ko that the attacker has just started does not bind him.
                work.nodes = 0
                work.n_moves = 0
                if _is_caught(work, head, no_ko, depth) and work.nodes < MAX_NODES:
                    caught = True
                    if not in_atari:
                        _mark(out, colour, move)
                take_back(work, start)
            if caught:
                stone = head
                while True:
                    _mark(out, stones_caught, np.int64(stone))
                    stone = pos.next[stone]
                    if stone == head:
                        break
    return slot


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
    open_first = empty_neighbours(work, first)
    open_second = empty_neighbours(work, second)
    if open_first == 0 and open_second == 0 and _is_double_ko(work, head, first, second):
        return CAUGHT
    distance = abs(first - second)
    if distance != 1 and distance != STRIDE:
        # Whoever fills one of them leaves the other as open as it is: with three ways out it must be filled first.
        if open_first >= 3 and open_second >= 3:
            return ESCAPED
        if open_first >= 3 or open_second >= 3:
            work.moves[work.n_moves] = first if open_first >= 3 else second
            work.n_moves += 1
            return UNDECIDED
    if _pressure(work, second, open_second, defender) > _pressure(work, first, open_first, defender):
        first, second = second, first
    work.moves[work.n_moves] = first
    work.moves[work.n_moves + 1] = second
    work.n_moves += 2
    return UNDECIDED


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
