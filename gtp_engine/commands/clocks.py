"""Commands about time controls and clocks. Nothing heavy is imported here."""

from __future__ import annotations

from go_rules.points import BLACK, COLOUR_NAMES, WHITE
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import SYNTAX_ERROR, GtpError, interpret_colour, interpret_float, interpret_integer
from gtp_engine.thinking.clock import System, TimeControl

LARGEST_COUNT = 1_000_000


def time_settings(engine: Engine, call: Call) -> str:
    """Set the clocks: main time, length of an overtime period, and stones to play in a period."""
    call.expect(3)
    engine.clock.set_control(TimeControl.canadian(_seconds(call, 0), _seconds(call, 1), _count(call, 2)))
    return ""


def time_left(engine: Engine, call: Call) -> str:
    """Correct a clock: colour, seconds left, and stones or byo-yomi periods left, which are 0 in main time."""
    call.expect(2, 3)
    colour = interpret_colour(call.word(0))
    seconds = interpret_float(call.word(1))
    stones = _count(call, 2) if len(call.words) > 2 else 0
    engine.clock.correct(colour, seconds, stones)
    return ""


def kgs_time_settings(engine: Engine, call: Call) -> str:
    """Set the clocks to `none`, `absolute M`, `byoyomi M P N` or `canadian M P S`."""
    system = call.word(0).lower()
    if system not in ("none", "absolute", "byoyomi", "canadian"):
        raise GtpError(SYNTAX_ERROR)
    engine.clock.set_control(_interpret_control(system, call))
    return ""


def kata_time_settings(engine: Engine, call: Call) -> str:
    """Set the clocks as KGS does, or to `fischer M INC` or `fischer-capped M INC CAP MOST`.

    A CAP of -1 stands for no cap, a MOST of -1 for no maximum for a move.
    """
    engine.clock.set_control(_interpret_control(call.word(0).lower(), call))
    return ""


def kata_list_time_settings(_engine: Engine, _call: Call) -> str:
    """Reply with the names of the time systems."""
    return " ".join(system.value for system in System)


def kata_debug_print_tc(engine: Engine, _call: Call) -> str:
    """Reply with both clocks as the engine knows them."""
    control = engine.clock.control
    lines = []
    for colour in (BLACK, WHITE):
        left = engine.clock.left[colour]
        overtime = f" period {left.period:g} periods {left.periods} stones {left.stones}" if left.in_overtime else ""
        lines.append(
            f"{COLOUR_NAMES[colour].capitalize()} {control.system.value} mainTime {control.main:g} "
            f"increment {control.increment:g} mainTimeLeft {left.main:g} inOvertime {int(left.in_overtime)}{overtime}"
        )
    return "\n".join(lines)


def _interpret_control(system: str, call: Call) -> TimeControl:
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
    if system == "fischer-capped":
        cap, most = interpret_float(call.word(3)), interpret_float(call.word(4))
        return TimeControl.fischer_capped(_seconds(call, 1), _seconds(call, 2), cap, most)
    raise GtpError(SYNTAX_ERROR)


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
