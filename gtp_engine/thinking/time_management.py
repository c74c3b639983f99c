"""How long the next move may take.

The clock gives two numbers: a *bank*, time that is gone once spent, and an *allowance*, time that every move gets anew
and that, on all clocks but Fischer's, is lost if unused.

    system              bank                                        allowance
    absolute            main time                                   0
    byo-yomi            main time and all periods but five          one period
    Canadian, main      main time                                   period / stones
    Canadian, overtime  0                                           time left / stones left
    Fischer             main time                                   increment

Every move costs `lag` on top of what we think, and may come `late` besides (lateness.py). With R moves of our own still
to provide for, the next one gets

    seconds = allowance - lag + (bank - lag) / R                            Fischer: the allowance can be saved
    seconds = (bank - reserve) / R                                          absolute time
    seconds = (bank - reserve) / n                                          main time, where overtime follows
    seconds = max(allowance - margin - lag - late, (bank - reserve) / R)    overtime: the allowance cannot be saved

On a Fischer clock a move gets half of the bank at most, and what would not fit under the clock's cap is spent now. No
move gets more than the clock allows at all less the lag and three times the lateness: a move later than that loses the
game, while a late one before the last period only costs a period. R falls linearly as the game goes on and has a floor,
so that a long game is played ever faster and never lost on time; the reserve pays the lag of these moves, or in
absolute time that of a game that fills the board, with three quarters of the bank at most; the margin is a tenth of the
allowance, at most one second:

    R = max(8 + area / 20, (0.6 area - moves played) / 2)

Main time that overtime follows is used up in n moves: if strength grows with the logarithm of time, it is worth most
where each of them gets e times the allowance. That is stretched by 1.75, since the middle of the game counts most, as
in KataGo (`timecontrols.cpp`):

    n = min(R, max(1, 1.75 bank / (e allowance)))

Where less than one and a half allowances are left of it, byo-yomi gets all of that and the first period, and a Canadian
move what overtime would give.

The first moves, which anyone plays by heart, get less: from 50 % at the empty board to 100 % after area / 12 moves.
"""

from __future__ import annotations

import math

from gtp_engine.thinking.clock import System, TimeControl, TimeLeft

GAME_LENGTH = 0.6
"""Moves of a game per point of the board, both sides; games last longer, but their last moves need little time."""
FEWEST_MOVES = 8.0
FEWEST_MOVES_PER_POINT = 1 / 20
OPENING = 1 / 12
"""Moves of the opening per point of the board."""
OPENING_SHARE = 0.5
LAST_MOVES = 10
"""Moves of our own whose lag is provided for even on a full board."""
RESERVED_SHARE = 0.75
"""The share of the bank that this may take."""
PERIOD_MARGIN = 0.1
"""Share of an overtime period left unused besides the lag, since losing one costs more than it could gain..."""
LARGEST_PERIOD_MARGIN = 1.0
"""...but no more than this."""
LATER = 3.0
"""A move may be late by so many times the expected lateness and still must not lose the game on time."""
STRETCH = 1.75
"""Main time lasts for so many times the moves in which it would be worth most."""
END_OF_MAIN_TIME = 1.5
"""Main time of fewer allowances than this is used up at once."""
SPARE_PERIODS = 5
"""So many byo-yomi periods are never spent on purpose: each move has one of them."""
SMALLEST = 0.01
"""A search's time when there is none: it still looks at one position."""


def moves_to_go(moves_played: int, area: int) -> float:
    """Estimate how many of our own moves still have to be provided for (R in the text of this module)."""
    floor = FEWEST_MOVES + FEWEST_MOVES_PER_POINT * area
    return max(floor, (GAME_LENGTH * area - moves_played) / 2)


def opening_share(moves_played: int, area: int) -> float:
    """Compute the share of its time that a move gets: OPENING_SHARE on the empty board, 1 after the opening."""
    progress = min(1.0, moves_played / max(1.0, OPENING * area))
    return OPENING_SHARE + (1 - OPENING_SHARE) * progress


def seconds_for_move(
    control: TimeControl, left: TimeLeft, moves_played: int, area: int, lag: float, late: float = 0.0
) -> float | None:
    """Compute the seconds to think about the next move; None if there is no clock. `area` is the number of points.

    `lag`: seconds that each move costs besides. `late`: seconds by which it is expected to be late at worst.
    """
    if control.system is System.NONE:
        return None
    limit = most_seconds(control, left) - lag - LATER * late
    if limit <= SMALLEST:
        return SMALLEST
    bank, allowance = bank_and_allowance(control, left)
    remaining = moves_to_go(moves_played, area)
    share = opening_share(moves_played, area)
    if control.system in (System.FISCHER, System.FISCHER_CAPPED):
        seconds = share * (allowance - lag + max(0.0, bank - lag) / remaining)
        # What does not fit on a capped clock is better spent now.
        seconds = max(seconds, bank + allowance - lag - control.cap)
        limit = min(limit, max(SMALLEST, (bank - lag) / 2))
    else:
        if allowance <= 0:
            reserve = lag * max(remaining, LAST_MOVES + (area - moves_played) / 2)
        else:
            if not left.in_overtime:
                remaining = min(remaining, max(1.0, STRETCH * bank / (math.e * allowance)))
            reserve = lag * remaining
        seconds = share * (bank - min(RESERVED_SHARE * bank, reserve)) / remaining
        if allowance > 0 and (left.in_overtime or left.main < END_OF_MAIN_TIME * allowance):
            margin = min(PERIOD_MARGIN * allowance, LARGEST_PERIOD_MARGIN)
            rest = left.main if control.system is System.BYOYOMI else 0.0
            seconds = max(seconds, rest + allowance - margin - lag - late)
    return max(SMALLEST, min(seconds, limit))


def is_time_kept(control: TimeControl, left: TimeLeft) -> bool:
    """Return whether time on a clock that the next move leaves over is of use to a later one."""
    if control.system is System.CANADIAN:
        return not left.in_overtime or left.stones > 1
    return control.system is not System.BYOYOMI or not left.in_overtime


def bank_and_allowance(control: TimeControl, left: TimeLeft) -> tuple[float, float]:
    """Compute the bank and the allowance: seconds that are gone once spent, and seconds that each move gets anew."""
    if control.system is System.BYOYOMI:
        if not left.in_overtime:
            return left.main + control.period * max(0, control.periods - SPARE_PERIODS), control.period
        return control.period * max(0, left.periods - SPARE_PERIODS), left.period
    if control.system is System.CANADIAN:
        if not left.in_overtime:
            return left.main, control.period / control.stones
        return 0.0, left.period / max(1, left.stones)
    return left.main, control.increment


def most_seconds(control: TimeControl, left: TimeLeft) -> float:
    """Compute the seconds after which the next move loses the game on time; they are infinite without a clock."""
    if control.system is System.BYOYOMI:
        most = (
            left.period + control.period * (left.periods - 1)
            if left.in_overtime
            else (left.main + control.period * control.periods)
        )
    elif control.system is System.CANADIAN:
        most = left.period if left.in_overtime else left.main + control.period
    elif control.system is System.NONE:
        most = math.inf
    else:
        most = left.main
    return min(most, control.move_maximum)
