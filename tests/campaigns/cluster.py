"""A cluster on this machine whose workers and commands are killed at random: nothing is lost, nothing is done twice.

    make campaign-cluster [ARGS="--games 40 --matches 60 --kills 20 --visits 8 --net FILE"]

It reviews games on 9×9, plays a tournament and self-play, and labels positions on three workers. Meanwhile,
at random moments, a worker is killed and another one started, or one is stopped and goes on after the scheduler has
given it up, or the command is killed and given again. Then reviews, samples and labels must be those that this machine
makes alone, and each game must be there once. It prints what happened, and exits with 1 if anything was wrong.
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
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from nobi_machine.launch import python_command
from tests.conftest import SMALL_NETWORK
from tests.gtp_engine.cluster.machines import TTL, Machines
from training.labels.samples import read_chunk, read_header, sample_files

MOVES = 16
ENGINES = ("a=nobi --player random", "b=nobi --player mc --visits 20", "c=nobi --player uct --visits 20")
SMALL = ("-s", 'data.canvas_shares={"9": 1}', "-s", "data.selfplay.visits=8", "-s", "data.selfplay.quick_visits=2")
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


class Campaign:
    """The commands, each through its share of the kills, and what was wrong with what they left."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self._arguments, self._folder = arguments, folder
        self._machines = Machines(folder)
        self.killer = Killer(self._machines, random.Random(arguments.seed))
        self.problems = list[str]()

    def end(self) -> None:
        """End all processes."""
        self._machines.end()

    def review(self) -> None:
        """Review games away and here."""
        games, away, here = (self._folder / name for name in ("games", "away", "here"))
        write_games(games, self._arguments.games, random.Random(self._arguments.seed))
        review = ["review", games, "--visits", self._arguments.visits, "--net", self._arguments.net, "--parallel", 2]
        self._alone(*review, "--out", here)
        self._away(*review, "--out", away)
        lines = [(place / "review.results").read_bytes().splitlines() for place in (away, here)]
        self._check(len(set(lines[0])) == len(lines[0]), "a position was searched twice")
        self._check(sorted(lines[0]) == sorted(lines[1]), "results differ from those of this machine alone")
        for path in here.glob("*.sgf"):
            self._check(path.read_bytes() == (away / path.name).read_bytes(), f"{path.name} differs")

    def tournament(self) -> None:
        """Play a tournament away."""
        cup = self._folder / "cup"
        each = self._arguments.matches // len(list(itertools.combinations(ENGINES, 2)))
        self._away("tournament", *ENGINES, "--games", each, "--size", 5, "--score", "board", "--out", cup)
        for record in sorted(cup.glob("*/record.jsonl")):
            numbers = [json.loads(line)["game"] for line in record.read_bytes().splitlines()[1:]]
            self._check(sorted(numbers) == list(range(each)), f"{record.parent.name}: games {sorted(numbers)}")

    def selfplay(self) -> None:
        """Play games of self-play away and here. What is lost with a killed command is played again."""
        command = ["selfplay", "--net", self._arguments.net, "--seed", 1, *SMALL]
        command += ["--games", 2 * self._arguments.games]
        away, here = self._folder / "games-away", self._folder / "games-here"
        self._alone(*command, here)
        self._away(*command, away)
        keys = [sorted(key for path in sample_files(place) for key in keys_in(path)) for place in (away, here)]
        self._check(keys[0] == keys[1], "games of self-play are missing, or there twice")
        rows = [sorted(row for path in sample_files(place) for row in rows_in(path)) for place in (away, here)]
        self._check(rows[0] == rows[1], "samples differ from those of this machine alone")

    def label(self) -> None:
        """Label positions away and here."""
        count = 250 * self._arguments.games
        command = ["label", "--count", count, "-s", f"data.teacher={self._arguments.net}", *SMALL]
        command += ["-s", "data.records_share=0", "-s", "run.batch=4"]
        away, here = self._folder / "labels-away", self._folder / "labels-here"
        self._alone(*command, here)
        self._away(*command, away)
        found = [[(keys_in(path), path.read_bytes()) for path in sample_files(place)] for place in (away, here)]
        both = {keys[0] for keys, _ in found[0]} & {keys[0] for keys, _ in found[1]}
        self._check(len({keys[0] for keys, _ in found[0]}) == len(found[0]), "a unit of labels is there twice")
        self._check(len(both) >= len(found[0]) - 3, "units of labels are missing")  # some are under way at the end
        contents = [sorted(content for keys, content in each if keys[0] in both) for each in found]
        self._check(contents[0] == contents[1], "labels differ from those of this machine alone")

    def _alone(self, *command: object) -> None:
        started = time.monotonic()
        subprocess.run(_nobi(command), check=True, stdout=subprocess.DEVNULL)
        print(f"{command[0]}: {time.monotonic() - started:.0f} s on this machine alone", flush=True)

    def _away(self, *command: object) -> None:
        started, kills = time.monotonic(), self._arguments.kills // 4
        self.killer.run([*_nobi(command), "--cluster", self._machines.address], kills, self._arguments.pause)
        print(f"{command[0]}: {time.monotonic() - started:.0f} s on the cluster", flush=True)

    def _check(self, is_right: bool, problem: str) -> None:
        self.problems += [] if is_right else [problem]


def _nobi(command: Sequence[object]) -> list[str]:
    return python_command("gtp_engine.cli", *map(str, command))


def keys_in(path: Path) -> list[str]:
    """Read the keys of the units of work whose samples are in a file."""
    with np.load(path) as arrays:
        keys: list[str] = json.loads(arrays["units"].tobytes())
    return keys


def rows_in(path: Path) -> Iterator[bytes]:
    """Yield the samples of a file, each as bytes."""
    for row in zip(*read_chunk(read_header(path)), strict=True):
        yield b"".join(np.asarray(part).tobytes() for part in row)


def main(arguments: argparse.Namespace, folder: Path) -> int:
    """Do all of it in a folder. Returns the exit code."""
    campaign = Campaign(arguments, folder)
    try:
        campaign.review()
        campaign.tournament()
        campaign.selfplay()
        if find_spec("torch"):
            campaign.label()
        else:
            print("label: left out, PyTorch is missing")
    finally:
        campaign.end()
    print(", ".join(f"{count} times {what}" for what, count in campaign.killer.done.items()))
    print("\n".join(campaign.problems) or "nothing was lost, nothing was done twice")
    return 1 if campaign.problems else 0


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
