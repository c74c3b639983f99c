"""The samples that are made of games by search: of positions with the results of their searches, and of their leaves.

A search goes where its network is too hopeful, so its leaves show the network's errors more often than the positions of
the game do. They cost nothing to find: the searches of self-play evaluate them anyway. A teacher labels them without a
search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules import board
from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, N_POINTS, PASS, WHITE, board_points
from go_rules.position import HISTORY_MOVES
from go_rules.rules import SCORING_AREA
from go_rules.scoring import final_owners
from nets.evaluator import (
    LEAD,
    LOSS,
    NO_RESULT,
    SCORE_COLUMNS,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    WIN,
    Evaluator,
    RecordedPosition,
    softmax,
)
from nets.features import AT_ROOT, Scratch, encode
from search.result import SearchResult
from training.positions.canvas import cell_at, to_canvas
from training.positions.encoding import forget
from training.run.measure import evaluate_function
from training.samples.samples import (
    HAS_ERRORS,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Samples,
    pack_samples,
    unpack_planes,
)

AT_ONCE = 8
"""How many positions one call of the teacher evaluates."""
FEWEST_VISITS = 2
"""Moves with fewer visits, which noise alone may explain, are not part of the policy that is learned."""


class SearchedPosition(NamedTuple):
    """A position as network input, and the result of its search from the view of the side to move."""

    turn: int
    """The number of moves before the position."""
    colour: int
    """The side to move."""
    spatial: NDArray[np.uint8]
    """[22, S, S]"""
    global_: NDArray[np.float32]
    """[19]"""
    policy: NDArray[np.float32]
    """[S*S + 1] shares of the visits"""
    winrate: float
    """0 to 1"""
    lead: float
    """points"""
    score: float
    """expected final score in points"""
    score_stdev: float
    """points"""
    ownership: NDArray[np.float32] | None = None
    """[S*S] in [-1, 1], where the search was asked for it"""


def searched_position(
    game: Game, result: SearchResult, scratch: Scratch, canvas: int, turns: int = HISTORY_MOVES
) -> SearchedPosition:
    """Combine the game's present position with the result of its search. At most the last `turns` moves are shown."""
    spatial, global_ = encode_game(game, scratch, canvas)
    forget(turns, spatial, global_)
    policy = np.zeros(canvas * canvas + 1, np.float32)
    for move in result.moves:
        if move.visits >= FEWEST_VISITS:
            policy[cell_at(move.point, canvas)] = move.visits
    if policy.sum() == 0:
        policy[cell_at(result.moves[0].point, canvas)] = 1
    ownership = None
    if result.ownership is not None:
        whole = np.zeros((canvas, canvas), np.float32)
        whole[: game.height, : game.width] = result.ownership.reshape(game.height, game.width)
        ownership = whole.ravel()
    return SearchedPosition(
        len(game.moves),
        result.colour,
        spatial,
        global_,
        policy / policy.sum(),
        result.winrate,
        result.lead,
        result.score_mean,
        result.score_stdev,
        ownership,
    )


def encode_game(game: Game, scratch: Scratch, canvas: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the network input of the game's present position on a canvas: planes uint8[22, S, S] and global features
    float32[19], with superko bans."""
    size, now = game.width, game.length - 1
    planes, global_ = np.zeros((22, size, size), np.float32), np.zeros(19, np.float32)
    legal = np.zeros(N_POINTS, np.int16)
    count = board.legal_points(game.position, game.to_play, game.record, legal)
    ban = np.zeros(N_POINTS, np.int8)
    ban[legal[:count]] = 1
    ban[[point for point in game.legal_moves(game.to_play) if point != PASS]] = 0
    encode(game.stack, now, game.to_play, game.record, 0.0, AT_ROOT, ban, scratch, planes, global_)
    spatial = np.zeros((22, canvas, canvas), np.uint8)
    spatial[:, :size, :size] = planes
    return spatial, global_


def samples_from_searches(game: Game, positions: list[SearchedPosition], canvas: int) -> Samples:
    """Make samples of a game's positions, at least one, whose labels are the searches' results."""
    cells, count = canvas * canvas, len(positions)
    value = np.zeros((count, 3), np.float32)
    score = np.zeros((count, SCORE_COLUMNS), np.float32)
    ownership = np.zeros((count, cells), np.float32)
    reply = np.full(count, -1, np.int16)
    known = np.full(count, HAS_POLICY | HAS_VALUE | HAS_SCORE, np.uint8)
    for i, position in enumerate(positions):
        value[i, [WIN, LOSS, NO_RESULT]] = position.winrate, 1.0 - position.winrate, 0.0
        score[i, [SCORE_MEAN, SCORE_STDEV, LEAD]] = position.score, position.score_stdev, position.lead
        if position.ownership is not None:
            ownership[i] = position.ownership
            known[i] |= HAS_OWNERSHIP
        if position.turn + 1 < len(game.moves):
            reply[i] = cell_at(game.moves[position.turn + 1].point, canvas)
    spatial = np.stack([position.spatial for position in positions])
    global_ = np.stack([position.global_ for position in positions])
    policy = np.stack([position.policy for position in positions])
    return pack_samples(spatial, global_, policy, value, score, ownership, known, reply=reply)


def samples_from_game(
    game: Game,
    positions: list[SearchedPosition],
    canvas: int,
    loser: int | None,
    result_weight: float,
    is_too_long: bool = False,
) -> Samples | None:
    """Make samples of a game's positions whose labels are the searches' results and the game's outcome.

    The outcome has the weight `result_weight` in the value. `loser` is the side that resigned. None means that the game
    was played to its end, or given up. A game that was given up because it `is_too_long` is counted as it stands where
    the rules count area: networks that have learned nothing do not know when to pass. The labels of other games that
    were given up are the searches' results alone. Return None where there are no positions.
    """
    if not positions:
        return None
    samples = samples_from_searches(game, positions, canvas)
    is_ended = game.is_over or (is_too_long and game.rules.scoring == SCORING_AREA)
    is_counted = loser is None and is_ended and not game.is_no_result
    if loser is None and not is_counted:
        return samples
    white = game.score() if loser is None else (1.0 if loser == BLACK else -1.0)
    owners = final_owners(game.position, game.record)
    for i, position in enumerate(positions):
        won = white if position.colour == WHITE else -white
        result = 1.0 if won > 0 else 0.5 if won == 0 else 0.0
        chance = result_weight * result + (1.0 - result_weight) * position.winrate
        samples.value[i, [WIN, LOSS]] = chance, 1.0 - chance
        if is_counted:
            samples.score[i, SCORE_MEAN] = won
            samples.known[i] |= HAS_OWNERSHIP
            for point in board_points(game.width, game.height):
                if owners[point] != EMPTY:
                    samples.ownership[i, cell_at(point, canvas)] = 127 if owners[point] == position.colour else -127
    return samples


def label_leaves(leaves: list[RecordedPosition], teacher: Evaluator, canvas: int) -> Samples:
    """Make samples of leaves on boards of one size, at least one; their labels are the teacher's evaluations. Raises
    EvaluatorError."""
    boards = np.stack([leaf.spatial for leaf in leaves])
    return _labelled(boards, np.stack([leaf.global_ for leaf in leaves]), teacher, canvas)


def label_again(samples: Samples, teacher: Evaluator) -> Samples:
    """Return samples of boards of one size, at least one, with another teacher's evaluations as labels. Raises
    EvaluatorError."""
    planes = unpack_planes(samples.planes, samples.canvas)
    size = int(planes[0, 0, 0].sum())
    return _labelled(planes[:, :, :size, :size], samples.global_, teacher, samples.canvas)


def _labelled(boards: NDArray[np.uint8], global_: NDArray[np.float32], teacher: Evaluator, canvas: int) -> Samples:
    count = len(boards)
    ask = evaluate_function(teacher)
    answers = [
        ask(boards[first : first + AT_ONCE].astype(np.float32), global_[first : first + AT_ONCE])
        for first in range(0, count, AT_ONCE)
    ]
    policy, value, score, ownership = (np.concatenate(parts) for parts in zip(*answers, strict=True))
    size = boards.shape[2]
    planes = np.zeros((count, boards.shape[1], canvas, canvas), np.uint8)
    planes[:, :, :size, :size] = boards
    known = np.full(count, HAS_POLICY | HAS_VALUE | HAS_SCORE | HAS_OWNERSHIP, np.uint8)
    known[score[:, SHORTTERM_SCORE_ERROR] >= 0] |= HAS_ERRORS
    chances, owners = to_canvas(softmax(policy), size, canvas), to_canvas(ownership, size, canvas)
    return pack_samples(planes, global_, chances, value, score, owners, known)
