"""The score of a position at the end of a game."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from go_rules.board import copy_position, neighbour, remove_chain
from go_rules.jit import kernel
from go_rules.points import BLACK, EMPTY, N_POINTS, STRIDE, WHITE
from go_rules.position import new_stack


@kernel
def tromp_taylor_area(pos, area):
    """Area scoring as Tromp and Taylor define it: stones, and empty regions that reach one colour only.

    Fills `area` (int8[N_POINTS]) with BLACK, WHITE or EMPTY; returns white's points minus black's.
    """
    waiting = np.empty(N_POINTS, np.int16)
    region = np.empty(N_POINTS, np.int16)
    for point in range(N_POINTS):
        area[point] = -1
    score = 0
    for y in range(pos.height):
        for x in range(pos.width):
            start = (y + 1) * STRIDE + x + 1
            if pos.board[start] != EMPTY:
                area[start] = pos.board[start]
                score += 1 if pos.board[start] == WHITE else -1
                continue
            if area[start] != -1:
                continue
            reached = 0
            size = 1
            n_waiting = 1
            waiting[0] = start
            region[0] = start
            area[start] = EMPTY
            while n_waiting > 0:
                n_waiting -= 1
                point = waiting[n_waiting]
                for i in range(4):
                    q = neighbour(point, i)
                    content = pos.board[q]
                    if content == EMPTY:
                        if area[q] == -1:
                            area[q] = EMPTY
                            waiting[n_waiting] = q
                            n_waiting += 1
                            region[size] = q
                            size += 1
                    elif content in (BLACK, WHITE):
                        reached |= content
            if reached in (BLACK, WHITE):
                for i in range(size):
                    area[region[i]] = reached
                score += size if reached == WHITE else -size
    for point in range(N_POINTS):
        if area[point] == -1:
            area[point] = EMPTY
    return score


def final_score(position: np.void, rules: np.void, dead: Iterable[int] = ()) -> float:
    """White minus black."""
    work = new_stack(1)[0]
    copy_position(work, position)
    for point in dead:
        if work["board"][point] in (BLACK, WHITE):
            remove_chain(work, int(work["chain"][point]))
    area = np.zeros(N_POINTS, np.int8)
    score = tromp_taylor_area(work, area)
    return float(score + work["white_bonus"] + rules["komi"] + rules["handicap_bonus"])
