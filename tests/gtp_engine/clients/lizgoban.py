"""LizGoban 0.9.1 (engine.js, main.js). It numbers its commands, sends the next one as soon as the first line of a reply
is there, and learns by trying what an engine can do."""

from __future__ import annotations

import re

from tests.gtp_engine.clients.talk import Talk, is_vertex, story

PROBES = {
    "lz-setoption": "lz-setoption name visits value 0",
    "kata-analyze": "kata-analyze interval 1",
    "kata-set-rules": "kata-set-rules chinese",
    "set_free_handicap": "set_free_handicap A1",
    "set_position": "set_position",
    "minmoves": "lz-analyze interval 1 minmoves 30",
    "kata-raw-nn": "kata-raw-nn 0",
    "pvVisits": "kata-analyze 1 pvVisits true",
    "pvEdgeVisits": "kata-analyze 1 pvEdgeVisits true",
    "ownershipStdev": "kata-analyze 1 ownershipStdev true",
    "movesOwnership": "kata-analyze 1 movesOwnership true",
    "rootInfo": "kata-analyze 1 rootInfo true",
    "allow": "lz-analyze 1 allow B D4 1",
    "clear_cache": "clear_cache",
    "kata-search_cancellable": "kata-search_analyze_cancellable B",
}
"""What it sends at the start, by what it takes the engine to have where the reply is no error."""
CANCELLED = "cancelled"
"""The answer to a search that another line ended."""
SEARCH = re.compile(r"(lz|kata)-(search_)?analyze")
LISTS = re.compile(r"\s*(?=(?:pv|pvVisits|pvEdgeVisits|movesOwnership)\b)")
TAILS = re.compile(r"\b(?=ownership|ownershipStdev|rootInfo)\b")
NUMBER = re.compile(r"[-.0-9]+|NAN")


def start(talk: Talk) -> set[str]:
    """LizGoban's first commands; what it takes the engine to have."""
    talk.ask("name")
    known = set()
    for feature, line in PROBES.items():
        if SEARCH.match(line):
            talk.analyse(line, "name")  # the next command ends it
            known.add(feature)
        elif talk.attempt(line)[0]:
            known.add(feature)
    talk.attempt("kata-get-param humanSLProfile")
    talk.ask("kata-get-models", "clear_board", "komi 7.5")
    return known


def numbers(reply: str) -> dict[str, list[float]]:
    """A reply to kata-raw-nn: each word that is no number is the name of the numbers after it."""
    found: dict[str, list[float]] = {}
    name = ""
    for word in reply.split():
        if NUMBER.fullmatch(word):
            found.setdefault(name, []).append(float(word))
        else:
            name = word
    return found


def candidates(line: str) -> tuple[list[dict[str, list[str]]], dict[str, list[str]]]:
    """A line of an analysis: each candidate's fields, and the fields after the last one."""
    body, *tails = TAILS.split(line)
    found = []
    for part in body.split("info")[1:]:
        fields: dict[str, list[str]] = {}
        for piece in LISTS.split(part.strip()):
            words = piece.split()
            if LISTS.match(piece) and words[0] != "move":
                fields[words[0]] = words[1:]
            else:
                fields.update({name: [value] for name, value in zip(words[::2], words[1::2], strict=True)})
        found.append(fields)
    return found, {words[0]: words[1:] for words in map(str.split, tails)}


@story("LizGoban", "start", ids=True)
def starting(talk: Talk) -> None:
    known = start(talk)
    talk.check("it is not Leela Zero", "lz-setoption" not in known)
    talk.check("it has all that KataGo has", known == PROBES.keys() - {"lz-setoption"})


@story("LizGoban", "analysis", ids=True)
def analysing(talk: Talk) -> None:
    start(talk)
    talk.ask("boardsize 9", "play b E5", "kata-set-rules japanese", "kata-raw-nn 3", "name")
    tags = ("ownership", "ownershipStdev", "minmoves", "pvVisits", "pvEdgeVisits", "movesOwnership", "rootInfo")
    words = " ".join(f"{tag} {'30' if tag == 'minmoves' else 'true'}" for tag in tags)
    found, tails = candidates(talk.analyse(f"kata-analyze w interval 10 {words}", "name")[-1])
    talk.check("moves", found and all(is_vertex(word) for each in found for word in [*each["move"], *each["pv"]]))
    talk.check("all that is shown", all(
        {"visits", "order", "winrate", "prior", "lcb", "scoreMean", "scoreStdev", "scoreLead"} <= set(each)
        for each in found
    ))  # fmt: skip
    talk.check("each move of a path has its visits", all(
        len(each["pv"]) == len(each["pvVisits"]) == len(each["pvEdgeVisits"]) for each in found
    ))  # fmt: skip
    talk.check("a move's owners are whole", {len(each.get("movesOwnership", ())) for each in found} <= {0, 81})
    talk.check("owners, and how sure they are", len(tails["ownership"]) == len(tails["ownershipStdev"]) == 81)
    root = dict(zip(tails["rootInfo"][::2], tails["rootInfo"][1::2], strict=True))
    talk.check("the root", {"winrate", "scoreLead", "rawStWrError", "rawStScoreError"} <= set(root))
    region = "allow B D4,E4 1 allow W D4,E4 1"
    found, _ = candidates(talk.analyse(f"kata-analyze w interval 10 {region}", "name")[-1])
    talk.check("a region", {each["move"][0] for each in found} <= {"D4", "E4"})


@story("LizGoban", "pass maybe", ids=True)
def passing_perhaps(talk: Talk) -> None:
    """It wants to know the value of a pass. Of Leela Zero it waits for a line on stderr, for as long as it takes."""
    known = start(talk)
    talk.check("it asks KataGo's way", "lz-setoption" not in known and "kata-raw-nn" in known)
    talk.ask("play b pass")
    found = numbers(talk.ask("kata-raw-nn 5"))
    talk.ask("undo")
    talk.check("the value", len(found["whiteWin"]) == 1 and 0 <= found["whiteWin"][0] <= 1)
    talk.check("the policy", len(found["policy"]) == 81 and len(found["policyPass"]) == 1)


@story("LizGoban", "a game", ids=True)
def playing(talk: Talk) -> None:
    start(talk)
    talk.ask("boardsize 9", "clear_board", "set_free_handicap C3 G7", "play w E5", "time_settings 0 5 1", "name")
    answer = talk.ask("kata-search_cancellable b")
    talk.check("the move", is_vertex(answer) or answer == CANCELLED)
    talk.ask("play b D6")
    lines = talk.ask("kata-search_analyze_cancellable w interval 10").split("\n")
    talk.check("the move, and what was thought", re.fullmatch(rf"play (?:[A-Z]\d+|pass|resign|{CANCELLED})", lines[-1]))
    talk.ask("undo", "undo", "clear_board", "set_position B C3 W E5")
