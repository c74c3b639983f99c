"""The tree of a reference search as SVG text: boards, and lines as thick as the visits that went along them."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from search.reference.mcts import Node, State

MOST_NODES = 26
"""Boards in a picture."""
BOARD, GAP, LEVEL, EDGE, TITLE = 54, 12, 128, 18, 44
"""Units: side of a board, between boards, from level to level, around the tree, above it."""
STONES = {"X": "#1f6feb", "O": "#d1495b"}
GOOD, BAD = (46, 160, 67), (180, 60, 60)
"""Red, green, blue of a board's frame: all won, all lost, as the side sees it that moved there."""


@dataclass(eq=False)
class Place:
    """A node of the tree and its place in the picture."""

    node: Node
    level: int
    children: list[Place]
    x: float = 0.0
    """The middle of its board."""


def draw_tree(root: Node, show: Callable[[State], str], title: str) -> str:
    """Draw the most visited part of a tree. `show` makes rows of X, O and dots of a position."""
    top = _most_visited(root)
    right = _arrange(top, 0.0)
    depth = max(place.level for place in _all(top)) + 1
    width, height = max(right - GAP, 360.0) + 2 * EDGE, TITLE + depth * LEVEL - (LEVEL - BOARD) + 44 + EDGE
    shift = (width - (right - GAP)) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" text-anchor="middle" '
        'font-family="DejaVu Sans, Verdana, sans-serif">',
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="12" fill="#ffffff"/>',
        f'<text x="{width / 2:.0f}" y="28" font-size="15" font-weight="bold">{html.escape(title)}</text>',
        f'<g transform="translate({shift:.1f} {TITLE})">',
        *(line for place in _all(top) for line in _lines(place, root.visits)),
        *(line for place in _all(top) for line in _board(place, show)),
        "</g></svg>\n",
    ]
    return "\n".join(parts)


def _most_visited(root: Node) -> Place:
    """The most visited nodes of a tree, as many as the picture has room for. A node's parent was visited as often."""
    top = Place(root, 0, [])
    waiting = [(child, top) for child in root.children]
    for _ in range(MOST_NODES - 1):
        node, parent = max(waiting, key=lambda each: each[0].visits, default=(root, top))
        if node is root or node.visits == 0:
            break
        place = Place(node, parent.level + 1, [])
        waiting.remove((node, parent))
        waiting += [(child, place) for child in node.children]
        parent.children.append(place)
        # In the order of the moves, as every node has its children.
        order = parent.node.children
        parent.children.sort(key=lambda each: order.index(each.node))
    return top


def _arrange(place: Place, left: float) -> float:
    """Set the middles of a subtree's boards. Returns where the next subtree may begin."""
    if not place.children:
        place.x = left + BOARD / 2
        return left + BOARD + GAP
    right = left
    for child in place.children:
        right = _arrange(child, right)
    place.x = (place.children[0].x + place.children[-1].x) / 2
    return right


def _all(place: Place) -> Iterator[Place]:
    yield place
    for child in place.children:
        yield from _all(child)


def _lines(place: Place, visits: int) -> Iterator[str]:
    """The lines to the children, with their moves."""
    most = max((child.node.visits for child in place.children), default=0)
    for child in place.children:
        y, below = place.level * LEVEL + BOARD + 32, child.level * LEVEL
        colour = "#57606a" if child.node.visits < most else "#d4a017"
        thickness = 0.8 + 9.0 * child.node.visits / visits
        yield (
            f'<path d="M{place.x:.1f} {y}L{child.x:.1f} {below}" stroke="{colour}" stroke-width="{thickness:.1f}" '
            'stroke-linecap="round"/>'
        )


def _board(place: Place, show: Callable[[State], str]) -> Iterator[str]:
    """A board with its stones, framed by how good the move was, and below it the move, its visits and its winrate."""
    node, rows = place.node, [row.split() for row in show(place.node.state).splitlines()]
    left, top, step = place.x - BOARD / 2, place.level * LEVEL, BOARD / max(len(rows), len(rows[0]))
    share = node.wins / node.visits if place.level else 0.5
    colour = "rgb({},{},{})".format(*(round(b + share * (g - b)) for g, b in zip(GOOD, BAD, strict=True)))
    frame = colour if place.level else "#57606a"
    yield (
        f'<rect x="{left:.1f}" y="{top}" width="{BOARD}" height="{BOARD}" rx="5" fill="#f6f8fa" stroke="{frame}" '
        'stroke-width="3"/>'
    )
    for y, row in enumerate(rows):
        for x, stone in enumerate(row):
            radius, fill = (0.34 * step, STONES[stone]) if stone in STONES else (1.2, "#8c959f")
            cx, cy = left + step * (x + 0.5), top + step * (y + 0.5)
            yield f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{radius:.1f}" fill="{fill}"/>'
    first = f"{node.move}: {node.visits}" if place.level else f"{node.visits} visits"
    second = f"{100 * share:.0f} %" if place.level else ""
    yield f'<text x="{place.x:.1f}" y="{top + BOARD + 14}" font-size="11">{html.escape(first)}</text>'
    yield f'<text x="{place.x:.1f}" y="{top + BOARD + 27}" font-size="11" fill="{frame}">{second}</text>'
