"""The built-in openings, and openings from files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from gtp_engine.errors import UserError
from gtp_engine.match.openings import NO_OPENING, openings, read_openings
from nets.symmetry import symmetric_point, symmetry_count
from tests.systems import needs_fifos


@pytest.mark.parametrize(("width", "height"), [(7, 7), (8, 8), (9, 9), (9, 12), (13, 13), (13, 19), (19, 19), (25, 25)])
def test_built_in(width: int, height: int) -> None:
    found = openings(width, height)
    assert len(found) >= 20
    for opening in found[:50]:
        game = Game(width, height)
        for i, point in enumerate(opening):
            game.play(WHITE if i % 2 else BLACK, point)
        assert game.position["captured"].sum() == 0
    symmetries = range(symmetry_count(width, height))
    images = {
        frozenset(
            tuple(symmetric_point(point, width, height, symmetry) for point in opening) for symmetry in symmetries
        )
        for opening in found
    }
    assert len(images) == len(found), "no two are the same up to symmetry"
    assert found == openings(width, height)


def test_small_boards_start_empty() -> None:
    assert openings(5, 5) == [NO_OPENING]
    assert openings(2, 19) == [NO_OPENING]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("D4 q16 C3  # three moves\n\nk10\n# another\nD4 pass Q16", encoding=encoding)
    assert read_openings(path, 19, 19) == [
        tuple(from_vertex(vertex, 19, 19) for vertex in ("D4", "Q16", "C3")),
        (from_vertex("K10", 19, 19),),
        tuple(from_vertex(vertex, 19, 19) for vertex in ("D4", "pass", "Q16")),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("D4 Z9", "line 1: vertex .Z9. is outside"),
        ("D4 D4", "twice"),
        ("D4 pass Q16\nD4 pass", "line 2: ends with a pass, and the next pass would end the game"),
        ("", "no openings"),
        ("A2 D4 B1 A1", "line 1: suicide"),
        ("#" * (1 << 25), "larger than"),
    ],
    ids=["outside", "twice", "pass", "empty", "illegal", "too large"],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "openings.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_openings(path, 19, 19)


@needs_fifos
def test_what_is_no_file(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path, Path("/dev/zero")):
        with pytest.raises(UserError, match=r"not a regular file|a folder"):
            read_openings(path, 19, 19)
