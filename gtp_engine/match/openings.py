"""The openings of a match: without them two deterministic engines would play the same game again and again.

Each opening is played twice with colours exchanged, so what imbalance it has cancels out; it must only not decide the
game. The sets are made here, not copied from anywhere: 13×13 and larger start with one stone in each corner on the
points every fuseki uses, smaller boards with one stone each near the centre. Openings that are the same up to rotation
and reflection appear once. The order is fixed, so that a match can be repeated and resumed.

Judged by the network g170-b6c96 with komi 7.5, black's winning chance after an opening is 0.43 to 0.58 on 9×9 (all 27,
60 visits each) and 0.47 to 0.53 on 19×19 (the first 40, 4 visits each).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from go_rules.game import Game, RuleViolation
from go_rules.points import PASS, VertexError, column_of, from_vertex, point_at, row_of
from go_rules.rule_names import DEFAULT_RULES
from go_rules.rules import Rules
from gtp_engine.errors import UserError
from nets.symmetry import symmetric_point, symmetry_count
from nobi_machine.files import read_regular
from nobi_machine.text import decode_text, printable_path

Opening = tuple[int, ...]
"""The points of an opening's moves, black's first. One of them may be a pass, but not the last one."""

FOUR_CORNERS = 13
"""The smallest side of a board whose openings are in the corners."""
CORNER_LINES = ((4, 4), (3, 4), (4, 3), (3, 3))
"""The points of a corner stone: its lines from the two edges."""
SMALLEST = 7
"""On smaller boards the first move may decide the game, so they start empty."""

MAX_FILE_BYTES = 1 << 24
"""Of a file of openings."""

NO_OPENING: Opening = ()


def openings(width: int, height: int) -> list[Opening]:
    """List the built-in openings of a board in their fixed order. A board without any has the empty one."""
    if min(width, height) >= FOUR_CORNERS:
        candidates = _corner_openings(width, height)
    elif min(width, height) >= SMALLEST:
        candidates = _centre_openings(width, height)
    else:
        return [NO_OPENING]
    distinct = {_canonical(opening, width, height) for opening in candidates}
    return sorted(distinct, key=_shuffling_key)


def read_openings(path: Path, width: int, height: int, rules: Rules = DEFAULT_RULES) -> list[Opening]:
    """Read openings from a text file: one in each line, as vertices; `#` begins a comment.

    Raises UserError, also for moves that these rules do not allow.
    """
    found = []
    try:
        text = decode_text(read_regular(path, MAX_FILE_BYTES), "replace")
    except OSError as error:
        raise UserError(f"{printable_path(path)}: {error.strerror}") from None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            opening = tuple(from_vertex(word, width, height) for word in words)
            if len(set(opening)) < len(opening):
                raise UserError("a vertex occurs twice")
            if opening[-1] == PASS:
                raise UserError("ends with a pass, and the next pass would end the game")
            game = Game(width, height, rules)
            for point in opening:
                game.play(game.to_play, point)
        except (VertexError, UserError, RuleViolation) as error:
            raise UserError(f"{printable_path(path)}, line {number}: {error}") from error
        found.append(opening)
    if not found:
        raise UserError(f"{printable_path(path)}: holds no openings")
    return found


def _corner_openings(width: int, height: int) -> Iterator[Opening]:
    """Every way to play one stone in each corner, the first in the top right."""
    for others in itertools.permutations(range(1, 4)):
        for lines in itertools.product(CORNER_LINES, repeat=4):
            yield tuple(_corner_point(c, at, width, height) for c, at in zip((0, *others), lines, strict=True))


def _corner_point(corner: int, lines: tuple[int, int], width: int, height: int) -> int:
    """The point on these lines from the edges of a corner, counted clockwise from the top right."""
    x, y = lines[0] - 1, lines[1] - 1
    return point_at(x if corner >= 2 else width - 1 - x, y if corner in (0, 3) else height - 1 - y)


def _centre_openings(width: int, height: int) -> Iterator[Opening]:
    """Black within one line of the centre, white within two of it and not touching black."""
    for first in _around_centre(width, height, 1):
        for second in _around_centre(width, height, 2):
            apart = abs(column_of(first) - column_of(second)) + abs(row_of(first) - row_of(second))
            if apart >= 2:
                yield (first, second)


def _around_centre(width: int, height: int, distance: int) -> list[int]:
    """Points at most `distance` lines from the centre (of an even side: from its two central lines)."""
    columns = range((width - 1) // 2 - distance, width // 2 + distance + 1)
    rows = range((height - 1) // 2 - distance, height // 2 + distance + 1)
    return [point_at(x, y) for y in rows for x in columns]


def _canonical(opening: Opening, width: int, height: int) -> Opening:
    """The one of an opening's rotations and reflections whose points are smallest."""
    return min(
        tuple(symmetric_point(point, width, height, symmetry) for point in opening)
        for symmetry in range(symmetry_count(width, height))
    )


def _shuffling_key(opening: Opening) -> bytes:
    """Orders openings at random, but the same on every machine."""
    return hashlib.sha256(repr(opening).encode()).digest()
