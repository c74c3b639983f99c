"""What is special about the root's moves: excluded ones, noise on the priors, and bonuses to end games well."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import EMPTY, NO_POINT, PASS, STRIDE, WALL, WHITE
from go_rules.position import PHASE_CLEANUP_2
from go_rules.rules import SCORING_AREA
from go_rules.tactics.life import new_life_work, pass_alive_area
from search.nobi.parameters import SearchParameters

LOWEST_PRIOR = 1e-12
"""A legal root move's prior is at least this much, so that 0 means illegal."""

SETTLED = 0.95
"""Ownership from which on a point counts as someone's for certain."""

USELESS_PASSES = 4
"""Passes in a row of the opponent after which moves inside pass-alive areas are left out in every case: see
`useless_moves`."""


def root_priors(
    priors: NDArray[np.float64], parameters: SearchParameters, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Apply the parameters' temperature and noise to the root's policy [P], which is 0 for illegal moves."""
    legal = priors > 0
    if parameters.root_policy_temperature != 1.0 and legal.any():
        logs = np.log(priors, where=legal, out=np.full(len(priors), -np.inf))
        priors = np.exp((logs - logs.max()) / parameters.root_policy_temperature)
        priors /= priors.sum()
        priors[legal] = np.maximum(priors[legal], LOWEST_PRIOR)  # a prior of 0 says that a move is illegal
    if parameters.root_noise and legal.any():
        shape = noise_shape(priors[legal]) * parameters.root_noise_concentration
        noise = generator.gamma(shape)
        weight = parameters.root_noise_weight
        priors = priors.copy()
        priors[legal] = weight * noise / max(noise.sum(), 1e-300) + (1.0 - weight) * priors[legal]
    return priors


def noise_shape(priors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the legal moves' shares of the Dirichlet noise: half is even, half goes to moves with a good policy.

    "Good" is the logarithm of the policy, capped at 1 %, above its mean (Wu 2019, "shaped Dirichlet noise").
    """
    logs = np.log(np.minimum(0.01, priors) + 1e-20)
    above = np.maximum(0.0, logs - logs.mean())
    even = np.full(len(priors), 1.0 / len(priors))
    return 0.5 * (above / above.sum() + even) if above.sum() > 0 else even


def pass_alive(position: np.void, rules: np.void) -> NDArray[np.int8]:
    """Find the owner of the pass-alive area that each point is in, EMPTY where it is in none: int8[N_POINTS]."""
    work = new_life_work()
    pass_alive_area(position, bool(rules["suicide"]), work[0])
    owned: NDArray[np.int8] = work[0]["owned"]
    return owned


def useless_moves(game: Game, colour: int, safe: NDArray[np.int8], points: Sequence[int]) -> list[int]:
    """List the moves (as network positions) that are never better than a pass.

    Under area scoring, without a ko and a button: moves inside the opponent's pass-alive area, and inside one's own
    unless they touch the opponent's stones. Otherwise: moves inside either, and only once the opponent's last
    USELESS_PASSES moves were passes. `safe`: what `pass_alive` found.
    """
    position = game.position
    other = 3 - colour
    if game.rules.scoring == SCORING_AREA and position["ko"] == NO_POINT and not game.rules.has_button:
        return [
            i
            for i, p in enumerate(points)
            if safe[p] == other or (safe[p] == colour and not touches(position, p, other))
        ]
    theirs = itertools.islice((move.point for move in reversed(game.moves) if move.colour == other), USELESS_PASSES)
    if list(theirs) == [PASS] * USELESS_PASSES:
        return [i for i, p in enumerate(points) if safe[p] != EMPTY]
    return []


def touches(position: np.void, point: int, colour: int) -> bool:
    """Return whether a stone of `colour` is next to the point."""
    board = position["board"]
    return any(board[point + step] == colour for step in (-STRIDE, -1, 1, STRIDE))


def ending_bonuses(
    game: Game, colour: int, ownership: NDArray[np.float64], safe: NDArray[np.int8], points: Sequence[int], bonus: float
) -> NDArray[np.float32]:
    """Compute the points [P] that are added to white's score after each root move, to end a settled game well.

    `ownership` [H*W] is the mover's view. Without a ko, moves inside areas that are settled for certain are
    discouraged: the opponent's, unless they capture under area rules, and one's own where they touch no opponent's
    stone and connect nothing in danger. Passing is discouraged too under territory rules, so that neutral points are
    filled first, and while the button is there.
    """
    own = np.zeros(len(points) + 1, np.float32)
    position = game.position
    area = game.rules.scoring == SCORING_AREA or position["phase"] == PHASE_CLEANUP_2
    if position["ko"] == NO_POINT:
        tail = 1.0 - SETTLED
        for i in np.flatnonzero(np.abs(ownership) >= SETTLED).tolist():
            point = points[i]
            if position["board"][point] != EMPTY:
                continue
            excess = (abs(ownership[i]) - SETTLED) / tail
            if ownership[i] < 0:
                if not (area and captures(position, point, colour)):
                    own[i] = -bonus * excess
            elif not touches(position, point, 3 - colour) and not connects(position, point, colour, safe):
                own[i] = -bonus * excess
    if not area:
        own[-1] = -bonus * 2.0 / 3.0
    elif position["button"]:
        own[-1] = -bonus * 0.5
    return own if colour == WHITE else -own


def captures(position: np.void, point: int, colour: int) -> bool:
    """Return whether a stone of `colour` at an empty point captures something."""
    for step in (-STRIDE, -1, 1, STRIDE):
        q = point + step
        if position["board"][q] == 3 - colour and position["liberties"][position["chain"][q]] == 1:
            return True
    return False


def connects(position: np.void, point: int, colour: int, safe: NDArray[np.int8]) -> bool:
    """Return whether a stone of `colour` joins two or more of its chains, not all of them pass-alive (`safe`)."""
    chains = set()
    for step in (-STRIDE, -1, 1, STRIDE):
        q = point + step
        if position["board"][q] == colour:
            chains.add((int(position["chain"][q]), bool(safe[q] == colour)))
    return len(chains) >= 2 and not all(alive for _, alive in chains)


def board_symmetries(
    game: Game, colour: int, permutations: NDArray[np.int16], points: Sequence[int]
) -> tuple[int, ...]:
    """Find the symmetries (rows of `permutations`) that leave the position and the moves of `colour` as they are, the
    identity first."""
    position, places = game.position, np.asarray(points)
    if position["ko"] != NO_POINT:
        return (0,)
    contents = np.stack([position["board"][places], position["marks"][places]])
    assert WALL not in contents[0]
    alike = _unchanging(contents, permutations, range(1, len(permutations)))
    if alike:  # superko may forbid one of two equal moves
        alike = _unchanging(np.isin(places, game.legal_moves(colour))[None], permutations, alike)
    return (0, *alike)


def _unchanging(planes: NDArray[Any], permutations: NDArray[np.int16], symmetries: Iterable[int]) -> list[int]:
    """Those of the symmetries that leave `planes` [N, H*W] as they are."""
    return [i for i in symmetries if (planes[:, permutations[i, :-1]] == planes).all()]


def symmetric_duplicates(permutations: NDArray[np.int16], symmetries: Sequence[int]) -> list[int]:
    """List the moves (network positions) that one of these symmetries makes equal to a move with a smaller one."""
    kept = permutations[list(symmetries), :-1].min(axis=0)
    return np.flatnonzero(kept != np.arange(len(kept))).tolist()
