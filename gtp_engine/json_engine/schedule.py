"""Which position is analysed next, where, and by how many threads.

A slot is a search with a tree of its own. The position with the highest priority begins first, and of equal ones the
one that came first. As many are searched at once as there are threads: fewer would leave cores idle, and more would
only make each of them slower. But a search that has run for PATIENCE seconds, which may be one without an end, keeps
no other from beginning, as long as there are slots.
"""

from __future__ import annotations

import heapq
import threading
import time
from dataclasses import dataclass, field

from gtp_engine.json_engine.query import Query

PATIENCE = 5.0
"""Seconds after which a search no longer keeps others from beginning."""
LOOK_AGAIN = 0.25
"""Seconds between two looks whether a search has run for so long."""

MOST_WAITING = 200_000
"""Positions that may wait. Each takes some hundred bytes, besides its query's."""
MOST_WAITING_BYTES = 256 << 20
"""The text of all queries that wait; as they are kept they take less."""


@dataclass(eq=False)
class Position:
    """One turn of a query: what is to be analysed, and answered by exactly one last reply."""

    query: Query
    turn: int
    number: int
    """How many were added before it."""
    size: int
    """Its part of the bytes of the query's text."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when it is terminated."""
    slot: int | None = None
    """Where it is searched, or was; None while it waits."""


class Schedule:
    """The positions that are not answered yet. Any thread may call it."""

    def __init__(self, slots: int, workers: int) -> None:
        """`workers`: how many threads may search, in all slots together."""
        self.slots = slots
        self._workers = workers
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, int, Position]] = []
        """A heap of (minus priority, number, position). Terminated positions stay in it for a while."""
        self._terminated = 0
        """How many of those there are."""
        self._bytes = 0
        self._open: dict[str, dict[int, Position]] = {}
        """Positions not answered yet, by their query's id and by number."""
        self._running: dict[int, float] = {}
        """time.monotonic() at which the search in each busy slot began."""
        self._idle: set[int] = set()
        self._count = 0
        self._closed = False

    def add(self, query: Query, size: int) -> bool:
        """Add the positions of a query, whose text has `size` bytes. Returns whether there was room for them."""
        with self._changed:
            if (
                self._closed
                or len(self._waiting) + len(query.turns) > MOST_WAITING
                or self._bytes + size > MOST_WAITING_BYTES
            ):
                return False
            for turn, priority in query.turns:
                position = Position(query, turn, self._count, size // len(query.turns))
                heapq.heappush(self._waiting, (-priority, self._count, position))
                self._open.setdefault(query.id, {})[self._count] = position
                self._count += 1
                self._bytes += position.size
            self._changed.notify_all()
            return True

    def take(self, slot: int) -> Position | None:
        """Wait until this slot has something to search, and return it; None once all is done and `close` was called."""
        with self._changed:
            self._idle.add(slot)
            while True:
                self._drop_terminated()
                if self._waiting and slot == min(self._idle) and self._may_begin():
                    break
                if self._closed and not self._waiting:
                    self._idle.discard(slot)
                    return None
                self._changed.wait(LOOK_AGAIN if self._waiting and self._running else None)
            position = heapq.heappop(self._waiting)[2]
            position.slot = slot
            self._bytes -= position.size
            self._idle.discard(slot)
            self._running[slot] = time.monotonic()
            self._changed.notify_all()
            return position

    def finish(self, position: Position) -> None:
        """Say that the position has had its last reply."""
        with self._changed:
            if position.slot is not None:
                self._running.pop(position.slot, None)
            same_id = self._open.get(position.query.id, {})
            same_id.pop(position.number, None)
            if not same_id:
                self._open.pop(position.query.id, None)
            self._changed.notify_all()

    def terminate(self, id: str | None = None, turns: frozenset[int] | None = None) -> list[Position]:
        """Terminate the positions of the queries with this id, or of all, and of these turns, or of all.

        Returns those that had not begun, in their order: the caller has to answer them, and to call `finish`. The
        others end by themselves.
        """
        with self._changed:
            groups = list(self._open.values()) if id is None else [self._open.get(id, {})]
            found = [position for group in groups for position in group.values() if not position.stop.is_set()]
            found = [position for position in found if turns is None or position.turn in turns]
            for position in found:
                position.stop.set()
            unbegun = [position for position in found if position.slot is None]
            self._terminated += len(unbegun)
            if 2 * self._terminated > len(self._waiting):
                self._waiting = [entry for entry in self._waiting if not entry[2].stop.is_set()]
                heapq.heapify(self._waiting)
                self._bytes = sum(entry[2].size for entry in self._waiting)
                self._terminated = 0
            self._changed.notify_all()
            return sorted(unbegun, key=lambda position: position.number)

    def close(self) -> None:
        """Say that nothing will be added any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def shares(self) -> dict[int, int]:
        """Share the threads out: how many each busy slot may use now, one at least."""
        with self._changed:
            busy = sorted(self._running)
            return {
                slot: max(1, (self._workers + len(busy) - 1 - place) // len(busy)) for place, slot in enumerate(busy)
            }

    def _may_begin(self) -> bool:
        """Whether one more search would find a thread of its own, but for those that have run for long."""
        started = time.monotonic() - PATIENCE
        return sum(1 for began in self._running.values() if began > started) < self._workers

    def _drop_terminated(self) -> None:
        while self._waiting and self._waiting[0][2].stop.is_set():
            self._bytes -= heapq.heappop(self._waiting)[2].size
            self._terminated -= 1
