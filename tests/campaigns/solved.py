"""Solved boards up to 5x5: what a search by the embedded network says of them, and how many visits that takes.

    python -m tests.campaigns.solved [--visits 3000] [--net FILE]

Each board is searched at komi 0 (which move, which lead) and half a point below and above its value (who wins), with
100, 300, 1000, ... visits until all is right, at most with `--visits`. Prints a line for each board and one with the
counts; the exit status is 1 if a board was not solved.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys

from nets.embedded import network_file
from nets.open import open_network
from tests.search.solved import SOLVED, Solver

STEPS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visits", type=int, default=3000)
    parser.add_argument("--net", default=str(network_file()))
    options = parser.parse_args()
    solver = Solver(open_network(options.net))
    unsolved = 0
    for case in SOLVED:
        faults = ["no visits"]
        for visits in [*(step for step in STEPS if step < options.visits), options.visits]:
            faults = list(solver.faults(dataclasses.replace(case, visits=visits)))
            if not faults:
                print(f"{case}: {case.value:+d} with {visits} visits", flush=True)
                break
        for line in faults:
            print(line, flush=True)
        unsolved += bool(faults)
    print(f"{len(SOLVED) - unsolved} of {len(SOLVED)} boards solved with at most {options.visits} visits")
    return 1 if unsolved else 0


if __name__ == "__main__":
    sys.exit(main())
