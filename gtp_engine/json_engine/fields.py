"""The fields of a query, each read with KataGo's words for what is wrong with it. Nothing here does I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from go_rules.points import BLACK, PASS, WHITE, VertexError, from_vertex, point_at

Object = Mapping[str, Any]
"""An object as JSON has it."""

_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
_COORDINATES = re.compile(r"\(([0-9]{1,2}),([0-9]{1,2})\)")

MOVES_FORM = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
VERTICES_FORM = "Must be an array of GTP board vertices"
LONGEST_ECHO = 200
"""Characters of a query's own text that an error repeats."""


class FieldError(Exception):
    """A field of a query cannot be used, and so the query cannot."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field
        self.text = text


def read_integer(query: Object, name: str, low: int, high: int, text: str) -> int:
    """Read a field that must be a whole number within bounds. Raises FieldError with `text`."""
    value = query.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise FieldError(name, text)
    return value


def read_number(query: Object, name: str, low: float, high: float, text: str) -> float:
    """Read a field that must be a finite number within bounds. Raises FieldError with `text`."""
    value = query.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise FieldError(name, text)
    if not low <= value <= high:
        raise FieldError(name, text)
    return float(value)


def read_boolean(query: Object, name: str) -> bool:
    """Read a field that must be true or false; it is false where it is missing. Raises FieldError."""
    value = query.get(name, False)
    if not isinstance(value, bool):
        raise FieldError(name, "Must be a boolean")
    return value


def read_integers(query: Object, name: str, text: str) -> list[int]:
    """Read a field that must be a list of whole numbers, be they written as `1` or as `1.0`. Raises FieldError with
    `text`."""
    given = query.get(name)
    values = [_whole(value) for value in given] if isinstance(given, list) else [None]
    if None in values:
        raise FieldError(name, text)
    return [value for value in values if value is not None]


def _whole(value: object) -> int | None:
    """A whole number, or None for anything else."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_colour(query: Object, name: str) -> int:
    """Read a field that must name BLACK or WHITE. Raises FieldError."""
    colour = colour_of(query.get(name))
    if colour is None:
        raise FieldError(name, 'Must be "b" or "w"')
    return colour


def read_moves(query: Object, name: str, width: int, height: int, *, may_pass: bool) -> list[tuple[int, int]]:
    """Read a field that must be a list of moves, (colour, point) each. Raises FieldError; unless `may_pass` for a pass
    too."""
    pairs = query.get(name)
    if not isinstance(pairs, list):
        raise FieldError(name, MOVES_FORM)
    moves = []
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise FieldError(name, MOVES_FORM)
        colour, point = colour_of(pair[0]), point_of(pair[1], width, height)
        if colour is None:
            raise FieldError(name, f"Could not parse player: {pair[0][:LONGEST_ECHO]}")
        if point is None or (point == PASS and not may_pass):
            raise FieldError(name, f"Could not parse board location: {pair[1][:LONGEST_ECHO]}")
        moves.append((colour, point))
    return moves


def read_points(query: Object, name: str, width: int, height: int) -> frozenset[int]:
    """Read a field that must be a list of points; PASS may be among them. Raises FieldError."""
    texts = query.get(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise FieldError(name, VERTICES_FORM)
    points = set()
    for text in texts:
        point = point_of(text, width, height)
        if point is None:
            raise FieldError(name, f"Could not parse board location: {text[:LONGEST_ECHO]}")
        points.add(point)
    return frozenset(points)


def colour_of(text: object) -> int | None:
    """Return the colour that a text names, in any letter case; None if it names none."""
    return _COLOURS.get(text.strip().lower()) if isinstance(text, str) else None


def point_of(text: str, width: int, height: int) -> int | None:
    """Return the point of a vertex, of `pass`, or of KataGo's `(column,row)`, which count from 0 at the top left.

    Return None for any other text, and for what is not on the board.
    """
    coordinates = _COORDINATES.fullmatch(text.strip().replace(" ", ""))
    if coordinates is not None:
        x, y = int(coordinates[1]), int(coordinates[2])
        return point_at(x, y) if x < width and y < height else None
    try:
        return from_vertex(text, width, height)
    except VertexError:
        return None
