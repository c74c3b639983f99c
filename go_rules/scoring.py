"""The score of a position at the end of a game, under every rule set.

Territory is counted as area: `white_bonus` gives white a point for each stone that black has played, and the reverse,
so prisoners need not be counted.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from go_rules.board import copy_position, neighbour, remove_chain
from go_rules.phases import live_phase
from go_rules.points import BLACK, EMPTY, N_POINTS, STRIDE, WHITE
from go_rules.position import new_stack
from go_rules.rules import SCORING_TERRITORY
from go_rules.tactics.life import final_area, new_life_work
from nobi_machine.jit import kernel_for_python, kernel_part, kernel_with_arrays


@kernel_for_python
def count_stones(pos):
    """Count the stones on the board."""
    stones = 0
    for point in range(N_POINTS):
        if pos.board[point] == BLACK or pos.board[point] == WHITE:
            stones += 1
    return stones


@kernel_with_arrays
def tromp_taylor_area(pos, area):
    """Count white's points minus black's by area as Tromp and Taylor define it.

    A colour owns its stones, and each empty region that reaches no stone of the other colour. Fills `area`,
    int8[N_POINTS], with the owners: BLACK, WHITE or EMPTY.
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


@kernel_part
def score_range(rules, pos):
    """Compute the lowest and the highest score (white's view) that are taken as possible on this board.

    What a network expects is cut off there. Komi, bonuses and the button are included.
    """
    off_board = np.float32(rules.komi + rules.handicap_bonus + pos.white_bonus)
    area = np.float32(pos.width * pos.height)
    if rules.scoring == SCORING_TERRITORY:
        # Prisoners count too. There is no limit to them, but a board full of them is more than any network expects.
        area *= np.float32(2.0)
    elif pos.button == 1:
        area += np.float32(0.5)
    return off_board - area, off_board + area


def final_score(position: np.void, rules: np.void, dead: Iterable[int] = ()) -> float:
    """Count white's points minus black's if the game ended here, with komi, bonuses and taxes.

    The chains at the points `dead` are taken off first. All other stones count as alive, unless Benson's algorithm
    finds them dead (tactics/life.py): KataGo scores so, and its networks expect it.
    """
    return _count(position, rules, dead)[0] + points_off_board(position, rules)


def points_off_board(position: np.void, rules: np.void) -> float:
    """Count white's points minus black's that are not on the board: komi, bonuses, captures, the button."""
    off_board = float(rules["komi"]) + float(rules["handicap_bonus"]) + float(position["white_bonus"])
    if position["button"]:
        # Nobody has taken it: the next pass would.
        off_board += 0.5 if position["to_play"] == WHITE else -0.5
    return off_board


def final_owners(position: np.void, rules: np.void, dead: Iterable[int] = ()) -> NDArray[np.int8]:
    """Return who owns each point in `final_score`: int8[N_POINTS] of BLACK, WHITE, or EMPTY for nobody."""
    return _count(position, rules, dead)[1]


def result_text(score: float) -> str:
    """Write a result as GTP and SGF do, from white's points minus black's: `B+3.5`, `W+0.5`, or `0` for a draw.

    Points have two decimals at most, and what they round to 0 is a draw.
    """
    points = f"{abs(score):.2f}".rstrip("0").rstrip(".")
    if points == "0":
        return points
    return f"{'W' if score > 0 else 'B'}+{points}"


def _count(position: np.void, rules: np.void, dead: Iterable[int]) -> tuple[float, NDArray[np.int8]]:
    """White's points on the board minus black's, and who owns each."""
    cleaned = new_stack(1)[0]
    copy_position(cleaned, position)
    for point in dead:
        if cleaned["board"][point] in (BLACK, WHITE):
            remove_chain(cleaned, int(cleaned["chain"][point]))
    work = new_life_work()[0]
    phase = int(live_phase(cleaned, rules))
    score = float(final_area(cleaned, rules, phase, bool(rules["suicide"]), work))
    return score, work["area"]
