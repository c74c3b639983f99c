"""A network's bare evaluation of one position, in the text format of KataGo's `kata-raw-nn`."""

from __future__ import annotations

from go_rules.game import Game
from go_rules.points import WHITE
from gtp_engine.dialogue.protocol import GtpError
from nets.bare_evaluation import OPTIMISM, evaluate, legal_mask
from nets.evaluator import (
    LEAD,
    LOSS,
    NO_RESULT,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    VAR_TIME_LEFT,
    WIN,
    Evaluator,
    softmax,
)
from search.nobi.doublings import fixed_doublings
from search.nobi.parameters import SearchParameters
from search.player import Player


def raw_text(
    player: Player,
    game: Game,
    colour: int,
    symmetry: int,
    optimism: float = OPTIMISM,
    of_people: Evaluator | None = None,
) -> str:
    """Write the reply to `kata-raw-nn` for `colour` to move, in one of KataGo's eight symmetries, with the parameter
    `playout_doublings`.

    `of_people` is the network to ask in place of the player's, for the reply to `kata-raw-human-nn`. Raises GtpError if
    there is neither, and EvaluatorError.
    """
    evaluator = of_people or player.evaluator
    if evaluator is None:
        raise GtpError("this player has no network")
    parameters, doublings = player.parameters, 0.0
    if isinstance(parameters, SearchParameters):
        doublings = fixed_doublings(parameters, colour) * (1.0 if colour == WHITE else -1.0)
    evaluation = evaluate(evaluator, game, colour, (symmetry,), optimism, doublings)
    sign = 1.0 if colour == WHITE else -1.0
    win, loss = (WIN, LOSS) if colour == WHITE else (LOSS, WIN)
    value, score = evaluation.value[0], evaluation.score[0]
    mean, stdev = float(score[SCORE_MEAN]), float(score[SCORE_STDEV])
    square = mean * mean + stdev * stdev
    legal = legal_mask(game, colour)
    policy = softmax(evaluation.policy[0], legal)
    lines = [
        f"symmetry {symmetry}",
        f"whiteWin {value[win]:.6f}",
        f"whiteLoss {value[loss]:.6f}",
        f"noResult {value[NO_RESULT]:.6f}",
        *(
            (
                f"whiteLead {sign * score[LEAD]:.3f}",
                f"whiteScoreSelfplay {sign * mean:.3f}",
                f"whiteScoreSelfplaySq {square:.3f}",
                f"varTimeLeft {score[VAR_TIME_LEFT]:.3f}",
            )
            if of_people is None
            else (f"whiteScore {sign * mean:.3f}", f"whiteScoreSq {square:.3f}")
        ),
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
