"""A cluster on this machine whose workers and commands are killed at random: nothing is lost, nothing is done twice.

    make campaign-cluster [ARGS="--games 40 --matches 60 --kills 20 --visits 8 --net FILE"]

It reviews games on 9×9 and plays a tournament on a cluster of three workers. Meanwhile, at random moments, a worker is
killed and another one started, or one is stopped and goes on after the scheduler has given it up, or the command is
killed and given again. Then the reviews must be those that this machine makes alone, and each game of the tournament
must be there once. It prints what happened, and exits with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nobi_machine.launch import python_command
from tests.conftest import SMALL_NETWORK
from tests.gtp_engine.cluster.machines import TTL, Machines

MOVES = 16
ENGINES = ("a=nobi --player random", "b=nobi --player mc --visits 20", "c=nobi --player uct --visits 20")
LONGEST = 3600.0
"""Seconds after which the work counts as hung."""


def write_games(folder: Path, count: int, chance: random.Random) -> None:
    """Write records of random moves on 9×9."""
    folder.mkdir()
    points = [x + y for x in "abcdefghi" for y in "abcdefghi"]
    for number in range(count):
        moves = "".join(f";{'BW'[turn % 2]}[{point}]" for turn, point in enumerate(chance.sample(points, MOVES)))
        (folder / f"{number:03d}.sgf").write_text(f"(;SZ[9]KM[7]{moves})")


class Killer:
    """Kills while a command runs, and gives the command again."""

    def __init__(self, machines: Machines, chance: random.Random) -> None:
        self._machines, self._chance = machines, chance
        self._workers = [machines.worker() for _ in range(3)]
        self.done = Counter[str]()

    def run(self, command: Sequence[str], kills: int, pause: float) -> None:
        """Run a command to its end through so many kills, with `pause` seconds between two on average. Raises
        RuntimeError."""
        started, process = time.monotonic(), subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while True:
            try:
                code = process.wait(self._chance.expovariate(1 / pause) if kills else LONGEST)
                if code == 0:
                    return
                raise RuntimeError(f"{command[3:5]}: exit code {code}")
            except subprocess.TimeoutExpired:
                if time.monotonic() - started > LONGEST or not kills:
                    process.kill()
                    raise RuntimeError(f"{command[3:5]}: hangs") from None
            kills -= 1
            what = self._chance.choice(("worker killed", "worker killed", "worker stopped", "command killed"))
            self.done[what] += 1
            place = self._chance.randrange(len(self._workers))
            if what == "worker killed":
                self._workers[place].kill()
                self._workers[place] = self._machines.worker()
            elif what == "worker stopped":
                self._workers[place].send_signal(signal.SIGSTOP)
                time.sleep(self._chance.uniform(0, 2 * TTL))
                self._workers[place].send_signal(signal.SIGCONT)
            else:
                process.kill()
                process.wait()
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL)


def main(arguments: argparse.Namespace, folder: Path) -> int:
    """Do all of it in a folder. Returns the exit code."""
    chance = random.Random(arguments.seed)
    games, away, here, cup = (folder / name for name in ("games", "away", "here", "cup"))
    write_games(games, arguments.games, chance)
    problems = list[str]()
    machines = Machines(folder)
    try:
        killer = Killer(machines, chance)
        nobi = python_command("gtp_engine.cli")
        review = [*nobi, "review", str(games), "--visits", str(arguments.visits), "--net", str(arguments.net)]
        review += ["--parallel", "2"]
        alone = time.monotonic()
        subprocess.run([*review, "--out", str(here)], check=True, stdout=subprocess.DEVNULL)
        alone = time.monotonic() - alone
        half, elsewhere = arguments.kills // 2, ["--cluster", machines.address]
        killer.run([*review, "--out", str(away), *elsewhere], half, arguments.pause)
        lines = [(place / "review.results").read_bytes().splitlines() for place in (away, here)]
        problems += [] if len(set(lines[0])) == len(lines[0]) else ["a position was searched twice"]
        problems += [] if sorted(lines[0]) == sorted(lines[1]) else ["results differ from those of this machine alone"]
        problems += [
            f"{path.name} differs"
            for path in here.glob("*.sgf")
            if path.read_bytes() != (away / path.name).read_bytes()
        ]
        print(f"review: {arguments.games} games, {len(lines[0])} units; alone it took {alone:.0f} s")
        pairs = len(list(itertools.combinations(ENGINES, 2)))
        each = arguments.matches // pairs
        match = [
            *nobi,
            "tournament",
            *ENGINES,
            "--games",
            str(each),
            "--size",
            "5",
            "--score",
            "board",
            "--out",
            str(cup),
        ]
        killer.run([*match, *elsewhere], arguments.kills - half, arguments.pause)
        for record in sorted(cup.glob("*/record.jsonl")):
            numbers = [json.loads(line)["game"] for line in record.read_bytes().splitlines()[1:]]
            if sorted(numbers) != list(range(each)):
                problems.append(f"{record.parent.name}: games {sorted(numbers)}")
        print(f"tournament: {each * pairs} games")
        print(", ".join(f"{count} times {what}" for what, count in killer.done.items()))
    finally:
        machines.end()
    print("\n".join(problems) or "nothing was lost, nothing was done twice")
    return 1 if problems else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--matches", type=int, default=60)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--visits", type=int, default=8)
    parser.add_argument("--pause", type=float, default=8.0, help="seconds between two kills, on average")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--net", type=Path, default=SMALL_NETWORK)
    with tempfile.TemporaryDirectory() as name:
        sys.exit(main(parser.parse_args(), Path(name)))
