"""Random games by the kernels against sgfmill and the naive rules, as many moves as asked for.

    python -m tests.campaigns.rules --moves 1000000 [--seed N] [--workers N]

Every ko rule, both scorings, suicide on and off and the button, on boards from 1x2 to 25x25, rectangles included.
Prints each difference and, at the end, one line with their number; the exit status is 1 if there was any.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.go_rules.differences import ALL_RULES, random_game_differences

MOVES_PER_JOB = 20_000


def games(seed: int, moves: int) -> Iterator[tuple[int, int, int, int, int]]:
    """(seed, width, height, index into ALL_RULES, moves) of games with `moves` moves altogether."""
    rng = random.Random(seed)
    while moves > 0:
        width = rng.randint(2, 25)
        height = width if rng.random() < 0.6 else rng.randint(1, 25)
        length = min(moves, max(20, int(width * height * rng.uniform(0.5, 3))))
        yield rng.getrandbits(48), width, height, rng.randrange(len(ALL_RULES)), length
        moves -= length


def run_job(job: tuple[int, int]) -> tuple[int, int, list[str]]:
    """Play one job's games; returns (games, moves, differences)."""
    seed, moves = job
    played = 0
    found: list[str] = []
    for game_seed, width, height, rules, length in games(seed, moves):
        played += 1
        found += random_game_differences(game_seed, width, height, ALL_RULES[rules], length)
    return played, moves, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    started = time.monotonic()
    n_jobs = max(1, -(-options.moves // MOVES_PER_JOB))
    jobs = [
        (options.seed * 1_000_003 + i, min(MOVES_PER_JOB, options.moves - i * MOVES_PER_JOB)) for i in range(n_jobs)
    ]
    n_games = n_moves = n_differences = 0
    with ProcessPoolExecutor(options.workers) as pool:
        for games_played, moves_played, found in pool.map(run_job, jobs):
            n_games += games_played
            n_moves += moves_played
            n_differences += len(found)
            for line in found:
                print(line, flush=True)
    seconds = time.monotonic() - started
    print(f"{n_moves} moves in {n_games} games, {n_differences} differences, {seconds:.0f} s")
    return 1 if n_differences else 0


if __name__ == "__main__":
    sys.exit(main())
