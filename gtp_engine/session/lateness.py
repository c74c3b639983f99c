"""What a move costs of the controller's clock beyond the time that we mean to think.

The controller's clock runs from its first line of a turn until it has read our move. On a busy machine every step on
that way waits for a core, so a turn of half a second may take a whole one:

    what happens                                        how it is known
    a line waits until our reading thread has a core    not seen; as late as the timed waits of `Pulse` are
    `play`, `time_left`, the end of pondering           seen: the turn begins when its first line arrives (`Turn`)
    the search notices its limit late; the move is      seen: `Lateness.moved`, once the move is chosen
    chosen and played
    the reply waits until the controller has a core     not seen; the parameter `lag` is for that

What was seen is expected again: the worst of it, half forgotten after fourteen moves.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FIRST_GUESS = 0.03
"""Seconds by which we expect to be late before anything is known, for moves and for waits."""
MEMORY = 0.95
"""How much of what is expected each further move keeps."""
MOST = 1.0
"""Seconds that are believed at most: a computer that slept for an hour is not always so late."""
SAME_TURN = 0.5
"""Seconds between the reply to `play` and the arrival of `genmove` within which both belong to one turn."""
PULSE_SECONDS = 0.02
"""How long a timed wait of `Pulse` is meant to be. It is short, so that one search has many of them."""
IDLE_SECONDS = 60.0
"""For how long `Pulse` goes on while nobody asks us for anything."""


class Turn:
    """Since when the controller's clock runs against us. All times are of time.monotonic()."""

    def __init__(self) -> None:
        self._told: tuple[float, float] | None = None

    def told(self, arrived: float, replied: float) -> None:
        """Note that we were told of a move: when its line arrived, and when we had dealt with it."""
        self._told = (arrived, replied)

    def began(self, arrived: float) -> float:
        """Return when the turn began whose request for a move arrived at this time.

        A controller that waits longer than SAME_TURN after it told of a move is no controller of a game with a clock.
        """
        if self._told is None or arrived - self._told[1] > SAME_TURN:
            return arrived
        return min(arrived, self._told[0])

    def over(self) -> None:
        """Note that we have moved."""
        self._told = None


class Lateness:
    """By how much we expect to be late: one number of seconds, learned from waits and moves. Any thread may use it."""

    def __init__(self, first_guess: float = FIRST_GUESS) -> None:
        self._lock = threading.Lock()
        self._waits = first_guess
        self._moves = first_guess
        self.pondering = 0.0
        """The seconds that the end of pondering is expected to take."""

    @property
    def expected(self) -> float:
        """The seconds by which the next move may be late: a line that waits to be read, and a move that ends late."""
        return self._waits + self._moves

    def pondered(self, late: float) -> None:
        """Note how many seconds it took to end pondering."""
        self.pondering = max(self.pondering, late)

    def waited(self, late: float) -> None:
        """Note by how many seconds a timed wait ended late."""
        with self._lock:
            self._waits = max(self._waits, min(late, MOST))

    def moved(self, late: float) -> None:
        """Note by how many seconds a move came later than was meant (negative if earlier), and forget a little."""
        with self._lock:
            self._waits *= MEMORY
            self.pondering *= MEMORY
            self._moves = max(MEMORY * self._moves, min(late, MOST))


class Pulse:
    """A thread that waits for a short time again and again while we think, and notes by how much each wait is late."""

    def __init__(self, lateness: Lateness) -> None:
        self._lateness = lateness
        self._look: Callable[[], None] | None = None
        self._until = 0.0
        self._wanted = threading.Condition()
        self._thread: threading.Thread | None = None

    def begin(self, look: Callable[[], None] | None = None) -> None:
        """Wait again and again, and call `look` after each wait, in the thread that waits, until the next `begin`.

        Without `look` this ends after IDLE_SECONDS.
        """
        with self._wanted:
            self._look = look
            self._until = time.monotonic() + IDLE_SECONDS
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="pulse", daemon=True)
                thread.start()
                self._thread = thread
            self._wanted.notify()

    def _run(self) -> None:
        while True:
            with self._wanted:
                while self._look is None and time.monotonic() > self._until:
                    self._wanted.wait()
            before = time.monotonic()
            time.sleep(PULSE_SECONDS)
            self._lateness.waited(max(0.0, time.monotonic() - before - PULSE_SECONDS))
            look = self._look
            if look is not None:
                look()
