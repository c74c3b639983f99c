"""A network's bare evaluation of one position, in the text format of KataGo's `kata-raw-nn`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import N_POINTS, PASS, WHITE, board_points
from gtp_engine.dialogue.protocol import GtpError
from nets.evaluator import (
    GLOBAL_FEATURES,
    LEAD,
    LOSS,
    NO_RESULT,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    SPATIAL_PLANES,
    VAR_TIME_LEFT,
    WIN,
    Evaluation,
    EvaluationRequest,
    Evaluator,
    softmax,
)
from nets.features import AS_IS, encode_symmetry, scratch_for
from nets.symmetry import symmetry_permutations
from search.player import Player
from search.puct.doublings import fixed_doublings
from search.puct.parameters import SearchParameters

SYMMETRIES = 8
OPTIMISM = 0.2
"""How much of the optimistic policy `kata-raw-nn` mixes in, where the network has one and the caller says nothing."""


def raw_text(player: Player, game: Game, colour: int, symmetry: int, optimism: float = OPTIMISM) -> str:
    """The reply to `kata-raw-nn` for `colour` to move, in one of KataGo's eight symmetries, with the parameter
    `playout_doublings`.

    Raises GtpError if the player has no network.
    """
    if player.evaluator is None:
        raise GtpError("this player has no network")
    parameters, doublings = player.parameters, 0.0
    if isinstance(parameters, SearchParameters):
        doublings = fixed_doublings(parameters, colour) * (1.0 if colour == WHITE else -1.0)
    evaluation = evaluate(player.evaluator, game, colour, symmetry, optimism, doublings)
    sign = 1.0 if colour == WHITE else -1.0
    win, loss = (WIN, LOSS) if colour == WHITE else (LOSS, WIN)
    value, score = evaluation.value[0], evaluation.score[0]
    mean, stdev = float(score[SCORE_MEAN]), float(score[SCORE_STDEV])
    legal = legal_mask(game, colour)
    policy = softmax(evaluation.policy[0], legal)
    lines = [
        f"symmetry {symmetry}",
        f"whiteWin {value[win]:.6f}",
        f"whiteLoss {value[loss]:.6f}",
        f"noResult {value[NO_RESULT]:.6f}",
        f"whiteLead {sign * score[LEAD]:.3f}",
        f"whiteScoreSelfplay {sign * mean:.3f}",
        f"whiteScoreSelfplaySq {mean * mean + stdev * stdev:.3f}",
        f"varTimeLeft {score[VAR_TIME_LEFT]:.3f}",
        f"shorttermWinlossError {score[SHORTTERM_WINLOSS_ERROR]:.3f}",
        f"shorttermScoreError {score[SHORTTERM_SCORE_ERROR]:.3f}",
        "policy",
    ]
    cells = ["    NAN " if not ok else f"{p:8.6f} " for p, ok in zip(policy.tolist(), legal.tolist(), strict=True)]
    width = game.width
    lines += ["".join(cells[y * width : (y + 1) * width]) for y in range(game.height)]
    lines += [f"policyPass {cells[-1]}", "whiteOwnership"]
    ownership = (sign * evaluation.ownership[0]).reshape(game.height, width)
    lines += ["".join(f"{value:9.7f} " for value in row) for row in ownership.tolist()]
    return "\n".join(lines)


def evaluate(
    evaluator: Evaluator, game: Game, colour: int, symmetry: int, optimism: float = OPTIMISM, doublings: float = 0.0
) -> Evaluation:
    """Evaluate the game's position as `symmetry` turns it, and turn the answer back.

    `doublings`: the playout doubling advantage of `colour`.
    """
    height, width = game.height, game.width
    if height != width:
        # Transposing would change the board: as in KataGo, such symmetries stand for those without.
        symmetry &= 3
    permutation = symmetry_permutations(width, height)[symmetry]
    spatial = np.zeros((1, SPATIAL_PLANES, height, width), np.float32)
    global_ = np.zeros((1, GLOBAL_FEATURES), np.float32)
    first = max(0, game.length - 3)
    encode_symmetry(
        game.stack[first : game.length],
        game.length - 1 - first,
        colour,
        game.record,
        doublings,
        AS_IS,
        superko_bans(game, colour),
        scratch_for(evaluator),
        permutation,
        spatial[0].reshape(SPATIAL_PLANES, -1),
        global_[0],
    )
    request = EvaluationRequest(spatial, global_, np.full(1, optimism, np.float32), np.full(1, colour, np.int8))
    answer = evaluator.evaluate(request)
    return answer._replace(policy=answer.policy[:, permutation], ownership=answer.ownership[:, permutation[:-1]])


def superko_bans(game: Game, colour: int) -> NDArray[np.int8]:
    """The points where only superko forbids a move, as int8[N_POINTS] with 1 for these."""
    ban = np.zeros(N_POINTS, np.int8)
    for point in board_points(game.width, game.height):
        if game.violation(colour, point) == "superko":
            ban[point] = 1
    return ban


def legal_mask(game: Game, colour: int) -> NDArray[np.bool_]:
    """Which moves are legal, as bool[H*W + 1] in the network's order with the pass last."""
    return np.array([game.is_legal(colour, p) for p in [*board_points(game.width, game.height), PASS]])
