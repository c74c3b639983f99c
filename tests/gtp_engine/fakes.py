"""A player that needs no network and no time, and an engine's dialogue without a process around it."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, PASS, WHITE, board_points, from_vertex
from go_rules.scoring import final_owners
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.gtp.call import Call, Controller
from gtp_engine.gtp.commands import carry_out
from gtp_engine.gtp.protocol import parse_line
from gtp_engine.session.lateness import Pulse
from gtp_engine.session.session import Session
from nets.evaluator import Evaluator
from search.nobi.parameters import SearchParameters
from search.request import SearchRequest
from search.result import RESIGN, MoveInfo, SearchResult, StopReason

SEARCH_ENDS = 10.0
"""Seconds after which an unlimited search gives up, so that a failing test ends."""


class FakePlayer:
    """Plays a script of vertices, then the first legal points; passes when `passes` or nothing is left."""

    name = "fake"

    def __init__(
        self, script: Iterable[str] = (), *, thinks: float = 0.0, ends_late: float = 0.0, dead: Iterable[str] = ()
    ) -> None:
        """`thinks`: seconds a limited search takes. `ends_late`: seconds that any search takes to end after it is told.
        `dead`: vertices of stones whose points the opponent will own.
        """
        self.script = list(script)
        self.thinks = thinks
        self.ends_late = ends_late
        self.new_visits = 10
        self.doublings = 0.0
        self.variation = 2
        self.dead = list(dead)
        self.parameters = SearchParameters()
        self.warmed: list[tuple[int, int]] = []
        self.evaluator: Evaluator | None = None
        self.searches: list[SearchRequest] = []
        self.searching = threading.Event()
        self.cleared = 0
        self.closed = False

    def warm_up(self, width: int, height: int) -> None:
        self.warmed.append((width, height))

    def search(self, request: SearchRequest) -> SearchResult:
        self.searches.append(request)
        limits, report = request.limits, request.report
        result = self._result(request)
        unlimited = limits.visits is None and limits.seconds is None
        remaining = SEARCH_ENDS if unlimited else self.thinks
        stop = request.stop or threading.Event()
        self.searching.set()
        while remaining > 0 and not stop.is_set():
            pause = min(remaining, report.every if report is not None else remaining)
            if not stop.wait(pause) and report is not None and pause == report.every:
                report.callback(result)
            remaining -= pause
        if stop.is_set():
            time.sleep(self.ends_late)
            result = dataclasses.replace(result, reason=StopReason.INTERRUPTED)
        self.searching.clear()
        request.course.end(0, 0, result)
        return result

    def choose(self, game: Game, result: SearchResult) -> int:
        if self.script:
            word = self.script.pop(0)
            return RESIGN if word == "resign" else from_vertex(word, game.width, game.height)
        return result.moves[0].point

    def clear(self) -> None:
        self.cleared += 1

    def close(self) -> None:
        self.closed = True

    def _result(self, request: SearchRequest) -> SearchResult:
        game, colour, filter = request.game, request.colour, request.filter
        points = game.legal_moves(colour)
        if filter is not None and colour in filter.allow:
            points = [point for point in points if point in filter.allow[colour][0]] or [PASS]
        if filter is not None:
            for avoided, _depth in filter.avoid.get(colour, ()):
                points = [point for point in points if point not in avoided]
        moves = tuple(_info(i, point, (point, PASS, point)[: self.variation]) for i, point in enumerate(points[:3]))
        wants = request.wants_ownership
        return SearchResult(
            colour=colour, visits=request.limits.visits or 10, winrate=0.52, utility=0.04, score_mean=0.5,
            score_stdev=12.25, lead=0.75, weight=10.0, moves=moves,
            ownership=self._ownership(game, colour) if wants else None,
            ownership_stdev=self._ownership(game, colour) * 0 if wants else None,
            new_visits=self.new_visits, evaluations=5, reason=StopReason.VISITS, doublings=self.doublings,
        )  # fmt: skip

    def _ownership(self, game: Game, colour: int) -> np.ndarray:
        dead = {from_vertex(vertex, game.width, game.height) for vertex in self.dead}
        owners = final_owners(game.position, game.record, dead)
        sign = {EMPTY: 0.0, BLACK: 0.9, WHITE: -0.9}
        black = np.array([sign[int(owners[p])] for p in board_points(game.width, game.height)], np.float32)
        return black if colour == BLACK else -black


def _info(order: int, point: int, pv: tuple[int, ...]) -> MoveInfo:
    return MoveInfo(
        point=point, visits=5 - 2 * order if order < 3 else 0, edge_visits=5 - 2 * order, winrate=0.52 - 0.01 * order,
        utility=0.04, score_mean=0.5, score_stdev=12.25, lead=0.75, prior=0.5 / (order + 1), lcb=0.5 - 0.01 * order,
        utility_lcb=0.01, weight=5.0, order=order, pv=pv, pv_visits=(5, 2), pv_edge_visits=(5, 1),
    )  # fmt: skip


class StillPulse(Pulse):
    """Waits for nothing: a test does not depend on how busy the machine is. `look` is what the engine wants called."""

    look: Callable[[], None] | None = None

    def begin(self, look: Callable[[], None] | None = None) -> None:
        self.look = look


def call_of(line: str, *arguments: Any, **named: Any) -> Call:
    """The call of a line that has a command."""
    command = parse_line(line)
    assert command is not None
    return Call(command, *arguments, **named)


class Dialogue:
    """An engine spoken to line by line, in this thread, on a machine that is never busy."""

    def __init__(self, player: FakePlayer | None = None, settings: EngineSettings | None = None) -> None:
        self.player = player or FakePlayer()
        self.session = Session(settings or EngineSettings(size="9"), lambda: self.player)
        self.pulse = self.session.pulse = StillPulse(self.session.lateness)
        self.session.loader.begin()
        self.controller = Controller()
        self.ended = False

    def send(self, line: str) -> str:
        """The complete reply, framing included; empty where there is none. Analysis ends at once."""
        if parse_line(line) is None:
            return ""
        written: list[str] = []
        call = call_of(line, written.append, lambda call: call.stop.set(), controller=self.controller)
        self.ended = not carry_out(self.session, call)
        if not self.ended:
            self.session.after_reply()
        return "".join(written)

    def ask(self, *lines: str) -> str:
        """The text of the reply to the last of some lines, all of which succeed."""
        reply = ""
        for line in lines:
            reply = self.send(line)
            assert reply.startswith("="), f"{line}: {reply}"
            assert reply.endswith("\n\n")
        return reply[1:].strip(" \n")

    def refuse(self, line: str) -> str:
        """The text of an error."""
        reply = self.send(line)
        assert reply.startswith("? "), f"{line}: {reply}"
        assert reply.endswith("\n\n")
        return reply[2:-2]
