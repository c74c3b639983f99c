"""LizzieYzy 2.5 (Leelaz.java, MoveData.java). It numbers nothing and counts replies."""

from __future__ import annotations

import json
from typing import NamedTuple

from tests.gtp_engine.clients.talk import Talk, is_vertex, story

SECTIONS = ("pvVisits", "movesOwnership")
"""What may follow a variation: its keyword, then numbers."""


class Move(NamedTuple):
    """A candidate as LizzieYzy shows it."""

    move: str
    order: int
    visits: int
    lead: float
    variation: list[str]
    numbers: dict[str, list[float]]


def moves(line: str) -> tuple[list[Move], list[float]]:
    """The candidates of a line of KataGo's form, and the owners of all points at its end."""
    before, _, owners = line.partition(" ownership ")
    found = []
    for part in before.removeprefix("info ").split(" info "):
        words = part.split()
        at = words.index("pv")
        fields = dict(zip(words[:at:2], words[1:at:2], strict=True))
        numbers: dict[str, list[float]] = {}
        variation = words[at + 1 :]
        for name in reversed(SECTIONS):
            if name in variation:
                start = variation.index(name)
                numbers[name] = [float(word) for word in variation[start + 1 :]]
                variation = variation[:start]
        for name in ("winrate", "lcb", "prior", "scoreStdev"):
            float(fields[name])
        found.append(
            Move(
                fields["move"],
                int(fields["order"]),
                int(fields["visits"]),
                float(fields["scoreMean"]),
                variation,
                numbers,
            )
        )
    return found, [float(word) for word in owners.split()]


@story("LizzieYzy", "start")
def starting(talk: Talk) -> None:
    talk.ask("name")
    version = talk.ask("version").split(" ")[0].split(".")
    talk.check("the version allows all that it can show", int(version[0]) > 1 or int(version[1]) > 10)
    known = talk.ask("list_commands").split("\n")
    talk.check("the list begins as it expects", known[0] == "protocol_version")
    talk.ask("komi 7.5", "rectangular_boardsize 9 13", "boardsize 9", "clear_board", "komi 0")
    talk.check(
        "its commands are listed", {"kata-analyze", "kata-raw-nn", "kata-set-param", "clear_cache"} <= set(known)
    )


@story("LizzieYzy", "analysis")
def analysing(talk: Talk) -> None:
    talk.ask("name", "version", "boardsize 9", "clear_board", "play B E5")
    tags = " ownership true pvVisits true movesOwnership true"
    found, owners = moves(talk.analyse("kata-analyze W 10" + tags, "stop")[-1])
    talk.check("candidates in their order", [each.order for each in found] == list(range(len(found))))
    talk.check("moves", all(is_vertex(word) for each in found for word in [each.move, *each.variation]))
    talk.check("each move of a path has its visits", all(
        len(each.numbers["pvVisits"]) == len(each.variation) for each in found
    ))  # fmt: skip
    talk.check("every point's owner", len(owners) == 81)
    points = "kata-analyze W 10 allow b D4,E4 1 allow w D4,E4 1"
    found, _ = moves(talk.analyse(points + " ownership true", "stop")[-1])
    talk.check("points to allow, and words after them", {each.move for each in found} <= {"D4", "E4"})
    points = "kata-analyze W 10 avoid b D4,E4 30 avoid w D4,E4 30"
    found, _ = moves(talk.analyse(points, "stop")[-1])
    talk.check("points to avoid", not {each.move for each in found} & {"D4", "E4"})
    lines = talk.ask("kata-genmove_analyze w 2147483647").split("\n")
    talk.check("a game without reports in between", lines[-1].startswith("play ") and is_vertex(lines[-1][5:]))


@story("LizzieYzy", "analysis in Leela Zero's form", arguments=("gtp",))
def as_leela_zero(talk: Talk) -> None:
    talk.ask("name", "version", "boardsize 9", "clear_board")
    line = talk.analyse("lz-analyze 10", "name")[-1]
    for part in line.removeprefix("info ").split(" info "):
        words = part.split()
        fields = dict(zip(words[: words.index("pv") : 2], words[1 : words.index("pv") : 2], strict=True))
        numbers = [int(fields[name]) for name in ("order", "visits", "lcb", "prior", "winrate")]
        talk.check(f"whole numbers for {fields['move']}", all(number >= 0 for number in numbers))
    talk.check("Leela Zero's options", talk.attempt("lz-setoption name Visits value 100")[0])
    talk.check("and its buffer", talk.attempt("lz-setoption name Lagbuffer value 30")[0])


@story("LizzieYzy", "settings")
def settings(talk: Talk) -> None:
    for name in ("playoutDoublingAdvantage", "analysisWideRootNoise"):
        words = talk.ask(f"kata-get-param {name}").split(" ")
        talk.check(f"{name} is one number", len(words) == 1 and float(words[0]) >= 0)
        talk.ask(f"kata-set-param {name} 0.5")
        talk.check(f"{name} can be set", float(talk.ask(f"kata-get-param {name}")) == 0.5)
    rules = json.loads(talk.ask("kata-get-rules"))
    talk.check("the rules are JSON", {"ko", "scoring", "suicide", "tax"} <= set(rules))
    for name in ("chinese", "japanese", "tromp-taylor", json.dumps(rules)):
        talk.check(f"rules: {name}", talk.attempt(f"kata-set-rules {name}")[0])
    for clock in ("byoyomi 300 30 5", "fischer 300 10", "absolute 300"):
        talk.check(f"time: {clock}", talk.attempt(f"kata-time_settings {clock}")[0])
    talk.ask("time_left b 300 0", "clear_cache")
    stones = talk.ask("place_free_handicap 4").split(" ")
    talk.check("handicap stones", len(stones) == 4 and all(map(is_vertex, stones)))
