"""Makes positions to quantize a network for int8 with: it plays games of many kinds against itself.

Games differ in board size, rules and komi, and in how often each side plays a random move instead, so that their
positions are even and lost, tidy and absurd. A network is used on all of these. With the recorded games that our own
kernels are calibrated with (calibration_games.py), int8 loses too much of g170-b6c96: its winning chances differ by
0.057 at the 99th percentile of golden positions, where 0.03 is allowed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import PASS, point_at
from go_rules.rule_names import PRESETS
from go_rules.rules import SCORING_AREA
from nets.evaluator import EvaluationRequest, Evaluator
from nets.features import Scratch, scratch_for
from nets.precision.calibration_games import Positions, encoded, joined

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
    Series(19, 19, games=9, moves=220, interval=9),
    Series(13, 13, games=8, moves=110, interval=9),
    Series(9, 9, games=12, moves=66, interval=5),
    Series(7, 11, games=4, moves=50, interval=6),
    Series(15, 15, games=4, moves=60, interval=10),
    Series(5, 5, games=4, moves=20, interval=4),
)
WARM_UP = Series(5, 5, games=1, moves=2, interval=1)
"""A tiny game that is played first, so that all kernels are compiled before time is taken."""


def own_positions(
    evaluator: Evaluator,
    series: tuple[Series, ...] = SERIES,
    seed: int = 1,
    seconds: float = float("inf"),
    progress: Callable[[float], None] = lambda share: None,
) -> list[Positions]:
    """Play all `series` and return the positions kept.

    It takes at most `seconds` of this thread's processor time, compilation not counted: neither a busy machine nor a
    first start may make a worse network. `progress` is told the share done, 0 to 1. Raises EvaluatorError.
    """
    scratch = scratch_for(evaluator)
    random = np.random.default_rng(seed)
    for _ in play(new_games(WARM_UP, random), WARM_UP.moves, evaluator, random, scratch):
        pass
    random = np.random.default_rng(seed)
    total = sum(each.games * each.moves * each.width * each.height for each in series)
    started, done, kept = time.thread_time(), 0.0, []
    for each in series:
        share = each.games * each.moves * each.width * each.height / total
        positions = []
        deadline = started + seconds * (done + share)
        for move, present in enumerate(play(new_games(each, random), each.moves, evaluator, random, scratch)):
            if move % each.interval == each.interval - 1:
                positions.append(present)
            progress(done + share * move / each.moves)
            if time.thread_time() > deadline and positions:
                break
        if not positions:  # a network that passes at once
            positions.append(present)
        done += share
        kept.append(joined(positions))
    return kept


def play(
    games: Sequence[Game], moves: int, evaluator: Evaluator, random: np.random.Generator, scratch: Scratch
) -> Iterator[Positions]:
    """Play games on boards of one size side by side, `moves` moves each; yields each turn's positions, those of
    unfinished games."""
    blunders = random.choice(BLUNDERS, (len(games), 2))
    temperatures = random.choice(TEMPERATURES, len(games))
    for _ in range(moves):
        alive = [i for i, game in enumerate(games) if not game.is_over]
        if not alive:
            return
        spatial, global_ = encoded([games[i] for i in alive], scratch)
        yield spatial, global_
        policy = evaluator.evaluate(EvaluationRequest(spatial, global_)).policy
        for row, i in enumerate(alive):
            is_blunder = random.random() < blunders[i, games[i].to_play - 1]
            _move(games[i], np.zeros_like(policy[row]) if is_blunder else policy[row] / temperatures[i], random)


def new_games(series: Series, random: np.random.Generator) -> list[Game]:
    """Return the games of a series at their beginning, with rules and komi drawn for each."""
    return [_new_game(series, random) for _ in range(series.games)]


def _new_game(series: Series, random: np.random.Generator) -> Game:
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
