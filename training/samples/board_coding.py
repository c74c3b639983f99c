"""A position's planes as decisions of the range coder: stones, last moves, and what a board does not show.

The other planes are made again from these by the feature encoder. A plane that it makes otherwise, such as ladders of a
board before a capture, is kept itself. So every position comes back exactly, whoever encoded it.
"""

from __future__ import annotations

import numpy as np

from go_rules.board import clear, copy_position, place_stone
from go_rules.compilation.jit import kernel
from go_rules.points import BLACK, EMPTY, NO_POINT, PASS, STRIDE, WHITE
from go_rules.position import (
    HISTORY_MOVES,
    MARK_BLACK_AT_CLEANUP_2,
    MARK_KO_RECAPTURE_BLOCKED,
    MARK_WHITE_AT_CLEANUP_2,
    PHASE_CLEANUP_1,
    PHASE_CLEANUP_2,
    PHASE_MAIN,
)
from go_rules.rules import KO_SIMPLE, SCORING_AREA, SCORING_TERRITORY, TAX_ALL, TAX_NONE, TAX_SEKI
from nets.evaluator import SPATIAL_PLANES
from nets.features import (
    BANNED,
    BLOCKED,
    GLOBAL_BUTTON,
    GLOBAL_CLEANUP_1,
    GLOBAL_CLEANUP_2,
    GLOBAL_PASSES,
    GLOBAL_SUICIDE,
    GLOBAL_TAX,
    GLOBAL_TAX_ALL,
    GLOBAL_TERRITORY,
    LAST_MOVES,
    ON_BOARD,
    OPPONENT,
    OPPONENT_AT_CLEANUP_2,
    OWN,
    OWN_AT_CLEANUP_2,
)
from training.positions.encoding import write_input
from training.samples.range_coder import code_bit, code_plain, code_tree

CELL_BITS = 9
"""Bits of a cell's number."""
SIZE_BITS = 5
EDGE = 3
"""What lies beyond the edge, beside EMPTY, own stones (1) and the opponent's (2)."""

SIZES = 0
STONES = SIZES + 32
SOUND = STONES + 512
MOVES = SOUND + 1
BANS = MOVES + 4 * HISTORY_MOVES
MARKED = BANS + 1
KEPT = MARKED + SPATIAL_PLANES
PLANES = KEPT + SPATIAL_PLANES
BOARD_CONTEXTS = PLANES + 16 * SPATIAL_PLANES
"""The first contexts of each kind of decision, and how many there are of all of them."""


@kernel
def code_board(coder, data, numbers, buffers, spatial, again, stones, moves):
    """Write the planes `spatial`, uint8[22, S, S], of a square board in the corner of its canvas, or read them.

    `numbers`, float32[19], are the position's global features. `stones`, uint8[S, S], becomes the board: 1 own stones,
    2 the opponent's. `moves`, int64[5], becomes the last moves, newest first: cells, S * S a pass, -1 none. `again`,
    uint8[22, S, S], is work space.
    """
    canvas = spatial.shape[1]
    size = np.int64(0)
    while size < canvas and spatial[ON_BOARD, 0, size] == 1:
        size += 1
    size = code_tree(coder, data, np.int64(SIZES), np.int64(SIZE_BITS), size)
    size = min(max(size, np.int64(1)), np.int64(canvas))
    if coder.reads == 1:
        for plane in range(SPATIAL_PLANES):
            for y in range(canvas):
                for x in range(canvas):
                    spatial[plane, y, x] = 1 if plane == ON_BOARD and y < size and x < size else 0
    for y in range(canvas):
        for x in range(canvas):
            stones[y, x] = spatial[OWN, y, x] + 2 * spatial[OPPONENT, y, x]
    stack, rules = buffers.stack, buffers.rules[0]
    _set_rules(numbers, rules)
    is_sound = coder.reads == 0 and _place_all(stones, size, stack[2], rules)
    if code_bit(coder, data, np.int64(SOUND), is_sound) == 0:
        stones[:, :] = EMPTY
        for plane in range(1, SPATIAL_PLANES):
            _code_plane(coder, data, spatial[plane], plane, size, stones)
        for y in range(canvas):
            for x in range(canvas):
                stones[y, x] = min(spatial[OWN, y, x] + 2 * spatial[OPPONENT, y, x], 2)
        for turn in range(HISTORY_MOVES):
            moves[turn] = -1
        return
    _code_stones(coder, data, stones, size)
    # The planes of clean-up phases come before those that are made again: area depends on them.
    for plane in (BLOCKED, OWN_AT_CLEANUP_2, OPPONENT_AT_CLEANUP_2):
        if code_bit(coder, data, MARKED + plane, _count(spatial[plane], size) > 0) == 1:
            _code_plane(coder, data, spatial[plane], plane, size, stones)
    ban = _code_ban(coder, data, spatial[BANNED], size)
    _code_moves(coder, data, numbers, spatial, stones, size, moves)
    _replay(stones, size, moves, stack, rules)
    _set_situation(numbers, spatial, size, ban, moves, stack[2])
    write_input(stack, 2, rules, 0, buffers, again, buffers.numbers)
    for plane in range(1, SPATIAL_PLANES):
        is_kept = coder.reads == 0 and _differ(spatial[plane], again[plane], size)
        if code_bit(coder, data, KEPT + plane, is_kept) == 1:
            _code_plane(coder, data, spatial[plane], plane, size, stones)
        elif coder.reads == 1:
            for y in range(size):
                for x in range(size):
                    spatial[plane, y, x] = again[plane, y, x]


@kernel
def _code_stones(coder, data, stones, size):
    for y in range(size):
        for x in range(size):
            west = stones[y, x - 1] if x > 0 else EDGE
            north = stones[y - 1, x] if y > 0 else EDGE
            beside = stones[y - 1, x - 1] if x > 0 and y > 0 else EDGE
            across = stones[y - 1, x + 1] if y > 0 and x + 1 < size else EDGE
            context = STONES + 2 * (west + 4 * north + 16 * beside + 64 * across)
            stone = np.int64(stones[y, x])
            if code_bit(coder, data, context, stone > 0) == 0:
                stones[y, x] = 0
            else:
                stones[y, x] = 1 + code_bit(coder, data, context + 1, stone == 2)


@kernel
def _code_plane(coder, data, plane, number, size, stones):
    """Write or read all points of one plane as they are."""
    for y in range(size):
        for x in range(size):
            context = np.int64(min(stones[y, x], EDGE)) * 4
            context += plane[y, x - 1] if x > 0 else 0
            context += 2 * plane[y - 1, x] if y > 0 else 0
            plane[y, x] = code_bit(coder, data, PLANES + 16 * number + context, plane[y, x] == 1)


@kernel
def _code_ban(coder, data, plane, size):
    """Write or read the only banned point, as in a ko. Return its cell, y * size + x, or -1 where there is not one."""
    cell = np.int64(-1)
    if coder.reads == 0 and _count(plane, size) == 1:
        cell = _first(plane, size)
    if code_bit(coder, data, np.int64(BANS), cell >= 0) == 0:
        return np.int64(-1)
    return min(code_plain(coder, data, np.int64(CELL_BITS), cell), size * size - 1)


@kernel
def _code_moves(coder, data, numbers, spatial, stones, size, moves):
    """Write or read the last moves; passes are known from the position's global features."""
    has_more = True
    for turn in range(HISTORY_MOVES):
        moves[turn] = -1
        if not has_more:
            continue
        if numbers[GLOBAL_PASSES + turn] == 1.0:
            moves[turn] = size * size
            continue
        plane = spatial[LAST_MOVES + turn]
        cell = np.int64(-1)
        if coder.reads == 0 and _count(plane, size) == 1:
            cell = _first(plane, size)
        context = MOVES + 2 * turn
        has_more = code_bit(coder, data, context, cell >= 0) == 1
        if not has_more:
            continue
        # Most moves are among the stones of their colour, so they are counted among them.
        colour = 2 - turn % 2
        is_there = cell >= 0 and stones[cell // size, cell % size] == colour
        if code_bit(coder, data, context + 1, is_there) == 0:
            moves[turn] = min(code_plain(coder, data, np.int64(CELL_BITS), cell), size * size - 1)
            continue
        count, index = np.int64(0), np.int64(0)
        for y in range(size):
            for x in range(size):
                if stones[y, x] == colour:
                    if y * size + x == cell:
                        index = count
                    count += 1
        bits = np.int64(0)
        while count > 1 << bits:
            bits += 1
        index = min(code_plain(coder, data, bits, index), count - 1)
        moves[turn] = _stone(stones, size, colour, index)


@kernel
def _stone(stones, size, colour, index):
    """Return the cell, y * size + x, of a colour's stone with this index, row by row; the pass if there is none."""
    for y in range(size):
        for x in range(size):
            if stones[y, x] == colour:
                if index == 0:
                    return np.int64(y * size + x)
                index -= 1
    return np.int64(size * size)


@kernel
def _place_all(stones, size, pos, rules):
    """Set up a board with the side to move as BLACK. Return whether it is one: with two stones on a point, or a chain
    without liberties, it is not, and the position is another board."""
    clear(pos, size, size, rules.has_button)
    for y in range(size):
        for x in range(size):
            point = (y + 1) * STRIDE + x + 1
            if stones[y, x] == 1 or stones[y, x] == 2:
                place_stone(pos, point, np.int64(stones[y, x]))
    return _is_board(stones, size, pos)


@kernel
def _is_board(stones, size, pos):
    for y in range(size):
        for x in range(size):
            if pos.board[(y + 1) * STRIDE + x + 1] != stones[y, x]:
                return False
    return True


@kernel
def _replay(stones, size, moves, stack, rules):
    """Set up the boards of two moves ago, one move ago and now, as well as the last two moves tell it: stones that they
    captured are not known."""
    last, before = moves[0], moves[1]
    kept, kept_before = np.uint8(0), np.uint8(0)
    if 0 <= last < size * size:
        kept = stones[last // size, last % size]
        stones[last // size, last % size] = EMPTY
    if 0 <= before < size * size:
        kept_before = stones[before // size, before % size]
        stones[before // size, before % size] = EMPTY
    _place_all(stones, size, stack[0], rules)
    if 0 <= before < size * size:
        stones[before // size, before % size] = kept_before
    if 0 <= last < size * size:
        stones[last // size, last % size] = kept
    copy_position(stack[1], stack[0])
    _place(before, size, np.int64(BLACK), stack[1])
    copy_position(stack[2], stack[1])
    _place(last, size, np.int64(WHITE), stack[2])
    if not _is_board(stones, size, stack[2]):
        _place_all(stones, size, stack[2], rules)


@kernel
def _place(cell, size, colour, pos):
    if 0 <= cell < size * size:
        point = (cell // size + 1) * STRIDE + cell % size + 1
        if pos.board[point] == EMPTY:
            place_stone(pos, point, colour)


@kernel
def _set_rules(numbers, rules):
    """Set what the features say of the rules; komi and what only concerns the end of a game are left out."""
    rules.komi = 0.0
    rules.handicap_bonus = 0
    rules.ko = KO_SIMPLE
    rules.scoring = SCORING_TERRITORY if numbers[GLOBAL_TERRITORY] == 1.0 else SCORING_AREA
    rules.tax = TAX_NONE
    if numbers[GLOBAL_TAX] == 1.0:
        rules.tax = TAX_ALL if numbers[GLOBAL_TAX_ALL] == 1.0 else TAX_SEKI
    rules.suicide = 1 if numbers[GLOBAL_SUICIDE] == 1.0 else 0
    rules.has_button = 1 if numbers[GLOBAL_BUTTON] == 1.0 else 0
    rules.friendly_pass = 0
    rules.cleanup = 1


@kernel
def _set_situation(numbers, spatial, size, ban, moves, pos):
    """Set what the board of a position does not say, so that the encoder shows what it showed."""
    pos.to_play = BLACK
    pos.ko = NO_POINT if ban < 0 else (ban // size + 1) * STRIDE + ban % size + 1
    for turn in range(HISTORY_MOVES):
        cell = moves[turn]
        pos.recent[turn] = NO_POINT
        if cell >= 0:
            pos.recent[turn] = PASS if cell == size * size else (cell // size + 1) * STRIDE + cell % size + 1
    pos.phase = PHASE_MAIN
    if numbers[GLOBAL_CLEANUP_2] == 1.0:
        pos.phase = PHASE_CLEANUP_2
    elif numbers[GLOBAL_CLEANUP_1] == 1.0:
        pos.phase = PHASE_CLEANUP_1
    for y in range(size):
        for x in range(size):
            mark = 0
            if spatial[BLOCKED, y, x] == 1:
                mark |= MARK_KO_RECAPTURE_BLOCKED
            if spatial[OWN_AT_CLEANUP_2, y, x] == 1:
                mark |= MARK_BLACK_AT_CLEANUP_2
            if spatial[OPPONENT_AT_CLEANUP_2, y, x] == 1:
                mark |= MARK_WHITE_AT_CLEANUP_2
            pos.marks[(y + 1) * STRIDE + x + 1] = mark


@kernel
def _count(plane, size):
    count = np.int64(0)
    for y in range(size):
        for x in range(size):
            count += plane[y, x]
    return count


@kernel
def _first(plane, size):
    """Return the cell, y * size + x, of a plane's first 1."""
    for y in range(size):
        for x in range(size):
            if plane[y, x] == 1:
                return np.int64(y * size + x)
    return np.int64(-1)


@kernel
def _differ(plane, other, size):
    for y in range(size):
        for x in range(size):
            if plane[y, x] != other[y, x]:
                return True
    return False
