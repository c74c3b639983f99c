"""What a search found becomes a move: which one is chosen, how long it is held back, how it is written; and pondering,
which is thinking on the opponent's time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from go_rules.game import Game
from go_rules.points import PASS, board_points, to_vertex
from gtp_engine.configuration.settings import EngineSettings
from search.request import Limits, MoveFilter, SearchRequest, excluded_until
from search.result import RESIGN, SearchResult


@dataclass(frozen=True)
class Decision:
    """A move that the engine was asked for, with the search that chose it."""

    colour: int
    point: int
    """A point, PASS or RESIGN."""
    result: SearchResult
    move_number: int
    """How many moves were played before it."""
    began: float
    """time.monotonic() since when the turn is charged to the clock."""
    due: float
    """time.monotonic() at which the search was to end; infinite without a limit."""
    is_cancelled: bool = False
    """Whether the search was stopped from outside, and not by the clock."""


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
    """Write a move as text: a vertex, `pass` or `resign`."""
    return "resign" if point == RESIGN else to_vertex(point, height)


def pv_text(points: tuple[int, ...], height: int, most: int) -> str:
    """Write the first `most` moves of a variation as vertices with spaces between."""
    return " ".join(to_vertex(point, height) for point in points[:most])


class Pondering:
    """At most one search in the background. `stop` ends it as soon as `SearchRequest.stop` says."""

    def __init__(self, on_error: Callable[[BaseException], None]) -> None:
        self._on_error = on_error
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._asked = self._ended = 0.0

    def start(self, search: Callable[[SearchRequest], object], game: Game, limits: Limits) -> None:
        """Search the game's present position for the side to move, until a limit or `stop`. The game is copied."""
        self.stop()
        self._stop = threading.Event()
        thread = threading.Thread(
            target=self._search, args=(search, game.copy(), limits, self._stop), name="pondering", daemon=True
        )
        thread.start()
        self._thread = thread  # only then: one that the system did not begin cannot be waited for

    def interrupt(self) -> None:
        """Ask the search to end, and do not wait for that."""
        if not self._stop.is_set():
            self._asked = time.monotonic()
            self._stop.set()

    def stop(self) -> float:
        """End the search, if there is one, and wait until it has ended. Returns how many seconds its end took."""
        self.interrupt()
        if self._thread is None:
            return 0.0
        self._thread.join()
        self._thread = None
        return max(0.0, self._ended - self._asked)

    def _search(
        self, search: Callable[[SearchRequest], object], game: Game, limits: Limits, stop: threading.Event
    ) -> None:
        try:
            search(SearchRequest(game, game.to_play, limits, pondering=True, stop=stop, may_end_empty=True))
        except Exception as error:
            # The next genmove meets the same trouble, if it lasts, and reports it.
            self._on_error(error)
        finally:
            self._ended = time.monotonic()
