"""Ogatak 1.6, by GTP (engine_gtp.js) and by JSON (engine.js, query.js)."""

from __future__ import annotations

import re

from tests.gtp_engine.clients.talk import JsonTalk, Talk, is_vertex, story

WORDS = ("move", "visits", "winrate", "prior", "scoreLead", "lcb", "order", "pv", "ownership", "isSymmetryOf")


def candidates(line: str) -> tuple[list[dict[str, list[str]]], list[float]]:
    """Each candidate's fields, and the owners of all points: a keyword takes words until one does not fit."""
    found, owners = [], []
    for block in line.split("info ")[1:]:
        fields: dict[str, list[str]] = {}
        keyword = ""
        for word in block.split():
            if word in WORDS:
                keyword = word
            elif keyword == "ownership":
                owners.append(float(word))
            elif keyword and (keyword != "pv" or is_vertex(word)):
                fields.setdefault(keyword, []).append(word)
                keyword = "pv" if keyword == "pv" else ""
            else:
                keyword = ""
        found.append(fields)
    return found, owners


@story("Ogatak", "GTP", ids=True)
def gtp(talk: Talk) -> None:
    known = talk.ask("list_commands").split("\n")
    talk.check(
        "KataGo's analysis, rules and parameters", {"kata-analyze", "kata-set-rules", "kata-set-param"} <= set(known)
    )
    talk.check("a version", talk.ask("version"))
    talk.ask("boardsize 9", "kata-set-rules Chinese", "kata-set-param analysisWideRootNoise 0.04", "komi 7.5")
    talk.ask("clear_board", "play B E5", "play W C3")
    lines = talk.analyse("kata-analyze b 7.000000000000001 ownership true", "name")
    found, owners = candidates(lines[-1])
    talk.check("candidates with a path", found and all(each.get("pv") for each in found))
    talk.check("all that is shown", all(
        {"move", "visits", "winrate", "prior", "scoreLead", "lcb", "order"} <= set(each) for each in found
    ))  # fmt: skip
    talk.check("every point's owner", len(owners) == 81)
    talk.ask("play B D4")
    found, _ = candidates(talk.analyse("lz-analyze w 10", "name")[-1])
    talk.check("Leela Zero's form", found and all(0 <= int(each["winrate"][0]) <= 10000 for each in found))
    talk.check("one line to stop, one reply", talk.ask("name"))
    lines = talk.partner.errors()
    talk.check("nothing that looks like an exception", not [line for line in lines if "exception" in line])


PLAIN = {
    **{"rules": "Chinese", "komi": 7.5, "boardXSize": 9, "boardYSize": 9, "maxVisits": 5, "analysisPVLen": 32},
    **{"initialStones": [], "moves": [["B", "E5"], ["W", "C3"]], "includePolicy": True, "includeOwnership": True},
    "overrideSettings": {"reportAnalysisWinratesAs": "BLACK", "wideRootNoise": 0.0},
}


@story("Ogatak", "JSON", json=True)
def by_json(talk: JsonTalk) -> None:
    (version,) = talk.ask({"id": "v", "action": "query_version"})
    talk.check("a version of three numbers", re.fullmatch(r"\d+\.\d+\.\d+", version["version"]))
    (probe,) = talk.ask({**PLAIN, "id": "size", "boardXSize": 29, "boardYSize": 29, "moves": []})
    talk.check("a probe for boards of 29 is an error", "error" in probe)
    (answer,) = talk.ask({**PLAIN, "id": "7:1"})
    talk.check("the whole answer", answer["id"] == "7:1" and answer["isDuringSearch"] is False)
    talk.check("candidates", all(is_vertex(each["move"]) and each["pv"] for each in answer["moveInfos"]))
    talk.check("policy and owners", len(answer["policy"]) == 82 and len(answer["ownership"]) == 81)
    talk.check("whose turn it is", answer["rootInfo"]["currentPlayer"] == "B")
    talk.check("winrates are black's", 0 <= answer["rootInfo"]["winrate"] <= 1)
    (avoided,) = talk.ask(
        {**PLAIN, "id": "8:1", "avoidMoves": [{"player": "B", "moves": ["D4", "pass"], "untilDepth": 1}]}
    )
    talk.check("moves that were played already", "D4" not in [each["move"] for each in avoided["moveInfos"]])
    talk.partner.say({**PLAIN, "id": "9:1", "maxVisits": 1000000, "reportDuringSearchEvery": 0.05})
    talk.check("a report during the search", talk.partner.next()["isDuringSearch"])
    talk.partner.say({"id": "t", "action": "terminate", "terminateId": "9:1"})
    answers = [talk.partner.next()]
    while answers[-1].get("isDuringSearch", True) or len(answers) < 2:
        answers.append(talk.partner.next())
        if {each.get("action") for each in answers} == {None, "terminate"} and not answers[-1].get(
            "isDuringSearch", True
        ):
            break
    talk.check("terminated: an echo", [each for each in answers if each.get("action") == "terminate"])
    talk.check("and a last answer", [each for each in answers if each.get("isDuringSearch") is False])
