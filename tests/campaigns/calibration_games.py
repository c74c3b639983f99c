"""Has a network play the games that networks are calibrated with, and writes them down.

    make campaign-calibration_games ARGS="--net FILE --out nets/precision/calibration_games.txt"

To write them anew changes how every network is calibrated: the limits in nets/native/calibrate.py have to be tried on
golden positions again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from nets.embedded import embedded_network
from nets.features import scratch_for
from nets.open import open_network
from nets.precision.calibration_games import RecordedGame
from nets.precision.own_games import Series, new_games, play

SERIES = (
    Series(19, 19, games=3, moves=220, interval=4),
    Series(13, 13, games=3, moves=110, interval=4),
    Series(9, 9, games=6, moves=66, interval=2),
    Series(7, 11, games=3, moves=50, interval=3),
    Series(15, 15, games=2, moves=60, interval=5),
    Series(5, 5, games=4, moves=20, interval=2),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", type=Path, default=embedded_network(), help="the network that plays, in fp32")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    evaluator = open_network(options.net, "fp32", "cpu")
    random, scratch = np.random.default_rng(options.seed), scratch_for(evaluator)
    lines = [f"# Games of {evaluator.attributes.name} by its policy, with random moves among them."]
    lines.append("# Board, moves from one position that is kept to the next, rules, komi, moves.")
    for series in SERIES:
        games = new_games(series, random)
        for _ in play(games, series.moves, evaluator, random, scratch):
            pass
        lines += [RecordedGame.of(game, series.interval).to_line() for game in games]
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines) - 2} games of {evaluator.attributes.name}, {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
