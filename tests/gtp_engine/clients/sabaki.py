"""Sabaki 0.60 and its library @sabaki/gtp (enginesyncer.js, analysis.js, ControllerStateTracker.js)."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from tests.gtp_engine.clients.talk import GaveUp, Talk, is_vertex, story

ANALYSIS = ("analyze", "kata-analyze", "lz-analyze")
GENMOVE = ("genmove_analyze", "kata-genmove_analyze", "lz-genmove_analyze")
"""What Sabaki looks for, best first."""

PATH = re.compile(r"(?:pass|[A-Za-z]\d+)(?:\s+(?:pass|[A-Za-z]\d+))*$")
"""The moves at the end of a segment: a segment that ends with anything else has none."""


class Variation(NamedTuple):
    """A candidate as Sabaki shows it."""

    move: str
    visits: float
    winrate: float
    """In percent."""
    lead: float | None
    moves: list[str]


def variations(line: str, is_float: bool) -> list[Variation]:
    """The candidates of one line of analysis; what Sabaki cannot read, it leaves out."""
    found = []
    for segment in re.split(r"\s*info\s+", line)[1:]:
        path = PATH.search(segment.strip())
        if path is None:
            continue
        words = segment.strip()[: path.start()].split()[:-1]
        fields = dict(zip(words[::2], words[1::2], strict=False))
        if not re.fullmatch(r"[A-Za-z]\d+", fields.get("move", "")) or "winrate" not in fields:
            continue
        lead = float(fields["scoreLead"]) if "scoreLead" in fields else None
        moves = list(itertools.takewhile(lambda word: word != "pass", path[0].split()))
        winrate = float(fields["winrate"]) * (100 if is_float else 0.01)
        found.append(Variation(fields["move"], float(fields["visits"]), winrate, lead, moves))
    return found


def start(talk: Talk) -> list[str]:
    """What Sabaki asks first, all at once; its list of commands."""
    talk.ask("name", "version", "protocol_version")
    return [word.strip() for word in talk.ask("list_commands").split("\n")]


def sync(talk: Talk, *history: str, komi: str = "0", size: str = "boardsize 9") -> None:
    """Bring the engine to a position."""
    for line in (f"komi {komi}", size, "clear_board", *history):
        if not talk.attempt(line)[0]:
            raise GaveUp(f"engine can't be synced to the current state: {line}")


@story("Sabaki", "start and commands")
def starting(talk: Talk) -> None:
    known = start(talk)
    first = [next((name for name in names if name in known), "none") for names in (ANALYSIS, GENMOVE)]
    talk.check("analysis is KataGo's, whose winrates Sabaki reads right", first[0] == "kata-analyze")
    talk.check("moves with analysis are KataGo's", first[1] == "kata-genmove_analyze")
    talk.check("undo spares it a replay", "undo" in known)
    talk.check("handicap stones go by set_free_handicap", "set_free_handicap" in known)
    talk.check("boards may be rectangles", "rectangular_boardsize" in known)
    talk.check("the list has one command a line", all(re.fullmatch(r"[a-z0-9_-]+", word) for word in known))


@story("Sabaki", "sync")
def syncing(talk: Talk) -> None:
    sync(talk, "play B E5", "play W C3", komi="6.5")
    talk.check("the komi outlives boardsize and clear_board", float(talk.ask("get_komi")) == 6.5)
    sync(talk, "set_free_handicap C3 G7", "play W E5")
    sync(talk, "set_free_handicap C3 C4 C5 D3 E3 J9", "play W E5")
    talk.check("handicap stones anywhere", True)
    talk.ask("play B G3", "undo", "undo", "play W D6", "undo")
    talk.check("undo takes no handicap stone back", talk.attempt("undo") == (False, "cannot undo"))
    sync(talk, "play B A1", "play W B1", size="rectangular_boardsize 9 13")
    talk.check("a rectangle", True)
    ko = ("B D4", "W E4", "B C5", "W F5", "B D6", "W E6", "B E5", "W D5")
    sync(talk, *(f"play {move}" for move in ko), "play B E5", "play W D5")
    talk.check("a ko that is retaken at once", True)
    sync(talk, "play B A2", "play B B1", "play W A3", "play W B2", "play W C1", "play B A1", "play W J9")
    talk.check("suicide of several stones", True)
    sync(talk, "play B pass", "play W pass", "play B E5", "play W E6")
    talk.check("moves after the end of the game", True)
    sync(talk, "play B E5", "play B E6", "play B E7")
    talk.check("one colour may move several times", True)
    talk.check("a point that is taken is refused", talk.attempt("play W E5") == (False, "illegal move"))


@story("Sabaki", "analysis")
def analysing(talk: Talk) -> None:
    sync(talk, "play B E5", "play W C3", komi="6.5")
    lines = talk.analyse("kata-analyze B 50", "protocol_version")
    found = variations(lines[-1], True)
    talk.check("every candidate can be read", len(found) == lines[-1].count("info move") - lines[-1].count("move pass"))
    talk.check("winrates are percents", all(0 <= each.winrate <= 100 for each in found))
    talk.check("not all of them are 0 or 100", any(1 < each.winrate < 99 for each in found))
    talk.check("every candidate has a lead", all(each.lead is not None for each in found))
    talk.check("a path begins with its own move", all(each.moves[0] == each.move for each in found))
    talk.check("the engine goes on", talk.ask("protocol_version") == "2")
    found = variations(talk.analyse("lz-analyze W 50", "protocol_version")[-1], False)
    talk.check("Leela Zero's form too", found and all(0 <= each.winrate <= 100 for each in found))


@story("Sabaki", "moves")
def moving(talk: Talk) -> None:
    sync(talk)
    lines = talk.ask("kata-genmove_analyze B 50").split("\n")
    talk.check("a report before the move", any(variations(line, True) for line in lines))
    talk.check("the move", is_vertex(lines[-1].removeprefix("play ")) and lines[-1].startswith("play "))
    talk.check("nothing after it", sum(line.startswith("play ") for line in lines) == 1)
    talk.check("a plain genmove", is_vertex(talk.ask("genmove W")))
