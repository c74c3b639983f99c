"""Moves: the controller's, the engine's own, and taking them back."""

from __future__ import annotations

from go_rules.game import Game, RuleViolation
from go_rules.points import EAST, EMPTY, NORTH, SOUTH, WEST
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import (
    ILLEGAL_MOVE,
    SYNTAX_ERROR,
    GtpError,
    interpret_colour,
    interpret_integer,
    interpret_stones,
    interpret_vertex,
)
from gtp_engine.thinking.decide import decide, move_text, play_decision
from gtp_engine.thinking.estimate import estimate
from search.request import MoveFilter


def play(engine: Engine, call: Call) -> str:
    """One move of either colour."""
    colour = interpret_colour(call.word(0))
    point = interpret_vertex(call.word(1), engine.game.width, engine.game.height)
    try:
        engine.game.play(colour, point)
    except RuleViolation:
        raise GtpError(ILLEGAL_MOVE) from None
    return ""


def gogui_play_sequence(engine: Engine, call: Call) -> str:
    """Moves as colours and vertices in turn; all of them or none."""
    game = engine.game
    moves = interpret_stones(call.words, game.width, game.height)
    played = 0
    try:
        for colour, point in moves:
            game.play(colour, point)
            played += 1
    except RuleViolation:
        take_back(game, played)
        raise GtpError(ILLEGAL_MOVE) from None
    return ""


def genmove(engine: Engine, call: Call) -> str:
    """Think and play."""
    colour = interpret_colour(call.word(0))
    return play_decision(engine, call, decide(engine, call, colour))


def reg_genmove(engine: Engine, call: Call) -> str:
    """Think, play nothing."""
    decision = decide(engine, call, interpret_colour(call.word(0)))
    return move_text(decision.point, engine.game.height)


def kgs_genmove_cleanup(engine: Engine, call: Call) -> str:
    """Like genmove, but while the opponent's dead stones are on the board the move is one towards their capture."""
    colour = interpret_colour(call.word(0))
    board = engine.game.position["board"]
    dead = {point for point in estimate(engine, call).dead if board[point] == 3 - colour}
    return play_decision(engine, call, decide(engine, call, colour, removal_moves(engine.game, colour, dead)))


def undo(engine: Engine, _call: Call) -> str:
    """Take the last move back, a pass as well as a stone; handicap and setup stones are no moves."""
    if not engine.game.moves:
        raise GtpError("cannot undo")
    take_back(engine.game, 1)
    return ""


def gg_undo(engine: Engine, call: Call) -> str:
    """Take back a number of moves; one without an argument."""
    number = interpret_integer(call.words[0]) if call.words else 1
    if number < 0:
        raise GtpError(SYNTAX_ERROR)
    if number > len(engine.game.moves):
        raise GtpError("cannot undo")
    take_back(engine.game, number)
    return ""


def take_back(game: Game, number: int) -> None:
    for _ in range(number):
        game.undo()


def removal_moves(game: Game, colour: int, dead: set[int]) -> MoveFilter | None:
    """Confines the next move to the empty regions around `dead` stones; None where there is nothing to do there."""
    board = game.position["board"]
    waiting = list(dead)
    region = set(dead)
    while waiting:
        point = waiting.pop()
        for neighbour in (point + NORTH, point + WEST, point + EAST, point + SOUTH):
            if neighbour not in region and board[neighbour] == EMPTY:
                region.add(neighbour)
                waiting.append(neighbour)
    points = frozenset(point for point in region - dead if game.is_legal(colour, point))
    return MoveFilter(allow={colour: (points, 1)}) if points else None
