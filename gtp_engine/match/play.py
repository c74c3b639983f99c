"""Matches: their games are played at one or more tables, each with engine processes of its own.

All matches of a series advance together, and each has its record in a folder of its own (record.py). So a series that
was interrupted says something about all its matches, and goes on where it was.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from go_rules.game import Game
from go_rules.sgf.writer import to_sgf
from gtp_engine.match.client import ErrorLog
from gtp_engine.match.conditions import Conditions
from gtp_engine.match.engines import Engine
from gtp_engine.match.record import SIDES, GameRecord, MatchRecord, sprt_run, tally
from gtp_engine.match.referee import Referee

POLL_SECONDS = 0.2
"""How long the main thread may take to notice Ctrl-C or the failure of a table."""
ROUND = 20
"""Games that a match advances by before another one has its turn: engines start once for so many games."""

News = TypeVar("News")


def hear(said: queue.SimpleQueue[News | BaseException | None], threads: int) -> Iterator[News]:
    """Yield what threads say until all have said None, their last word.

    Raises what one of them failed with.
    """
    while threads:
        try:
            news = said.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue
        if news is None:
            threads -= 1
        elif isinstance(news, BaseException):
            raise news
        else:
            yield news


class Contest:
    """A match of two engines: its record, and the games that are to be played."""

    def __init__(
        self, folder: Path, sides: tuple[int, int], commands: Sequence[list[str]], names: Sequence[str], on: Conditions
    ) -> None:
        """Open or start the record of a match in `folder`.

        `sides` are the places of its two engines in `commands` and `names`. The record has the commands as text, which
        a file's name need not be. Raises UserError where the folder holds another match.
        """
        self.sides = sides
        self.commands = [commands[side] for side in sides]
        self.record = MatchRecord(folder, on.agreed(self.commands, [names[side] for side in sides]))
        self.waiting: deque[int] = deque()
        """The numbers of the games that no table has begun."""
        self.tables = 0
        """How many tables play games of this match."""
        self._test = sprt_run(on.sprt, self.record.games) if on.sprt is not None else None

    @property
    def is_decided(self) -> bool:
        """Whether the sequential test, if there is one, needs no more games."""
        return self._test is not None and self._test.decision is not None

    def add(self, played: GameRecord, sgf: bytes) -> None:
        """Add a finished game. Raises OSError."""
        self.record.add(played, sgf)
        if self._test is not None:
            self._test.add(played.game, tally([played]))


def open_contest(
    folder: Path, sides: tuple[int, int], commands: Sequence[list[str]], names: Sequence[str], conditions: Conditions
) -> Contest:
    """Open or start a match between two of several engines, in a folder of its own inside `folder`. Raises UserError
    where that holds another match."""
    return Contest(folder / "-".join(f"{side + 1:02d}" for side in sides), sides, commands, names, conditions)


AllGames = tuple[GameRecord, ...]
"""The games of a match when one of them ended, which is the last. Its record may have more by the time it is shown."""
AfterGame = Callable[[Contest, AllGames], None]


class Series:
    """Plays the games that the records of one or more matches do not have yet."""

    def __init__(self, contests: Sequence[Contest], conditions: Conditions, games: int) -> None:
        """Play so many games in each match, or until its sequential test has decided; games that run then are played
        to their end."""
        self._contests, self._conditions = contests, conditions
        for contest in contests:
            contest.waiting = deque(contest.record.missing(games))
        self._news: queue.SimpleQueue[tuple[Contest, AllGames] | BaseException | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._aborted = False
        self._engines: dict[int, list[Engine]] = {}
        """The engines of each table; those of one match at a time."""

    def run(self, after_game: AfterGame) -> None:
        """Play until the records have all games. Calls `after_game` in this thread, after each game.

        Raises UserError, OSError, or KeyboardInterrupt; in each case the engines are killed and the records are
        complete.
        """
        games = sum(len(contest.waiting) for contest in self._contests if not contest.is_decided)
        tables = range(min(self._conditions.parallel, games))
        threads = [threading.Thread(target=self._serve, args=(table,), daemon=True) for table in tables]
        for thread in threads:
            thread.start()
        try:
            for contest, games_so_far in hear(self._news, len(threads)):
                after_game(contest, games_so_far)
        except BaseException:
            self.stop()
            raise
        finally:
            for thread in threads:
                thread.join()

    def stop(self) -> None:
        """End the series at once, from any thread: its engines are killed, and `run` returns."""
        with self._lock:
            self._aborted = True
        for engines in list(self._engines.values()):
            for engine in engines:
                engine.stop()

    def _serve(self, table: int) -> None:
        """One table: play games until none is left, with the engines of one match after another."""
        served: Contest | None = None
        try:
            while (dealt := self._deal(served)) is not None:
                contest, number = dealt
                if contest is not served:
                    self._rise(table)
                    self._seat(table, contest)
                    served = contest
                self._play(contest, number, self._engines[table])
            self._rise(table)
        except BaseException as error:
            if not self._aborted:
                self._news.put(error)
        self._news.put(None)

    def _deal(self, served: Contest | None) -> tuple[Contest, int] | None:
        """The next game of a table: of the match that it serves until a round ends, then of the match with the fewest
        tables and rounds."""
        with self._lock:
            if served is not None:
                served.tables -= 1
            waiting = [each for each in self._contests if each.waiting and not each.is_decided]
            if self._aborted or not waiting:
                return None
            if served is None or served not in waiting or served.waiting[0] % ROUND == 0:
                served = min(waiting, key=lambda each: (each.tables, each.waiting[0] // ROUND))
            served.tables += 1
            return served, served.waiting.popleft()

    def _seat(self, table: int, contest: Contest) -> None:
        """Give a table the engines of a match. Their processes start when they are needed."""
        names, limits = contest.record.terms.names, self._conditions.limits
        engines = [
            Engine(command, f"{SIDES[side]} ({names[side]})", ErrorLog(contest.record.stderr_file(side, table)), limits)
            for side, command in enumerate(contest.commands)
        ]
        if self._conditions.judge:
            engines.append(Engine(self._conditions.judge, "judge", limits=limits))
        with self._lock:
            self._engines[table] = engines
            if self._aborted:
                for engine in engines:
                    engine.stop()

    def _rise(self, table: int) -> None:
        """Ask the engines of a table to quit, and wait for them."""
        if not self._aborted:
            for engine in self._engines.get(table, []):
                engine.close()

    def _play(self, contest: Contest, number: int, engines: Sequence[Engine]) -> None:
        agreed = self._conditions
        opening = agreed.openings[number // 2 % len(agreed.openings)]
        black = 1 if agreed.terms.handicap else number % 2
        a, b, *judge = engines
        referee = Referee(number, (a, b), black, agreed.terms, agreed.conduct, opening, *judge)
        played = referee.play()
        if self._aborted:  # the engines were killed under the referee
            return
        with self._lock:
            contest.add(played, _game_sgf(referee.game, played, contest.record.terms.names))
            self._news.put((contest, tuple(contest.record.games)))


def _game_sgf(game: Game, played: GameRecord, names: Sequence[str]) -> bytes:
    """The game with what the referee found, in the comment at its end."""
    text = f"Game {played.game + 1}: {played.result}, {played.reason}"
    if played.settled_by:
        text += f", by {played.settled_by}"
    if played.detail:
        text += f" ({played.detail})"
    for side in (0, 1):
        text += f"\n{names[side]}: final_score {played.scores[side] or 'none'}, {played.seconds[side]:.1f} s"
    return to_sgf(
        game,
        black=names[played.black],
        white=names[1 - played.black],
        result=played.result,
        comments={len(game.moves): text},
    ).encode()
