"""Pictures of analyses: what is drawn, and one line for what cannot be."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex
from gtp_engine import cli
from gtp_engine.tools.picture import draw
from search.result import MoveInfo, SearchResult
from tests.systems import native

SVG = "{http://www.w3.org/2000/svg}"
RECORD = "(;SZ[9]KM[7]PB[Ann & <Bob>]PW[Carl];B[ee];W[gc];B[cg];W[gg])"


def move(vertex: str, order: int, visits: int, *line: str) -> MoveInfo:
    """A move on 9×9 as a search reports it."""
    points = tuple(from_vertex(each, 9, 9) for each in (vertex, *line))
    return MoveInfo(
        point=points[0],
        visits=visits,
        edge_visits=visits,
        winrate=0.625,
        utility=0.2,
        score_mean=2.0,
        score_stdev=5.0,
        lead=2.26,
        prior=0.3,
        lcb=0.5,
        utility_lcb=0.1,
        weight=float(visits),
        order=order,
        pv=points,
    )


def result(*moves: MoveInfo, ownership: NDArray[np.float32] | None = None) -> SearchResult:
    """What a search for white on 9×9 found."""
    return SearchResult(
        colour=WHITE,
        visits=1234,
        winrate=0.625,
        utility=0.2,
        score_mean=2.0,
        score_stdev=5.0,
        lead=2.26,
        weight=1234.0,
        moves=moves,
        ownership=ownership,
    )


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
    picture = ElementTree.fromstring(draw(game, found, "A <game> & more\x00"))
    assert filled(picture, "circle", "url(#black)") == 2 + 1  # on the board, in the best line
    assert filled(picture, "circle", "url(#white)") == 1 + 2
    assert candidates(picture) == {"G3": ["62.5", "1.2k", "+2.3"], "D3": ["62.5", "30", "+2.3"]}
    told = texts(picture)
    assert told[:2] == [r"A <game> & more\x00", "move 3"]
    assert told[-7:] == ["White to play: 62.5 %, W+2.3 after 1234 visits", "1", "G3", "2", "C7", "3", "pass"]


def test_ownership_is_shaded_where_no_stone_of_the_owner_is(game: Game) -> None:
    ownership = np.zeros((9, 9), np.float32)
    ownership[4, 4] = 0.9  # black's stone at E5, which is dead
    ownership[2, 6] = 0.9  # white's own stone at G7
    ownership[0, :3] = -0.5
    picture = ElementTree.fromstring(draw(game, result(move("G3", 0, 10), ownership=ownership.reshape(-1)), "x"))
    squares = [each for each in picture.iter(f"{SVG}rect") if each.get("opacity")]
    assert sorted(str(each.get("fill")) for each in squares) == ["#000"] * 3 + ["#fff"]


@pytest.mark.parametrize("size", [(2, 2), (2, 13), (9, 9), (19, 19)])
def test_texts_have_room(size: tuple[int, int]) -> None:
    pictures = [
        ElementTree.fromstring(draw(Game(*size), result(), title)) for title in ("Ann", "本因坊" * 20, "Bob " * 40)
    ]
    width = float(pictures[0].get("viewBox", "").split()[2])
    assert width >= 444
    assert texts(pictures[0])[0] == "Ann"
    for picture, letter in zip(pictures[1:], (2, 1), strict=True):
        title = texts(picture)[0]
        assert title[-1] == "…"
        assert 100 <= letter * (len(title) - 1) * 12.24 <= width - 136
    boards = [each for each in pictures[0].iter(f"{SVG}rect") if each.get("fill") == "url(#wood)"]
    assert [float(each.get("width", "")) for each in boards] == [44 * (size[0] - 1) + 92]


def test_a_game_that_is_over_is_drawn(game: Game) -> None:
    game.play(WHITE, PASS)
    assert candidates(ElementTree.fromstring(draw(game, result(), "x"))) == {}


@pytest.mark.parametrize(("arguments", "stones"), [((), 4), (("--move", "2"), 2), (("--move", "0"), 0)])
def test_a_position_of_a_record(tmp_path: Path, arguments: tuple[str, ...], stones: int) -> None:
    record, target = tmp_path / "game.sgf", tmp_path / "out.svg"
    record.write_text(RECORD)
    assert cli.run(["picture", str(target), str(record), "--visits", "8", "--set", "workers=1", *arguments]) == 0
    picture = ElementTree.fromstring(target.read_bytes())
    assert texts(picture)[:2] == ["Ann & <Bob> – Carl", f"move {stones}"]
    assert candidates(picture)
    assert f"after {8} visits" in " ".join(texts(picture))


def test_what_a_record_says_in_unknown_words_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "game.sgf"
    record.write_text("(;SZ[9]KM[much]RU[Foo];B[ee])")
    assert cli.run(["picture", str(tmp_path / "out.SVG"), str(record), "--visits", "2", "--set", "workers=1"]) == 0
    said = "KM[much] and RU[Foo] not understood: chinese-ogs rules, komi 7.5"
    assert capsys.readouterr().err == f"nobi: {record}: {said}\n"


def test_what_is_asked_for_goes_before_the_record(tmp_path: Path) -> None:
    record = tmp_path / "game.sgf"
    record.write_text("(;SZ[9]KM[0.5]RU[Japanese];B[ee])")
    drawn = []
    for arguments in ((), ("--komi", "100"), ("--komi", "0.5", "--rules", "japanese", "--size", "9")):
        command = ["picture", str(tmp_path / "out.svg"), str(record), "--visits", "8", "--set", "workers=1"]
        assert cli.run([*command, "--set", "seed=1", *arguments]) == 0
        drawn.append((tmp_path / "out.svg").read_bytes())
    assert drawn[0] == drawn[2] != drawn[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out.png"], "out.png: the picture must be a file .svg in a folder that exists"),
        (["nowhere/out.svg"], "nowhere/out.svg: the picture must be a file .svg in a folder that exists"),
        (["out.svg", "missing.sgf"], "missing.sgf: No such file or directory"),
        (["out.svg", "broken.sgf"], "broken.sgf: no SGF game found"),
        (["out.svg", "illegal.sgf"], "illegal.sgf: the position set up is impossible: no liberties"),
        (["out.svg", "game.sgf", "--size", "13"], "game.sgf: the board is 9x9"),
        (["out.svg", "game.sgf", "--move", "5"], "game.sgf: the game has 4 moves, not 5"),
        (["out.svg", "short.sgf", "--move", "5"], "short.sgf: the game has 1 move, not 5"),
        (["out.svg", "--move", "5"], "--move needs GAME.sgf"),
        (["out.svg", "--net", "missing.bin.gz"], "missing.bin.gz: No such file or directory"),
    ],
)
def test_mistakes_get_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "game.sgf").write_text(RECORD)
    (tmp_path / "short.sgf").write_text("(;SZ[9];B[ee])")
    (tmp_path / "broken.sgf").write_text("hello")
    (tmp_path / "illegal.sgf").write_text("(;SZ[9]AW[aa]AB[ba][ab];B[ee])")
    assert cli.run(["picture", *arguments]) == 1
    assert capsys.readouterr() == ("", f"nobi: {native(message)}\n")
    assert not (tmp_path / "out.svg").exists()
