"""Playouts a second on one core: uniformly random and guided ones alone, and the iterations of a whole search.

Seconds are those of the processor, so that other programs do not count.

python -m benchmarks.playouts [--seconds S] [--sizes 9,13,19] [--json]
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, NO_POINT
from nobi_machine.jit import kernel
from search.request import Limits, SearchRequest
from search.textbook.players import TextbookPlayer
from search.textbook.playouts.board import PLAYOUT_BOARD, area_score, load_position
from search.textbook.playouts.playout import GUIDED, MOVES_PER_POINT, PlayoutTools, new_policy, new_tools, playout

ROUND = 200
"""Playouts between two looks at the clock."""


@kernel
def run_playouts(board, position, tools, n, max_moves):
    """`n` playouts from a position, black first; returns the sums of their moves and scores."""
    moves = 0
    score = 0
    for _ in range(n):
        load_position(board, position)
        moves += playout(board, BLACK, NO_POINT, tools, max_moves)
        score += area_score(board)
    return moves, score


def measure(size: int, tools: PlayoutTools, seconds: float) -> dict[str, float]:
    """Playouts from the empty board for `seconds`."""
    board, position = np.zeros(1, PLAYOUT_BOARD)[0], Game(size, size).position
    limit = MOVES_PER_POINT * size * size
    run_playouts(board, position, tools, 1, limit)
    done = moves = score = 0
    started = time.process_time()
    while (elapsed := time.process_time() - started) < seconds:
        more_moves, more_score = run_playouts(board, position, tools, ROUND, limit)
        done, moves, score = done + ROUND, moves + more_moves, score + more_score
    return {
        "per_second": done / elapsed,
        "moves_each": moves / done,
        "ns_per_move": 1e9 * elapsed / moves,
        "mean_score_black": -score / done,
    }


def measure_search(size: int, seconds: float) -> dict[str, float]:
    """A search of the empty board by one worker."""
    player = TextbookPlayer("rave", workers=1, seed=1)
    player.warm_up(size, size)
    started = time.process_time()
    result = player.search(SearchRequest(Game(size, size), BLACK, Limits(seconds=seconds, may_stop_early=False)))
    elapsed = time.process_time() - started
    player.close()
    return {"per_second": result.visits / elapsed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    parser.add_argument("--sizes", default="9,13,19")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    table = []
    for size in map(int, options.sizes.split(",")):
        for name, policy in (("uniform", new_policy()), ("guided", GUIDED)):
            table.append({"size": size, "what": name, **measure(size, new_tools(1, policy), options.seconds)})
        table.append({"size": size, "what": "search", **measure_search(size, options.seconds)})
    if options.json:
        print(json.dumps(table))
        return
    for row in table:
        extra = f"{row['moves_each']:6.1f} moves, {row['ns_per_move']:4.0f} ns each" if "moves_each" in row else ""
        print(f"{row['size']:2d}x{row['size']:<2d} {row['what']:8s} {row['per_second']:9,.0f}/s  {extra}")


if __name__ == "__main__":
    main()
