"""Small boards solved by brute force with the kernels, komi 0, area scoring: test oracles, not players.

Without superko the whole graph of positions is built and solved backwards, endless play counting as a draw. Up to
3x5 that gives the values of van der Werf and Winands, "Solving Go for rectangular boards", ICGA Journal 32, 2009.
With superko a position's value depends on how it came about, and only alpha-beta over whole games is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.board import clear, copy_position, legal_points, place_stone, play
from go_rules.points import BLACK, EMPTY, MAX_SIZE, N_POINTS, NO_POINT, PASS, WHITE, board_points
from go_rules.position import PHASE_OVER, new_stack
from go_rules.rules import KO_SIMPLE, Rules
from go_rules.scoring import tromp_taylor_area
from go_rules.superko import drop_superko_banned, history_key, new_seen, position_key, seen_refill
from nobi_machine.jit import kernel, kernel_with_arrays


def solve_without_superko(width: int, height: int) -> tuple[int, dict[int, int]]:
    """Black's points minus white's with best play, and the same after each first move."""
    record = Rules(ko=KO_SIMPLE).record(0.0)
    points = np.array(board_points(width, height), np.int64)
    images = _symmetries(width, height)
    stack = new_stack(2)
    scores, first, children = _explore(stack, width, height, record, points, images)
    # What the mover can force in finitely many moves, and what the opponent can hold the mover to.
    low = np.full(len(scores), -len(points) - 1, np.int8)
    high = np.full(len(scores), len(points) + 1, np.int8)
    while sweep(scores, first, children, low, high):
        pass
    # Between the two lies endless play.
    values = np.where(low > 0, low, np.where(high < 0, high, 0))
    moves = np.zeros(MAX_SIZE * MAX_SIZE, np.int16)
    clear(stack[0], width, height, 0)
    n = legal_points(stack[0], BLACK, record, moves)
    after = [-int(values[child]) for child in children[first[0] : first[1]]]
    return int(values[0]), dict(zip([*moves[:n].tolist(), PASS], after, strict=True))


def _symmetries(width: int, height: int) -> NDArray[np.int64]:
    """[symmetry, i]: the number of the point that the i-th point, row by row, is mapped to."""
    grid = np.arange(width * height).reshape(height, width)
    images = [grid, grid[::-1], grid[:, ::-1], grid[::-1, ::-1]]
    if width == height:
        images += [image.T for image in images]
    return np.array([image.ravel() for image in images], np.int64)


def _explore(stack, width, height, record, points, images):
    """Number every position that can come about, up to symmetry and colour, the empty board 0.

    Returns scores [n] (the mover's points minus the other's in finished games, else 0), first [n + 1] and children:
    those of position i are children[first[i]:first[i + 1]].
    """
    room = 1024 + 3 ** len(points) // 2
    codes, scores = np.zeros(room, np.int64), np.zeros(room, np.int8)
    first, children = np.zeros(room + 1, np.int64), np.zeros(room * (len(points) + 1), np.int32)
    table = np.zeros((1 << (2 * room).bit_length(), 2), np.int64)
    n = explore_graph(stack, width, height, record, points, images, table, codes, scores, first, children)
    return scores[:n], first[: n + 1], children[: first[n]]


@kernel_with_arrays
def explore_graph(stack, width, height, rules, points, images, table, codes, scores, first, children):
    """Fill the arrays of `_explore`, breadth first; return the number of positions.

    `table` [2^k, 2] is a hash table from code + 1 to number.
    """
    pos = stack[0]
    after = stack[1]
    moves = np.empty(N_POINTS, np.int16)
    area = np.empty(N_POINTS, np.int8)
    clear(pos, width, height, 0)
    codes[0] = _encode(pos, points, images)
    _number(table, codes[0], 0)
    n = 1
    done = 0
    edges = 0
    while done < n:
        first[done] = edges
        _decode(pos, width, height, points, codes[done])
        done += 1
        if pos.phase == PHASE_OVER:
            scores[done - 1] = -tromp_taylor_area(pos, area)
            continue
        n_moves = legal_points(pos, BLACK, rules, moves)
        moves[n_moves] = PASS
        for i in range(n_moves + 1):
            copy_position(after, pos)
            play(after, moves[i], BLACK, rules)
            code = _encode(after, points, images)
            number = _number(table, code, n)
            if number == n:
                codes[n] = code
                n += 1
            children[edges] = number
            edges += 1
    first[n] = edges
    return n


@kernel
def _number(table, code, new):
    """The number of the position `code`, which becomes `new` if it has none."""
    mask = len(table) - 1
    slot = ((code * 0x9E3779B97F4A7C1) >> 20) & mask
    while table[slot, 0] != 0:
        if table[slot, 0] == code + 1:
            return table[slot, 1]
        slot = (slot + 1) & mask
    table[slot, 0] = code + 1
    table[slot, 1] = new
    return new


@kernel
def _encode(pos, points, images):
    """The least code among the symmetric images, the mover's stones counted as black.

    Stones in base 3, then the ko point, then passes; a finished game is one that has passes and a ko point.
    """
    n = len(points)
    passes = 0 if pos.passes == 0 else 1
    best = -1
    for s in range(len(images)):
        code = 0
        ko = 1 if pos.phase == PHASE_OVER else 0
        for i in range(n):
            point = points[images[s, i]]
            colour = pos.board[point]
            if colour != EMPTY and pos.to_play == WHITE:
                colour = 3 - colour
            code = code * 3 + colour
            if pos.ko == point:
                ko = i + 1
        code = (code * (n + 1) + ko) * 2 + passes
        if best < 0 or code < best:
            best = code
    return best


@kernel
def _decode(pos, width, height, points, code):
    clear(pos, width, height, 0)
    pos.passes = code % 2
    code //= 2
    ko = code % (len(points) + 1)
    code //= len(points) + 1
    if pos.passes == 1 and ko == 1:
        pos.phase = PHASE_OVER
        ko = 0
    for i in range(len(points) - 1, -1, -1):
        colour = code % 3
        code //= 3
        if colour != EMPTY:
            place_stone(pos, points[i], colour)
    pos.ko = points[ko - 1] if ko > 0 else NO_POINT


@kernel
def sweep(scores, first, children, low, high):
    """Improve both bounds of every position from its children's once; return whether anything changed."""
    changed = False
    for node in range(len(scores) - 1, -1, -1):
        if first[node] == first[node + 1]:
            best_low = best_high = np.int64(scores[node])
        else:
            best_low = best_high = np.int64(-128)
            for edge in range(first[node], first[node + 1]):
                best_low = max(best_low, -np.int64(high[children[edge]]))
                best_high = max(best_high, -np.int64(low[children[edge]]))
        if best_low != low[node] or best_high != high[node]:
            low[node] = best_low
            high[node] = best_high
            changed = True
    return changed


def solve_with_superko(width: int, height: int, rules: Rules, deepest: int = 200) -> int:
    """Black's points minus white's with best play from the empty board, the whole history deciding what is legal."""
    stack = new_stack(deepest)
    record = rules.record(0.0)
    clear(stack[0], width, height, 0)
    keys = np.zeros(deepest, np.uint64)
    keys[0] = position_key(stack[0], record)
    moves = np.zeros((deepest, N_POINTS), np.int16)
    seen = new_seen(deepest)
    area = np.zeros(N_POINTS, np.int8)
    # Null windows from below: is it at least v?
    value = -width * height
    while value < width * height and black_reaches(stack, keys, seen, record, moves, area, 0, value + 1):
        value += 1
    return value


@kernel
def black_reaches(stack, keys, seen, rules, moves, area, level, goal):
    """Whether black, from stack[level] on, can finish with `goal` points more than white."""
    pos = stack[level]
    if pos.phase == PHASE_OVER:
        return -tromp_taylor_area(pos, area) >= goal
    colour = pos.to_play
    seen_refill(seen, keys[: level + 1])
    n = legal_points(pos, colour, rules, moves[level])
    n = drop_superko_banned(pos, colour, rules, seen, moves[level], n)
    # A pass after a pass decides at once; a first pass is tried last.
    moves[level, n] = PASS
    if pos.passes == 1:
        moves[level, n] = moves[level, 0]
        moves[level, 0] = PASS
    for i in range(n + 1):
        after = stack[level + 1]
        copy_position(after, pos)
        play(after, moves[level, i], colour, rules)
        keys[level + 1] = history_key(pos, after, rules)
        if black_reaches(stack, keys, seen, rules, moves, area, level + 1, goal) == (colour == BLACK):
            return colour == BLACK
    return colour == WHITE
