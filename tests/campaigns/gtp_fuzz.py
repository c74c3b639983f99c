"""Random lines to the GTP commands, as many as asked for.

    python -m tests.campaigns.gtp_fuzz --lines 1000000 [--seed N] [--workers N]

Every command must get exactly one well-formed reply, no internal error may occur, and an error must change nothing
(tests/gtp_engine/lines.py). Prints the first offence of each job; the exit status is 1 if there was any.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.gtp_engine.fakes import Dialogue
from tests.gtp_engine.lines import check, random_line

LINES_PER_JOB = 20_000


def run_job(job: tuple[int, int]) -> str:
    """One dialogue of so many lines; returns the offence that ended it, or nothing."""
    seed, lines = job
    rng = random.Random(seed)
    dialogue = Dialogue()
    for number in range(lines):
        try:
            check(dialogue, random_line(rng))
        except AssertionError as error:
            return f"seed {seed}, line {number}: {error}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    started = time.monotonic()
    n_jobs = max(1, -(-options.lines // LINES_PER_JOB))
    jobs = [
        (options.seed * 1_000_003 + i, min(LINES_PER_JOB, options.lines - i * LINES_PER_JOB)) for i in range(n_jobs)
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        offences = [offence for offence in pool.map(run_job, jobs) if offence]
    for offence in offences:
        print(offence)
    print(f"{options.lines} lines, {len(offences)} offences, {time.monotonic() - started:.0f} s")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
