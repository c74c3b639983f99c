"""Has a network play the games that networks are calibrated with, and writes them down.

Games differ in board size, rules and komi, and in how often each side plays a random move instead, so that their
positions are even and lost, tidy and absurd. A network is used on all of these.

    make campaign-calibration_games ARGS="--net FILE --out nets/calibration_games.txt"

To write them anew changes how every network is calibrated: the limits in nets/native/calibrate.py have to be tried on
golden positions again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import PASS, point_at
from go_rules.rule_names import PRESETS
from go_rules.rules import SCORING_AREA
from nets.embedded import network_file
from nets.evaluator import EvaluationRequest, Evaluator
from nets.features import Scratch, scratch_for
from nets.loss import RecordedGame, encoded
from nets.open import open_network

BLUNDERS = (0.0, 0.0, 0.05, 0.3)
"""Shares of random moves; each side of each game draws one."""
TEMPERATURES = (0.5, 1.0)
UNFAIR_KOMI = 0.25
"""Share of games whose komi gives one side a lead, of up to a third of the board."""
TRIES = 8


@dataclass(frozen=True)
class Series:
    """Games played side by side on boards of one size."""

    width: int
    height: int
    games: int
    moves: int
    interval: int
    """A position is kept after every `interval` moves."""


SERIES = (
    Series(19, 19, games=3, moves=220, interval=4),
    Series(13, 13, games=3, moves=110, interval=4),
    Series(9, 9, games=6, moves=66, interval=2),
    Series(7, 11, games=3, moves=50, interval=3),
    Series(15, 15, games=2, moves=60, interval=5),
    Series(5, 5, games=4, moves=20, interval=2),
)


def play(
    games: Sequence[Game], moves: int, evaluator: Evaluator, random: np.random.Generator, scratch: Scratch
) -> None:
    """Play games on boards of one size side by side, `moves` moves each."""
    blunders = random.choice(BLUNDERS, (len(games), 2))
    temperatures = random.choice(TEMPERATURES, len(games))
    for _ in range(moves):
        alive = [i for i, game in enumerate(games) if not game.is_over]
        if not alive:
            return
        policy = evaluator.evaluate(EvaluationRequest(*encoded([games[i] for i in alive], scratch))).policy
        for row, i in enumerate(alive):
            is_blunder = random.random() < blunders[i, games[i].to_play - 1]
            _move(games[i], np.zeros_like(policy[row]) if is_blunder else policy[row] / temperatures[i], random)


def new_game(series: Series, random: np.random.Generator) -> Game:
    """A game at its beginning, with rules and komi drawn for it."""
    rules, komi = list(PRESETS.values())[random.integers(len(PRESETS))]
    if random.random() < UNFAIR_KOMI:
        reach = series.width * series.height / 3
        komi = float(np.round(random.uniform(-reach, reach) * 2) / 2)
    if rules.scoring != SCORING_AREA:
        komi = float(np.round(komi - 0.5) + 0.5)
    return Game(series.width, series.height, rules, komi)


def _move(game: Game, logits: NDArray[np.float32], random: np.random.Generator) -> None:
    """Play a move drawn with the probabilities that the logits give; a pass where several draws were illegal."""
    area = game.width * game.height
    noisy = logits - np.log(random.exponential(size=len(logits)))  # the Gumbel trick: their order is a draw
    for move in np.argsort(-noisy)[:TRIES]:
        point = PASS if move == area else point_at(int(move) % game.width, int(move) // game.width)
        if game.is_legal(game.to_play, point):
            game.play(game.to_play, point)
            return
    game.play(game.to_play, PASS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", type=Path, default=network_file(), help="the network that plays, in fp32")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    evaluator = open_network(options.net, "fp32", "cpu")
    random, scratch = np.random.default_rng(options.seed), scratch_for(evaluator)
    lines = [f"# Games of {evaluator.attributes.name} by its policy, with random moves among them."]
    lines.append("# Board, moves from one position that is kept to the next, rules, komi, moves.")
    for series in SERIES:
        games = [new_game(series, random) for _ in range(series.games)]
        play(games, series.moves, evaluator, random, scratch)
        lines += [RecordedGame.of(game, series.interval).to_line() for game in games]
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines) - 2} games of {evaluator.attributes.name}, {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
