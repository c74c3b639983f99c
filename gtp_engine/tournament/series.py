"""A series of matches: some of them are played at the same time, and all of them advance together.

Each match has its record in a folder of its own (gtp_engine/match/record.py), so a series that was interrupted goes on
where it was.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gtp_engine.match.conditions import Conditions
from gtp_engine.match.play import Match, hear
from gtp_engine.match.record import MatchRecord

ROUND = 20
"""Games that a match advances by before another one has its turn. So a series that was interrupted says something about
all its matches, and engines start once for so many games."""


@dataclass(frozen=True)
class Contest:
    """A match of a series: its two engines, and its record."""

    sides: tuple[int, int]
    """The numbers of the two engines, from 0."""
    commands: list[list[str]]
    record: MatchRecord


def open_contest(
    folder: Path, sides: tuple[int, int], engines: Sequence[list[str]], names: Sequence[str], conditions: Conditions
) -> Contest:
    """Open or start the record of a match between two of the engines, in a folder of its own inside `folder`.

    Raises UserError where the folder holds another match.
    """
    commands = [engines[side] for side in sides]
    agreed = conditions.agreed(commands, [names[side] for side in sides])
    inner = folder / "-".join(f"{side + 1:02d}" for side in sides)
    return Contest(sides, commands, MatchRecord(inner, agreed))


class Series:
    """Plays the games that the records of several matches do not have yet."""

    def __init__(self, contests: Sequence[Contest], conditions: Conditions, games: int) -> None:
        """Play so many games in each match, or until its sequential test has decided."""
        self._contests, self._conditions, self._games = contests, conditions, games
        self._waiting = deque(contests)
        self._news: queue.SimpleQueue[Contest | BaseException | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._aborted = False
        self._running: list[Match] = []

    def run(self, after_game: Callable[[Contest], None]) -> None:
        """Play until the records have all games. Calls `after_game` in this thread, after each game.

        Raises UserError, or KeyboardInterrupt; in either case the engines are killed and the records are complete.
        """
        parallel, contests = self._conditions.parallel, max(1, len(self._contests))
        tables = [max(1, parallel // contests)] * min(parallel, contests)
        threads = [threading.Thread(target=self._serve, args=(count,), daemon=True) for count in tables]
        for thread in threads:
            thread.start()
        try:
            for contest in hear(self._news, len(threads)):
                after_game(contest)
        except BaseException:
            with self._lock:
                self._aborted = True
                for match in self._running:
                    match.stop()
            raise
        finally:
            for thread in threads:
                thread.join()

    def _serve(self, tables: int) -> None:
        """One thread: advance the match that has waited longest, until all of them are over."""
        try:
            while (contest := self._next()) is not None:
                self._advance(contest, tables)
        except BaseException as error:
            self._news.put(error)
        self._news.put(None)

    def _next(self) -> Contest | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting and not self._aborted else None

    def _advance(self, contest: Contest, tables: int) -> None:
        """Play one round of a match, and let it wait for its next one."""
        missing = contest.record.missing(self._games)
        if not missing:
            return
        until = min(self._games, (missing[0] // ROUND + 1) * ROUND)
        match = Match(contest.record, self._conditions, contest.commands, until, tables)
        with self._lock:
            if self._aborted:
                return
            self._running.append(match)

        match.run(lambda _games: self._news.put(contest))
        with self._lock:
            self._running.remove(match)
            if until < self._games and not match.is_decided:
                self._waiting.append(contest)
