"""Small boards solved by brute force with the kernels, komi 0, area scoring: test oracles, not players.

Without superko the whole graph of positions is built and solved backwards, endless play counting as a draw
(van der Werf and Winands, "Solving Go for rectangular boards", ICGA Journal 32, 2009). With superko a position's
value depends on how it came about, and only alpha-beta over whole games is left.
"""

from __future__ import annotations

import numpy as np

from go_rules.board import clear, copy_position, legal_points, place_stone, play
from go_rules.jit import kernel
from go_rules.points import BLACK, EMPTY, MAX_SIZE, N_POINTS, NO_POINT, PASS, WHITE, board_points
from go_rules.position import PHASE_OVER, new_stack
from go_rules.rules import KO_SIMPLE, Rules
from go_rules.scoring import tromp_taylor_area
from go_rules.superko import drop_superko_banned, history_key, new_seen, position_key, seen_refill

UNKNOWN = -1


def solve_without_superko(width: int, height: int) -> tuple[int, dict[int, int]]:
    """Black's points minus white's with best play, and the same after each first move."""
    record = Rules(ko=KO_SIMPLE).record(0.0)
    points = np.array(board_points(width, height), np.int64)
    n_codes = 3 ** len(points) * (len(points) + 1) * 4
    numbers = np.full(n_codes, UNKNOWN, np.int32)
    stack = new_stack(2)
    codes, scores, first, children = _explore(stack, width, height, record, points, numbers)
    mover = (codes & 1) + 1
    area = len(points)
    # What each side can force in finitely many moves; whoever cannot force anything is held to a draw.
    black = np.full(len(codes), -area - 1, np.int8)
    white = np.full(len(codes), area + 1, np.int8)
    _iterate(mover, scores, first, children, black)
    _iterate(mover, scores, first, children, white)
    values = np.where(black > 0, black, np.where(white < 0, white, 0))
    moves = np.zeros(MAX_SIZE * MAX_SIZE, np.int16)
    clear(stack[0], width, height, 0)
    n = legal_points(stack[0], BLACK, record, moves)
    after = [int(values[child]) for child in children[first[0] : first[1]]]
    return int(values[0]), dict(zip([*moves[:n].tolist(), PASS], after, strict=True))


def _explore(stack, width, height, record, points, numbers):
    """Number every position that can come about, the empty board 0.

    Returns codes [n], scores [n] (black minus white for finished games, else 0), first [n + 1] and children:
    those of position i are children[first[i]:first[i + 1]].
    """
    room = 1024
    while True:
        numbers[:] = UNKNOWN
        codes, scores = np.zeros(room, np.int64), np.zeros(room, np.int8)
        first, children = np.zeros(room + 1, np.int64), np.zeros(room * (len(points) + 1), np.int32)
        n = explore_graph(stack, width, height, record, points, numbers, codes, scores, first, children)
        if n >= 0:
            return codes[:n], scores[:n], first[: n + 1], children[: first[n]]
        room *= 4


def _iterate(mover, scores, first, children, values) -> None:
    while sweep(mover, scores, first, children, values):
        pass


@kernel
def explore_graph(stack, width, height, rules, points, numbers, codes, scores, first, children):
    """Fill the arrays of `_explore`, breadth first; return the number of positions, or -1 if the room is too small."""
    pos = stack[0]
    after = stack[1]
    moves = np.empty(N_POINTS, np.int16)
    area = np.empty(N_POINTS, np.int8)
    clear(pos, width, height, 0)
    codes[0] = _encode(pos, points)
    numbers[codes[0]] = 0
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
        n_moves = legal_points(pos, pos.to_play, rules, moves)
        moves[n_moves] = PASS
        for i in range(n_moves + 1):
            copy_position(after, pos)
            play(after, moves[i], pos.to_play, rules)
            code = _encode(after, points)
            if numbers[code] == UNKNOWN:
                if n == len(codes):
                    return -1
                numbers[code] = n
                codes[n] = code
                n += 1
            children[edges] = numbers[code]
            edges += 1
    first[n] = edges
    return n


@kernel
def _encode(pos, points):
    """stones in base 3, then the ko point, then passes (a finished game is told by the ko digit), then the mover."""
    code = 0
    ko = 0
    for i in range(len(points)):
        code = code * 3 + pos.board[points[i]]
        if pos.ko == points[i]:
            ko = i + 1
    passes = 0 if pos.passes == 0 else 1
    if pos.phase == PHASE_OVER:
        # A pass lifts the ban, so a ko point together with a pass is free to mean this.
        ko = 1
    return ((code * (len(points) + 1) + ko) * 2 + passes) * 2 + pos.to_play - 1


@kernel
def _decode(pos, width, height, points, code):
    clear(pos, width, height, 0)
    pos.to_play = code % 2 + 1
    code //= 2
    passes = code % 2
    code //= 2
    ko = code % (len(points) + 1)
    code //= len(points) + 1
    pos.passes = passes
    if passes == 1 and ko == 1:
        pos.phase = PHASE_OVER
        ko = 0
    for i in range(len(points) - 1, -1, -1):
        colour = code % 3
        code //= 3
        if colour != EMPTY:
            place_stone(pos, points[i], colour)
    pos.ko = points[ko - 1] if ko > 0 else NO_POINT


@kernel
def sweep(mover, scores, first, children, values):
    """Improve every value from its children's once; return whether anything changed."""
    changed = False
    for node in range(len(values) - 1, -1, -1):
        if first[node] == first[node + 1]:
            best = scores[node]
        else:
            best = values[children[first[node]]]
            for edge in range(first[node] + 1, first[node + 1]):
                value = values[children[edge]]
                if (value > best) == (mover[node] == BLACK):
                    best = value
        if best != values[node]:
            values[node] = best
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
