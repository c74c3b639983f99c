"""Commands that draw on GoGui's board, for its Analyze dialog. `gogui-analyze_commands` names them.

A picture is text of GoGui's type `gfx`. Each line is a keyword and what it is drawn at: `LABEL` writes at points,
`INFLUENCE` shades points (1 is black's, -1 white's), `VAR` shows a variation, `TEXT` goes to the status line. Source:
GoGui's manual, "Analyze Commands".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, COLOUR_LETTERS, PASS, board_points, opponent, to_vertex
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.protocol import GtpError
from gtp_engine.session.session import Session
from nets.bare_evaluation import evaluate, legal_mask
from nets.evaluator import Evaluator, softmax
from search.result import SearchResult


def nobi_policy(session: Session, call: Call) -> str:
    """Draw the moves that the network would look at first."""
    call.expect(0)
    return policy_picture(_network(session), session.game, session.game.to_play)


def nobi_influence(session: Session, call: Call) -> str:
    """Draw whose each point will be, as the network guesses without a search."""
    call.expect(0)
    return influence_picture(_network(session), session.game, session.game.to_play)


def nobi_ownership(session: Session, call: Call) -> str:
    """Draw whose each point will be, as a short search finds it."""
    call.expect(0)
    found = session.glance(call.stop)
    return "" if found.ownership is None else _shades(session.game, found.colour, found.ownership)


def nobi_variation(session: Session, call: Call) -> str:
    """Draw the best line of play that a short search finds."""
    call.expect(0)
    return variation_picture(session.game, session.glance(call.stop), session.settings.longest_variation)


def _network(session: Session) -> Evaluator:
    evaluator = session.player.evaluator
    if evaluator is None:
        raise GtpError("this player has no network")
    return evaluator


SMALLEST_SHARE = 0.005
"""Moves with a smaller share of the policy are not drawn."""
SMALLEST_INFLUENCE = 0.05


def policy_picture(evaluator: Evaluator, game: Game, colour: int) -> str:
    """Draw each move's share of the policy in percent, and a shade in proportion to the best. Raises EvaluatorError."""
    policy = softmax(evaluate(evaluator, game, colour).policy[0], legal_mask(game, colour)).tolist()
    best = max(policy)
    sign = 1 if colour == BLACK else -1
    points = [*board_points(game.width, game.height), PASS]
    drawn = [(to_vertex(p, game.height), share) for p, share in zip(points, policy, strict=True) if p != PASS]
    drawn = [each for each in drawn if each[1] >= SMALLEST_SHARE]
    return _lines(
        ("INFLUENCE", " ".join(f"{vertex} {sign * share / best:.2f}" for vertex, share in drawn)),
        ("LABEL", " ".join(f"{vertex} {100 * share:.0f}" for vertex, share in drawn)),
        ("TEXT", f"pass {100 * policy[-1]:.1f} %"),
    )


def influence_picture(evaluator: Evaluator, game: Game, colour: int) -> str:
    """Draw whose each point will be, as the network guesses without a search. Raises EvaluatorError."""
    return _shades(game, colour, evaluate(evaluator, game, colour).ownership[0])


def variation_picture(game: Game, result: SearchResult, longest: int) -> str:
    """Draw the best line of play that a search found, and say what it is worth. The result must have a move."""
    colour, words = result.colour, []
    for point in result.moves[0].pv[:longest]:
        words += [COLOUR_LETTERS[colour].lower(), to_vertex(point, game.height)]
        colour = opponent(colour)
    worth = f"{100 * result.winrate:.0f} % for {COLOUR_LETTERS[result.colour]}, {result.lead:+.1f} points"
    return _lines(("VAR", " ".join(words)), ("TEXT", f"{result.visits} visits, {worth}"))


def _shades(game: Game, colour: int, ownership: NDArray[np.float32]) -> str:
    """`ownership`: [H*W], +1 for `colour`."""
    black = (ownership if colour == BLACK else -ownership).tolist()
    points = board_points(game.width, game.height)
    drawn = [(p, value) for p, value in zip(points, black, strict=True) if abs(value) >= SMALLEST_INFLUENCE]
    return _lines(("INFLUENCE", " ".join(f"{to_vertex(p, game.height)} {value:.2f}" for p, value in drawn)))


def _lines(*parts: tuple[str, str]) -> str:
    return "\n".join(f"{keyword} {text}" for keyword, text in parts if text)
