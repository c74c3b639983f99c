"""Points and vertices: two ways to name the same thing."""

from __future__ import annotations

import pytest

from go_rules.points import (
    MAX_SIZE,
    N_POINTS,
    PASS,
    STRIDE,
    VertexError,
    board_points,
    column_of,
    from_vertex,
    opponent,
    point_at,
    row_of,
    to_vertex,
)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (9, 9), (19, 19), (25, 25), (25, 1), (1, 25), (7, 11)])
def test_every_vertex_names_one_point(width, height):
    points = board_points(width, height)
    vertices = [to_vertex(point, height) for point in points]
    assert len(set(vertices)) == width * height
    assert [from_vertex(vertex, width, height) for vertex in vertices] == points
    assert [from_vertex(f" {vertex.lower()} ", width, height) for vertex in vertices] == points
    assert [(row_of(p), column_of(p)) for p in points] == [(y, x) for y in range(height) for x in range(width)]


def test_corners():
    with pytest.raises(ValueError, match="-2 is no point"):
        to_vertex(-2, 19)
    assert to_vertex(point_at(0, 0), 19) == "A19"
    assert to_vertex(point_at(18, 18), 19) == "T1"
    assert to_vertex(point_at(8, 0), 9) == "J9"  # there is no column I
    assert to_vertex(PASS, 9) == "pass"
    assert from_vertex("PaSs", 9, 9) == PASS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "A0",
        "A20",
        "I5",
        "U1",
        "AA1",
        "A1x",
        "5A",
        "A-1",
        "A1.5",
        "A٣",
        "A+1",
        "A001",
        "Z1",
        "\0",
        "ſ4",
        "paſſ",
        "\u3000A1",
    ],
)
def test_no_vertices(text):
    with pytest.raises(VertexError):
        from_vertex(text, 19, 19)


def test_the_largest_board_fits_with_its_walls():
    last = point_at(MAX_SIZE - 1, MAX_SIZE - 1)
    assert last + STRIDE < N_POINTS
    assert point_at(0, 0) - STRIDE > PASS
    assert opponent(1) == 2
    assert opponent(2) == 1
