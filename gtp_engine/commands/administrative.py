"""Commands about the engine itself. They answer at once, so nothing heavy is imported here."""

from __future__ import annotations

import time

from gtp_engine import commands
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import GtpQuit

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


def protocol_version(_engine: Engine, _call: Call) -> str:
    return "2"


def name(engine: Engine, _call: Call) -> str:
    return engine.settings.gtp_name


def version(engine: Engine, _call: Call) -> str:
    """Reply with a version that GUIs take for KataGo's or Leela Zero's (gtp_engine/version.py)."""
    return engine.settings.gtp_version


def known_command(_engine: Engine, call: Call) -> str:
    return "true" if call.words and call.words[0] in commands.GROUP_OF else "false"


def list_commands(_engine: Engine, _call: Call) -> str:
    return "\n".join(commands.LISTED)


def quit(_engine: Engine, _call: Call) -> str:
    raise GtpQuit


def stop(engine: Engine, _call: Call) -> str:
    """End pondering. An analysis has ended already, by the arrival of the line."""
    engine.interrupt_pondering()
    return ""


def cputime(_engine: Engine, _call: Call) -> str:
    """Reply with the processor time in seconds that this process has used."""
    return f"{time.process_time():.3f}"


def gomill_cpu_time(engine: Engine, call: Call) -> str:
    return cputime(engine, call)


def gogui_interrupt(_engine: Engine, _call: Call) -> str:
    """Do nothing: GoGui reads from the list of commands that the engine obeys the comment `# interrupt`."""
    return ""


def gogui_version(engine: Engine, call: Call) -> str:
    """Learn that the controller is GoGui, which can draw what we think while we think."""
    call.expect(1)
    engine.draws = True
    return ""


def gogui_analyze_commands(_engine: Engine, _call: Call) -> str:
    return ANALYZE_COMMANDS
