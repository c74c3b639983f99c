"""A match: its games are played at one or more tables, each with a pair of engine processes of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from go_rules.game import Game
from go_rules.sgf.writer import to_sgf
from gtp_engine.match.conditions import Conditions
from gtp_engine.match.engines import Engine
from gtp_engine.match.pipes import ErrorLog
from gtp_engine.match.record import SIDES, GameRecord, MatchRecord, sprt_run, tally
from gtp_engine.match.referee import Referee

POLL_SECONDS = 0.2
"""How long the main thread may take to notice Ctrl-C or the failure of a table."""


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


class Table(NamedTuple):
    """The engines that play one game after another."""

    players: tuple[Engine, Engine]
    judge: Engine | None


class Match:
    """Plays the games that a record does not have yet."""

    def __init__(
        self, record: MatchRecord, conditions: Conditions, commands: Sequence[list[str]], games: int, tables: int
    ) -> None:
        """Play so many games at so many tables, or until the conditions' sequential test has decided. Games that run
        then are played to their end.

        `commands` are those of the two players. The record has them as text, which a file's name need not be.
        """
        self._record, self._conditions, self._commands = record, conditions, list(commands)
        self._games, self._tables = games, tables
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[GameRecord | BaseException | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._aborted = threading.Event()
        self._engines: list[Engine] = []
        self._test = sprt_run(conditions.sprt, record.games) if conditions.sprt is not None else None

    @property
    def is_decided(self) -> bool:
        """Whether the sequential test, if there is one, needs no more games."""
        return self._test is not None and self._test.decision is not None

    def stop(self) -> None:
        """End the match at once, from any thread: its engines are killed, and `run` returns."""
        self._aborted.set()
        for engine in list(self._engines):
            engine.stop()

    def run(self, after_game: Callable[[Sequence[GameRecord]], None]) -> None:
        """Play until the record has all games. Calls `after_game(games played)` after each game.

        Raises UserError, or KeyboardInterrupt; in either case the engines are killed and the record is complete.
        """
        missing = [] if self.is_decided else self._record.missing(self._games)
        for game in missing:
            self._waiting.put(game)
        tables = [
            threading.Thread(target=self._serve, args=(self._seat(table),), name=f"table-{table + 1}", daemon=True)
            for table in range(min(self._tables, len(missing)))
        ]
        for table in tables:
            table.start()
        try:
            for _ in hear(self._finished, len(tables)):
                after_game(self._record.games)
        except BaseException:
            self.stop()
            raise
        for table in tables:
            table.join()

    def _seat(self, table: int) -> Table:
        """The engines of a table. Their processes start when they are needed."""
        agreed = self._record.terms
        a, b = (
            Engine(
                self._commands[side],
                f"{SIDES[side]} ({agreed.names[side]})",
                ErrorLog(self._record.stderr_file(side, table)),
                self._conditions.limits,
            )
            for side in (0, 1)
        )
        asked = self._conditions.judge
        judge = Engine(asked, "judge", limits=self._conditions.limits) if asked else None
        self._engines += [engine for engine in (a, b, judge) if engine is not None]
        return Table((a, b), judge)

    def _serve(self, table: Table) -> None:
        """One table: play games until none is left."""
        try:
            while not self._aborted.is_set() and not self.is_decided:
                self._play(self._waiting.get_nowait(), table)
        except queue.Empty:
            pass
        except BaseException as error:
            if not self._aborted.is_set():
                self._finished.put(error)
        if not self._aborted.is_set():
            for engine in (*table.players, table.judge):
                if engine is not None:
                    engine.close()
        self._finished.put(None)

    def _play(self, number: int, table: Table) -> None:
        agreed = self._conditions
        opening = agreed.openings[number // 2 % len(agreed.openings)]
        black = 1 if agreed.terms.handicap else number % 2
        referee = Referee(number, table.players, black, agreed.terms, agreed.conduct, opening, table.judge)
        played = referee.play()
        if self._aborted.is_set():  # the engines were killed under the referee
            return
        with self._lock:
            self._record.add(played, _game_sgf(referee.game, played, self._record.terms.names))
            if self._test is not None:
                self._test.add(played.game, tally([played]))
        self._finished.put(played)


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
