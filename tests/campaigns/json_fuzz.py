"""Random lines to the JSON engine, as many as asked for: queries with odd fields, actions, broken JSON.

    python -m tests.campaigns.json_fuzz --lines 100000 [--seed N] [--workers N] [--minutes M]

What must hold: a line that is no query gets one error without an id; a query is either refused with exactly one error,
or every turn it asks for gets exactly one last reply; warnings are for accepted queries as well; no text says
`internal error`; and every reply is JSON that reads back. Prints the counts, and each kind of error with how often it
came. The exit status is 1 if anything else happened.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from gtp_engine.json_engine.query import KNOWN
from gtp_engine.json_engine.server import encoded
from nobi_machine.text import parse_json
from tests.gtp_engine.json_engine.spoken import Spoken

LINES_PER_JOB = 2_000
BATCH = 50
"""Lines between two times at which everything is answered."""
HANGS = 120.0

VERTICES = ("A1", "E5", "c3", "J9", "T19", "pass", "PASS", "(0,0)", "(8,8)", "(9,9)", "Z9", "", "I5", "A0", "AA1")
NAMES = ("chinese", "japanese", "TROMP-TAYLOR", "new zealand", "stone_scoring", "aga", "nonsense", "")
SETTINGS = (
    *("wideRootNoise", "maxTime", "maxVisits", "maxPlayouts", "cpuctExploration", "humanSLProfile", "numSearchThreads"),
    *("reportAnalysisWinratesAs", "playoutDoublingAdvantage", "antiMirror", "rootNumSymmetriesToSample", "memory", "?"),
)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2.5, 1e300, -1e-300, 10**17, -(10**17), "", "x", "B", "w", "1", "\x00", "\ud83d"),
    *([], {}, [[]], [{}], {"x": []}, [["B", "A1"]], ["A1"], [0], [1, 2], "é" * 50),
)
FIELDS = sorted(KNOWN - {"id", "action"})


class Lines:
    """Makes lines; most of them are almost right."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def query(self, id: str) -> dict[str, Any]:
        """A query that is right."""
        draw = self.random
        size = draw.choice((2, 5, 9, 9, 9, 13, 19))
        moves = [[draw.choice("BbWw"), self.vertex(size)] for _ in range(draw.choice((0, 1, 2, 5, 30)))]
        query: dict[str, Any] = {
            "id": id, "moves": moves, "rules": draw.choice(NAMES[:6]), "komi": draw.choice((7, 6.5, -400, 0)),
            "boardXSize": size, "boardYSize": draw.choice((size, size, 7)), "maxVisits": draw.randint(1, 12),
        }  # fmt: skip
        if draw.random() < 0.5:
            query["analyzeTurns"] = [draw.randint(0, len(moves)) for _ in range(draw.randint(0, 3))]
        for name in draw.sample(FIELDS, draw.choice((0, 0, 1, 3))):
            if name.startswith("include"):
                query[name] = True
        if draw.random() < 0.3:
            query["overrideSettings"] = {name: self.value() for name in draw.sample(SETTINGS, draw.randint(0, 2))}
        if draw.random() < 0.2:
            side = {"player": draw.choice("BW"), "moves": [self.vertex(size)], "untilDepth": draw.randint(1, 5)}
            query[draw.choice(("avoidMoves", "allowMoves"))] = [side]
        if draw.random() < 0.1:
            query["reportDuringSearchEvery"] = 0.001
        return query

    def vertex(self, size: int) -> str:
        """A point of the board, and now and then something else."""
        if self.random.random() < 0.02:
            return self.random.choice(VERTICES)
        return f"{'ABCDEFGHJKLMNOPQRST'[self.random.randrange(size)]}{self.random.randint(1, min(7, size))}"

    def value(self) -> Any:
        """Any value."""
        return copy.deepcopy(self.random.choice(ODD))

    def line(self, id: str) -> str:
        """One line."""
        draw = self.random
        kind = draw.random()
        if kind < 0.1:
            action = draw.choice(("query_version", "query_models", "clear_cache", "terminate", "terminate_all", "x"))
            return json.dumps({"id": id, "action": action, draw.choice(("terminateId", "turnNumbers")): self.value()})
        query = self.query(id)
        if kind < 0.55:
            for name in draw.sample(FIELDS, draw.choice((1, 1, 2))):
                query[name] = self.value()
        if kind < 0.2:
            query.pop(draw.choice(list(query)))
        text = json.dumps(query)
        if kind < 0.15:
            cut = draw.randrange(len(text))
            text = text[:cut] + draw.choice(("", "}", '"', "[", "1e999", "NaN", "\\u", "[" * 2000)) + text[cut + 1 :]
        return text.replace("\n", " ")


def run(job: tuple[int, int]) -> tuple[Counter[str], list[str]]:
    """One job: (seed, lines). Returns what happened, and the offences."""
    seed, lines = job
    maker, spoken, counts, offences = Lines(seed), Spoken(slots=3, workers=2), Counter[str](), list[str]()
    for start in range(0, lines, BATCH):
        sent = {f"{number}": maker.line(f"{number}") for number in range(start, min(lines, start + BATCH))}
        try:
            offences += talk(spoken, sent, counts)
        except Exception as error:
            offences.append(f"{type(error).__name__}: {error} after {list(sent.values())[-1][:300]}")
            break
    spoken.end()
    return counts, [f"seed {seed}: {offence}" for offence in offences[:5]]


def talk(spoken: Spoken, sent: dict[str, str], counts: Counter[str]) -> list[str]:
    """Send lines, await all answers, and return what is wrong with them."""
    wanted: Counter[tuple[str, int]] = Counter()
    got: Counter[tuple[str, int]] = Counter()
    offences: list[str] = []
    nameless = 0
    refused: set[str] = set()
    for line in sent.values():
        try:
            query = parse_json(line.strip())
        except ValueError:
            query = None
        has_id = isinstance(query, dict) and isinstance(query.get("id"), str)
        before = len(refused) + nameless
        spoken.say(line)
        answers = drain(spoken)
        for answer in answers:
            nameless += note_answer(answer, counts, got, refused)
        counts["lines"] += 1
        if not has_id:
            if len(refused) + nameless != before + bool(line.strip()):
                offences.append(f"no single error for {line[:300]}")
        elif not isinstance(query.get("action"), str) and query["id"] not in refused:
            turns = query.get("analyzeTurns", [len(query["moves"])])
            wanted.update((query["id"], turn) for turn in set(turns))
    until = time.monotonic() + HANGS
    while got.total() < wanted.total() and time.monotonic() < until:
        note_answer(spoken.next(), counts, got, refused)
    if got != wanted:
        offences.append(f"last replies missing {wanted - got}, too many {got - wanted}: {list(sent.values())}"[:2000])
    return offences


def drain(spoken: Spoken) -> list[dict[str, Any]]:
    """The replies that are there already."""
    found = []
    while not spoken.replies.empty():
        found.append(spoken.replies.get())
    return found


def note_answer(answer: dict[str, Any], counts: Counter[str], got: Counter[tuple[str, int]], refused: set[str]) -> int:
    """Count an answer. Returns 1 for an error without an id."""
    if json.loads(encoded(answer)) != answer:
        raise AssertionError(f"does not read back: {answer}")
    if "error" in answer:
        if "internal error" in answer["error"]:
            raise AssertionError(answer["error"])
        counts["error: " + re.sub(r"[0-9.]+|: .*", "", answer["error"])[:60]] += 1
        if "id" in answer:
            refused.add(answer["id"])
        return int("id" not in answer)
    if "warning" in answer:
        counts["warnings"] += 1
    elif "turnNumber" in answer:
        counts["reports" if answer["isDuringSearch"] else "last replies"] += 1
        if not answer["isDuringSearch"]:
            got[answer["id"], answer["turnNumber"]] += 1
    else:
        counts["actions"] += 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    arguments = parser.parse_args()
    until = time.monotonic() + 60 * arguments.minutes
    jobs = [(arguments.seed + i, LINES_PER_JOB) for i in range(-(-arguments.lines // LINES_PER_JOB))]
    counts: Counter[str] = Counter()
    offences: list[str] = []
    with ProcessPoolExecutor(arguments.workers) as pool:
        for some, wrong in pool.map(run, jobs):
            counts += some
            offences += wrong
            print(
                f"{counts['lines']} of {arguments.lines} lines, {len(offences)} offences", file=sys.stderr, flush=True
            )
            if time.monotonic() > until:
                pool.shutdown(cancel_futures=True)
                break
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:10d}  {name}")
    print(*offences or ["no offences"], sep="\n")
    return int(bool(offences))


if __name__ == "__main__":
    sys.exit(main())
