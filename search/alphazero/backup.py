"""Back up: add a leaf's value to every edge of its path, each time for the side that plays the edge's move."""

from __future__ import annotations

from go_rules.compilation.jit import kernel


@kernel
def back_up(edges, path, depth, value, score):
    """Count a visit with this value and score on the first `depth` edges of a path.

    `value` and `score` (points) are the view of the side to move at the end of the path.
    """
    for level in range(depth - 1, -1, -1):
        value = -value
        score = -score
        edge = edges[path[level]]
        edge.in_flight -= 1
        edge.visits += 1
        edge.total += value
        edge.score += score


@kernel
def release(edges, path, depth):
    """Take back a visit that was begun on the first `depth` edges of a path and came to nothing."""
    for level in range(depth):
        edges[path[level]].in_flight -= 1
