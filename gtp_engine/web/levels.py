"""How strongly the engine plays: twelve levels, from moves drawn from the network's policy to the search as configured.

They are not calibrated: nobody has measured yet how many stones lie between two of them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from go_rules.game import Game
from go_rules.points import PASS
from search.nobi.move_choice import choose_move
from search.nobi.parameters import SearchParameters
from search.player import Player
from search.result import SearchResult

FLOOR = 0.03
"""Moves are not drawn that are so much less likely than the likeliest: in settled positions those make no sense."""
LEAST_VISITS = 30
"""Of players without a network on the lowest level; each level has half as many again."""


@dataclass(frozen=True)
class Level:
    """One of the strengths that a person may choose to play against."""

    id: int
    visits: int | None
    """Of a move; 1 for the network's policy alone, None for what the configuration and the clock allow."""
    temperature: float = 0.0
    """At which moves are drawn from the policy; 0 plays the likeliest."""

    @property
    def name(self) -> str:
        """What pages call it."""
        if self.visits is None:
            return "full strength"
        return f"{self.visits} visits" if self.visits > 1 else f"no search, temperature {self.temperature:g}"

    def visits_of(self, player: Player) -> int | None:
        """Return how many visits a player has for a move; None where the configuration says it."""
        if self.visits is None or player.evaluator is not None:
            return self.visits
        return round(LEAST_VISITS * 1.5 ** (self.id - 1))

    def choose(self, game: Game, result: SearchResult, player: Player, generator: np.random.Generator) -> int:
        """Return the move to play after a search with this level's visits, PASS or RESIGN.

        The policy passes only where it likes nothing better.
        """
        parameters = player.parameters
        if not isinstance(parameters, SearchParameters) or self.visits != 1:
            return player.choose(game, result)
        likeliest = max(result.moves, key=lambda move: move.prior)
        moves = tuple(
            dataclasses.replace(move, choice=0.0)
            for move in result.moves
            if move.prior >= FLOOR * likeliest.prior and (move.point == PASS) == (likeliest.point == PASS)
        )
        drawn = dataclasses.replace(
            parameters, temperature=self.temperature, temperature_early=self.temperature, temperature_only_below=1.0
        )
        return choose_move(game, dataclasses.replace(result, moves=moves), drawn, generator)


LEVELS = {
    level.id: level
    for level in (
        *(Level(number, 1, temperature) for number, temperature in enumerate((3.0, 2.0, 1.4, 1.0, 0.6, 0.0), start=1)),
        *(Level(number, visits) for number, visits in enumerate((4, 16, 64, 200, 600, None), start=7)),
    )
}
"""All levels, the weakest first."""
FULL = 12
