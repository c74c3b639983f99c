"""How strongly the engine plays: twelve levels, of which eleven are made to be 100 Elo apart with the embedded network.

They draw moves from the network's policy, the hotter the weaker. The last one is the search as configured. What a
temperature is worth depends on the board's size and the network: `make campaign-levels` measures it. Other players than
`nobi` and `policy` search at every level. Where a HumanSL network is at hand, further levels play as people of a rank
do.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from go_rules.game import Game
from go_rules.points import PASS, board_points
from gtp_engine.web.refusals import Refusal
from nets.at_hand import AtHand, at_hand
from search.nobi.move_choice import choose_move
from search.nobi.parameters import SearchParameters
from search.player import Player
from search.result import SearchResult

FLOOR = 1e-4
"""Moves are not drawn that are so much less likely than the likeliest."""
SETTLED = 0.95
"""Nor are those at points whose |ownership| is more than this: there is nothing left to play for."""
LEAST_VISITS = 30
"""Of players that cannot draw moves from a policy, on the lowest level; each level has half as many again."""


class Strength(NamedTuple):
    """What makes a level."""

    visits: int
    """Of a move; 1 for the network's policy alone."""
    temperature: float = 0.0
    """At which moves are drawn from the policy; 0 plays the likeliest."""

    def choose(self, game: Game, result: SearchResult, player: Player, generator: np.random.Generator) -> int:
        """Return the move to play after a search with these visits, PASS or RESIGN.

        The policy passes only where it likes nothing better. Where the result has no ownership, it may draw any move.
        """
        if self.visits > 1:
            return player.choose(game, result)
        likeliest = max(result.moves, key=lambda move: move.prior)
        ownership = [] if result.ownership is None else result.ownership.tolist()
        owned = dict(zip(board_points(game.width, game.height), ownership, strict=False))
        moves = tuple(
            dataclasses.replace(move, choice=0.0)
            for move in result.moves
            if move is likeliest
            or (
                PASS not in (move.point, likeliest.point)
                and move.prior >= FLOOR * likeliest.prior
                and abs(owned.get(move.point, 0.0)) <= SETTLED
            )
        )
        drawn = dataclasses.replace(
            player.parameters,
            temperature=self.temperature,
            temperature_early=self.temperature,
            temperature_only_below=1.0,
        )
        return choose_move(game, dataclasses.replace(result, moves=moves), drawn, generator)


CALIBRATED = {
    9: (2.45, 2.3, 2.15, 1.99, 1.82, 1.65, 1.46, 1.26, 1.05, 0.81, 0.55),
    13: (2.09, 2.01, 1.92, 1.84, 1.76, 1.68, 1.59, 1.5, 1.41, 1.33, 1.23),
    19: (1.8, 1.75, 1.69, 1.63, 1.58, 1.52, 1.47, 1.42, 1.37, 1.32, 1.27),
}
"""The temperatures of all levels but the last, the weakest first, by the board's side."""
WEAKEST, STEP = -300, 100
"""Elo of the first level above GNU Go 3.8 at its level 1, and of each level above the one before, as calibrated."""
FULL = 12
"""The level that is the search as configured."""


def calibrated(width: int, height: int) -> tuple[Strength, ...]:
    """Return the strengths on a board: those of the square nearest in size that was measured."""
    side = min(CALIBRATED, key=lambda side: abs(side - math.sqrt(width * height)))
    return tuple(Strength(1, temperature) for temperature in CALIBRATED[side])


def elo(level: int) -> int | None:
    """Compute the Elo of a level above GNU Go 3.8 at its level 1, as calibrated; None of the last one, and of people's
    ranks, which nobody knows."""
    return WEAKEST + STEP * (level - 1) if level < FULL else None


def strength_of(level: int, game: Game, player: Player) -> Strength | None:
    """Return what makes a level in a game of this player's; None where configuration and clock say it."""
    if level == FULL:
        return None
    if player.evaluator is None or not isinstance(player.parameters, SearchParameters):
        return Strength(round(LEAST_VISITS * 1.5 ** (level - 1)))
    return calibrated(game.width, game.height)[level - 1]


def _name(level: int) -> str:
    """What programs call a level."""
    above = elo(level)
    if above is None:
        return "full strength"
    return f"{abs(above)} Elo {'above' if above > 0 else 'below'} GNU Go" if above else "about GNU Go at its level 1"


RANKS = dict(enumerate([*(f"{n}k" for n in range(18, 0, -1)), *(f"{n}d" for n in range(1, 10))], start=101))
"""The ranks of people by the numbers of their levels, the weakest first."""
NAMES = {level: _name(level) for level in range(1, FULL + 1)} | RANKS
"""Of all levels, by their numbers."""


def imitates_people(network: AtHand) -> bool:
    """Return whether a network is a HumanSL network."""
    return network.header is not None and network.header.imitates_people


def network_of_people() -> AtHand | None:
    """Return a HumanSL network at hand; None if there is none."""
    return next((each for each in at_hand() if each.is_whole and imitates_people(each)), None)


def levels() -> dict[int, str]:
    """Return the names of all levels that can be played now, by their numbers."""
    has_people = network_of_people() is not None
    return {each: name for each, name in NAMES.items() if has_people or each not in RANKS}


def told_levels() -> list[dict[str, Any]]:
    """Return what pages are told of the levels. `elo`: above GNU Go at its level 1, null where nobody knows."""
    return [{"id": each, "name": name, "is_rank": each in RANKS, "elo": elo(each)} for each, name in levels().items()]


def require_level(level: int) -> None:
    """Raise Refused unless there is such a level."""
    if level not in levels():
        raise Refusal("no_such_level", level=level)
