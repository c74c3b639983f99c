"""Points, vertices and colours: the integers that every other module uses.

A point is an index into a padded board with a fixed stride, so one compiled kernel serves every board up to 25×25,
rectangles included. Column 0 of each row is wall, and also serves as the wall to the right of the row above: so the
stride is 26 for 25 columns. Row 0 and row 26 are wall.

    point = (y + 1) * STRIDE + (x + 1)      y = 0 is the top row (A19 on 19×19), x = 0 the A column
"""

EMPTY, BLACK, WHITE, WALL = 0, 1, 2, 3
"""What a point holds. The opponent of a colour is `3 - colour`."""

MAX_SIZE = 25
STRIDE = MAX_SIZE + 1
N_POINTS = 704
"""The length of every array with one entry a point: 27 rows of 26, and two more for a multiple of 64."""

PASS = 0
"""The point of a pass. It is a wall point, so no stone can be there."""
MAX_POINTS = MAX_SIZE * MAX_SIZE
"""Points of the largest board."""
MAX_MOVES = MAX_POINTS + 1
"""Moves on the largest board, the pass included."""

NO_POINT = -1
"""Stands for no move, no ko, no entry."""

NORTH, WEST, EAST, SOUTH = -STRIDE, -1, 1, STRIDE

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COLOUR_NAMES = {BLACK: "black", WHITE: "white"}
COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
"""What GTP, JSON and callers of the library call them, in small letters."""
COLOUR_LETTERS = {BLACK: "B", WHITE: "W"}


class VertexError(ValueError):
    """The text is no vertex of this board."""


def as_colour(colour: int) -> int:
    """Return a colour as a plain int: kernels compile anew for every other type of integer. Raises ValueError."""
    plain = int(colour)
    if plain not in (BLACK, WHITE):
        raise ValueError(f"{plain} is no colour: BLACK is {BLACK}, WHITE is {WHITE}")
    return plain


def opponent(colour: int) -> int:
    """Return the other colour."""
    return 3 - colour


def point_at(x: int, y: int) -> int:
    """Return the point in column `x` (0 = A) and row `y` (0 = top)."""
    return (y + 1) * STRIDE + x + 1


def column_of(point: int) -> int:
    """Return the column of a point: 0 is A."""
    return point % STRIDE - 1


def row_of(point: int) -> int:
    """Return the row of a point: 0 is the top."""
    return point // STRIDE - 1


def board_points(width: int, height: int) -> list[int]:
    """List all points of a board, row by row from the top left."""
    return [point_at(x, y) for y in range(height) for x in range(width)]


def neighbours(point: int) -> tuple[int, int, int, int]:
    """Return the four points beside a point; some may be off the board."""
    return point + NORTH, point + WEST, point + EAST, point + SOUTH


def to_vertex(point: int, height: int) -> str:
    """Return the vertex of a point, such as `D4`, or `pass`. Vertices count rows from the bottom, hence `height`.

    Raises ValueError for RESIGN and all else that is negative.
    """
    if point == PASS:
        return "pass"
    if point < 0:
        raise ValueError(f"{point} is no point")
    return f"{COLUMNS[column_of(point)]}{height - row_of(point)}"


def from_vertex(text: str, width: int, height: int) -> int:
    """Return the point that a vertex names, in any letter case. Raises VertexError."""
    name = text.strip().upper() if text.isascii() else ""  # the capital of the long s is the letter S
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
