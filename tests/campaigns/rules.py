"""The rules against simpler implementations of them, as long as asked for.

    python -m tests.campaigns.rules [--moves 1000000] [--what all] [--seed N] [--workers N]

`--what` is one of
    games       random games by the kernels, sgfmill and the naive rules: board, legality, captures, hash, chains,
                phases; then half of the moves taken back and played again
    undo        play and undo at random: after every step all is as in a game that played the same moves from the start
    symmetries  random games and their images under 8 symmetries and both colours: legal moves, score, life, features
    selfplay    whole games by the players `rave` and `uct`: every move they choose is legal
    counts      perft and complete games by the kernels, by Game with undo and by the naive rules
    all         half of the moves as `games`, the others shared by `undo` and `symmetries`, one game in 20,000 moves as
                `selfplay`, and the counts once

Every ko rule, both scorings, suicide on and off and the button, on boards from 1x2 to 25x25, rectangles included.
Prints each difference and, at the end, one line with the counts; the exit status is 1 if there was any difference.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

from nets.features import new_scratch
from tests.go_rules.counts import count_differences
from tests.go_rules.differences import ALL_RULES, random_game_differences, undo_differences
from tests.go_rules.symmetry import symmetry_differences
from tests.search.self_play import self_play_faults

MOVES_PER_JOB = 20_000

Job = tuple[str, int, int]
"""(what, seed, moves)"""


def games(seed: int, moves: int) -> Iterator[tuple[int, int, int, int, int]]:
    """(seed, width, height, index into ALL_RULES, moves) of games with `moves` moves altogether."""
    rng = random.Random(seed)
    while moves > 0:
        width = rng.randint(2, 25)
        height = width if rng.random() < 0.6 else rng.randint(1, 25)
        length = min(moves, max(20, int(width * height * rng.uniform(0.5, 3))))
        yield rng.getrandbits(48), width, height, rng.randrange(len(ALL_RULES)), length
        moves -= length


def run_games(seed: int, moves: int, counts: Counter[str]) -> Iterator[str]:
    for game_seed, width, height, rules, length in games(seed, moves):
        counts["games"] += 1
        counts["moves"] += length
        yield from random_game_differences(game_seed, width, height, ALL_RULES[rules], length)


def run_undo(seed: int, moves: int, counts: Counter[str]) -> Iterator[str]:
    for game_seed, width, height, rules, length in games(seed, moves):
        counts["games with undo"] += 1
        counts["moves and undos"] += length
        yield from undo_differences(game_seed, width, height, ALL_RULES[rules], length)


def run_symmetries(seed: int, moves: int, counts: Counter[str]) -> Iterator[str]:
    rng = random.Random(seed)
    scratch = new_scratch()
    for game_seed, _, height, rules, length in games(seed, moves):
        side = max(2, min(height, 19))
        symmetry, swap = rng.randrange(8), rng.random() < 0.5
        counts["games with their images"] += 1
        counts["positions with their images"] += length
        yield from symmetry_differences(game_seed, side, symmetry, swap, ALL_RULES[rules], length, scratch)


def run_selfplay(seed: int, _: int, counts: Counter[str]) -> Iterator[str]:
    faults, moves = self_play_faults(seed)
    counts["games of self-play"] += 1
    counts["moves of self-play"] += moves
    yield from faults


def run_counts(_seed: int, _moves: int, counts: Counter[str]) -> Iterator[str]:
    for name, found in count_differences():
        counts["counts"] += 1
        if found is not None:
            yield f"{name}: {found}"


KINDS: dict[str, Callable[[int, int, Counter[str]], Iterator[str]]] = {
    "games": run_games,
    "undo": run_undo,
    "symmetries": run_symmetries,
    "selfplay": run_selfplay,
    "counts": run_counts,
}


def run_job(job: Job) -> tuple[Counter[str], list[str]]:
    what, seed, moves = job
    counts: Counter[str] = Counter()
    found = list(KINDS[what](seed, moves, counts))
    counts["differences"] += len(found)
    return counts, found


def jobs_of(what: str, seed: int, moves: int) -> Iterator[Job]:
    count = max(1, -(-moves // MOVES_PER_JOB))
    kinds = ["games", "undo", "games", "symmetries"] if what == "all" else [what]
    if what in ("all", "counts"):
        yield "counts", seed, 0
    for i in range(count if what != "counts" else 0):
        job_seed = seed * 1_000_003 + i
        yield kinds[i % len(kinds)], job_seed, min(MOVES_PER_JOB, moves - i * MOVES_PER_JOB)
        if what == "all":
            yield "selfplay", job_seed, 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=["all", *KINDS], default="all")
    parser.add_argument("--moves", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    started = time.monotonic()
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(options.workers) as pool:
        for job_counts, found in pool.map(run_job, jobs_of(options.what, options.seed, options.moves)):
            counts.update(job_counts)
            for line in found:
                print(line, flush=True)
    differing = counts.pop("differences", 0)
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(f"{differing} differences; {listed}; {time.monotonic() - started:.0f} s")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
