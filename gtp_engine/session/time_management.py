"""How long the next move may take.

The clock gives two numbers: a *bank*, time that is gone once spent, and an *allowance*, time that every move gets anew
and that, on all clocks but Fischer's, is lost if unused.

    system              bank                                        allowance
    absolute            main time                                   0
    byo-yomi            main time and all periods but five          one period
    Canadian, main      main time                                   period / stones
    Canadian, overtime  0                                           time left / stones left
    Fischer             main time                                   increment

In a byo-yomi period, what is left of it counts as main time, with the periods after it still to come.

Every move costs `lag` on top of what we think, and may come `late` besides (lateness.py). With R moves of our own still
to provide for, the next one gets

    seconds = allowance - lag + (bank - lag) / R            Fischer: the allowance can be saved
    seconds = (bank - reserve) / R                          absolute time
    seconds = (bank - reserve) / n                          main time, where overtime follows
    seconds = allowance - margin - lag - late               Canadian overtime
    seconds = rest + k period - margin - lag - late         byo-yomi, where the move ends in a period

On a Fischer clock a move gets half of the bank at most, and what would not fit under the clock's cap is spent now. No
move gets more than the clock allows at all less the lag and three times the lateness: a move later than that loses the
game, while a late one before the last period only costs a period. R falls linearly as the game goes on and has a floor,
so that a long game is played ever faster and never lost on time; the reserve pays the lag of these moves, or in
absolute time that of a game that fills the board, with three quarters of the bank at most; the margin is a tenth of the
allowance or of the time in periods, at most one second:

    R = max(8 + area / 20, (0.6 area - moves played) / 2)

Main time that overtime follows is used up in n moves: if strength grows with the logarithm of time, it is worth most
where each of them gets e times the allowance. That is stretched by 1.75, since the middle of the game counts most, as
in KataGo (`timecontrols.cpp`):

    n = min(R, max(1, 1.75 bank / (e allowance)))

Where less than one and a half allowances are left of it, byo-yomi gets all of that and the first period, and a Canadian
move what overtime would give.

A byo-yomi period cannot be saved in parts, so a move that ends in one thinks until just before its end: `rest` is what
is left of main time or of the present period, and k whole periods follow, as near to bank / n as they come. So while
more than six are left a move takes two of them, and then one. The rest of a period that is nearly used up is no time
for a move, and what is lost by going on is one period, if another follows. So the move has the next one as well (k = 1)
where the rest leaves less to think in than a share of what a whole one does: half of it while five are left, an eighth
while two are. In the last period there is no such choice.

The first moves, which anyone plays by heart, get less: from 50 % at the empty board to 100 % after area / 12 moves.
"""

from __future__ import annotations

import math

from gtp_engine.session.clock import System, TimeControl, TimeLeft

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
"""So many byo-yomi periods are not time to be spent: each move has one of them."""
NEARLY_USED_UP = 0.5
"""Where the rest of a period leaves less than this share of a whole one's time, a move has the next one, too. With N
periods left, fewer than SPARE_PERIODS, it is (N - 1) / (SPARE_PERIODS - 1) of that."""
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
    elif allowance <= 0:
        reserve = lag * max(remaining, LAST_MOVES + (area - moves_played) / 2)
        seconds = share * _without(reserve, bank) / remaining
    elif control.system is System.CANADIAN and left.in_overtime:
        seconds = _until_end(allowance, lag + late)
    else:
        remaining = min(remaining, max(1.0, STRETCH * bank / (math.e * allowance)))
        seconds = share * _without(lag * remaining, bank) / remaining
        wanted = share * bank / remaining
        is_over = left.main < END_OF_MAIN_TIME * allowance
        if control.system is System.BYOYOMI and (left.in_overtime or is_over or wanted > left.main):
            periods = _periods_to_use(control, left, wanted, lag + late)
            seconds = left.main + _until_end(left.period + periods * control.period, lag + late)
        elif is_over:
            seconds = max(seconds, _until_end(allowance, lag + late))
    return max(SMALLEST, min(seconds, limit))


def _without(reserve: float, bank: float) -> float:
    """Return what is left of the bank without the reserve."""
    return bank - min(RESERVED_SHARE * bank, reserve)


def _until_end(seconds: float, cost: float) -> float:
    """Return how long to think where a period ends in so many seconds and the way to the controller costs some."""
    return seconds - min(PERIOD_MARGIN * seconds, LARGEST_PERIOD_MARGIN) - cost


def _periods_to_use(control: TimeControl, left: TimeLeft, wanted: float, cost: float) -> int:
    """Return how many byo-yomi periods a move that ends in one of them uses after what is left of main time or of the
    present period: as near to `wanted` seconds of the clock as they come. `cost`: what the way to the controller costs.
    """
    periods = round((wanted - left.main - left.period) / control.period)
    if not left.in_overtime:
        return max(1, periods)
    share = NEARLY_USED_UP * min(1.0, (left.periods - 1) / (SPARE_PERIODS - 1))
    rest, whole = (max(0.0, _until_end(seconds, cost)) for seconds in (left.period, control.period))
    return max(1 if rest < share * whole else 0, periods)


def is_time_kept(control: TimeControl, left: TimeLeft, seconds: float) -> bool:
    """Return whether time on a clock that a move of at most so many seconds leaves over is of use to a later one."""
    if control.system is System.CANADIAN:
        return not left.in_overtime or left.stones > 1
    return control.system is not System.BYOYOMI or not left.in_overtime or seconds > left.period


def bank_and_allowance(control: TimeControl, left: TimeLeft) -> tuple[float, float]:
    """Compute the bank and the allowance: seconds that are gone once spent, and seconds that each move gets anew."""
    if control.system is System.BYOYOMI:
        to_come = left.periods - 1 if left.in_overtime else control.periods
        return left.main + left.period + control.period * max(0, to_come - SPARE_PERIODS), control.period
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
