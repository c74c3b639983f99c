"""Commands that load a game from an SGF file and write one."""

from __future__ import annotations

from go_rules.sgf.grammar import SgfError
from go_rules.sgf.reader import read_sgf
from go_rules.sgf.writer import to_sgf, write_sgf
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import GtpError, interpret_integer
from gtp_engine.version import VERSION
from nobi_machine.streams import note
from nobi_machine.text import printable_path

CANNOT_LOAD = "cannot load file"


def loadsgf(engine: Engine, call: Call) -> str:
    """Load a file's main line to its end, or up to the position before move N. Its komi and rules, if any, apply."""
    path, before_move = call.command.text, None
    call.word(0)
    if len(call.words) > 1 and call.words[-1].isascii() and call.words[-1].isdigit():
        before_move = interpret_integer(call.words[-1])
        # File names may contain spaces.
        path = path[: -len(call.words[-1])].strip()
    before = engine.game
    try:
        loaded = read_sgf(path)
        game = loaded.to_game(before_move, before.rules, before.komi)
    except SgfError as error:
        note(f"{CANNOT_LOAD}: {error}")
        raise GtpError(CANNOT_LOAD) from None
    if loaded.ignored:
        note(f"{printable_path(path)}: {' and '.join(loaded.ignored)} not understood; what was set before stays")
    engine.replace_game(game, loaded.komi_to_play)
    return ""


def printsgf(engine: Engine, call: Call) -> str:
    """Reply with the game as SGF, or write it to a new file. `-` is no file's name: it stands for the reply."""
    text = to_sgf(engine.game, komi=engine.komi, application=f"{engine.settings.gtp_name}:{VERSION}")
    if call.command.text in ("", "-"):
        return text
    try:
        write_sgf(call.command.text, text)
    except SgfError as error:
        raise GtpError(str(error)) from None
    return ""
