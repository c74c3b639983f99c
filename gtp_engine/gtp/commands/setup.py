"""Commands that prepare a game: board size, komi, positions, handicap stones and SGF files."""

from __future__ import annotations

from collections.abc import Callable

from go_rules import handicap
from go_rules.game import Game, RuleViolation
from go_rules.points import BLACK, EMPTY, MAX_SIZE, PASS, board_points, to_vertex
from gtp_engine.errors import Refused
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.protocol import (
    SYNTAX_ERROR,
    GtpError,
    interpret_colour,
    interpret_float,
    interpret_integer,
    interpret_stones,
    interpret_vertex,
)
from gtp_engine.session.session import Session
from gtp_engine.version import VERSION
from nobi_machine.streams import note
from nobi_machine.text import printable_path

BAD_VERTEX_LIST = "bad vertex list"
INVALID_NUMBER = "invalid number of stones"
ILLEGAL_POSITION = "illegal position"
CANNOT_LOAD = "cannot load file"


def boardsize(session: Session, call: Call) -> str:
    """Set the board size to `N`, `X Y` or `X:Y` and clear the board. Komi, rules and time settings stay."""
    words = call.word(0).split(":") if ":" in call.word(0) else list(call.words)
    if len(words) > 2:
        raise GtpError(SYNTAX_ERROR)
    sides = [interpret_integer(word) for word in words]
    if not all(1 <= side <= MAX_SIZE for side in sides):
        raise GtpError("unacceptable size")
    session.new_game(sides[0], sides[-1])
    return ""


rectangular_boardsize = boardsize


def clear_board(session: Session, _call: Call) -> str:
    """Begin a new game on a board of the same size."""
    session.new_game(session.game.width, session.game.height)
    return ""


def komi(session: Session, call: Call) -> str:
    """Set the komi to any finite number. In a game pondering goes on: some controllers tell the komi at every move."""
    call.expect(1)
    session.set_komi(interpret_float(call.word(0)))
    if session.decision is not None:
        session.ponder_next()
    return ""


def get_komi(session: Session, _call: Call) -> str:
    """Reply with the komi."""
    _ = session.game
    return str(session.komi)


def set_position(session: Session, call: Call) -> str:
    """Set up a position without history from pairs of colour and vertex. Black is to play."""
    stones = interpret_stones(call.words, session.game.width, session.game.height)
    by_point = {point: colour for colour, point in stones}
    if PASS in by_point or len(by_point) < len(stones):
        raise GtpError(ILLEGAL_POSITION)
    _set_up(session, by_point, BLACK)
    return ""


def gogui_setup(session: Session, call: Call) -> str:
    """Add stones to the position, or take them off with the colour `e`. The history is forgotten."""
    game = session.game
    if len(call.words) % 2:
        raise GtpError(SYNTAX_ERROR)
    stones = _stones_on_board(game)
    for colour_word, vertex in zip(call.words[::2], call.words[1::2], strict=True):
        colour = EMPTY if colour_word.lower() in ("e", "empty") else interpret_colour(colour_word)
        point = interpret_vertex(vertex, game.width, game.height)
        if point == PASS:
            raise GtpError(SYNTAX_ERROR)
        stones[point] = colour
    _set_up(session, {point: colour for point, colour in stones.items() if colour != EMPTY}, game.to_play)
    return ""


def gogui_setup_player(session: Session, call: Call) -> str:
    """Set who plays next."""
    call.expect(1)
    colour = interpret_colour(call.word(0))
    if colour != session.game.to_play:
        _set_up(session, _stones_on_board(session.game), colour)
    return ""


def fixed_handicap(session: Session, call: Call) -> str:
    """Place handicap stones on the standard points, and reply with them."""
    return _handicap(session, call, handicap.fixed_handicap)


def place_free_handicap(session: Session, call: Call) -> str:
    """Place handicap stones on points that the engine chooses, fewer where there is no room, and reply with them."""

    def most_of(number: int, width: int, height: int) -> list[int]:
        return handicap.free_handicap(min(number, handicap.max_free_handicap(width, height)), width, height)

    return _handicap(session, call, most_of)


def set_free_handicap(session: Session, call: Call) -> str:
    """Place handicap stones on the points that the controller names, or none."""
    game = session.game
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


def _handicap(session: Session, call: Call, points_for: Callable[[int, int, int], list[int]]) -> str:
    game = session.game
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
        raise GtpError("board not empty")


def _place(game: Game, points: list[int], complaint: str) -> None:
    try:
        game.place_handicap(points)
    except RuleViolation:
        raise GtpError(complaint) from None


def _stones_on_board(game: Game) -> dict[int, int]:
    board = game.position["board"]
    return {p: int(board[p]) for p in board_points(game.width, game.height) if board[p] != EMPTY}


def _set_up(session: Session, stones: dict[int, int], to_play: int) -> None:
    """Begin anew with these stones, colours by point. Raises GtpError, and then changes nothing."""
    try:
        session.set_position([(colour, point) for point, colour in stones.items()], to_play)
    except Refused:
        raise GtpError(ILLEGAL_POSITION) from None


def loadsgf(session: Session, call: Call) -> str:
    """Load a file's main line to its end, or up to the position before move N. Its komi and rules, if any, apply."""
    path, before_move = call.command.text, None
    call.word(0)
    if len(call.words) > 1 and call.words[-1].isascii() and call.words[-1].isdigit():
        before_move = interpret_integer(call.words[-1])
        # File names may contain spaces.
        path = path[: -len(call.words[-1])].strip()
    session.log.file(path)
    try:
        loaded = session.load_sgf(path, before_move)
    except Refused as error:
        note(f"{CANNOT_LOAD}: {error}")
        raise GtpError(CANNOT_LOAD) from None
    if complaint := loaded.complaint(session.game.rules, session.game.komi):
        note(f"{printable_path(path)}: {complaint}")
    return ""


def printsgf(session: Session, call: Call) -> str:
    """Reply with the game as SGF, or write it to a new file. `-` is no file's name: it stands for the reply."""
    application = f"{session.settings.gtp_name}:{VERSION}"
    if call.command.text in ("", "-"):
        return session.sgf(application)
    session.save_sgf(call.command.text, application)
    return ""
