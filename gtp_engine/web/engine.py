"""The thread that thinks for the pages: what was asked for in turn, and while nothing was, the analysis of the position
that a page looks at."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from go_rules.game import Game
from gtp_engine.errors import Refused, explain
from gtp_engine.session.session import Session
from search.request import Limits, ReportRequest
from search.result import SearchResult

MOST_WAITING = 8
"""Searches that may wait for another one."""
REPORT_SECONDS = 0.25
"""Between two reports of an analysis."""

Task = Callable[[threading.Event], Any]
"""What thinks until it is done or the event is set."""


@dataclass(frozen=True)
class Look:
    """A position to analyse while nothing else is asked for."""

    key: object
    """What tells it from others."""
    game: Game
    visits: int | None
    """The most of them; None for no limit."""
    ownership: bool
    report: Callable[[SearchResult, bool], None]
    """Receives what was found, and whether that is all."""


class Engine:
    """Carries out one search at a time, in a thread of its own."""

    def __init__(self, session: Session, on_state: Callable[[str, str], None]) -> None:
        """`on_state` receives what the engine does, for pages, and a line about it."""
        self.session = session
        self._on_state = on_state
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Task, Future[Any]]] = deque()
        self._look: Look | None = None
        self._looked: object = None
        self._stop_looking = threading.Event()
        self._stop = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def begin(self) -> None:
        """Load the rules and the player, and carry out what is asked for."""
        self._thread.start()

    def ask(self, task: Task) -> Future[Any]:
        """Carry a task out when those before it are done. Raises Refused where too many wait."""
        future: Future[Any] = Future()
        with self._changed:
            if len(self._waiting) >= MOST_WAITING:
                raise Refused("the engine has enough to do; try again when it has answered")
            self._waiting.append((task, future))
            self._stop_looking.set()
            self._changed.notify_all()
        return future

    def look(self, look: Look | None) -> None:
        """Analyse another position while nothing is asked for, or none."""
        with self._changed:
            if look is None or self._look is None or look.key != self._look.key:
                self._looked = None
                self._stop_looking.set()
            self._look = look
            self._changed.notify_all()

    def interrupt(self) -> None:
        """End the search that was asked for, and drop those that wait for it."""
        with self._changed:
            for _, future in self._waiting:
                future.cancel()
            self._waiting.clear()
            self._stop.set()

    def close(self, seconds: float) -> None:
        """End whatever it does, and wait so long for that."""
        self._is_closed = True
        self.interrupt()
        self.look(None)
        self.session.begin_shutdown()
        self._thread.join(seconds)

    # --- The thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self.session.load()
        except Exception as error:
            self._on_state("failed", explain(error))
            return
        self._on_state("ready", "")
        while not self._is_closed:
            task, look = self._next()
            if task is not None:
                self._carry_out(*task)
            elif look is not None:
                self._analyse(look)

    def _next(self) -> tuple[tuple[Task, Future[Any]] | None, Look | None]:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._waiting or self._wanted() is not None)
            self._stop, self._stop_looking = threading.Event(), threading.Event()
            return (self._waiting.popleft(), None) if self._waiting else (None, self._wanted())

    def _wanted(self) -> Look | None:
        look = self._look
        return look if look is not None and look.key != self._looked else None

    def _carry_out(self, task: Task, future: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        self._on_state("thinking", "")
        try:
            future.set_result(task(self._stop))
        except Exception as error:
            future.set_exception(error)
        self._on_state("ready", "")

    def _analyse(self, look: Look) -> None:
        self._on_state("analysing", "")
        report = ReportRequest(
            lambda result: look.report(result, False), every=REPORT_SECONDS, first=0.1, ownership=look.ownership
        )
        stop = self._stop_looking
        try:
            result = self.analyse(look.game, Limits(look.visits, may_stop_early=False), stop, report)
        except Exception as error:
            self._looked = look.key
            self._on_state("failed", explain(error))
            return
        if not stop.is_set():
            self._looked = look.key
            look.report(result, True)
        self._on_state("ready", "")

    def analyse(
        self, game: Game, limits: Limits, stop: threading.Event, report: ReportRequest | None = None, colour: int = 0
    ) -> SearchResult:
        """Search a position as for an analyst, with `colour` to move or whose turn it is. Only tasks call this."""
        self.stand_on(game)
        return self.session.analyse(limits, stop, colour=colour or None, report=report, game=game, may_end_empty=True)

    def stand_on(self, game: Game) -> None:
        """Have the player ready for a board of this game's size. Only tasks call this."""
        own = self.session.game
        if (own.width, own.height) != (game.width, game.height):
            self.session.replace_game(Game(game.width, game.height, game.rules, game.komi))
