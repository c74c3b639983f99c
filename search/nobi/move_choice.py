"""The choice of the move after a search: temperature, when to pass, when to resign, and what people would play.

Lower confidence bounds are already in `MoveInfo.choice` (rank.py).

KataGo's `humanSLChosenMove...` mix into how much a search would like to play its moves how likely people are to play
them. The likelihood of a move among people is multiplied by exp((u - best) / lambda), where u is its utility in the
search; a move that was not tried has the average of those that were. The method is piKL (Jacob and others, "Modeling
Strong and Human-Like Gameplay with KL-Regularized Search", 2022).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import EMPTY, PASS, WHITE, board_points
from go_rules.rules import SCORING_AREA
from search.nobi.doublings import black_lead_at_start
from search.nobi.parameters import HumanParameters, SearchParameters
from search.nobi.root import pass_alive, touches
from search.result import RESIGN, MoveInfo, SearchResult

LITTLE = 2.0
"""Once the opponent has passed and the game is won, so few points are not worth playing on for."""

LITTLE_START = 0.9
"""Points that black may be ahead at the start in an even game."""

CERTAIN = 1e-4
"""Below this temperature the best move is played."""


def choose_move(
    game: Game,
    result: SearchResult,
    parameters: SearchParameters,
    generator: np.random.Generator,
    recent: Sequence[float] = (),
) -> int:
    """Choose the point to play after a search, PASS or RESIGN.

    `recent`: win minus loss (-1..1, the mover's view) at this side's latest searches of the game, this one last.
    """
    if parameters.resign and should_resign(game, result, parameters, recent):
        return RESIGN
    point = _by_temperature(result.moves, temperature(game, parameters), parameters.temperature_only_below, generator)
    return end_well(game, result, point)


def temperature(game: Game, parameters: SearchParameters) -> float:
    """Compute the temperature at this stage of the game: from `temperature_early` it goes towards `temperature`."""
    halflife = parameters.temperature_halflife * (game.width * game.height) ** 0.5 / 19.0
    share = 0.5 ** (game.turn / halflife)
    return parameters.temperature + (parameters.temperature_early - parameters.temperature) * share


def odds(moves: Sequence[MoveInfo]) -> list[float]:
    """Return each move's weight in the choice: `choice`, or the prior where no move was visited often enough."""
    wanted = [move.choice for move in moves]
    return wanted if max(wanted, default=0.0) > 0 else [move.prior for move in moves]


def _by_temperature(
    moves: Sequence[MoveInfo], temperature: float, only_below: float, generator: np.random.Generator
) -> int:
    """Draw a move: odds to the power of 1/temperature, for those whose share of the odds is under `only_below`."""
    if not moves:
        return PASS
    wanted = np.array(odds(moves))
    if wanted.max() <= 0.0:
        return moves[0].point
    if temperature <= CERTAIN:
        return moves[int(wanted.argmax())].point
    with np.errstate(divide="ignore"):
        logs = np.log(wanted / wanted.max())
        threshold = min(0.0, float(np.log(max(only_below, 1e-50) * wanted.sum() / wanted.max())))
    logs = np.where(logs > threshold, logs, (logs - threshold) / temperature + threshold)
    shares = np.exp(logs)
    return moves[int(generator.choice(len(moves), p=shares / shares.sum()))].point


def should_resign(game: Game, result: SearchResult, parameters: SearchParameters, recent: Sequence[float]) -> bool:
    """Return whether to resign: the game has looked lost for several moves, is not close, and is old enough.

    `recent`: as in `choose_move`. White, if behind from the start, gets time to catch up.
    """
    if len(recent) < parameters.resign_turns:
        return False
    area = game.width * game.height
    lead = result.lead
    if len(game.moves) < parameters.resign_min_moves * area or lead > -parameters.resign_min_score:
        return False
    start = black_lead_at_start(game)
    if start > LITTLE_START and result.colour == WHITE:
        # Behind from the start, white is to catch up over most of the game.
        settled = 0.2 * area
        progress = min(1.0, max(0.0, len(game.moves) - settled) / max(1.0, 0.6 * area - settled))
        if len(game.moves) < settled or lead > -start * (1.0 - progress + 0.15) - 5.0:
            return False
    return all(value < parameters.resign_threshold for value in recent[-parameters.resign_turns :])


def end_well(game: Game, result: SearchResult, point: int) -> int:
    """Change the chosen point where a pass would end the game well or badly, under area scoring.

    There, a pass may end the game with the stones as they stand: no dead stone is taken off.
    """
    if game.rules.scoring != SCORING_AREA or game.position["button"]:
        return point
    colour = result.colour
    opponent_passed = bool(game.moves) and game.moves[-1].point == PASS and game.moves[-1].colour != colour
    eval_score = game.score() if colour == WHITE else -game.score()
    is_over = not game.rules.friendly_pass or _is_settled(result, eval_score)
    if opponent_passed and eval_score > 0 and result.lead > 0 and is_over:
        return PASS
    if point != PASS:
        return point
    if opponent_passed and eval_score < 0 and result.lead > 0 and not game.rules.friendly_pass:
        # Stones count where they stand: what is dead has to be captured before passing.
        return _best_stone(result)
    if not game.rules.friendly_pass:
        return _cleaning_move(game, colour)
    return PASS


def _is_settled(result: SearchResult, eval_score: float) -> bool:
    """Whether a pass may end a game among people, who agree on what is dead.

    There is next to nothing left to play for, and the board as it stands counts about what the search expects: where it
    counts more, the mover has dead stones on it. The search must not have seen that a pass loses."""
    passes_that_lose = [move for move in result.moves if move.point == PASS and move.winrate < 0.5]
    return abs(eval_score - result.lead) <= LITTLE and not passes_that_lose


def _best_stone(result: SearchResult) -> int:
    stones = [move for move in result.moves if move.point != PASS]
    if not stones:
        return PASS
    if all(move.choice <= 0 for move in stones):
        return stones[0].point  # such players choose one move alone; all their moves are the best first
    return stones[int(np.argmax(odds(stones)))].point


def _cleaning_move(game: Game, colour: int) -> int:
    """A move that helps to capture opponent's stones inside one's own pass-alive area, or PASS if none is left."""
    position = game.position
    safe = pass_alive(position, game.record)
    for point in board_points(game.width, game.height):
        inside = safe[point] == colour and position["board"][point] == EMPTY
        if inside and touches(position, point, 3 - colour) and game.is_legal(colour, point):
            return point
    return PASS


def with_peoples_choice(
    game: Game, moves: Sequence[MoveInfo], likelihoods: NDArray[np.float64], parameters: SearchParameters
) -> tuple[MoveInfo, ...]:
    """Return the moves of a search of a game's position with people's part in their `choice`, in the order of that but
    those without visits last.

    `likelihoods` [H*W + 1]: how likely people play each move, the pass last. The moves stay as they are where the
    parameters give people no part in the choice, or where people play none of them.
    """
    if not isinstance(parameters, HumanParameters) or parameters.human_prop == 0.0:
        return tuple(moves)
    points = [*board_points(game.width, game.height), PASS]
    by_point = dict(zip(points, likelihoods.tolist(), strict=True))
    of_people = _seeing_ahead(moves, by_point, parameters.human_lambda)
    wanted = odds(moves)
    total = sum(wanted)
    if not of_people or total <= 0.0:
        return tuple(moves)
    if parameters.human_ignore_pass:
        stones = sum(each for move, each in zip(moves, wanted, strict=True) if move.point != PASS)
        _leave_passes(of_people, stones / total)
    prop = parameters.human_prop
    choices = [
        (1.0 - prop) * each + prop * total * of_people[move.point] for move, each in zip(moves, wanted, strict=True)
    ]
    ranked = sorted(zip(choices, moves, strict=True), key=lambda each: (each[1].visits == 0, -each[0], each[1].order))
    return tuple(dataclasses.replace(move, choice=each, order=order) for order, (each, move) in enumerate(ranked))


def _seeing_ahead(moves: Sequence[MoveInfo], likelihoods: Mapping[int, float], scale: float) -> dict[int, float]:
    """Return how likely people who see what the search sees play each of the moves; nothing if they play none."""
    known = [move.utility for move in moves if move.visits > 0]
    average = sum(known) / max(1, len(known))
    best = max(known, default=average)
    shifted = {}
    for move in moves:
        utility = move.utility if move.visits > 0 else average
        shifted[move.point] = likelihoods.get(move.point, 0.0) * math.exp((utility - best) / scale)
    total = sum(shifted.values())
    return {point: each / total for point, each in shifted.items()} if total > 0.0 else {}


def _leave_passes(of_people: dict[int, float], stones: float) -> None:
    """Make all moves but the pass together as likely as the search makes them, `stones`."""
    others = sum(each for point, each in of_people.items() if point != PASS)
    if others <= 0.0:
        return
    for point in of_people:
        of_people[point] = 1.0 - stones if point == PASS else of_people[point] / others * stones
