"""KaTrain 1.20's queries (core/engine.py, core/game_node.py, core/ai.py), and two who ask about whole games."""

from __future__ import annotations

from typing import Any

from tests.gtp_engine.clients.talk import JsonTalk, is_vertex, story

QUERY: dict[str, Any] = {
    **{"rules": "japanese", "priority": 0, "analyzeTurns": [2], "maxVisits": 5, "komi": 6.5},
    **{"boardXSize": 9, "boardYSize": 9},
    **dict.fromkeys(("includeOwnership", "includeMovesOwnership", "includePolicy"), True),
    **{"initialStones": [], "initialPlayer": "B", "moves": [["B", "E5"], ["W", "C3"]]},
    "overrideSettings": {"reportAnalysisWinratesAs": "BLACK", "wideRootNoise": 0.04, "maxTime": 8.0},
}


def finished(talk: JsonTalk, name: str) -> dict[str, Any]:
    """The last answer to a query: KaTrain waits for it."""
    while (answer := talk.partner.next()).get("id") != name or answer.get("isDuringSearch", False):
        pass
    return answer


def asked(talk: JsonTalk, number: object, **fields: Any) -> dict[str, Any]:
    """The last answer to QUERY with these fields."""
    talk.partner.say({**QUERY, "id": f"QUERY:{number}", **fields})
    return finished(talk, f"QUERY:{number}")


@story("KaTrain", "a game", json=True)
def game(talk: JsonTalk) -> None:
    answer = asked(talk, 1, reportDuringSearchEvery=1)
    talk.check("no error and no warning", not {"error", "warning"} & set(answer))
    root, best = answer["rootInfo"], answer["moveInfos"][0]
    talk.check("winrate, lead and visits", {"winrate", "scoreLead", "visits"} <= set(root) and root["visits"] >= 5)
    fields = {"move", "visits", "winrate", "scoreLead", "prior", "order", "pv", "ownership"}
    talk.check("candidates with all that it shows", all(fields <= set(each) for each in answer["moveInfos"]))
    talk.check("the best comes first", best["order"] == 0 and is_vertex(best["move"]))
    talk.check("owners and policy of the whole board", len(answer["ownership"]) == 81 and len(answer["policy"]) == 82)
    talk.check("illegal moves are -1", answer["policy"].count(-1.0) >= 2)


@story("KaTrain", "handicap, rules and regions", json=True)
def positions(talk: JsonTalk) -> None:
    stones = {"initialStones": [["B", "C3"], ["B", "G7"]], "initialPlayer": "W", "moves": [], "analyzeTurns": [0]}
    talk.check("white's turn after handicap stones", asked(talk, 2, **stones)["rootInfo"]["currentPlayer"] == "W")
    for rules in ("japanese", "chinese", "korean", "aga", "tromp-taylor", "new zealand", "stone_scoring"):
        talk.check(f"{rules} rules", "error" not in asked(talk, rules, rules=rules))
    custom = {"ko": "POSITIONAL", "scoring": "AREA", "tax": "NONE", "suicide": True, "hasButton": False}
    talk.check("rules as an object", "error" not in asked(talk, 3, rules=custom))
    inside = [f"{column}{row}" for column in "CDEF" for row in range(3, 7)]
    outside = [f"{column}{row}" for column in "ABCDEFGHJ" for row in range(1, 10) if f"{column}{row}" not in inside]
    avoid = [{"player": player, "moves": outside, "untilDepth": 1} for player in ("B", "W")]
    found = {each["move"] for each in asked(talk, 4, avoidMoves=avoid)["moveInfos"]}
    talk.check("a region: its own moves and a pass", found <= {*inside, "pass"})
    talk.check("the policy alone", len(asked(talk, 5, maxVisits=1)["policy"]) == 82)
    illegal = asked(talk, 6, moves=[["B", "E5"], ["W", "E5"]])
    talk.check("KaTrain knows this error", "Illegal move" in illegal["error"])


@story("KaTrain", "its players and pondering", json=True)
def players(talk: JsonTalk) -> None:
    settings = QUERY["overrideSettings"]
    advantage = {**settings, "playoutDoublingAdvantage": 1.0, "playoutDoublingAdvantagePla": "BLACK"}
    talk.check("playout doublings", not {"error", "warning"} & set(asked(talk, 7, overrideSettings=advantage)))
    human = {**settings, "humanSLProfile": "rank_5k", "ignorePreRootHistory": False}
    refused = asked(talk, 8, overrideSettings=human)
    talk.check("people's moves need another network, and it is told", refused["field"] == "overrideSettings")
    talk.partner.say({**QUERY, "id": "QUERY:9", "maxVisits": 10_000_000, "reportDuringSearchEvery": 0.05})
    reports = [talk.partner.next() for _ in range(2)]
    talk.check("reports while it ponders", all(each["isDuringSearch"] for each in reports))
    talk.partner.say({"id": "QUERY:10", "action": "terminate", "terminateId": "QUERY:9"})
    talk.check("a last answer", finished(talk, "QUERY:9")["isDuringSearch"] is False)


@story("KataGoAnal", "a whole game in one query", json=True)
def whole_game(talk: JsonTalk) -> None:
    query = {"id": "game", "moves": [["B", "E5"], ["W", "C3"], ["B", "pass"]], "rules": "chinese", "komi": 7.5}
    size = {"boardXSize": 9, "boardYSize": 9}
    answers = talk.ask({**query, **size, "analyzeTurns": [0, 1, 2, 3], "maxVisits": 5}, 4)
    talk.check("one answer a turn", sorted(each["turnNumber"] for each in answers) == [0, 1, 2, 3])
    talk.check("with winrate, lead and candidates", all(
        each["moveInfos"] and "scoreLead" in each["rootInfo"] for each in answers
    ))  # fmt: skip


@story("LizzieYzy", "whole-game analysis", json=True)
def flash(talk: JsonTalk) -> None:
    settings = {"reportAnalysisWinratesAs": "SIDETOMOVE"}
    query = {
        **QUERY,
        "id": "7",
        "analyzeTurns": [0, 1, 2],
        "rules": {"ko": "SIMPLE", "scoring": "TERRITORY", "tax": "SEKI"},
    }
    talk.partner.say({**query, "includePVVisits": True, "overrideSettings": settings})
    answers = [finished(talk, "7") for _ in range(3)]
    talk.check("winrates of the side to move", all(0 <= each["rootInfo"]["winrate"] <= 1 for each in answers))
    talk.check("visits along each path", all(
        len(move["pvVisits"]) == len(move["pv"]) for each in answers for move in each["moveInfos"]
    ))  # fmt: skip
    talk.partner.say({"id": "x", "action": "terminate_all"})
    talk.check("all ends with one word", talk.partner.next()["action"] == "terminate_all")
