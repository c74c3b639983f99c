"""Pondering: thinking on the opponent's time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from go_rules.game import Game
from search.player import Player
from search.request import Limits, SearchRequest


class Pondering:
    """At most one search in the background. `stop` ends it as soon as `SearchRequest.stop` says."""

    def __init__(self, on_error: Callable[[BaseException], None]) -> None:
        self._on_error = on_error
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._asked = self._ended = 0.0

    def start(self, player: Player, game: Game, limits: Limits) -> None:
        """Search the game's present position for the side to move, until a limit or `stop`. The game is copied."""
        self.stop()
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._search, args=(player, game.copy(), limits, self._stop), name="pondering", daemon=True
        )
        self._thread.start()

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

    def _search(self, player: Player, game: Game, limits: Limits, stop: threading.Event) -> None:
        try:
            player.search(SearchRequest(game, game.to_play, limits, pondering=True, stop=stop, may_end_empty=True))
        except Exception as error:
            # The next genmove meets the same trouble, if it lasts, and reports it.
            self._on_error(error)
        finally:
            self._ended = time.monotonic()
