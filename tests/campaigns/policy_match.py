"""A match between two networks without a search: side by side, all games at once, so that it takes seconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, N_POINTS, PASS, point_at
from nets.evaluator import GLOBAL_FEATURES, LOSS, SPATIAL_PLANES, WIN, Evaluation, EvaluationRequest, Evaluator
from nets.features import AS_IS, encode, scratch_for

OPENING = 10
"""Moves that the judge draws from its policy, the same for the two games of a pair."""


def play_policies(first: Evaluator, second: Evaluator, judge: Evaluator, pairs: int, moves: int, seed: int) -> float:
    """Play 2 * pairs games on 19×19, each opening with both colours, of so many moves at most. Return the share that
    the first network wins, as the judge's network sees the last position."""
    random = np.random.default_rng(seed)
    games = [Game() for _ in range(pairs)]
    for _ in range(OPENING):
        policies = evaluated(judge, games).policy
        for game, logits in zip(games, policies, strict=True):
            play_first(game, logits + random.gumbel(size=logits.size))
    # In the first half of the games the first network has the moves with even numbers, in the other half the second.
    games += [game.copy() for game in games]
    for ply in range(OPENING, moves):
        for mover, half in zip((first, second) if ply % 2 == 0 else (second, first), range(2), strict=True):
            mine = [game for game in games[half * pairs : (half + 1) * pairs] if not has_ended(game)]
            if mine:
                for game, logits in zip(mine, evaluated(mover, mine).policy, strict=True):
                    play_first(game, logits)
    for game in games:
        while game.moves and game.moves[-1].point == PASS:
            game.undo()
    value = evaluated(judge, games).value
    to_play_wins = value[:, WIN] > value[:, LOSS]
    black_wins = np.array([game.to_play == BLACK for game in games]) == to_play_wins
    first_has_black = np.arange(len(games)) < pairs
    return float((black_wins == first_has_black).mean())


def has_ended(game: Game) -> bool:
    """Return whether both sides have passed."""
    return len(game.moves) >= 2 and all(move.point == PASS for move in game.moves[-2:])


def play_first(game: Game, logits: NDArray[np.float32]) -> None:
    """Play the legal move with the highest of these logits, those of the pass last."""
    for cell in np.argsort(-logits):
        point = PASS if cell == game.width * game.height else point_at(int(cell) % game.width, int(cell) // game.width)
        if game.is_legal(game.to_play, point):
            game.play(game.to_play, point)
            return


def evaluated(network: Evaluator, games: list[Game]) -> Evaluation:
    """Evaluate the present positions of games, without superko's bans."""
    scratch = scratch_for(network)
    spatial = np.zeros((len(games), SPATIAL_PLANES, 19, 19), np.float32)
    global_ = np.zeros((len(games), GLOBAL_FEATURES), np.float32)
    ban = np.zeros(N_POINTS, np.int8)
    for row, game in enumerate(games):
        last = game.length - 1
        encode(game.stack, last, game.to_play, game.record, 0.0, AS_IS, ban, scratch, spatial[row], global_[row])
    return network.evaluate(EvaluationRequest(spatial, global_, np.zeros(len(games), np.float32)))
