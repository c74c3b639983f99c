"""q5Go 2.1 (qgtp.cpp). Any error shuts the engine down, but for those of komi and kata-set-rules."""

from __future__ import annotations

import re

from tests.gtp_engine.clients.talk import Talk, is_vertex, story

FIELD = r"\s+{}\s+(\S+)\s+"


def start(talk: Talk) -> dict[str, bool]:
    """q5Go's first commands, and which analysis it may use."""
    talk.check("protocol version 2, and no other word", talk.ask("protocol_version") == "2")
    talk.ask("boardsize 9", "clear_board", "komi 7.5")
    names = ("lz-analyze", "kata-analyze", "kata-set-rules")
    return {name: talk.ask(f"known_command {name}") == "true" for name in names}


def evaluations(line: str) -> list[dict[str, str]]:
    """The candidates of one line. One that lacks a field is dropped, and one without both scores has no score."""
    found = []
    for part in line.split("info move "):
        fields = {"move": re.match(r"(\S+)\s+", part), "pv": re.search(r"\s+pv\s+(.*)$", part)}
        fields |= {
            name: re.search(FIELD.format(name), part) for name in ("visits", "winrate", "scoreMean", "scoreStdev")
        }
        if all(fields[name] for name in ("move", "visits", "winrate", "pv")):
            found.append({name: match[1] for name, match in fields.items() if match})
    return found


@story("q5Go", "analysis", ids=True)
def analysing(talk: Talk) -> None:
    known = start(talk)
    talk.check("both kinds of analysis and rules", all(known.values()))
    talk.ask("kata-set-rules japanese")
    talk.ask("clear_board", "play black E5", "play white pass")
    talk.ask("known_command known_command")
    line = talk.analyse("kata-analyze black 100", "known_command known_command")[-1]
    found = evaluations(line)
    talk.check("no candidate is dropped", len(found) == line.count("info move"))
    talk.check("every candidate has both scores", all({"scoreMean", "scoreStdev"} <= set(each) for each in found))
    talk.check("winrates", all(0 <= float(each["winrate"]) <= 1 for each in found))
    talk.check("paths", all(is_vertex(word) for each in found for word in each["pv"].split()))
    found = evaluations(talk.analyse("lz-analyze white 100", "known_command known_command")[-1])
    talk.check("Leela Zero's form", found and all(0 <= int(each["winrate"]) <= 10000 for each in found))


@story("q5Go", "rules", ids=True)
def rules(talk: Talk) -> None:
    start(talk)
    names = ("tromp-taylor", "japanese", "chinese", "chinese-kgs", "chinese-ogs", "korean", "aga", "bga", "new-zealand")
    for name in names:
        talk.check(name, talk.attempt(f"kata-set-rules {name}")[0])
    ancient = '{"hasButton":false,"ko":"POSITIONAL", "scoring":"AREA", "suicide":false, "tax":"ALL", '
    talk.check("old Chinese, as an object", talk.attempt(f'kata-set-rules {ancient}"whiteHandicapBonus":"N"}}')[0])


@story("q5Go", "a game", ids=True)
def game(talk: Talk) -> None:
    start(talk)
    for clock in ("1 1 0", "600 0 0", "600 300 25"):
        talk.check(f"time_settings {clock}", talk.attempt(f"time_settings {clock}")[0])
    talk.ask("time_left black 500 0", "time_left white 120 20")
    lines = talk.ask("kata-genmove_analyze black 100").split("\n")
    talk.check("evaluations before the move", all(line.startswith("info move ") for line in lines[:-1] if line))
    talk.check("the move", lines[-1].startswith("play ") and is_vertex(lines[-1][5:]))
    talk.check("a plain move", is_vertex(talk.ask("genmove white")))
    talk.ask("undo", "undo", "rectangular_boardsize 9 13", "clear_board", "komi 0", "play white A13")
    talk.check("final_score is known", talk.ask("known_command final_score") == "true")
    talk.check("the score", re.fullmatch(r"0|[BW]\+[0-9.]+", talk.ask("final_score")))
