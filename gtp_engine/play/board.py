"""The board as text for a person: X is black, O is white, brackets are around the last move."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from go_rules.game import Game
from go_rules.handicap import fixed_handicap, max_fixed_handicap
from go_rules.points import BLACK, COLUMNS, EMPTY, PASS, WHITE, point_at

if TYPE_CHECKING:
    from rich.text import Text

LETTERS = {BLACK: "X", WHITE: "O"}
STYLES = {BLACK: "bold cyan", WHITE: "bold magenta"}
"""Of stones, where a terminal shows styles."""


def board_text(game: Game, dead: Collection[int] = ()) -> Text:
    """Draw the present position with the names of columns and rows. Stones at the points of `dead` are small letters,
    and the points that fixed handicap stones would be on are drawn as `+`."""
    from rich.text import Text

    last = game.moves[-1].point if game.moves else PASS
    marked = set(_marked_points(game.width, game.height))
    columns = Text("   " + "".join(f" {COLUMNS[x]}" for x in range(game.width)))
    lines = [columns]
    for y in range(game.height):
        row = game.height - y
        line, bracket = Text(f"{row:2d} "), " "
        for x in range(game.width):
            point = point_at(x, y)
            colour = int(game.position["board"][point])
            line.append("(" if point == last else bracket)
            if colour == EMPTY:
                line.append("+" if point in marked else ".")
            else:
                letter = LETTERS[colour]
                line.append(letter.lower() if point in dead else letter, STYLES[colour])
            bracket = ")" if point == last else " "
        line.append(f"{bracket} {row}")
        lines.append(line)
    return Text("\n").join([*lines, columns])


def _marked_points(width: int, height: int) -> list[int]:
    """The points of the largest fixed handicap."""
    most = max_fixed_handicap(width, height)
    return fixed_handicap(most, width, height) if most else []
