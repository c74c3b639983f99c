"""Commands about time controls and clocks. Nothing heavy is imported here."""

from __future__ import annotations

import math

from go_rules.points import BLACK, COLOUR_NAMES, WHITE
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.protocol import SYNTAX_ERROR, GtpError, interpret_colour, interpret_float, interpret_integer
from gtp_engine.session.clock import System, TimeControl, TimeLeft
from gtp_engine.session.session import Session

LARGEST_COUNT = 1_000_000


def time_settings(session: Session, call: Call) -> str:
    """Set the clocks: main time, length of an overtime period, and stones to play in a period."""
    call.expect(3)
    session.clock.set_control(TimeControl.canadian(_seconds(call, 0), _seconds(call, 1), _count(call, 2)))
    return ""


def time_left(session: Session, call: Call) -> str:
    """Correct a clock: colour, seconds left, and stones or byo-yomi periods left, which are 0 in main time."""
    call.expect(2, 3)
    colour = interpret_colour(call.word(0))
    seconds = interpret_float(call.word(1))
    stones = _count(call, 2) if len(call.words) > 2 else 0
    session.clock.correct(colour, seconds, stones)
    return ""


def kgs_time_settings(session: Session, call: Call) -> str:
    """Set the clocks to `none`, `absolute M`, `byoyomi M P N` or `canadian M P S`."""
    system = call.word(0).lower()
    if system not in ("none", "absolute", "byoyomi", "canadian"):
        raise GtpError(SYNTAX_ERROR)
    session.clock.set_control(_interpret_control(system, call))
    return ""


def kata_time_settings(session: Session, call: Call) -> str:
    """Set the clocks as KGS does, or to `fischer M INC` or `fischer-capped M INC CAP MOST`.

    A CAP of -1 stands for no cap, a MOST of -1 for no maximum for a move.
    """
    session.clock.set_control(_interpret_control(call.word(0).lower(), call))
    return ""


def kata_list_time_settings(_session: Session, _call: Call) -> str:
    """Reply with the names of the time systems."""
    return " ".join(system.value for system in System)


def kata_debug_print_tc(session: Session, _call: Call) -> str:
    """Reply with both clocks as the engine knows them, in KataGo's words; `none` where there is no clock."""
    left, control = session.clock.left, session.clock.control
    return "\n".join(
        f"{COLOUR_NAMES[colour].capitalize()} {_clock_text(control, left[colour])}" for colour in (BLACK, WHITE)
    )


def _clock_text(control: TimeControl, left: TimeLeft) -> str:
    if control.system is System.NONE:
        return "none"
    words = [f"originalMainTime {control.main:g}"]
    if control.system in (System.FISCHER, System.FISCHER_CAPPED):
        words.append(f"increment {control.increment:g}")
    if math.isfinite(control.cap):
        words.append(f"mainTimeLimit {control.cap:g}")
    if math.isfinite(control.move_maximum):
        words.append(f"maxTimePerMove {control.move_maximum:g}")
    periods, stones = left.periods or control.periods or 1, left.stones or 1
    if control.period:
        words.append(f"originalNumPeriods {control.periods or 1} numStonesPerPeriod {control.stones or 1}")
        words.append(f"perPeriodTime {control.period:g}")
    words.append(f"mainTimeLeft {left.main:g} inOvertime {int(left.in_overtime)}")
    if control.period:
        words.append(f"numPeriodsLeftIncludingCurrent {periods}")
    if left.in_overtime:
        words.append(f"numStonesLeftInPeriod {stones} timeLeftInPeriod {left.period:g}")
    return " ".join(words)


WORDS = {"none": 1, "absolute": 2, "byoyomi": 4, "canadian": 4, "fischer": 3, "fischer-capped": 5}
"""How many words each time system takes, its name among them."""


def _interpret_control(system: str, call: Call) -> TimeControl:
    if system not in WORDS:
        raise GtpError(SYNTAX_ERROR)
    call.expect(WORDS[system])
    if system == "none":
        return TimeControl()
    if system == "absolute":
        return TimeControl.absolute(_seconds(call, 1))
    if system == "byoyomi":
        return TimeControl.byoyomi(_seconds(call, 1), _seconds(call, 2), _count(call, 3))
    if system == "canadian":
        return TimeControl.canadian(_seconds(call, 1), _seconds(call, 2), _count(call, 3))
    if system == "fischer":
        return TimeControl.fischer(_seconds(call, 1), _seconds(call, 2))
    cap, most = interpret_float(call.word(3)), interpret_float(call.word(4))
    return TimeControl.fischer_capped(_seconds(call, 1), _seconds(call, 2), cap, most)


def _seconds(call: Call, index: int) -> float:
    seconds = interpret_float(call.word(index))
    if seconds < 0:
        raise GtpError(SYNTAX_ERROR)
    return seconds


def _count(call: Call, index: int) -> int:
    count = interpret_integer(call.word(index))
    if not 0 <= count <= LARGEST_COUNT:
        raise GtpError(SYNTAX_ERROR)
    return count
