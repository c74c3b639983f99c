"""A match: its games are played at one or more tables, each with a pair of engine processes of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from go_rules.game import Game
from go_rules.sgf.writer import to_sgf
from gtp_engine.match.engines import Engine, Limits, Terms
from gtp_engine.match.openings import Opening
from gtp_engine.match.pipes import ErrorLog
from gtp_engine.match.record import SIDES, GameRecord, MatchRecord, tally
from gtp_engine.match.referee import Conduct, Referee
from gtp_engine.match.statistics import Sprt

POLL_SECONDS = 0.2
"""How long the main thread may take to notice Ctrl-C or the failure of a table."""


class Table(NamedTuple):
    """The engines that play one game after another."""

    players: tuple[Engine, Engine]
    judge: Engine | None


class Match:
    """Plays the games that a record does not have yet."""

    def __init__(
        self,
        record: MatchRecord,
        terms: Terms,
        conduct: Conduct,
        openings: Sequence[Opening],
        games: int,
        tables: int,
        sprt: Sprt | None,
        limits: Limits,
        commands: Sequence[list[str]],
    ) -> None:
        """Play so many games at so many tables. `sprt` is a test that ends the match as soon as it has decided.

        `commands` are those of the two players, and of the judge if there is one. The record has them as text, which a
        file's name need not be.
        """
        self._record = record
        self._terms = terms
        self._conduct = conduct
        self._limits, self._commands = limits, commands
        self._openings, self._games, self._tables, self._sprt = openings, games, tables, sprt
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[GameRecord | BaseException | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._aborted = threading.Event()
        self._engines: list[Engine] = []

    def run(self, after_game: Callable[[Sequence[GameRecord], int], None]) -> None:
        """Play until the record has all games. Calls `after_game(games played, tables playing)` after each game.

        Raises UserError, or KeyboardInterrupt; in either case the engines are killed and the record is complete.
        """
        missing = [] if self._is_decided() else self._record.missing(self._games)
        for game in missing:
            self._waiting.put(game)
        tables = [
            threading.Thread(target=self._serve, args=(self._seat(table),), name=f"table-{table + 1}", daemon=True)
            for table in range(min(self._tables, len(missing)))
        ]
        for table in tables:
            table.start()
        try:
            self._follow(len(tables), after_game)
        except BaseException:
            self._aborted.set()
            for engine in self._engines:
                engine.stop()
            raise
        for table in tables:
            table.join()

    def _follow(self, tables: int, after_game: Callable[[Sequence[GameRecord], int], None]) -> None:
        while tables:
            try:
                news = self._finished.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if news is None:
                tables -= 1
            elif isinstance(news, BaseException):
                raise news
            else:
                after_game(self._record.games, tables)

    def _seat(self, table: int) -> Table:
        """The engines of a table. Their processes start when they are needed."""
        agreed = self._record.terms
        a, b = (
            Engine(
                self._commands[side],
                f"{SIDES[side]} ({agreed.names[side]})",
                ErrorLog(self._record.stderr_file(side, table)),
                self._limits,
            )
            for side in (0, 1)
        )
        judges = [Engine(command, "judge", limits=self._limits) for command in self._commands[2:]]
        self._engines += [a, b, *judges]
        return Table((a, b), judges[0] if judges else None)

    def _serve(self, table: Table) -> None:
        """One table: play games until none is left."""
        try:
            while not self._aborted.is_set() and not self._is_decided():
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
        opening = self._openings[number // 2 % len(self._openings)]
        referee = Referee(number, table.players, number % 2, self._terms, self._conduct, opening, table.judge)
        played = referee.play()
        if self._aborted.is_set():  # the engines were killed under the referee
            return
        with self._lock:
            self._record.add(played, _game_sgf(referee.game, played, self._record.terms.names))
        self._finished.put(played)

    def _is_decided(self) -> bool:
        """Whether the sequential test, if there is one, needs no more games."""
        return self._sprt is not None and self._sprt.decision(tally(self._record.games)) is not None


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
