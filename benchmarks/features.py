"""What encoding a position for a network costs: microseconds on one core for all features, for ladders, for areas.

Positions are those from move 60 to 200 of recorded games (`--games`: an .npz of `moves`, y * 19 + x with 361 for a
pass, and `offsets` of each game), or else of games of random moves, which have far more ladders. "remembering": as in
a search, where the ladders of the two boards before are mostly known; "forgetting": all three boards are read.
Seconds are those of the processor, so that other programs do not count. Kernels are compiled into an empty cache first.

python -m benchmarks.features [--games FILE] [--count N] [--rules NAME] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.board import clear, copy_position, play
from go_rules.game import Game
from go_rules.machine import jit
from go_rules.machine.jit import kernel
from go_rules.points import N_POINTS, PASS, point_at
from go_rules.position import new_stack
from go_rules.rules import preset
from go_rules.tactics.ladder import find_ladders
from go_rules.tactics.life import final_area
from nets.features import IN_TREE, encode, new_scratch

SIZE = 19
FIRST, END = 60, 200
ROUNDS = 3
"""Each measurement is the best of so many."""


@kernel
def encode_all(stack, first, end, rules, scratch, ban, spatial, global_, remember):
    view = np.int64(IN_TREE)
    for i in range(first, end):
        if not remember:
            forget(stack, i, i + 1, rules, scratch)
        encode(stack, i, np.int64(stack[i].to_play), rules, 0.0, view, ban, scratch, spatial, global_)


@kernel
def forget(stack, first, end, rules, scratch):
    for _ in range(first, end):
        for slot in range(len(scratch.ladders)):
            scratch.ladders[slot].key = np.uint64(0)


@kernel
def read_all_ladders(stack, first, end, rules, scratch):
    memory = scratch.ladders[:1]
    for i in range(first, end):
        memory[0].key = np.uint64(0)
        find_ladders(stack[i], scratch.ladder[0], memory)


@kernel
def find_all_areas(stack, first, end, rules, scratch):
    phase = np.int64(0)
    for i in range(first, end):
        final_area(stack[i], rules, phase, False, scratch.life[0])


def recorded_games(path: str, count: int, rules: np.void) -> Iterator[NDArray[np.void]]:
    """Position stacks of the first `count` games of a file."""
    with np.load(path) as games:
        offsets, moves = games["offsets"], games["moves"]
    for i in range(count):
        record = moves[offsets[i] : offsets[i + 1]]
        stack = new_stack(len(record) + 1)
        clear(stack[0], SIZE, SIZE, 0)
        for number, move in enumerate(record.tolist()):
            copy_position(stack[number + 1], stack[number])
            point = PASS if move == SIZE * SIZE else point_at(move % SIZE, move // SIZE)
            play(stack[number + 1], point, int(stack[number]["to_play"]), rules)
        yield stack


def random_games(count: int, rules_name: str) -> Iterator[NDArray[np.void]]:
    rng = random.Random(1)
    for _ in range(count):
        game = Game(SIZE, SIZE, preset(rules_name)[0])
        while game.length < END:
            game.play(game.to_play, rng.choice(game.legal_moves(game.to_play)))
        yield game.stack[: game.length].copy()


def microseconds(stacks: list[NDArray[np.void]], run: Callable[..., Any], *arguments: Any) -> float:
    """Processor time for one position."""
    best = np.inf
    for _ in range(ROUNDS):
        positions = 0
        started = time.process_time()
        for stack in stacks:
            end = min(END, len(stack))
            first = min(FIRST, end)
            run(stack, first, end, *arguments)
            positions += end - first
        best = min(best, (time.process_time() - started) / positions)
    return 1e6 * best


def measure(stacks: list[NDArray[np.void]], rules: np.void) -> dict[str, float]:
    scratch, ban = new_scratch(), np.zeros(N_POINTS, np.int8)
    spatial, global_ = np.zeros((22, SIZE, SIZE), np.float32), np.zeros(19, np.float32)
    compiled, started = jit.compilations, time.process_time()
    encode(stacks[0], 0, 1, rules, 0.0, IN_TREE, ban, scratch, spatial, global_)
    results: dict[str, float] = {
        "compile_seconds": time.process_time() - started,
        "kernels": jit.compilations - compiled,
    }
    pieces = (rules, scratch)
    whole = (rules, scratch, ban, spatial, global_)
    warm_up = [stack[: FIRST + 1] for stack in stacks[:1]]
    for run, arguments in (
        (encode_all, (*whole, True)),
        (forget, pieces),
        (read_all_ladders, pieces),
        (find_all_areas, pieces),
    ):
        microseconds(warm_up, run, *arguments)
    results["remembering_us"] = microseconds(stacks, encode_all, *whole, True)
    results["forgetting_us"] = microseconds(stacks, encode_all, *whole, False) - microseconds(stacks, forget, *pieces)
    results["ladders_us"] = microseconds(stacks, read_all_ladders, *pieces)
    results["area_us"] = microseconds(stacks, find_all_areas, *pieces)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", help="recorded games; without it random moves are played")
    parser.add_argument("--count", type=int, default=60, help="how many games")
    parser.add_argument("--rules", default="chinese")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NOBI_CACHE_DIR"] = cache
        rules = preset(options.rules)[0].record(7.5)
        if options.games:
            stacks = list(recorded_games(options.games, options.count, rules))
        else:
            stacks = list(random_games(options.count, options.rules))
        results = measure(stacks, rules)
    if options.json:
        print(json.dumps(results))
        return
    print(f"compiled {results['kernels']:.0f} kernels in {results['compile_seconds']:.1f} s")
    print(f"encode, remembering {results['remembering_us']:6.1f} us a position")
    print(f"encode, forgetting  {results['forgetting_us']:6.1f} us")
    print(f"ladders, one board  {results['ladders_us']:6.1f} us")
    print(f"areas               {results['area_us']:6.1f} us")


if __name__ == "__main__":
    main()
