"""Whether the opponent plays mirror Go: answers every move with its image on the other side of the board."""

from __future__ import annotations

from typing import NamedTuple

from go_rules.game import Game
from go_rules.points import PASS, WHITE, opponent, point_at
from go_rules.rules import SCORING_AREA

LEAST = 7
"""How many more of the opponent's moves than half of them have to be mirrored."""
RECENT, RECENT_LEAST = 4, 2
"""So many of the opponent's last moves have to be mirrored, the very last among them."""


class Mirroring(NamedTuple):
    """An opponent who plays mirror Go."""

    colour: int
    wins: bool
    """Whether the komi gives the opponent the game, or nearly so, if everything is mirrored to the end."""


def mirroring_opponent(game: Game, colour: int) -> Mirroring | None:
    """Describe the opponent of `colour` if it has mirrored most moves of the game and still does; otherwise None."""
    ends = point_at(0, 0) + point_at(game.width - 1, game.height - 1)
    replies = [
        before.point != PASS and move.point == ends - before.point
        for before, move in zip(game.moves, game.moves[1:], strict=False)
        if move.colour != colour
    ]
    if sum(replies) < LEAST + 0.5 * len(replies) or sum(replies[-RECENT:]) < RECENT_LEAST or not replies[-1]:
        return None
    other = opponent(colour)
    white_lead = float(game.record["komi"]) + float(game.record["handicap_bonus"])
    if game.rules.scoring == SCORING_AREA and game.width % 2 == 1 and game.height % 2 == 1:
        white_lead -= 1.0  # black has the centre, and with it the last point
    return Mirroring(other, (white_lead if other == WHITE else -white_lead) >= -0.5)
