"""Hostile engines against the referee: every attack, at every moment, on either side.

    python -m tests.campaigns.opponents [--jobs 8] [--matches 20] [--nobi] [--only KIND]... [--memory MB] [--seconds S]

First one game for each attack, many at a time, with the referee in this process; then --matches whole runs of
`nobi match` by attacks drawn at random (0: none), each of two games with colours exchanged. The other engine is an
honest one that answers at once; with --nobi the matches are against Nobi (random playouts, few visits).

Prints what became of each match, how long it took, and the most memory that the referee held. Exits with 1 if an honest
engine lost or a hostile one gained, if this process grew by more than --memory for each game at a time or a match
needed more than one between honest engines by that much, if something took more than --seconds or did not end, if
control characters reached the output, or if a process was left.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gtp_engine.match.record import FAULTS, GameRecord
from nobi_machine.launch import python_command
from tests.gtp_engine.match import zoo
from tests.gtp_engine.match.conftest import stub_command

HANG, START = 10, 60
STARTING = ("start", "name", "list_commands", "boardsize")
"""Attacks at these moments are met before the match, when the engines are asked for their names."""
DEAF_START = 10
"""`--start` where the attack comes at the start, so that it does not take long to be sure of it."""


@dataclass
class Result:
    """What became of a match."""

    complaint: str
    outcome: str
    seconds: float
    megabytes: float
    """The most memory that the referee held (VmHWM)."""


def honest(moves: str = "C3,C2,B3") -> str:
    """An engine that answers at once."""
    return shlex.join(stub_command("--name", "Honest", "--moves", moves, "--score", "0"))


def run(kind: str, moment: str, side: int, opponent: str, most_seconds: float) -> Result:
    """Play one match against a hostile engine, engine A or B (`side` 0 or 1). Without a kind both are honest."""
    mark = f"opponents-{os.getpid()}-{kind}-{moment}-{side}".replace(" ", "-")
    hostile = shlex.join(zoo.command(kind, moment, mark)) if kind else honest("D4,D2,E4")
    engines = [opponent, opponent]
    engines[side] = hostile
    start = DEAF_START if moment in STARTING and "nobi" not in opponent else START
    with tempfile.TemporaryDirectory(prefix="opponents-") as folder:
        options = ["--size", 5, "--komi", 0.5, "-n", 2, "--hang", HANG, "--start", start, "--out", folder, "--json"]
        command = python_command("gtp_engine.cli", "match", *engines, *(str(option) for option in options))
        started = time.monotonic()
        with open(Path(folder, "out"), "wb") as out, open(Path(folder, "err"), "wb") as err:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            kilobytes = 0
            while process.poll() is None and time.monotonic() - started < most_seconds:
                kilobytes = max(kilobytes, peak(process.pid))
                time.sleep(0.02)
        seconds = time.monotonic() - started
        ended = process.poll() is not None
        if not ended:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        said = Path(folder, "out").read_text() + Path(folder, "err").read_text()
        record = Path(folder, "record.jsonl")
        lines = record.read_bytes().splitlines()[1:] if record.exists() else []
        games = [msgspec.json.decode(line, type=GameRecord) for line in lines]
    left = zoo.processes_with(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    complaint = "" if ended else "did not end"
    if left:
        complaint = f"left {len(left)} processes"
    elif not all(line.isprintable() for line in said.split("\n")):
        complaint = f"control characters in its output: {said!r}"
    elif "Traceback" in said or "internal error" in said:
        complaint = said[-500:]
    complaint = complaint or judge(kind, moment, side, games, process.returncode, said)
    outcome = ", ".join(f"{game.result} {game.reason}" for game in games) or said.strip()[-100:]
    return Result(complaint, outcome, seconds, kilobytes / 1024)


def judge(kind: str, moment: str, side: int, games: list[GameRecord], code: int, said: str) -> str:
    """What is wrong with the outcome of a match; empty if nothing."""
    if not games:  # the match was refused
        met_first = moment in STARTING and zoo.must_lose(kind, moment)
        blamed = said.startswith(f"nobi: engine {'AB'[side]}")
        return "" if met_first and code == 1 and blamed else f"no match: {code}, {said!r}"
    if len(games) < 2:
        return f"{len(games)} games"
    if not kind:
        return "" if not any(game.reason in FAULTS for game in games) else json.dumps([game.reason for game in games])
    return "; ".join(filter(None, (zoo.misjudged(game, kind, moment, 1 - side) for game in games)))


def peak(pid: int) -> int:
    """The most memory in kilobytes that a process has held; 0 where that cannot be known."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def play_all(cases: list[tuple[str, str, int]], jobs: int, megabytes: float) -> int:
    """Play a game for each case in this process. Returns how many went wrong."""
    offences = 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="opponents-") as folder:
        zoo.play(Path(folder), "chatter", "genmove", 0)  # so that all that any game needs is loaded
        before = peak(os.getpid())
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for complaint in pool.map(lambda case: zoo.play(Path(folder), *case), cases):
                if complaint:
                    offences += 1
                    print(f"WRONG: {complaint}", flush=True)
    grown = (peak(os.getpid()) - before) / 1024
    if grown > megabytes * jobs:
        offences += 1
        print("WRONG: too much memory")
    seconds = time.monotonic() - started
    print(f"{len(cases)} games, {offences} wrong; {seconds:.0f} s, {grown:+.1f} MB with {jobs} at a time", flush=True)
    return offences


def run_matches(cases: list[tuple[str, str, int]], opponent: str, megabytes: float, seconds: float) -> int:
    """Run `nobi match` for each case. Returns how many went wrong."""
    usual = run("", "", 0, opponent, seconds)
    print(f"honest engines: {usual.outcome}, {usual.seconds:.1f} s, {usual.megabytes:.1f} MB {usual.complaint}")
    offences = int(bool(usual.complaint))
    slowest = largest = 0.0
    for kind, moment, side in cases:
        result = run(kind, moment, side, opponent, seconds)
        if result.megabytes > usual.megabytes + megabytes:
            result.complaint += " too much memory"
        slowest, largest = max(slowest, result.seconds), max(largest, result.megabytes)
        offences += bool(result.complaint)
        what = f"{kind} at {moment}, engine {'AB'[side]}"
        print(f"{what:40} {result.seconds:5.1f} s {result.megabytes:6.1f} MB  {result.outcome}", flush=True)
        if result.complaint:
            print(f"    WRONG: {result.complaint}", flush=True)
    print(
        f"{len(cases)} matches, {offences} wrong; slowest {slowest:.1f} s; most memory {largest:.1f} MB, "
        f"{largest - usual.megabytes:+.1f} MB to honest engines"
    )
    return offences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=8, help="games at a time in this process")
    parser.add_argument("--matches", type=int, default=20, help="whole matches")
    parser.add_argument("--nobi", action="store_true", help="Nobi is the honest engine of the matches")
    parser.add_argument("--only", action="append", choices=zoo.KINDS, help="attacks of this kind")
    parser.add_argument("--memory", type=float, default=16.0, help="megabytes for a hostile engine")
    parser.add_argument("--seconds", type=float, default=240.0, help="the longest that a match may take")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    cases = [
        (kind, moment, side)
        for kind in options.only or zoo.KINDS
        for moment in zoo.MOMENTS
        if zoo.is_attack(kind, moment)
        for side in (0, 1)
    ]
    # No referee asks for a name during a game: only matches have that moment.
    offences = play_all([case for case in cases if case[1] != "name"], options.jobs, options.memory)
    drawn = random.Random(options.seed).sample(cases, min(options.matches, len(cases)))
    if drawn:
        opponent = "nobi --player uct --visits 10 --workers 1" if options.nobi else honest()
        offences += run_matches(drawn, opponent, options.memory, options.seconds)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
