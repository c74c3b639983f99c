"""The thread that thinks for the pages: what was asked for in turn, and while nothing was, the analysis of the position
that a page looks at. While nobody asks and nobody looks it waits."""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from go_rules.game import Game
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import explain
from gtp_engine.networks import with_network
from gtp_engine.players import WITH_PROFILE, compile_beside
from gtp_engine.session.clock import Clock
from gtp_engine.session.loading import warm_up_rules
from gtp_engine.session.session import Session
from gtp_engine.session.thinking import Decision
from gtp_engine.web.levels import network_of_people
from gtp_engine.web.refusals import Refusal
from nets.human_profile import parse_profile
from search.request import Limits, MoveFilter, ReportRequest
from search.result import SearchResult

MOST_WAITING = 8
"""Searches that may wait for another one."""
FIRST_REPORT, REPORT_SECONDS = 0.1, 0.25
"""Until the first report of an analysis, and between two."""
LOOK_VISITS = 100
"""Of the position that a page looks at, before what is to be done later goes on; when that is done it has the rest."""

Task = Callable[[threading.Event], Any]
"""What thinks until it is done or the event is set, and returns what was asked for."""


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

    session: Session
    """Only tasks may use it."""

    def __init__(self, configuration: Configuration, on_state: Callable[..., None]) -> None:
        """`on_state` receives what the engine does, as pages call it, and what they say about it, by name."""
        self.configuration = configuration
        self.has_rules = False
        """Whether the rules are compiled."""
        self._on_state = on_state
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Task, Future[Any]]] = deque()
        self._look: Look | None = None
        self._later: deque[Task] = deque()
        """What is done while nothing is asked for and what is looked at has been analysed."""
        self._begun: object = None
        """The key of the look whose analysis goes on when there is nothing to do later."""
        self._finished: object = None
        """The key of the look that was analysed to its end."""
        self._stop, self._stop_looking = threading.Event(), threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self.session = Session.of(configuration, *configuration.engine.board)
        self._imitator: Session | None = None
        """Plays as people do, once that was asked for."""

    def begin(self) -> None:
        """Load the rules and the player, and carry out what is asked for."""
        self._thread.start()

    def ask(self, task: Task, is_urgent: bool = False) -> Future[Any]:
        """Carry a task out when those before it are done, or at once after the present one. Raises Refused where too
        many wait, unless it is urgent."""
        future: Future[Any] = Future()
        with self._changed:
            if self._is_closed:
                raise Refusal("nobi_is_ending")
            if len(self._waiting) >= MOST_WAITING and not is_urgent:
                raise Refusal("busy")
            if is_urgent:
                self._waiting.appendleft((task, future))
            else:
                self._waiting.append((task, future))
            self._stop_looking.set()
            self._changed.notify_all()
        return future

    def look(self, look: Look | None) -> None:
        """Analyse this position while nothing is asked for, or none."""
        with self._changed:
            if look is None or self._look is None or look.key != self._look.key:
                self._finished = None
                self._stop_looking.set()
            self._look = look
            self._changed.notify_all()

    def do_later(self, tasks: Iterable[Task]) -> None:
        """Carry these out, in place of those given before, while nothing is asked for and what is looked at has
        been analysed for a moment. What is interrupted by that is done again; a task raises what it likes where its
        event is set."""
        with self._changed:
            self._later = deque(tasks)
            self._stop_looking.set()
            self._changed.notify_all()

    def say(self, **values: int) -> None:
        """Say how far a task is: at move `n`, `of` so many."""
        self._on_state("analysing", **values)

    def interrupt(self) -> None:
        """End the search that was asked for, and drop those that wait for it."""
        with self._changed:
            for _, future in self._waiting:
                future.cancel()
            self._waiting.clear()
            self._stop.set()

    def begin_shutdown(self) -> None:
        """Have everybody give up who waits. A signal's handler may call this."""
        self._is_closed = True
        self.session.begin_shutdown()
        self.interrupt()
        self.look(None)
        self.do_later(())

    def close(self) -> None:
        """End what is thought about, and wait for that."""
        self.begin_shutdown()
        self._thread.join()

    # --- For tasks --------------------------------------------------------------------------------------------

    def analyse(
        self,
        game: Game,
        limits: Limits,
        stop: threading.Event,
        report: ReportRequest | None = None,
        colour: int = 0,
        moves: MoveFilter | None = None,
    ) -> SearchResult:
        """Search a position as for an analyst, with `colour` to move or whose turn it is. `moves`: which may be
        looked at."""
        own = self.session.game
        if (own.width, own.height) != (game.width, game.height):
            self.sit_down(game, None)
        return self.session.analyse(limits, stop, colour=colour or None, report=report, game=game, filter=moves)

    def sit_down(self, game: Game, clock: Clock | None, session: Session | None = None) -> None:
        """Have a session, the usual one if none is named, go on with a game on this clock."""
        session = session or self.session
        session.clock = Clock()
        session.replace_game(game.copy(), game.komi)
        session.clock = clock or Clock()

    def imitate(self, rank: str, game: Game, clock: Clock | None, stop: threading.Event) -> Decision:
        """Think of a move as people of a rank play it, with a HumanSL network at hand. Raises Refused."""
        if self._imitator is None:
            network = network_of_people()
            if network is None:
                raise Refusal("no_network_of_people")
            values = {**with_network(self.configuration, network).values, "player": WITH_PROFILE}
            values.pop("human_net", None)
            session = Session.of(dataclasses.replace(self.configuration, values=values), game.width, game.height)
            self._on_state("loading")
            session.load()
            self._imitator = session
            self._on_state("thinking")
        evaluator = self._imitator.player.evaluator
        assert evaluator is not None, "the player draws moves from a network's policy"
        evaluator.use_profile(parse_profile(f"rank_{rank}"))
        self.sit_down(game, clock, self._imitator)
        return self._imitator.think(game.to_play, stop)

    def use(self, configuration: Configuration) -> None:
        """Go on with another configuration's player. Raises what prevents it, and then keeps the one before."""
        session = Session.of(configuration, *configuration.engine.board)
        self._on_state("loading")
        session.load()
        before, self.session, self.configuration = self.session, session, configuration
        before.close()
        self._finished = None

    # --- The thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        def compiling() -> None:
            self._on_state("compiling")
            compile_beside(self.configuration)

        try:
            warm_up_rules(compiling)
            self.has_rules = True
            self.session.load()
            self._on_state("ready")
        except Exception as error:
            self._on_state("failed", text=explain(error))
        while not self._is_closed:
            task, look = self._next()
            if task is not None:
                self._carry_out(*task)
            elif look is not None:
                self._analyse(look)
            else:
                self._go_on_with_the_rest()
        self.interrupt()
        for session in filter(None, (self.session, self._imitator)):
            session.close()

    def _next(self) -> tuple[tuple[Task, Future[Any]] | None, Look | None]:
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_closed or self._waiting or self._later or self._wanted() is not None
            )
            self._stop, self._stop_looking = threading.Event(), threading.Event()
            return (self._waiting.popleft(), None) if self._waiting else (None, self._wanted())

    def _wanted(self) -> Look | None:
        look = self._look
        is_over = look is None or look.key == self._finished or (bool(self._later) and look.key == self._begun)
        return None if is_over else look

    def _go_on_with_the_rest(self) -> None:
        """Do the first of what is to be done later."""
        stop = self._stop_looking
        with self._changed:
            task = self._later[0] if self._later else None
        if task is None:
            return
        try:
            task(stop)
        except Exception as error:
            if not stop.is_set():
                self._on_state("failed", text=explain(error))
                self.do_later(())
            return
        with self._changed:
            if self._later and self._later[0] is task:
                self._later.popleft()
            is_done = not self._later
        if is_done:
            self._on_state("ready")

    def _carry_out(self, task: Task, future: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        self._on_state("thinking")
        try:
            answer = task(self._stop)
        except Exception as error:
            self._on_state("failed", text=explain(error))
            future.set_exception(error)
        else:
            self._on_state("ready")
            future.set_result(answer)

    def _analyse(self, look: Look) -> None:
        self._on_state("analysing")
        stop, visits = self._stop_looking, look.visits
        is_first = bool(self._later) and (visits is None or visits > LOOK_VISITS)
        limits = Limits(LOOK_VISITS if is_first else visits, may_stop_early=False)

        def report(result: SearchResult) -> None:
            if not stop.is_set():
                look.report(result, False)

        request = ReportRequest(report, REPORT_SECONDS, FIRST_REPORT, look.ownership)
        try:
            result = self.analyse(look.game, limits, stop, request)
        except Exception as error:
            self._finished = look.key
            self._on_state("failed", text=explain(error))
            return
        if not stop.is_set():
            if is_first:
                self._begun = look.key
            else:
                self._finished = look.key
            look.report(result, not is_first)
        self._on_state("ready")
