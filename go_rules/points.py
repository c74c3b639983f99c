"""Points, vertices and colours: the integers every other module counts in.

A point is an index into a padded board of fixed stride, so one compiled kernel serves every board up to
25×25, rectangles included. Column 0 of each row is wall and doubles as the wall to the right of the row
above, hence a stride of 26 for 25 columns. Row 0 and row 26 are wall.

    point = (y + 1) * STRIDE + (x + 1)      y = 0 is the top row (A19 on 19×19), x = 0 the A column
"""

EMPTY, BLACK, WHITE, WALL = 0, 1, 2, 3
"""Contents of a point. The opponent of a colour is `3 - colour`."""

MAX_SIZE = 25
STRIDE = MAX_SIZE + 1
N_POINTS = 704
"""Length of every per-point array: 27 rows of 26, plus two to reach a multiple of 64."""

PASS = 0
"""The point of a pass: a wall point, so it can never be mistaken for a stone."""
NO_POINT = -1
"""No move, no ko ban, no entry."""

NORTH, WEST, EAST, SOUTH = -STRIDE, -1, 1, STRIDE

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COLOUR_NAMES = {BLACK: "black", WHITE: "white"}
COLOUR_LETTERS = {BLACK: "B", WHITE: "W"}


class VertexError(ValueError):
    """Text that is no vertex on this board."""


def opponent(colour: int) -> int:
    return 3 - colour


def point_at(x: int, y: int) -> int:
    """The point in column `x` (0 = A) and row `y` (0 = top)."""
    return (y + 1) * STRIDE + x + 1


def column_of(point: int) -> int:
    return point % STRIDE - 1


def row_of(point: int) -> int:
    return point // STRIDE - 1


def board_points(width: int, height: int) -> list[int]:
    """All points of a board, row by row from the top left."""
    return [point_at(x, y) for y in range(height) for x in range(width)]


def to_vertex(point: int, height: int) -> str:
    """`D4` for a point, `pass` for PASS. `height` is needed because vertices count rows from the bottom."""
    if point == PASS:
        return "pass"
    return f"{COLUMNS[column_of(point)]}{height - row_of(point)}"


def from_vertex(text: str, width: int, height: int) -> int:
    """The point a vertex names, in any letter case. Raises VertexError."""
    name = text.strip().upper()
    if name == "PASS":
        return PASS
    column = COLUMNS.find(name[:1]) if name[:1] else -1
    digits = name[1:]
    if column < 0 or not (digits.isascii() and digits.isdigit()) or len(digits) > 2:
        raise VertexError(f"not a vertex: {text!r}")
    row = int(digits)
    if not (column < width and 1 <= row <= height):
        raise VertexError(f"vertex {text!r} is outside the {width}x{height} board")
    return point_at(column, height - row)
