"""From a request for a move to the move: how long to think, what to do with the answer, and keeping the clock."""

from __future__ import annotations

import math
import random
import time

from go_rules.game import Game
from go_rules.points import PASS, board_points, to_vertex
from gtp_engine.analysis.pictures import variation_picture
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Decision, Engine
from gtp_engine.thinking.time_management import SMALLEST, is_time_kept, seconds_for_move
from nobi_machine import streams
from search.request import Limits, MoveFilter, ReportRequest, SearchRequest, excluded_until
from search.result import RESIGN, SearchResult

CANCELLED = "cancelled"
"""The answer in place of a move where input has ended the search, as KataGo says it."""
DRAWING_SECONDS = 0.5
"""Seconds between two pictures for GoGui."""
OGS_OPENING = "variations follow as KataGo writes them"
"""gtp2ogs looks for variations once a line on stderr has named the engine that writes them."""


def move_limits(engine: Engine, colour: int, used: float = 0.0) -> Limits:
    """Compute the limits of the next search, from the clock and the user's settings. `used`: the turn's seconds so far,
    which count only where there is a clock."""
    game, settings = engine.game, engine.settings
    seconds = seconds_for_move(
        engine.clock.control,
        engine.clock.left[colour],
        game.turn,
        game.width * game.height,
        settings.lag,
        engine.lateness.expected,
    )
    if seconds is None:
        visits, seconds = settings.search_limits()
        is_kept = settings.early_answer or settings.time is None
        return Limits(visits, seconds, playouts=settings.playouts, unused_time_carries_over=is_kept)
    seconds = max(SMALLEST, seconds - used)
    longest = settings.longest if settings.time is None else settings.time
    is_kept = is_time_kept(engine.clock.control, engine.clock.left[colour], min(seconds, longest))
    if settings.time is not None and settings.time < seconds:
        is_kept = False
    return Limits(
        settings.visits,
        min(seconds, longest),
        playouts=settings.playouts,
        unused_time_carries_over=settings.early_answer or is_kept,
    )


def decide(
    engine: Engine,
    call: Call,
    colour: int,
    filter: MoveFilter | None = None,
    report: ReportRequest | None = None,
    may_cancel: bool = False,
) -> Decision:
    """Think of a move for `colour`. Neither plays it nor charges the clock: `play_decision` does both.

    `may_cancel`: whether no move is needed where `call.stop` ends the search, which then ends at once."""
    player, game = engine.player, engine.game
    began = engine.turn.began(call.received)
    started = time.monotonic()
    limits = move_limits(engine, colour, started - began)
    due = math.inf if limits.seconds is None else started + limits.seconds
    by_clock = False

    def look_at_clock() -> None:
        """End the search if the machine turns out to be busier than we thought when it began."""
        nonlocal due, by_clock
        now = time.monotonic()
        seconds = move_limits(engine, colour, started - began).seconds
        if seconds is not None and now >= started + seconds and not call.stop.is_set():
            due, by_clock = min(due, now), True
            call.stop.set()

    if engine.has_clock:
        engine.pulse.begin(look_at_clock)
    if report is None and engine.draws:
        report = ReportRequest(lambda found: _draw(engine, found), every=DRAWING_SECONDS)
    try:
        result = player.search(
            SearchRequest(game, colour, limits, filter=filter, report=report, stop=call.stop, may_end_empty=may_cancel)
        )
    finally:
        if engine.has_clock:
            engine.pulse.begin()
    is_cancelled = call.stop.is_set() and not by_clock
    if not result.moves and not is_cancelled:  # the clock allows no evaluation, but a move has to be found
        result = player.search(SearchRequest(game, colour, Limits(visits=1), filter=filter))
    point = legal_choice(game, colour, player.choose(game, result), result, filter) if result.moves else PASS
    decision = Decision(colour, point, result, len(game.moves), due, is_cancelled)
    if result.moves:
        engine.decision = decision
    return decision


def _draw(engine: Engine, result: SearchResult) -> None:
    """Have GoGui draw the best line of play so far."""
    picture = variation_picture(engine.game, result, engine.settings.longest_variation)
    streams.raw(f"gogui-gfx:\n{picture}\n")


def play_decision(engine: Engine, call: Call, decision: Decision) -> str:
    """Play the move, when it has been held back as long as is wanted, charge the clock for it and ask for pondering.
    Returns the move as GTP text."""
    if engine.settings.delay_scale > 0.0:
        wait = held_back(engine.settings, engine.game, decision, random.gammavariate(2.0, 0.5))
        call.stop.wait(min(wait, decision.due - time.monotonic()))
    if decision.point != RESIGN:
        engine.game.play(decision.colour, decision.point)
        engine.ponder_next()
    if engine.settings.ogs_chat:
        if not engine.chatted:
            streams.note(OGS_OPENING)
            engine.chatted = True
        streams.raw(ogs_line(decision, engine.game.height))
    now = time.monotonic()
    # The controller's clock charges the way to us and back, too, and may never tell us.
    engine.clock.spend(decision.colour, now - engine.turn.began(call.received) + engine.settings.lag)
    engine.turn.over()
    if engine.has_clock:
        # A search that had no time for more than the root's evaluation tells nothing: nothing is shorter.
        engine.lateness.moved(now - decision.due if decision.result.new_visits > 1 else 0.0)
    return move_text(decision.point, engine.game.height)


def held_back(settings: EngineSettings, game: Game, decision: Decision, luck: float) -> float:
    """Return how many seconds a move is held back: 0.5 * delay_scale / (p + 0.1), times `luck`, whose mean is 1.

    p is how likely people play the move, or without a human network the policy. Source: KataGo's `delayMoveScale`.
    """
    result, likelihood = decision.result, 0.0
    if result.likelihoods is not None and decision.point != RESIGN:
        place = [*board_points(game.width, game.height), PASS].index(decision.point)
        likelihood = float(result.likelihoods[place])
    elif result.likelihoods is None:
        likelihood = next((move.prior for move in result.moves if move.point == decision.point), 0.0)
    return min(settings.delay_max, luck * 0.5 * settings.delay_scale / (likelihood + 0.1))


def legal_choice(game: Game, colour: int, point: int, result: SearchResult, filter: MoveFilter | None = None) -> int:
    """Return the chosen point if it is legal and `filter` allows it, else the best such one of the search's result,
    else PASS. RESIGN is always allowed."""
    excluded = excluded_until(filter)[colour]
    for each in (point, *(move.point for move in result.moves)):
        if each == RESIGN or (not excluded[each] and (each == PASS or game.is_legal(colour, each))):
            return each
    return PASS


def move_text(point: int, height: int) -> str:
    """Write a move as GTP text: a vertex, `pass` or `resign`."""
    return "resign" if point == RESIGN else to_vertex(point, height)


def pv_text(points: tuple[int, ...], height: int, most: int) -> str:
    """Write the first `most` moves of a variation as vertices with spaces between."""
    return " ".join(to_vertex(point, height) for point in points[:most])


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
