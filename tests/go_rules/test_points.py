"""Points and vertices: two ways to name the same thing."""

from __future__ import annotations

import pytest

from go_rules.points import PASS, VertexError, board_points, column_of, from_vertex, point_at, row_of, to_vertex


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


NO_VERTICES = "A A0 A20 I5 U1 AA1 A1x 5A A-1 A1.5 A٣ A+1 A001 Z1 ſ4 paſſ"


@pytest.mark.parametrize("text", ["", *NO_VERTICES.split(), "\0", "\u3000A1"])
def test_no_vertices(text):
    with pytest.raises(VertexError):
        from_vertex(text, 19, 19)
