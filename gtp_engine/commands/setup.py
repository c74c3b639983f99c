"""Commands that prepare a game: board size, komi, positions and handicap stones."""

from __future__ import annotations

from collections.abc import Callable

from go_rules import handicap
from go_rules.game import Game, RuleViolation
from go_rules.points import BLACK, EMPTY, MAX_SIZE, PASS, board_points, to_vertex
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import (
    SYNTAX_ERROR,
    GtpError,
    interpret_colour,
    interpret_float,
    interpret_integer,
    interpret_stones,
    interpret_vertex,
)

UNACCEPTABLE_SIZE = "unacceptable size"
BOARD_NOT_EMPTY = "board not empty"
BAD_VERTEX_LIST = "bad vertex list"
INVALID_NUMBER = "invalid number of stones"
ILLEGAL_POSITION = "illegal position"


def boardsize(engine: Engine, call: Call) -> str:
    """Set the board size to `N`, `X Y` or `X:Y` and clear the board. Komi, rules and time settings stay."""
    words = call.word(0).split(":") if ":" in call.word(0) else list(call.words)
    if len(words) > 2:
        raise GtpError(SYNTAX_ERROR)
    sides = [interpret_integer(word) for word in words]
    _resize(engine, sides[0], sides[-1])
    return ""


def rectangular_boardsize(engine: Engine, call: Call) -> str:
    """Do as `boardsize` does."""
    return boardsize(engine, call)


def clear_board(engine: Engine, _call: Call) -> str:
    """Begin a new game on a board of the same size."""
    engine.new_game(engine.game.width, engine.game.height)
    return ""


def komi(engine: Engine, call: Call) -> str:
    """Set the komi to any finite number. In a game pondering goes on: some controllers tell the komi at every move."""
    call.expect(1)
    engine.set_komi(interpret_float(call.word(0)))
    if engine.decision is not None:
        engine.ponder_next()
    return ""


def get_komi(engine: Engine, _call: Call) -> str:
    """Reply with the komi."""
    _ = engine.game
    return str(engine.komi)


def set_position(engine: Engine, call: Call) -> str:
    """Set up a position without history from pairs of colour and vertex. Black is to play."""
    game = engine.game
    _set_up(engine, _distinct(interpret_stones(call.words, game.width, game.height)), BLACK)
    return ""


def gogui_setup(engine: Engine, call: Call) -> str:
    """Add stones to the position, or take them off with the colour `e`. The history is forgotten."""
    game = engine.game
    if len(call.words) % 2:
        raise GtpError(SYNTAX_ERROR)
    stones = _stones_on_board(game)
    for colour_word, vertex in zip(call.words[::2], call.words[1::2], strict=True):
        colour = EMPTY if colour_word.lower() in ("e", "empty") else interpret_colour(colour_word)
        point = interpret_vertex(vertex, game.width, game.height)
        if point == PASS:
            raise GtpError(SYNTAX_ERROR)
        stones[point] = colour
    _set_up(engine, {point: colour for point, colour in stones.items() if colour != EMPTY}, game.to_play)
    return ""


def gogui_setup_player(engine: Engine, call: Call) -> str:
    """Set who plays next."""
    call.expect(1)
    colour = interpret_colour(call.word(0))
    if colour != engine.game.to_play:
        _set_up(engine, _stones_on_board(engine.game), colour)
    return ""


def fixed_handicap(engine: Engine, call: Call) -> str:
    """Place handicap stones on the standard points, and reply with them."""
    return _handicap(engine, call, handicap.fixed_handicap)


def place_free_handicap(engine: Engine, call: Call) -> str:
    """Place handicap stones on points that the engine chooses, and reply with them: fewer than were asked for where the
    board has no room."""

    def most_of(number: int, width: int, height: int) -> list[int]:
        return handicap.free_handicap(min(number, handicap.max_free_handicap(width, height)), width, height)

    return _handicap(engine, call, most_of)


def set_free_handicap(engine: Engine, call: Call) -> str:
    """Place handicap stones on the points that the controller names, or none."""
    game = engine.game
    _require_empty(game)
    try:
        points = [interpret_vertex(word, game.width, game.height) for word in call.words]
    except GtpError:
        raise GtpError(BAD_VERTEX_LIST) from None
    if len(set(points)) < len(points) or PASS in points:
        raise GtpError(BAD_VERTEX_LIST)
    if points:
        _place(game, points, BAD_VERTEX_LIST)
    return ""


def _resize(engine: Engine, width: int, height: int) -> None:
    if not (1 <= width <= MAX_SIZE and 1 <= height <= MAX_SIZE):
        raise GtpError(UNACCEPTABLE_SIZE)
    engine.new_game(width, height)


def _handicap(engine: Engine, call: Call, points_for: Callable[[int, int, int], list[int]]) -> str:
    game = engine.game
    call.expect(1)
    number = interpret_integer(call.word(0))
    _require_empty(game)
    if number < 2:
        raise GtpError(INVALID_NUMBER)
    try:
        points = points_for(number, game.width, game.height)
    except handicap.HandicapError:
        raise GtpError(INVALID_NUMBER) from None
    _place(game, points, INVALID_NUMBER)
    return " ".join(to_vertex(point, game.height) for point in points)


def _require_empty(game: Game) -> None:
    if game.moves or game.setup:
        raise GtpError(BOARD_NOT_EMPTY)


def _place(game: Game, points: list[int], complaint: str) -> None:
    try:
        game.place_handicap(points)
    except RuleViolation:
        raise GtpError(complaint) from None


def _stones_on_board(game: Game) -> dict[int, int]:
    board = game.position["board"]
    return {p: int(board[p]) for p in board_points(game.width, game.height) if board[p] != EMPTY}


def _distinct(stones: list[tuple[int, int]]) -> dict[int, int]:
    """Colours by point. Raises GtpError for a pass or a point named twice."""
    by_point = {point: colour for colour, point in stones}
    if PASS in by_point or len(by_point) < len(stones):
        raise GtpError(ILLEGAL_POSITION)
    return by_point


def _set_up(engine: Engine, stones: dict[int, int], to_play: int) -> None:
    """Begin anew with these stones, colours by point. Raises GtpError, and then changes nothing."""
    try:
        engine.game.set_position([(colour, point) for point, colour in stones.items()], to_play)
    except RuleViolation:
        raise GtpError(ILLEGAL_POSITION) from None
    engine.decision = None
