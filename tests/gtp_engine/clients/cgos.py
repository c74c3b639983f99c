"""The Python client of CGOS (gtpengine.py), and the older one in Tcl, which reads exactly two lines a reply."""

from __future__ import annotations

import json
from typing import Any

from tests.gtp_engine.clients.talk import Talk, is_vertex, story, takes_own_stones

NEEDED = {"boardsize", "clear_board", "komi", "play", "genmove", "quit"}
WORDS = ("move", "winrate", "score", "scoreLead", "pv", "prior", "visits")


def analysis(line: str, is_leela: bool) -> dict[str, Any]:
    """What the client makes of a line of kata- or lz-genmove_analyze: words in pairs, until `pv` takes the rest.

    Only `info` and `ownership` end a variation, so anything else after it would become a part of it.
    """
    words = iter(line.split())
    found: dict[str, Any] = {"moves": []}
    keyword = next(words)
    while keyword:
        if keyword == "ownership":
            found["ownership"] = [float(word) for word in words]
            break
        move: dict[str, Any] = {}
        keyword = next(words, "")
        while keyword not in ("info", "ownership", ""):
            if keyword == "pv":
                move["pv"] = []
                while (keyword := next(words, "")) not in ("info", "ownership", ""):
                    move["pv"].append(keyword)
                break
            value = next(words)
            if keyword in ("winrate", "prior"):
                move[keyword] = float(value) / (10000 if is_leela else 1)
            elif keyword in WORDS:
                move[keyword] = value
            keyword = next(words, "")
        found["moves"].append(move)
    return found


def start(talk: Talk) -> set[str]:
    known = set(talk.ask("list_commands").split("\n"))
    talk.check("what it needs is listed", known >= NEEDED)
    talk.check("and what it needs for clocks", known >= {"time_settings", "time_left"})
    talk.ask("boardsize 9", "komi 7.0", "time_settings 300 0 0")
    talk.ask("cgos-opponent_name GNU", "cgos-opponent_rating 1800?", "clear_board")
    return known


@story("CGOS", "a game")
def game(talk: Talk) -> None:
    known = start(talk)
    talk.check("its own analysis is listed", "cgos-genmove_analyze" in known)
    talk.ask("play b e5", "time_left w 299 0")
    lines = talk.ask("cgos-genmove_analyze w").split("\n")
    lines = [line for line in lines if line]
    talk.check("one line of JSON, then the move", len(lines) == 2 and is_vertex(lines[1].removeprefix("play ")))
    found = json.loads(lines[0])
    talk.check("winrate and visits", 0 <= found["winrate"] <= 1 and found["visits"] > 0)
    talk.check("candidates", all(is_vertex(each["move"]) for each in found["moves"]))
    talk.check("paths are text without their own move", all(
        all(map(is_vertex, each.get("pv", "").split())) for each in found["moves"]
    ))  # fmt: skip
    talk.check("a letter for every point's owner", len(found["ownership"]) == 81)
    talk.ask("play b PASS")
    talk.check("a move after a pass", is_vertex(talk.ask("cgos-genmove_analyze w").split("\n")[-1][5:]))
    talk.ask("cgos-gameover B+Resign", "boardsize 9", "komi 7.0", "time_settings 300 0 0", "clear_board", "play b a1")
    talk.check("a second game", is_vertex(talk.ask("genmove w")))


@story("CGOS", "moves with KataGo's and Leela Zero's analysis")
def others(talk: Talk) -> None:
    start(talk)
    for line, is_leela in (("kata-genmove_analyze b ownership true", False), ("lz-genmove_analyze w 100000", True)):
        lines = [each for each in talk.ask(line).split("\n") if each]
        talk.check(f"{line}: a report before the move", len(lines) >= 2)
        found = analysis(lines[-2], is_leela)
        talk.check(f"{line}: paths are moves only", all(map(is_vertex, (w for m in found["moves"] for w in m["pv"]))))
        talk.check(f"{line}: winrates", all(0 <= each["winrate"] <= 1 for each in found["moves"]))
        talk.check(f"{line}: the move", is_vertex(lines[-1].removeprefix("play ")))
        if not is_leela:
            talk.check("every point's owner", len(found["ownership"]) == 81)


@story("CGOS", "the client in Tcl")
def tcl(talk: Talk) -> None:
    for line in ("name", "boardsize 9", "komi 7.0", "clear_board", "time_settings 300 0 0", "play b e5", "genmove w"):
        talk.check(f"{line}: one line and an empty one", talk.ask(line).count("\n") == 0)


@story("CGOS", "rules")
def rules(talk: Talk) -> None:
    start(talk)
    talk.ask("play b d4", "play w e4", "play b c5", "play w f5", "play b d6", "play w e6", "play b e5", "play w d5")
    talk.check("no move of ours repeats the position", talk.ask("genmove b") != "E5")
    talk.check("an illegal move of the server's is told", talk.attempt("play b d4") == (False, "illegal move"))
    rules = {"ko": "POSITIONAL", "scoring": "AREA", "suicide": False, "tax": "NONE", "hasButton": False}
    counted = {"whiteHandicapBonus": "0", "friendlyPassOk": False}
    talk.check("the server's rules", json.loads(talk.ask("kata-get-rules")) == {**rules, **counted})
    talk.check("no suicide of ours", not takes_own_stones(talk))
    start(talk)
    talk.ask("play b e5", "play w c3", "play b pass", "play w pass")
    talk.check("what is left on the board lives, and komi is the server's", talk.ask("final_score") == "W+7")
