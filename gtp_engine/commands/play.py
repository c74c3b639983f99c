"""Commands that play moves, ask the engine for a move, or take moves back."""

from __future__ import annotations

import time

from go_rules.agreement import empty_regions
from go_rules.game import Game, RuleViolation
from go_rules.points import board_points, neighbours
from gtp_engine.commands.inspection import explanation
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
from gtp_engine.thinking.decide import CANCELLED, decide, move_limits, move_text, play_decision
from gtp_engine.thinking.estimate import SECONDS, estimate
from nobi_machine.streams import note
from search.request import MoveFilter


def play(engine: Engine, call: Call) -> str:
    """Play one move of either colour that the controller tells of, even if our rules do not allow it."""
    call.expect(2)
    colour = interpret_colour(call.word(0))
    point = interpret_vertex(call.word(1), engine.game.width, engine.game.height)
    try:
        engine.game.play_lenient(colour, point)
    except RuleViolation:
        raise GtpError(ILLEGAL_MOVE) from None
    engine.turn.told(call.received, time.monotonic())
    return ""


def gogui_play_sequence(engine: Engine, call: Call) -> str:
    """Play a sequence of colours and vertices. If one move is illegal, none is played."""
    game = engine.game
    moves = interpret_stones(call.words, game.width, game.height)
    played = 0
    try:
        for colour, point in moves:
            game.play_lenient(colour, point)
            played += 1
    except RuleViolation:
        take_back(game, played)
        raise GtpError(ILLEGAL_MOVE) from None
    return ""


def genmove(engine: Engine, call: Call) -> str:
    """Think of a move and play it."""
    call.expect(1)
    colour = interpret_colour(call.word(0))
    return play_decision(engine, call, decide(engine, call, colour))


def reg_genmove(engine: Engine, call: Call) -> str:
    """Think of a move and do not play it."""
    call.expect(1)
    decision = decide(engine, call, interpret_colour(call.word(0)))
    return move_text(decision.point, engine.game.height)


def kata_search(engine: Engine, call: Call) -> str:
    """Think of a move and do not play it."""
    return reg_genmove(engine, call)


def kata_search_cancellable(engine: Engine, call: Call) -> str:
    """Think of a move and do not play it. Any input ends that, and then there is no move."""
    call.expect(1)
    colour = interpret_colour(call.word(0))
    engine.get_ready()
    call.end_on_input()
    decision = decide(engine, call, colour, may_cancel=True)
    return CANCELLED if decision.is_cancelled else move_text(decision.point, engine.game.height)


def genmove_debug(engine: Engine, call: Call) -> str:
    """Do as `genmove` does, and write what the search found to stderr."""
    move = genmove(engine, call)
    _explain(engine)
    return move


def kata_search_debug(engine: Engine, call: Call) -> str:
    """Do as `kata-search` does, and write what the search found to stderr."""
    move = reg_genmove(engine, call)
    _explain(engine)
    return move


def kgs_genmove_cleanup(engine: Engine, call: Call) -> str:
    """Do as `genmove` does, but help to capture the opponent's dead stones while there are any on the board."""
    colour = interpret_colour(call.word(0))
    board = engine.game.position["board"]
    seconds = move_limits(engine, colour).seconds
    found = estimate(engine, call) if seconds is None else estimate(engine, call, min(SECONDS, seconds / 4))
    dead = {point for point in found.dead if board[point] == 3 - colour}
    return play_decision(engine, call, decide(engine, call, colour, removal_moves(engine.game, colour, dead)))


def undo(engine: Engine, _call: Call) -> str:
    """Take the last move back, which may be a pass. Handicap stones and setup stones are no moves."""
    if not engine.game.moves:
        raise GtpError("cannot undo")
    take_back(engine.game, 1)
    return ""


def gg_undo(engine: Engine, call: Call) -> str:
    """Take back a number of moves. Without an argument this is one move."""
    number = interpret_integer(call.words[0]) if call.words else 1
    if number < 0:
        raise GtpError(SYNTAX_ERROR)
    if number > len(engine.game.moves):
        raise GtpError("cannot undo")
    take_back(engine.game, number)
    return ""


def _explain(engine: Engine) -> None:
    for line in explanation(engine, most=None):
        note(line)


def take_back(game: Game, number: int) -> None:
    """Take back this many moves."""
    for _ in range(number):
        game.undo()


def removal_moves(game: Game, colour: int, dead: set[int]) -> MoveFilter | None:
    """Make a filter that allows the next move only on liberties of `dead` stones. Where none of these can be played
    without being captured at once, it may be anywhere in the empty regions around them; None if nothing is legal
    there."""
    around = {beside for point in dead for beside in neighbours(point)}
    regions = empty_regions(game.position["board"], board_points(game.width, game.height))
    near = [point for region in regions if not region.isdisjoint(around) for point in region]
    legal = frozenset(point for point in near if game.is_legal(colour, point))
    safe = frozenset(point for point in legal & around if _stays(game, colour, point))
    return MoveFilter(allow={colour: (safe or legal, 1)}) if legal else None


def _stays(game: Game, colour: int, point: int) -> bool:
    """Whether the opponent cannot capture a stone of `colour` at a point at once."""
    after = game.copy()
    after.play(colour, point)
    return int(after.position["liberties"][after.position["chain"][point]]) > 1
