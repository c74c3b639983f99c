"""`nobi picture`: a position drawn as SVG, with the candidate moves, the ownership and the best line of a search."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

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
from gtp_engine.configuration.configuration import tell
from gtp_engine.configuration.parameters import Count, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.players import check_files
from gtp_engine.session.records import ABSENT, DEFAULT_VISITS, conditions, read_record
from nobi_machine.text import printable
from search.result import MoveInfo, SearchResult

CELL, EDGE, TITLE, CAPTION = 44, 46, 58, 96
"""Units of the drawing: between two lines, from the board's edge to its first line, above the board, below it."""
NARROWEST = CELL * 8 + 2 * EDGE
"""Width of the drawing at least, as of a 9×9 board: the line below the board has its place there."""
TITLE_SIZE, LETTER = 17, 0.72
"""Size of the title's letters, and the width of a small one as a share of it."""
WIDE = "MWmw"
"""The letters that are half as wide again; Chinese ones are twice as wide, other capitals a fifth wider."""
MOVE_NUMBER = 90
"""Room for the number of moves beside the title."""
SHOWN_SHARE, MOST_SHOWN = 0.02, 10
"""A candidate is drawn if it has this share of the best move's visits, and of these so many at most."""
SURE, PV_LENGTH = 0.15, 12
"""Ownership from which a point is shaded, and moves of the best line that are drawn."""
BEST, OTHERS = "#13b5b1", ("#7bbf3a", "#e0b13a", "#e08a4a")
"""Colours of the best move, and of the others by their share of its visits: a fifth, a twentieth, less."""
STONES = {BLACK: ("url(#black)", "#000", "#fff"), WHITE: ("url(#white)", "#888", "#000")}
"""A stone's fill, its edge, and the colour of text on it."""
COLOURS = {"wood": ("#ebc988", "#dbb068"), "black": ("#666", "#111"), "white": ("#fff", "#ccc")}
"""Where a gradient begins and ends."""


def draw_board(game: Game) -> str:
    """Draw a game's present position as the text of an SVG file."""
    width, height = CELL * (game.width - 1) + 2 * EDGE, CELL * (game.height - 1) + 2 * EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        ' font-family="DejaVu Sans, Verdana, sans-serif" text-anchor="middle">',
        *(_gradient(name, *ends) for name, ends in COLOURS.items()),
        f'<rect width="{width}" height="{height}" fill="url(#wood)"/>',
        *_grid(game),
        *_stones(game),
        "</svg>\n",
    ]
    return "\n".join(parts)


def draw(game: Game, result: SearchResult, title: str) -> str:
    """Draw the analysis of a game's present position as the text of an SVG file. `title` is shown above the board."""
    board, height = CELL * (game.width - 1) + 2 * EDGE, CELL * (game.height - 1) + 2 * EDGE
    width = max(board, NARROWEST)
    size = f"{width} {height + TITLE + CAPTION}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="DejaVu Sans, Verdana, sans-serif"'
        ' text-anchor="middle">',
        *(_gradient(name, *ends) for name, ends in COLOURS.items()),
        f'<rect width="{width}" height="{height + TITLE + CAPTION}" rx="14" fill="#2b2d31"/>',
        *_title(game, result, title, width),
        f'<g transform="translate({(width - board) / 2:g} {TITLE})">',
        f'<rect width="{board}" height="{height}" fill="url(#wood)"/>',
        *_grid(game),
        *_stones(game),
        *_ownership(game, result),
        *_candidates(game, result),
        f'</g><g transform="translate(0 {TITLE + height})">',
        *_best_line(game, result, width),
        "</g></svg>\n",
    ]
    return "\n".join(parts)


def _title(game: Game, result: SearchResult, title: str, width: int) -> Iterator[str]:
    """The players, the number of moves, and a bar with black's winning chances."""
    black = result.winrate if result.colour == BLACK else 1 - result.winrate
    room = (width - EDGE - MOVE_NUMBER) / (TITLE_SIZE * LETTER)
    yield _text(EDGE / 2, 27, _shortened(printable(title), room), TITLE_SIZE, "#f2f2f2", anchor="start", bold=True)
    yield _text(width - EDGE / 2, 27, f"move {len(game.moves)}", 15, "#c8c8c8", anchor="end")
    bar, left = width - EDGE, EDGE / 2
    yield f'<rect x="{left}" y="40" width="{bar}" height="8" rx="4" fill="#f4f4f4"/>'
    yield f'<rect x="{left}" y="40" width="{bar * black:.1f}" height="8" rx="4" fill="#000"/>'


def _grid(game: Game) -> Iterator[str]:
    """Lines, star points and coordinates."""
    right, bottom = EDGE + CELL * (game.width - 1), EDGE + CELL * (game.height - 1)
    lines = [f"M{EDGE + CELL * x} {EDGE}V{bottom}" for x in range(game.width)]
    lines += [f"M{EDGE} {EDGE + CELL * y}H{right}" for y in range(game.height)]
    yield f'<path d="{"".join(lines)}" stroke="#5d4520" stroke-linecap="square"/>'
    for x in _stars(game.width):
        for y in _stars(game.height):
            yield _circle(point_at(x, y), 0.09, 'fill="#5d4520"')
    for x in range(game.width):
        for y in (18, bottom + EDGE - 8):
            yield _text(EDGE + CELL * x, y, COLUMNS[x], 14, "#5d4520")
    for row in range(game.height):
        for column in (14, right + EDGE - 14):
            yield _text(column, EDGE + CELL * row + 5, str(game.height - row), 14, "#5d4520")


def _stars(side: int) -> tuple[int, ...]:
    if side < 7:
        return ()
    edge = 2 if side < 13 else 3
    return (edge, side // 2, side - 1 - edge) if side % 2 else (edge, side - 1 - edge)


def _stones(game: Game) -> Iterator[str]:
    """The stones, and a ring on the last one."""
    board = game.position["board"]
    for point in board_points(game.width, game.height):
        if board[point] != EMPTY:
            fill, edge, _ = STONES[int(board[point])]
            yield _circle(point, 0.48, f'fill="{fill}" stroke="{edge}" stroke-width=".6"')
    last = game.moves[-1] if game.moves else None
    if last is not None and last.point != PASS and board[last.point] == last.colour:
        yield _circle(last.point, 0.24, f'fill="none" stroke="{STONES[last.colour][2]}" stroke-width="2.4"')


def _ownership(game: Game, result: SearchResult) -> Iterator[str]:
    """A square of the owner's colour on each point that is not the owner's stone, larger where it is surer."""
    if result.ownership is None:
        return
    board, owners = game.position["board"], result.ownership.tolist()
    for point, owner in zip(board_points(game.width, game.height), owners, strict=True):
        colour = result.colour if owner > 0 else opponent(result.colour)
        if abs(owner) > SURE and board[point] != colour:
            side, (x, y) = 0.42 * CELL * abs(owner), _place(point)
            fill = "#000" if colour == BLACK else "#fff"
            yield (
                f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}"'
                f' fill="{fill}" opacity=".75"/>'
            )


def _candidates(game: Game, result: SearchResult) -> Iterator[str]:
    """The moves that the search looked at most: winrate, visits and lead on a coloured circle."""
    for move in reversed(_shown(result)):
        if move.point == PASS:
            continue
        share = move.visits / max(1, result.moves[0].visits)
        colour = BEST if move.order == 0 else OTHERS[(share < 0.2) + (share < 0.05)]
        x, y = _place(move.point)
        ring = ' stroke="#075a58" stroke-width="2.4"' if move.order == 0 else ""
        yield f'<g class="candidate" data-move="{to_vertex(move.point, game.height)}">'
        yield _circle(move.point, 0.49, f'fill="{colour}"{ring}')
        yield _text(x, y - 6, f"{100 * move.winrate:.1f}", 13, bold=True)
        yield _text(x, y + 5, _count(move.visits), 10.5)
        yield _text(x, y + 15.5, f"{move.lead:+.1f}", 10.5)
        yield "</g>"


def _shown(result: SearchResult) -> list[MoveInfo]:
    most = result.moves[0].visits if result.moves else 0
    return [move for move in result.moves if move.visits >= max(1.0, SHOWN_SHARE * most)][:MOST_SHOWN]


def _best_line(game: Game, result: SearchResult, width: int) -> Iterator[str]:
    """What the search thinks of the position, and its principal variation as a row of stones."""
    ahead = result.colour if result.lead >= 0 else opponent(result.colour)
    summary = (
        f"{COLOUR_NAMES[result.colour].capitalize()} to play: {100 * result.winrate:.1f} %, "
        f"{COLOUR_LETTERS[ahead]}+{abs(result.lead):.1f} after {result.visits} visits"
    )
    yield _text(EDGE / 2, 28, summary, 16, "#f2f2f2", anchor="start")
    colour, step = result.colour, 60
    line = result.moves[0].pv if result.moves else ()
    for number, point in enumerate(line[: min(PV_LENGTH, (width - EDGE) // step)], start=1):
        fill, edge, ink = STONES[colour]
        x = EDGE / 2 + step * number - step / 2
        yield f'<circle cx="{x}" cy="56" r="14" fill="{fill}" stroke="{edge}" stroke-width=".6"/>'
        yield _text(x, 61, str(number), 13, ink)
        yield _text(x, 86, to_vertex(point, game.height), 12, "#c8c8c8")
        colour = opponent(colour)


def _shortened(text: str, room: float) -> str:
    """The text, or its beginning with an ellipsis, in the room for so many letters."""
    ends = []
    width = 0.0
    for letter in text:
        width += _width(letter)
        ends.append(width)
    if width <= room:
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
    """A circle around a point; `radius` is a share of the distance between two lines."""
    x, y = _place(point)
    return f'<circle cx="{x}" cy="{y}" r="{CELL * radius:.1f}" {style}/>'


def _text(x: float, y: float, text: str, size: float, fill: str = "#000", anchor: str = "", bold: bool = False) -> str:
    style = (f' text-anchor="{anchor}"' if anchor else "") + (' font-weight="bold"' if bold else "")
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}"{style}>{html.escape(text)}</text>'


def _gradient(name: str, first: str, last: str) -> str:
    stops = f'<stop stop-color="{first}"/><stop offset="1" stop-color="{last}"/>'
    return f'<radialGradient id="{name}" cx=".35" cy=".3" r=".75">{stops}</radialGradient>'


@click.command()
@click.argument("target", metavar="OUT.svg", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("record", metavar="[GAME.sgf]", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--move", type=Count(0), metavar="N", help="The position after N moves.  [default: the last]")
@parameter_options("picture", absent=ABSENT)
@config_options
def picture(
    target: Path,
    record: Path | None,
    move: int | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    **options: Any,
) -> None:
    """Analyse a position and draw the board, the candidate moves, the ownership and the best line.

    The position is one of a game record's main line; without a record it is the empty board. --komi and --rules go
    before what the record says. Numbers on a candidate
    are its winrate in percent, its visits and its lead in points, all as the side to move sees them.
    """
    if move is not None and record is None:
        raise UserError("--move needs GAME.sgf")
    if target.suffix.lower() != ".svg" or not target.parent.is_dir():
        raise UserError(f"{target}: the picture must be a file .svg in a folder that exists")
    configuration = check_files(load(config_file, settings, options))
    tell(configuration)
    from go_rules.game import Game
    from gtp_engine.players import make_player
    from nobi_machine.files import PUBLIC, write_whole
    from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest

    engine = configuration.engine
    if record is None:
        game, title = Game(*engine.board, *conditions(configuration)), "Nobi"
    else:
        read = read_record(record, configuration, options)
        loaded = read.game
        if options["size"] is not None and engine.board != (loaded.width, loaded.height):
            raise read.error(f"the board is {loaded.width}x{loaded.height}")
        length = len(loaded.moves)
        if move is not None and move > length:
            raise read.error(f"the game has {length} move{'' if length == 1 else 's'}, not {move}")
        game = read.to_game(None if move is None else move + 1)
        title = " – ".join(name for name in (loaded.black, loaded.white) if name) or record.stem
    player = make_player(configuration)
    player.warm_up(game.width, game.height)
    limits = Limits(visits=engine.visits or DEFAULT_VISITS)
    result = player.search(SearchRequest(game, game.to_play, limits, report=OWNERSHIP_AT_THE_END, analysis=True))
    player.close()
    write_whole(target, draw(game, result, title).encode(), PUBLIC)
