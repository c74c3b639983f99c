"""How soon an analysis ends after any input, in the real engine.

    python -m tests.campaigns.analysis_ends [--rounds 40] [--size 19] [--limit 0.05] [-- ARGUMENTS OF nobi gtp]

Each round runs every command of COMMANDS once, lets it search for a while (from nothing to 0.8 s, so that its first
evaluation is interrupted too), writes `name`, an empty line or `# interrupt`, and measures how long the end of the
reply takes to come. A move is played in each round, so trees grow and are left. Beside each analysis an idle process
is asked for an echo: that is what the machine itself adds. Every reply has to be framed and in order. Prints the
delays of each command; the exit status is 1 if anything is misframed, or if more than 5 of 100 analyses end later than
the limit, such an echo aside.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import select
import subprocess
import sys
import time

from tests.campaigns.clocks import quantile
from tests.conftest import REPOSITORY

COMMANDS = (
    ("lz-analyze 10", "name"),
    ("lz-analyze 10", ""),
    ("kata-analyze 5 ownership true movesOwnership true", "name"),
    ("kata-analyze 20 rootInfo true", ""),
    ("kata-search_analyze_cancellable 10", "name"),
    ("kata-search_cancellable b", ""),
    ("kata-genmove_analyze 10 ownership true", "# interrupt"),
)
"""An analysis, and what ends it."""
EVALUATED = 0.4
"""Seconds that a move is thought of at least: there is none before the position is evaluated."""
LONGEST = 0.8
"""Seconds that an analysis searches at most."""
LIMIT = 0.05
HANGS, LOADS = 20.0, 600.0
"""Seconds after which a reply is missing; and while a network may have to be prepared."""
MOVES = 40
"""Moves after which a new game begins."""
ECHO = "import os\nwhile data := os.read(0, 99): os.write(1, data)"
VISITS = re.compile(r"info move \S+ visits (\d+)")


class Pipe:
    """A process that is asked line by line."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, cwd=REPOSITORY
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._read = b""

    def say(self, line: str) -> None:
        """Write a line."""
        os.write(self._in, line.encode() + b"\n")

    def until(self, end: bytes, patience: float = HANGS) -> str:
        """What comes up to `end` and with it. Raises TimeoutError and EOFError."""
        deadline = time.monotonic() + patience
        while end not in self._read:
            if not select.select([self._out], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            chunk = os.read(self._out, 1 << 16)
            if not chunk:
                raise EOFError
            self._read += chunk
        text, _, self._read = self._read.partition(end)
        return (text + end).decode()

    def ask(self, line: str) -> str:
        """The whole reply to a line that may have to wait for the network."""
        self.say(line)
        return self.until(b"\n\n", LOADS)


def analyse(engine: Pipe, command: str, ending: str, seconds: float) -> tuple[float, str]:
    """Seconds from the input to the end of the analysis, and a complaint."""
    engine.say(command)
    time.sleep(seconds)
    started = time.perf_counter()
    engine.say(ending)
    reply = engine.until(b"\n\n")
    took = time.perf_counter() - started
    if not reply.startswith("="):
        return took, f"{command}: {reply!r}"
    if ending == "name" and not (answer := engine.until(b"\n\n")).startswith("= Nobi"):
        return took, f"name after {command}: {answer!r}"
    if ("search" in command or "genmove" in command) and not re.search(r"play \S+\n\n$|^= cancelled\n\n$", reply):
        return took, f"no last line: {reply[-80:]!r}"
    return took, ""


def echo(idle: Pipe) -> float:
    """Seconds that the machine needs to answer without any work."""
    started = time.perf_counter()
    idle.say("")
    idle.until(b"\n")
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--size", type=int, default=19)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds beside the echo's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("arguments", nargs="*", help="of nobi gtp, after --")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    engine = Pipe([sys.executable, "-m", "gtp_engine.cli", "gtp", "--time", "60", *options.arguments])
    idle = Pipe([sys.executable, "-c", ECHO])
    engine.ask("name")
    engine.ask("boardsize 9")
    taken: dict[tuple[str, str], list[float]] = {pair: [] for pair in COMMANDS}
    echoes: list[float] = []
    complaints: list[str] = []
    played = 0
    try:
        for _ in range(options.rounds):
            if played % MOVES == 0:
                engine.ask(f"boardsize {options.size}")
                engine.ask("clear_board")
            for pair in rng.sample(COMMANDS, len(COMMANDS)):
                echoes.append(echo(idle))
                seconds = rng.choice((0.0, 0.05, rng.uniform(0.05, LONGEST)))
                if "genmove" in pair[0]:
                    seconds = max(seconds, EVALUATED)
                took, complaint = analyse(engine, *pair, seconds)
                taken[pair].append(took)
                if complaint:
                    complaints.append(complaint)
                    print(complaint, flush=True)
            played += 1
    finally:
        for pipe in (engine, idle):
            pipe.process.kill()
            pipe.process.wait()
    for (command, ending), delays in [*taken.items(), (("an idle process", ""), echoes)]:
        figures = "  ".join(
            f"{name} {1000 * quantile(delays, share):4.0f}"
            for name, share in (("median", 0.5), ("95%", 0.95), ("most", 1))
        )
        print(f"{command:52} {ending or '(empty line)':12} {len(delays):4} times  {figures} ms")
    every = [delay for delays in taken.values() for delay in delays]
    late = quantile(every, 0.95) - quantile(echoes, 0.95)
    print(
        f"{len(every)} analyses, {len(complaints)} complaints; 95% within {1000 * quantile(every, 0.95):.0f} ms, "
        f"{1000 * late:.0f} ms beside the machine's own; limit {1000 * options.limit:.0f} ms"
    )
    return 1 if complaints or late > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
