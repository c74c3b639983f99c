"""Commands about the engine itself, and those with which bridges to game servers tell it something.

They answer at once, so nothing heavy is imported here.
"""

from __future__ import annotations

import time

from gtp_engine.gtp import commands
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.protocol import GtpQuit
from gtp_engine.session.session import Session
from gtp_engine.version import VERSION

ANALYZE_COMMANDS = """\
gfx/Principal Variation/nobi-variation/The best line of play, by a short search
gfx/Ownership/nobi-ownership/Whose each point will be, by a short search
gfx/Policy/nobi-policy/The moves that the network would look at first
gfx/Influence/nobi-influence/Whose each point will be, as the network guesses
string/Final Score/final_score
plist/Dead Stones/final_status_list dead
plist/Stones in Seki/final_status_list seki
string/Explain Last Move/gomill-explain_last_move
string/Raw Network/kata-raw-nn 0
string/Rules/kata-get-rules
string/Show Board/showboard
none/Clear Cache/clear_cache"""
"""The entries of GoGui's Analyze dialog: type, label and command."""


def protocol_version(_session: Session, _call: Call) -> str:
    return "2"


def name(session: Session, _call: Call) -> str:
    return session.settings.gtp_name


def version(session: Session, _call: Call) -> str:
    """Reply with a version that GUIs take for KataGo's or Leela Zero's (gtp_engine/version.py)."""
    return session.settings.gtp_version


def known_command(_session: Session, call: Call) -> str:
    return "true" if call.words and call.words[0] in commands.GROUP_OF else "false"


def list_commands(_session: Session, _call: Call) -> str:
    return "\n".join(commands.LISTED)


def quit(_session: Session, _call: Call) -> str:
    raise GtpQuit


def stop(session: Session, _call: Call) -> str:
    """End pondering. An analysis has ended already, by the arrival of the line."""
    session.interrupt_pondering()
    return ""


def cputime(_session: Session, _call: Call) -> str:
    """Reply with the processor time in seconds that this process has used."""
    return f"{time.process_time():.3f}"


gomill_cpu_time = cputime


def gogui_interrupt(_session: Session, _call: Call) -> str:
    """Do nothing: GoGui reads from the list of commands that the engine obeys the comment `# interrupt`."""
    return ""


cgos_opponent_name = cgos_opponent_rating = cgos_gameover = gogui_interrupt
kgs_game_over = gogui_interrupt  # if the players disagree about dead stones, play goes on from the present position


def gogui_version(_session: Session, call: Call) -> str:
    """Learn that the controller is GoGui, which can draw what we think while we think."""
    call.expect(1)
    call.controller.draws = True
    return ""


def gogui_analyze_commands(_session: Session, _call: Call) -> str:
    return ANALYZE_COMMANDS


def kgs_chat(session: Session, _call: Call) -> str:
    """Reply to a chat message with what the engine thinks of the game."""
    decision = session.decision
    if decision is None:
        return f"I am {session.settings.gtp_name} {VERSION}, a Go program."
    result = decision.result
    return (
        f"After {result.visits} visits I expect to win with {100 * result.winrate:.0f} %, by {result.lead:+.1f} points."
    )
