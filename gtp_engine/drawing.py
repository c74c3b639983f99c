"""A position as the text of an SVG file: the board alone, or with what a search found.

The page of `nobi web` draws the same board, live (web/page/board.js): measures and colours are the same in both.
"""

from __future__ import annotations

import html
import unicodedata
from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import accumulate

from go_rules.game import Game
from go_rules.points import (
    BLACK,
    COLOUR_LETTERS,
    COLOUR_NAMES,
    COLUMNS,
    EMPTY,
    PASS,
    WHITE,
    board_points,
    column_of,
    opponent,
    point_at,
    row_of,
    to_vertex,
)
from nobi_machine.text import printable
from search.result import MoveInfo, SearchResult

CELL, EDGE, STONE, STAR = 40, 40, 18.8, 3.6
"""Units of the drawing: between two lines, from the board's edge to its first line, radius of a stone and of a star."""
TITLE, CAPTION = 58, 96
"""Units above the board and below it."""
NARROWEST = CELL * 8 + 2 * EDGE
"""Width of an analysis at least, as of a 9×9 board: the line below the board has its place there."""
TITLE_SIZE, LETTER = 17, 0.72
"""Size of the title's letters, and the width of a small one as a share of it."""
WIDE = "MWmw"
"""The letters that are half as wide again; Chinese ones are twice as wide, other capitals a fifth wider."""
MOVE_NUMBER = 90
"""Room for the number of moves beside the title."""
SHARE, MOST_CANDIDATES = 0.015, 12
"""A candidate is drawn if it has this share of the best move's visits, and of these so many at most."""
SURE, SQUARE = 0.15, 0.44
"""Ownership from which a point has a square, and the side of the largest as a share of CELL."""
PV_LENGTH = 12
"""Moves of the best line that are drawn."""
WOOD, LINES = "#dcb36a", "#5d4520"
BEST, LOSSES = "#0072b2", ("#3a9bd1", "#f0e442", "#e69f00", "#d55e00", "#7b2d5e")
"""Colours of the best move, and of others by the points that they lose: fewer than each of LIMITS, or more. Told apart
by those who see red and green alike."""
LIMITS = (0.5, 1.5, 3, 6)
LIGHT = (BEST, LOSSES[-1], "#161616")
"""Of these the text is white."""
STONES = {BLACK: ("#161616", "#000"), WHITE: ("#f7f5f0", "#6d675c")}
"""A stone's colour, and that of its edge."""


def draw_board(game: Game) -> str:
    """Draw a game's present position as the text of an SVG file."""
    width, height = _size(game)
    return _drawing(width, height, f' width="{width}"', _board(game))


def draw_analysis(game: Game, result: SearchResult, title: str) -> str:
    """Draw the analysis of a game's present position as the text of an SVG file. `title` is shown above the board."""
    board, height = _size(game)
    width = max(board, NARROWEST)

    def parts() -> Iterator[str]:
        yield f'<rect width="{width}" height="{height + TITLE + CAPTION}" rx="14" fill="#2b2d31"/>'
        yield from _title(game, result, title, width)
        yield f'<g transform="translate({(width - board) / 2:g} {TITLE})">'
        yield from _board(game)
        yield from _ownership(game, result)
        yield from _candidates(game, result)
        yield f'</g><g transform="translate(0 {TITLE + height})">'
        yield from _best_line(game, result, width)
        yield "</g>"

    return _drawing(width, height + TITLE + CAPTION, "", parts())


def star_points(width: int, height: int) -> list[int]:
    """List the points of a board that are marked: nine, or five on small boards, or fewer where sides are even."""
    is_small = max(width, height) < 13
    return [
        point_at(x, y)
        for x in _along(width)
        for y in _along(height)
        if not is_small or (2 * x == width - 1) == (2 * y == height - 1)
    ]


def _along(side: int) -> list[int]:
    """Where stars are along a side."""
    edge = 2 if side < 13 else 3
    ends = {edge, side - 1 - edge} if side >= 7 else set()
    return sorted(ends | ({side // 2} if side % 2 else set()))


def _size(game: Game) -> tuple[int, int]:
    return CELL * (game.width - 1) + 2 * EDGE, CELL * (game.height - 1) + 2 * EDGE


def _drawing(width: int, height: int, attributes: str, parts: Iterable[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"{attributes}'
    fonts = ' font-family="DejaVu Sans, Verdana, sans-serif" text-anchor="middle">'
    return "\n".join((head + fonts, *parts, "</svg>\n"))


def _title(game: Game, result: SearchResult, title: str, width: int) -> Iterator[str]:
    """The players, the number of moves, and a bar with black's winning chances."""
    black = result.winrate if result.colour == BLACK else 1 - result.winrate
    room = (width - EDGE - MOVE_NUMBER) / (TITLE_SIZE * LETTER)
    yield _text(EDGE / 2, 27, _shortened(printable(title), room), TITLE_SIZE, "#f2f2f2", anchor="start", bold=True)
    yield _text(width - EDGE / 2, 27, f"move {len(game.moves)}", 15, "#c8c8c8", anchor="end")
    bar, left = width - EDGE, EDGE / 2
    yield f'<rect x="{left}" y="40" width="{bar}" height="8" rx="4" fill="#f4f4f4"/>'
    yield f'<rect x="{left}" y="40" width="{bar * black:.1f}" height="8" rx="4" fill="#000"/>'


def _board(game: Game) -> Iterator[str]:
    """The board with its star points and coordinates, the stones, and a ring on the last one."""
    width, height = _size(game)
    right, bottom = width - EDGE, height - EDGE
    yield f'<rect width="{width}" height="{height}" rx="6" fill="{WOOD}"/>'
    lines = [f"M{EDGE + CELL * x} {EDGE}V{bottom}" for x in range(game.width)]
    lines += [f"M{EDGE} {EDGE + CELL * y}H{right}" for y in range(game.height)]
    yield f'<path d="{"".join(lines)}" stroke="{LINES}" stroke-linecap="square"/>'
    for point in star_points(game.width, game.height):
        yield _circle(point, STAR, f'fill="{LINES}"')
    for x in range(game.width):
        for y in (16, height - 8):
            yield _text(EDGE + CELL * x, y, COLUMNS[x], 12, LINES)
    for row in range(game.height):
        for x in (12, width - 12):
            yield _text(x, EDGE + CELL * row + 4, str(game.height - row), 12, LINES)
    board = game.position["board"]
    for point in board_points(game.width, game.height):
        if board[point] != EMPTY:
            fill, edge = STONES[int(board[point])]
            yield _circle(point, STONE, f'fill="{fill}" stroke="{edge}"')
    last = game.moves[-1] if game.moves else None
    if last is not None and last.point != PASS and board[last.point] == last.colour:
        yield _circle(last.point, 6, f'fill="none" stroke="{_ink(STONES[last.colour][0])}" stroke-width="2.5"')


def _ownership(game: Game, result: SearchResult) -> Iterator[str]:
    """A square of the owner's colour on each point that is not the owner's stone, larger where it is surer."""
    if result.ownership is None:
        return
    board, owners = game.position["board"], result.ownership.tolist()
    for point, owner in zip(board_points(game.width, game.height), owners, strict=True):
        colour = result.colour if owner > 0 else opponent(result.colour)
        if abs(owner) >= SURE and board[point] != colour:
            side, (x, y) = SQUARE * CELL * abs(owner) ** 0.5, _place(point)
            fill = "#000" if colour == BLACK else "#fff"
            yield (
                f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}"'
                f' fill="{fill}" opacity=".75"/>'
            )


def _candidates(game: Game, result: SearchResult) -> Iterator[str]:
    """The moves that the search looked at most: winrate, lead and visits on a coloured circle."""
    for move in reversed(_shown(result)):
        if move.point == PASS:
            continue
        fill, ring = LOSSES[bisect(LIMITS, result.moves[0].lead - move.lead)], 'stroke="#0004"'
        if move.order == 0:
            fill, ring = BEST, 'stroke="#fff" stroke-width="2"'
        (x, y), ink = _place(move.point), _ink(fill)
        yield f'<g class="candidate" data-move="{to_vertex(move.point, game.height)}">'
        yield _circle(move.point, STONE, f'fill="{fill}" {ring}')
        yield _text(x, y - 6, f"{100 * move.winrate:.1f}", 9, ink)
        yield _text(x, y + 5, f"{move.lead:+.1f}", 10.5, ink, bold=True)
        yield _text(x, y + 14, _count(move.visits), 9, ink)
        yield "</g>"


def _shown(result: SearchResult) -> list[MoveInfo]:
    most = result.moves[0].visits if result.moves else 0
    return [move for move in result.moves if move.visits >= max(1.0, SHARE * most)][:MOST_CANDIDATES]


def _best_line(game: Game, result: SearchResult, width: int) -> Iterator[str]:
    """What the search thinks of the position, and its principal variation as a row of stones."""
    ahead = result.colour if result.lead >= 0 else opponent(result.colour)
    summary = (
        f"{COLOUR_NAMES[result.colour].capitalize()} to play: {100 * result.winrate:.1f} %, "
        f"{COLOUR_LETTERS[ahead]}+{abs(result.lead):.1f} after {result.visits} visits"
    )
    yield _text(EDGE / 2, 28, summary, 15, "#f2f2f2", anchor="start")
    colour, step = result.colour, 60
    line = result.moves[0].pv if result.moves else ()
    for number, point in enumerate(line[: min(PV_LENGTH, (width - EDGE) // step)], start=1):
        fill, edge = STONES[colour]
        x = EDGE / 2 + step * number - step / 2
        yield f'<circle cx="{x}" cy="56" r="14" fill="{fill}" stroke="{edge}"/>'
        yield _text(x, 61, str(number), 13, _ink(fill))
        yield _text(x, 86, to_vertex(point, game.height), 12, "#c8c8c8")
        colour = opponent(colour)


def _shortened(text: str, room: float) -> str:
    """The text, or its beginning with an ellipsis, in the room for so many letters."""
    ends = list(accumulate(map(_width, text)))
    if not ends or ends[-1] <= room:
        return text
    return text[: sum(end <= room - 1 for end in ends)].rstrip() + "…"


def _width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2.0
    return 1.5 if letter in WIDE else 1.2 if letter.isupper() else 1.0


def _count(visits: int) -> str:
    return str(visits) if visits < 1000 else f"{visits / 1000:.1f}k"


def _place(point: int) -> tuple[int, int]:
    """Where a point is in the drawing of the board."""
    return EDGE + CELL * column_of(point), EDGE + CELL * row_of(point)


def _circle(point: int, radius: float, style: str) -> str:
    x, y = _place(point)
    return f'<circle cx="{x}" cy="{y}" r="{radius}" {style}/>'


def _ink(ground: str) -> str:
    """The colour of text on another one."""
    return "#fff" if ground in LIGHT else "#000"


def _text(x: float, y: float, text: str, size: float, fill: str, anchor: str = "", bold: bool = False) -> str:
    style = (f' text-anchor="{anchor}"' if anchor else "") + (' font-weight="bold"' if bold else "")
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}"{style}>{html.escape(text)}</text>'
