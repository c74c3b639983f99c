"""Commands about time controls and clocks. Nothing heavy is imported here."""

from __future__ import annotations

import math
from collections.abc import Callable

from go_rules.points import BLACK, COLOUR_NAMES, WHITE
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.protocol import SYNTAX_ERROR, GtpError, interpret_colour, interpret_float, interpret_integer
from gtp_engine.session.clock import System, TimeControl, TimeLeft
from gtp_engine.session.session import Session

LARGEST_COUNT = 1_000_000


def _seconds(text: str) -> float:
    return interpret_float(text, 0)


def _count(text: str) -> int:
    return interpret_integer(text, 0, LARGEST_COUNT)


SYSTEMS: dict[str, tuple[Callable[..., TimeControl], tuple[Callable[[str], float], ...]]] = {
    "none": (TimeControl, ()),
    "absolute": (TimeControl.absolute, (_seconds,)),
    "byoyomi": (TimeControl.byoyomi, (_seconds, _seconds, _count)),
    "canadian": (TimeControl.canadian, (_seconds, _seconds, _count)),
    "fischer": (TimeControl.fischer, (_seconds, _seconds)),
    "fischer-capped": (TimeControl.fischer_capped, (_seconds, _seconds, interpret_float, interpret_float)),
}
"""How the time control of each system is made, and what reads its arguments."""


def time_settings(session: Session, call: Call) -> str:
    """Set the clocks: main time, length of an overtime period, and stones to play in a period."""
    return _set_control(session, "canadian", call.words)


def time_left(session: Session, call: Call) -> str:
    """Correct a clock: colour, seconds left, and stones or byo-yomi periods left, which are 0 in main time."""
    call.expect(2, 3)
    colour, seconds = interpret_colour(call.word(0)), interpret_float(call.word(1))
    session.clock.correct(colour, seconds, _count(call.word(2)) if len(call.words) > 2 else 0)
    return ""


def kgs_time_settings(session: Session, call: Call) -> str:
    """Set the clocks to `none`, `absolute M`, `byoyomi M P N` or `canadian M P S`."""
    if call.word(0).lower().startswith("fischer"):
        raise GtpError(SYNTAX_ERROR)
    return kata_time_settings(session, call)


def kata_time_settings(session: Session, call: Call) -> str:
    """Set the clocks as KGS does, or to `fischer M INC` or `fischer-capped M INC CAP MOST`.

    A CAP of -1 stands for no cap, a MOST of -1 for no maximum for a move.
    """
    return _set_control(session, call.word(0).lower(), call.words[1:])


def _set_control(session: Session, system: str, words: tuple[str, ...]) -> str:
    if system not in SYSTEMS or len(words) != len(SYSTEMS[system][1]):
        raise GtpError(SYNTAX_ERROR)
    make, readers = SYSTEMS[system]
    session.clock.set_control(make(*(read(word) for read, word in zip(readers, words, strict=True))))
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
