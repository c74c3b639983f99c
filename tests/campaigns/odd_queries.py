"""Odd queries to the JSON engine: each field, rule and setting with every value of a list, one odd value in a line.

    python -m tests.campaigns.odd_queries [--katago FILE --net FILE] [--write]

What must hold: each query is answered exactly once, by one error or by a last reply for each of its turns, with its id
wherever the id can be read; and the last one, a plain query, has its answer. odd_queries.txt has what KataGo 1.17.2
answers to the same lines and, where that is another answer, ours. Every such difference must be one of WANTED. With
--katago a KataGo is asked anew; --write writes the file. The exit status is 1 if anything differs from the file.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gtp_engine.json_engine.query import KNOWN
from nobi_machine.text import parse_json
from tests.gtp_engine.json_engine.spoken import Spoken, asking

ANSWERS = Path(__file__).with_suffix(".txt")

_VALUES = r"""
null true false 0 1 -1 2 2.5 1.0 -0.0 9 1e2 1000000000000 1e300 1e-300
4611686018427387903 4611686018427387904 12345678901234567890 -12345678901234567890
"" "x" "1" "0.5" "true" "B" "white" "e" "pass" "A1" "chinese" "BLACK" "\u0000" "é"
[] {} [[]] [{}] [0] [2,0,2] [1.0] [0.5] [-1] [3] [true] [null] ["A1"] ["pass","Z9"] [["B","A1"]] [["B","A1","x"]]
[["W","A1"],["B","A1"]] [["B","E5"],["W","E5"]] [["B","C3"],["W","D4"]] [["B","pass"]] [["X","A1"]] [["B","A26"]]
[["B","(0,0)"]] [["B","(-1,0)"]] [["B",5]] {"x":1} {"ko":"SIMPLE"}
[{"player":"B","moves":["C4"],"untilDepth":1}] [{"player":"B","moves":["C4"]}]
[{"player":"B","moves":["C4"],"untilDepth":0}] [{"player":"B","moves":["C4"],"untilDepth":12345678901234567890}]
[{"player":"B","moves":["C4"],"untilDepth":1},{"player":"B","moves":["D4"],"untilDepth":1}]
[{"player":1,"moves":["C4"],"untilDepth":1}] [{"player":"B","moves":["Z9"],"untilDepth":1}]
"""
VALUES = tuple(_VALUES.split())
"""As JSON has them; the second half is for fields that are lists."""
NO_JSON = ("1e999", "NaN", '"\\ud83d"', '{"x":1,"x":2}', "12a", "", '"')
"""For KataGo or for us."""
_SIMPLE = VALUES[: VALUES.index("[[]]")]
SETTINGS = (
    *("maxVisits", "maxPlayouts", "maxTime", "analysisPVLen", "reportAnalysisWinratesAs", "warnUnusedFields"),
    *("wideRootNoise", "ignorePreRootHistory", "antiMirror", "humanSLProfile", "preventCleanupPhase"),
    *("cpuctExploration", "rootNumSymmetriesToSample", "playoutDoublingAdvantagePla", "useNoisePruning"),
    *("numSearchThreads", "nnCacheSizePowerOfTwo", "fillDameBeforePass", "memory", "visits", "komi", "net", "?"),
)
RULES = ("ko", "score", "scoring", "tax", "suicide", "hasButton", "whiteHandicapBonus", "friendlyPassOk", "komi", "x")
ACTIONS = ("terminateId", "turnNumbers", "id", "action")


class Case(NamedTuple):
    """A line with one odd value."""

    place: str
    """What has the value: `maxVisits`, `rules.komi`, `overrideSettings.maxTime`, `terminate.turnNumbers`."""
    value: str

    def line(self, number: int) -> str:
        """Write the line. The ids of different numbers differ, but for a case about the id."""
        parent, dot, name = self.place.partition(".")
        fields = {key: json.dumps(value) for key, value in asking(f"q{number}", warnUnusedFields=None).items()}
        if parent == "terminate":
            fields = {"id": f'"q{number}"', "action": '"terminate"', "terminateId": '"nobody"', name: self.value}
        elif dot:
            fields[parent] = f'{{"{name}":{self.value}}}'
        else:
            fields[parent] = self.value
        if parent == "priorities":
            fields["analyzeTurns"] = "[2]"
        return "{" + ",".join(f'"{key}":{value}' for key, value in fields.items()) + "}"


def cases() -> Iterator[Case]:
    """Yield every case, always in the same order."""
    for field in sorted({*KNOWN, "unheardOf"} - {"action", "terminateId", "turnNumbers"}):
        yield from (Case(field, value) for value in (*VALUES, *(NO_JSON if field == "unheardOf" else ())))
    for place in (
        *(f"overrideSettings.{name}" for name in SETTINGS),
        *(f"rules.{name}" for name in RULES),
        *(f"terminate.{name}" for name in ACTIONS),
    ):
        yield from (Case(place, value) for value in _SIMPLE)
    yield Case("maxVisits", "5")  # the engine is alive


Answer = dict[str, Any]


def outcome(case: Case, answers: Iterable[Answer]) -> str:
    """Write what the answers to a line say, without what they repeat of it. The field that the case is about is not
    named."""
    said, own = set(), case.place.partition(".")[0]
    for answer in answers:
        kind = next((kind for kind in ("error", "warning") if kind in answer), "")
        text, field = str(answer.get(kind)), answer.get("field", "")
        if kind == "":
            said.add("results" if "turnNumber" in answer else "done")
        elif "id" not in answer:
            said.add(f"{kind} without id")
        else:
            text = re.sub("(Illegal move|turn number|, not) .*", r"\1", text).partition(": ")[0]
            said.add(f"{kind}: {text}" if field in ("", own) else f"{kind} {field}: {text}")
    return "; ".join(sorted(said)) or "nothing"


HUGE = "1000000000000"


def conversation(asked: Sequence[Case]) -> list[str]:
    """Write the lines of all cases, each followed by an action whose answer ends what is answered at once. What may
    take for ever is terminated by it."""
    lines = []
    for number, case in enumerate(asked):
        end = (
            {"action": "terminate", "terminateId": f"q{number}"} if case.value == HUGE else {"action": "query_version"}
        )
        lines += [case.line(number), json.dumps({"id": f"end{number}", **end})]
    return lines


def sorted_out(asked: Sequence[Case], answers: Iterable[Answer]) -> list[list[Answer]]:
    """Return the answers to each case. What comes from a search comes at any time, all else before the end."""
    searched = {f"q{number}": number for number in range(len(asked))}
    for number, case in enumerate(asked):
        if case.place == "id" and case.value.startswith('"'):
            searched[json.loads(case.value)] = number
    found: list[list[Answer]] = [[] for _ in asked]
    current = 0
    for answer in answers:
        if answer.get("id") == f"end{current}":
            current += 1
        else:
            found[searched[answer["id"]] if "turnNumber" in answer else current].append(answer)
    return found


def ours(asked: Sequence[Case]) -> list[list[Answer]]:
    """Ask our engine. Raises AssertionError where a query is not answered exactly once."""
    spoken, answers, wanted = Spoken(slots=2), list[Answer](), Counter[tuple[str, int]]()
    for line in conversation(asked):
        spoken.say(line)
        at_once = [spoken.next() for _ in range(spoken.replies.qsize())]
        answers += at_once
        finished = [answer for answer in at_once if "error" in answer or "action" in answer]
        assert len(finished) <= 1, finished
        if not finished:
            query = parse_json(line)
            wanted.update((query["id"], turn) for turn in set(query.get("analyzeTurns", [len(query["moves"])])))
    while sum("turnNumber" in answer for answer in answers) < wanted.total():
        answers.append(spoken.next())
    spoken.end()
    assert Counter((answer["id"], answer["turnNumber"]) for answer in answers if "turnNumber" in answer) == wanted
    return sorted_out(asked, answers)


def katagos(asked: Sequence[Case], katago: Path, net: Path) -> list[list[Answer]]:
    """Ask KataGo."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "analysis.cfg"
        config.write_text(CONFIG.format(folder=folder))
        arguments: list[str | Path] = [katago, "analysis", "-model", net, "-config", config]
        text = "".join(line + "\n" for line in conversation(asked))
        done = subprocess.run(arguments, input=text, capture_output=True, text=True, check=True)
    return sorted_out(asked, map(json.loads, done.stdout.splitlines()))


CONFIG = """
logDir = {folder}
homeDataDir = {folder}
logToStderr = false
maxVisits = 5
numAnalysisThreads = 1
numSearchThreads = 1
nnMaxBatchSize = 1
"""


Outcomes = dict[Case, tuple[str, str]]
"""KataGo's and ours."""
SAME = "same"


def written(outcomes: Outcomes) -> str:
    """Write the text of the file: of each place, or of several alike, a line for each pair of outcomes with the values
    that have it; `*` is every value that is in no other line."""
    places: dict[str, dict[tuple[str, str], list[str]]] = {}
    for case, (theirs, own) in outcomes.items():
        places.setdefault(case.place, {}).setdefault((theirs, own), []).append(case.value)
    blocks: dict[str, list[str]] = {}
    for place, found in places.items():
        most = max(found, key=lambda pair: len(found[pair]))
        lines = [
            "\t".join((theirs, SAME if own == theirs else own, "*" if (theirs, own) == most else " ".join(values)))
            for (theirs, own), values in found.items()
        ]
        blocks.setdefault("\n".join(lines), []).append(place)
    return "\n\n".join(f"[{' '.join(alike)}]\n{block}" for block, alike in blocks.items()) + "\n"


def read() -> Outcomes:
    """Read the file."""
    found: Outcomes = {}
    for block in ANSWERS.read_text(encoding="utf-8").strip().split("\n\n"):
        head, *lines = block.split("\n")
        by_value: dict[str, tuple[str, str]] = {}
        for line in lines:
            theirs, own, values = line.split("\t")
            by_value |= dict.fromkeys(values.split(" "), (theirs, theirs if own == SAME else own))
        for case in cases():
            if case.place in head[1:-1].split(" "):
                found[case] = by_value.get(case.value) or by_value["*"]
    return found


WANTED = (
    (r"unheardOf = {.*", "an object that names something twice says nothing for sure"),
    (r"unheardOf = .*ud83d.*", "half of a character is a text of JSON"),
    (r"(board[XY]Size|terminate.action) = .*", "boards have up to 25 lines"),
    (r"(analyzeTurns|priorities) = \[(0.5|true)\]", "turns and priorities are whole numbers"),
    (r"priority = 4611686018427387903", "whole numbers have at most 18 digits"),
    (r"(moves|initialStones) = .*-1,0.*", "a point beyond the board is none"),
    (r"(rules.)?komi = (1e-300|true|false)", "a komi is a half of a whole number"),
    (r"rules.komi = (null|\".*\")", "null says nothing, and a number may be a text, as in every setting"),
    (r"rules\.\w+ = (\"true\"|0)", "true, false and numbers may be texts, and texts numbers"),
    (r"whiteHandicapBonus = .*", "the answer says what may be written"),
    (r"overrideSettings\.(analysisPVLen|warnUnusedFields|preventCleanupPhase|visits) = .*", "these may be set, too"),
    (r"overrideSettings\.\w+ = (0|1|\"1\")", "0 and 1 are false and true in every setting"),
    (r"overrideSettings\.(numSearchThreads|fillDameBeforePass) = .*", "a warning: there is one value only, or none"),
    (r"overrideSettings\.playoutDoublingAdvantagePla = \"B\"", "colours have names in settings"),
)
"""Differences between KataGo's answers and ours by what they are about, and why they are wanted."""


def unexplained(outcomes: Outcomes) -> list[str]:
    """List the differences that are not WANTED, and what of that there is no difference for."""
    differ = [f"{case.place} = {case.value}" for case, (theirs, own) in outcomes.items() if theirs != own]
    lost = [line for line in differ if not any(re.fullmatch(pattern, line) for pattern, _ in WANTED)]
    return lost + [why for pattern, why in WANTED if not any(re.fullmatch(pattern, line) for line in differ)]


def asked_anew(asked: Sequence[Case], known: Outcomes, katago: Path | None = None, net: Path | None = None) -> Outcomes:
    """Ask our engine, and KataGo where one is given; else its outcomes are as known."""
    theirs = [known[case][0] for case in asked]
    if katago is not None and net is not None:
        theirs = list(map(outcome, asked, katagos(asked, katago, net)))
    return dict(zip(asked, zip(theirs, map(outcome, asked, ours(asked)), strict=True), strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--katago", type=Path)
    parser.add_argument("--net", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    asked = list(cases())
    known = read() if ANSWERS.exists() else dict.fromkeys(asked, ("", ""))
    now = asked_anew(asked, known, arguments.katago, arguments.net)
    if arguments.write:
        ANSWERS.write_text(written(now), encoding="utf-8")
    changed = [case for case in asked if now[case] != known.get(case)]
    offences = [f"{case.place} = {case.value}: {known.get(case)}, now {now[case]}" for case in changed]
    offences += unexplained(now)
    print(*offences or [f"{len(asked)} lines, no offences"], sep="\n")
    return int(bool(offences))


if __name__ == "__main__":
    sys.exit(main())
