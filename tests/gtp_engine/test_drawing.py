"""Drawings: what is on them, and that the page draws the same."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex, to_vertex
from gtp_engine import drawing
from gtp_engine.drawing import draw_analysis, star_points
from gtp_engine.web.server import PAGE
from search.result import MoveInfo, SearchResult

SVG = "{http://www.w3.org/2000/svg}"


def move(vertex: str, order: int, visits: int, *line: str) -> MoveInfo:
    """A move on 9×9 as a search reports it."""
    points = tuple(from_vertex(each, 9, 9) for each in (vertex, *line))
    return MoveInfo(
        point=points[0], visits=visits, edge_visits=visits, winrate=0.625, utility=0.2, score_mean=2.0, score_stdev=5.0,
        lead=2.26, prior=0.3, lcb=0.5, utility_lcb=0.1, weight=float(visits), order=order, pv=points,
    )  # fmt: skip


def result(*moves: MoveInfo, ownership: NDArray[np.float32] | None = None) -> SearchResult:
    """What a search for white on 9×9 found."""
    return SearchResult(
        colour=WHITE, visits=1234, winrate=0.625, utility=0.2, score_mean=2.0, score_stdev=5.0, lead=2.26,
        weight=1234.0, moves=moves, ownership=ownership,
    )  # fmt: skip


def texts(picture: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in picture.iter(f"{SVG}text")]


def candidates(picture: ElementTree.Element) -> dict[str, list[str]]:
    """The texts on each candidate, by its vertex."""
    groups = [group for group in picture.iter(f"{SVG}g") if group.get("class") == "candidate"]
    return {group.get("data-move", ""): texts(group) for group in groups}


def filled(picture: ElementTree.Element, tag: str, fill: str) -> int:
    return sum(each.get("fill") == fill for each in picture.iter(f"{SVG}{tag}"))


@pytest.fixture
def game() -> Game:
    game = Game(9, 9)
    for colour, vertex in ((BLACK, "E5"), (WHITE, "G7"), (BLACK, "C3")):
        game.play(colour, from_vertex(vertex, 9, 9))
    return game


def test_stones_candidates_and_the_best_line_are_drawn(game: Game) -> None:
    found = result(move("G3", 0, 1200, "C7", "pass"), move("D3", 1, 30), move("J9", 2, 3), move("pass", 3, 100))
    picture = ElementTree.fromstring(draw_analysis(game, found, "A <game> & more\x00"))
    assert filled(picture, "circle", drawing.STONES[BLACK][0]) == 2 + 1  # on the board, in the best line
    assert filled(picture, "circle", drawing.STONES[WHITE][0]) == 1 + 2
    assert candidates(picture) == {"G3": ["62.5", "+2.3", "1.2k"], "D3": ["62.5", "+2.3", "30"]}
    told = texts(picture)
    assert told[:2] == [r"A <game> & more\x00", "move 3"]
    assert told[-7:] == ["White to play: 62.5 %, W+2.3 after 1234 visits", "1", "G3", "2", "C7", "3", "pass"]


def test_ownership_is_shaded_where_no_stone_of_the_owner_is(game: Game) -> None:
    ownership = np.zeros((9, 9), np.float32)
    ownership[4, 4] = 0.9  # black's stone at E5, which is dead
    ownership[2, 6] = 0.9  # white's own stone at G7
    ownership[0, :3] = -0.5
    picture = ElementTree.fromstring(
        draw_analysis(game, result(move("G3", 0, 10), ownership=ownership.reshape(-1)), "x")
    )
    squares = [each for each in picture.iter(f"{SVG}rect") if each.get("opacity")]
    assert sorted(str(each.get("fill")) for each in squares) == ["#000"] * 3 + ["#fff"]


@pytest.mark.parametrize("size", [(2, 2), (2, 13), (9, 9), (19, 19)])
def test_texts_have_room(size: tuple[int, int]) -> None:
    pictures = [
        ElementTree.fromstring(draw_analysis(Game(*size), result(), title))
        for title in ("Ann", "本因坊" * 20, "Bob " * 40)
    ]
    width = float(pictures[0].get("viewBox", "").split()[2])
    assert width >= 400
    assert texts(pictures[0])[0] == "Ann"
    for picture, letter in zip(pictures[1:], (2, 1), strict=True):
        title = texts(picture)[0]
        assert title[-1] == "…"
        assert 100 <= letter * (len(title) - 1) * 12.24 <= width - 130
    boards = [each for each in pictures[0].iter(f"{SVG}rect") if each.get("fill") == drawing.WOOD]
    assert [float(each.get("width", "")) for each in boards] == [40 * (size[0] - 1) + 80]


def test_a_game_that_is_over_is_drawn(game: Game) -> None:
    game.play(WHITE, PASS)
    assert candidates(ElementTree.fromstring(draw_analysis(game, result(), "x"))) == {}


@pytest.mark.parametrize(
    ("size", "stars"),
    [
        ((19, 19), "D16 K16 Q16 D10 K10 Q10 D4 K4 Q4"),
        ((9, 9), "C7 G7 E5 C3 G3"),
        ((8, 12), "C10 F10 C3 F3"),
        ((5, 5), "C3"),
        ((2, 6), ""),
    ],
)
def test_stars(size: tuple[int, int], stars: str) -> None:
    assert {to_vertex(point, size[1]) for point in star_points(*size)} == set(stars.split())


def test_the_page_draws_alike() -> None:
    """Measures, and the colours and limits of losses, which the page has in its own languages."""
    script, style, limits = ((PAGE / name).read_text() for name in ("board.js", "style.css", "format.js"))
    for name in ("CELL", "EDGE", "STONE", "STAR", "SURE", "SQUARE", "SHARE", "MOST_CANDIDATES"):
        assert re.search(rf"const (?:\w+ = [\d.]+, )*{name} = ([\d.]+)", script)[1] == f"{getattr(drawing, name)}"  # type: ignore[index]
    colours = {"wood": drawing.WOOD, "wood-line": drawing.LINES, "best": drawing.BEST}
    colours |= {f"loss-{number}": colour for number, colour in enumerate(drawing.LOSSES)}
    for name, colour in colours.items():
        assert f" --{name}: {colour};" in style
    for name, (fill, edge) in zip(("black", "white"), drawing.STONES.values(), strict=True):
        assert f".line .{name} {{ fill: {fill}; stroke: {edge}; }}" in style
    assert f"const LOSSES = {list(drawing.LIMITS)};" in limits
