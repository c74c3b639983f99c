"""The GTP commands by name, and how one is carried out.

To add a command, write a handler: a function with the command's name (`_` for `-`) in the module of its group, and put
the name into GROUPS. A handler takes the session and the call, and returns the text of the reply. To refuse, it raises
GtpError, or lets Refused or ParameterError pass, and has changed nothing.

The module of a group is imported when the first command of the group arrives, so that `name` need not wait for numpy.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from gtp_engine.errors import Refused, explain
from gtp_engine.gtp.protocol import SYNTAX_ERROR, GtpError, GtpQuit
from nobi_machine.parameters import ParameterError
from nobi_machine.streams import note

if TYPE_CHECKING:
    from gtp_engine.gtp.call import Call
    from gtp_engine.session.session import Session

Handler = Callable[["Session", "Call"], str]

GROUPS = (
    (
        "administrative",
        "protocol_version name version known_command list_commands quit stop cputime gomill-cpu_time "
        "gogui-interrupt gogui-version gogui-analyze_commands",
    ),
    (
        "setup",
        "boardsize rectangular_boardsize clear_board komi get_komi set_position gogui-setup "
        "gogui-setup_player fixed_handicap place_free_handicap set_free_handicap",
    ),
    (
        "play",
        "play gogui-play_sequence genmove reg_genmove kgs-genmove_cleanup undo gg-undo kata-search "
        "kata-search_cancellable genmove_debug kata-search_debug",
    ),
    (
        "clocks",
        "time_settings time_left kgs-time_settings kata-time_settings kata-list_time_settings kata-debug-print-tc",
    ),
    (
        "analysis",
        "lz-analyze kata-analyze lz-genmove_analyze kata-genmove_analyze cgos-genmove_analyze "
        "kata-search_analyze kata-search_analyze_cancellable kata-raw-nn kata-raw-human-nn "
        "kata-benchmark",
    ),
    ("rules", "kata-get-rules kata-set-rules kata-set-rule kgs-rules final_score final_status_list"),
    ("setup", "loadsgf printsgf"),
    (
        "parameters",
        "kata-get-param kata-set-param kata-list-params kata-get-params kata-set-params lz-setoption clear_cache",
    ),
    ("inspection", "showboard gomill-explain_last_move gomill-describe_engine debug_moves kata-get-models"),
    ("pictures", "nobi-policy nobi-influence nobi-ownership nobi-variation"),
    ("administrative", "cgos-opponent_name cgos-opponent_rating cgos-gameover kgs-game_over kgs-chat"),
)
"""The commands in the order of `list_commands`, with the module that has their handlers."""

LIGHT = frozenset({"administrative", "clocks"})
"""The groups that import nothing heavy. Commands of all others wait until the rules are loaded."""

GAME_NEEDS = ("play", "clocks")
"""The groups whose modules are imported with that of `setup`, before a clock runs: an import takes its time, too."""

UNLISTED = frozenset({"kgs-chat"})
"""Hidden from `list_commands`. A bridge that finds kgs-chat there sends it, and some kgsGtp crash on the reply."""

TAKING_FILES = ("loadsgf", "printsgf")
"""The commands whose argument names a file."""

GROUP_OF = {name: group for group, names in GROUPS for name in names.split()}
"""The group of every command."""

LISTED = tuple(name for name in GROUP_OF if name not in UNLISTED)


def find_handler(session: Session, name: str) -> Handler:
    """Find the handler of a command. Raises GtpError for an unknown name.

    Waits until what its module needs is loaded, and asks pondering to end if that may be in its way. Raises Refused if
    the session ends meanwhile, or if loading failed.
    """
    if not name:
        raise GtpError(SYNTAX_ERROR)
    group = GROUP_OF.get(name)
    if group is None:
        raise GtpError("unknown command")
    if group not in LIGHT:
        session.loader.await_rules()
        session.interrupt_pondering()
    for needed in GAME_NEEDS if group == "setup" else ():
        importlib.import_module(f"{__name__}.{needed}")
    module = importlib.import_module(f"{__name__}.{group}")
    handler: Handler = getattr(module, name.replace("-", "_"))
    return handler


def carry_out(session: Session, call: Call) -> bool:
    """Carry a command out and send its reply. Returns False if the session ends with it."""
    try:
        call.finish(find_handler(session, call.command.name)(session, call))
    except GtpQuit:
        call.finish()
        return False
    except (GtpError, Refused, ParameterError) as error:
        call.finish(str(error), ok=False)
    except Exception as error:
        # A bug must not cost the user the game: the details go to the log, the dialogue goes on.
        session.log.failure(error)
        if call.streaming:  # its header has said that all is well
            note(explain(error))
        call.finish(explain(error, hint=""), ok=False)
    return True
