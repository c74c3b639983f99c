"""Commands that play moves, ask the engine for a move, or take moves back."""

from __future__ import annotations

import math

from go_rules.agreement import empty_regions
from go_rules.game import Game
from go_rules.points import board_points, neighbours, opponent
from gtp_engine.errors import Refused
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.commands.inspection import explanation
from gtp_engine.gtp.commands.pictures import variation_picture
from gtp_engine.gtp.protocol import (
    ILLEGAL_MOVE,
    GtpError,
    interpret_colour,
    interpret_integer,
    interpret_stones,
    interpret_vertex,
)
from gtp_engine.session.session import Session
from gtp_engine.session.thinking import Decision, move_text, pv_text
from nobi_machine.streams import note, raw
from search.request import MoveFilter, ReportRequest
from search.result import SearchResult

CANCELLED = "cancelled"
"""The answer in place of a move where input has ended the search, as KataGo says it."""
DRAWING_SECONDS = 0.5
"""Seconds between two pictures for GoGui."""
OGS_OPENING = "variations follow as KataGo writes them"
"""gtp2ogs looks for variations once a line on stderr has named the engine that writes them."""


def play(session: Session, call: Call) -> str:
    """Play one move of either colour that the controller tells of, even if our rules do not allow it."""
    call.expect(2)
    colour = interpret_colour(call.word(0))
    point = interpret_vertex(call.word(1), session.game.width, session.game.height)
    try:
        session.play(colour, point, call.received, is_lenient=True)
    except Refused:
        raise GtpError(ILLEGAL_MOVE) from None
    return ""


def gogui_play_sequence(session: Session, call: Call) -> str:
    """Play a sequence of colours and vertices. If one move is illegal, none is played."""
    played = 0
    try:
        for colour, point in interpret_stones(call.words, session.game.width, session.game.height):
            session.play(colour, point, is_lenient=True)
            played += 1
    except Refused:
        session.undo(played)
        raise GtpError(ILLEGAL_MOVE) from None
    return ""


def genmove(session: Session, call: Call) -> str:
    """Think of a move and play it."""
    call.expect(1)
    colour = interpret_colour(call.word(0))
    return play_decision(session, call, decide(session, call, colour))


def reg_genmove(session: Session, call: Call) -> str:
    """Think of a move and do not play it."""
    call.expect(1)
    decision = decide(session, call, interpret_colour(call.word(0)))
    return move_text(decision.point, session.game.height)


kata_search = reg_genmove


def kata_search_cancellable(session: Session, call: Call) -> str:
    """Think of a move and do not play it. Any input ends that, and then there is no move."""
    call.expect(1)
    colour = interpret_colour(call.word(0))
    session.get_ready()
    call.end_on_input()
    decision = decide(session, call, colour, may_cancel=True)
    return CANCELLED if decision.is_cancelled else move_text(decision.point, session.game.height)


def genmove_debug(session: Session, call: Call) -> str:
    """Do as `genmove` does, and write what the search found to stderr."""
    move = genmove(session, call)
    _explain(session)
    return move


def kata_search_debug(session: Session, call: Call) -> str:
    """Do as `kata-search` does, and write what the search found to stderr."""
    move = reg_genmove(session, call)
    _explain(session)
    return move


def kgs_genmove_cleanup(session: Session, call: Call) -> str:
    """Do as `genmove` does, but help to capture the opponent's dead stones while there are any on the board."""
    colour = interpret_colour(call.word(0))
    board = session.game.position["board"]
    seconds = session.move_limits(colour).seconds
    found = session.estimate(call.stop, math.inf if seconds is None else seconds / 2)
    dead = {point for point in found.dead if board[point] == opponent(colour)}
    return play_decision(session, call, decide(session, call, colour, removal_moves(session.game, colour, dead)))


def undo(session: Session, _call: Call) -> str:
    """Take the last move back, which may be a pass. Handicap stones and setup stones are no moves."""
    return _take_back(session, 1)


def gg_undo(session: Session, call: Call) -> str:
    """Take back a number of moves. Without an argument this is one move."""
    return _take_back(session, interpret_integer(call.words[0], 0) if call.words else 1)


def _take_back(session: Session, number: int) -> str:
    try:
        session.undo(number)
    except Refused:
        raise GtpError("cannot undo") from None
    return ""


def decide(
    session: Session,
    call: Call,
    colour: int,
    filter: MoveFilter | None = None,
    report: ReportRequest | None = None,
    may_cancel: bool = False,
) -> Decision:
    """Think of a move as `Session.think` does, until the call is to stop. GoGui is sent pictures meanwhile."""
    if report is None and call.controller.draws:
        report = ReportRequest(lambda found: _draw(session, found), every=DRAWING_SECONDS)
    return session.think(colour, call.stop, call.received, filter, report, may_cancel)


def play_decision(session: Session, call: Call, decision: Decision) -> str:
    """Play the move and tell gtp2ogs of it, where the user wants that. Returns the move as GTP text."""
    session.play_decision(decision, call.stop)
    if session.settings.ogs_chat:
        if not call.controller.knows_who_chats:
            note(OGS_OPENING)
            call.controller.knows_who_chats = True
        raw(ogs_line(decision, session.game.height))
    return move_text(decision.point, session.game.height)


def ogs_line(decision: Decision, height: int) -> str:
    """Write the line that gtp2ogs shows under the board, in the form in which KataGo writes it."""
    result = decision.result
    lines = {move.point: move.pv for move in result.moves}
    pv = pv_text(lines.get(decision.point, next(iter(lines.values()), ())), height, 20)
    doublings = f"(PDA {result.doublings:.2f}) " if result.doublings else ""
    return (
        f"MALKOVICH:Visits {result.visits} Winrate {100 * result.winrate:.2f}% ScoreLead {result.lead:.1f} "
        f"ScoreStdev {result.score_stdev:.1f} {doublings}PV {pv}"
    )


def _draw(session: Session, result: SearchResult) -> None:
    """Have GoGui draw the best line of play so far."""
    picture = variation_picture(session.game, result, session.settings.longest_variation)
    raw(f"gogui-gfx:\n{picture}\n")


def _explain(session: Session) -> None:
    for line in explanation(session, most=None):
        note(line)


def removal_moves(game: Game, colour: int, dead: set[int]) -> MoveFilter | None:
    """Make a filter that allows the next move only on liberties of `dead` stones, or anywhere in the empty regions
    around them where on each of these it would be captured at once; None if nothing is legal there."""
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
