"""Matches: their games are played at one or more tables, each with engine processes of its own.

All matches of a series advance together, and each has its record in a folder of its own (record.py). So a series that
was interrupted says something about all its matches, and goes on where it was.

On a cluster both engines of a game run on one worker. An engine `nobi ...` is the worker's own, and the networks that
its command names travel. Other programs have to be there, by the same command. What engines write to stderr stays where
they are.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from go_rules.game import Game
from go_rules.sgf.writer import to_sgf
from gtp_engine.cluster.tasks import OWN_CORES, Here
from gtp_engine.match.client import ErrorLog
from gtp_engine.match.conditions import Conditions
from gtp_engine.match.engines import Engine, local_command, portable_command
from gtp_engine.match.record import SIDES, GameRecord, MatchRecord, sprt_run, tally
from gtp_engine.match.referee import Referee
from nobi_machine.inputs import Inputs
from nobi_machine.units import Batch, Pool, Unit

if TYPE_CHECKING:
    from gtp_engine.cluster.client import Cluster, ClusterPool

ROUND = 20
"""Games that a match advances by before another one has its turn: engines start once for so many games."""


class PlayedGame(msgspec.Struct, frozen=True):
    """What playing a game results in."""

    record: GameRecord
    sgf: str


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
        files: dict[str, Path] = {}
        for command in (*self.commands, on.judge):
            portable_command(command, files)
        self._inputs = Inputs(files)
        terms = on.agreed(self.commands, [names[side] for side in sides])
        self.record = MatchRecord(folder, msgspec.structs.replace(terms, networks=self._inputs.hashes))
        self._test = sprt_run(on.sprt, self.record.games) if on.sprt is not None else None

    @property
    def is_decided(self) -> bool:
        """Whether the sequential test, if there is one, needs no more games."""
        return self._test is not None and self._test.decision is not None

    def units(self, place: int, games: range, engines: Sequence[object] = ()) -> Iterator[Unit]:
        """Yield those of some games that the record lacks, until the test has decided. `place`: that of the match in
        its series. `engines`: what others have to be told of them. Raises OSError where a network has changed."""
        for game in self.record.missing(games):
            if self.is_decided:
                return
            self._inputs.check()
            yield Unit(f"game {game + 1}", "match", msgspec.json.encode((place, game, *engines)))

    def add(self, played: GameRecord, sgf: bytes) -> None:
        """Add a finished game. Raises OSError, also where a network has changed meanwhile."""
        self._inputs.check()
        self.record.add(played, sgf)
        if self._test is not None:
            self._test.add(played.game, tally([played]))


def open_contest(
    folder: Path, sides: tuple[int, int], commands: Sequence[list[str]], names: Sequence[str], conditions: Conditions
) -> Contest:
    """Open or start a match between two of several engines, in a folder of its own inside `folder`. Raises UserError
    where that holds another match."""
    return Contest(folder / "-".join(f"{side + 1:02d}" for side in sides), sides, commands, names, conditions)


AfterGame = Callable[[Contest], None]
"""Is told of a match whose record has got a game, its last one."""


class Series:
    """Plays the games that the records of one or more matches do not have yet. A game is a unit of work."""

    def __init__(
        self,
        contests: Sequence[Contest],
        conditions: Conditions,
        games: int,
        cluster: Cluster | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Play so many games in each match, or until its sequential test has decided; games that run then are played
        to their end. With a `cluster` its workers play; raises UserError and OSError then. `stop` ends the series at
        once, from any thread."""
        self._contests, self._conditions, self._games = contests, conditions, games
        self._lock = threading.Lock()
        self._pool: Pool | ClusterPool = Pool(conditions.parallel, self._play, self._rise, self._kill, stop)
        self._told: list[Sequence[object]] = [() for _ in contests]
        """What workers of a cluster are told of the engines of each match."""
        if cluster is not None:
            files: dict[str, Path] = {}
            self._told = [
                ([portable_command(each, files) for each in contest.commands], contest.record.terms.names)
                for contest in contests
            ]
            sent = dataclasses.replace(conditions, judge=portable_command(conditions.judge, files))
            job = cluster.job("match", msgspec.msgpack.encode(sent), Inputs(files))
            self._pool = cluster.pool(job, stop, needs=(OWN_CORES,) if conditions.terms.control else ())
        self._served: dict[int, Contest] = {}
        """The match that each table serves."""
        self._engines: dict[int, list[Engine]] = {}
        """The engines of each table; those of one match at a time."""

    def run(self, after_game: AfterGame) -> None:
        """Play until the records have all games, or until the series is to end. Calls `after_game` after each, in any
        thread. Raises UserError and OSError. However it ends, the engines have, and the records are complete.
        """
        rounds = [
            Batch(str(place), contest.units(place, range(first, min(first + ROUND, self._games)), self._told[place]))
            for first in range(0, self._games, ROUND)
            for place, contest in enumerate(self._contests)
        ]

        def keep(unit: Unit, result: bytes) -> None:
            contest, played = self._contest(unit), msgspec.json.decode(result, type=PlayedGame)
            contest.add(played.record, played.sgf.encode())
            after_game(contest)

        self._pool.run(rounds, keep)

    def _contest(self, unit: Unit) -> Contest:
        return self._contests[msgspec.json.decode(unit.arguments)[0]]

    def _play(self, unit: Unit, table: int) -> bytes | None:
        """Play a game at a table, with the engines of its match."""
        contest, number = self._contest(unit), msgspec.json.decode(unit.arguments)[1]
        if self._served.get(table) is not contest:
            self._rise(table)
            self._seat(table, contest)
        played = game_of(self._engines[table], number, self._conditions, contest.record.terms.names)
        if self._pool.stopped.is_set():  # the engines were killed under the referee
            return None
        return msgspec.json.encode(played)

    def _seat(self, table: int, contest: Contest) -> None:
        """Give a table the engines of a match. Their processes start when they are needed."""
        logs = [ErrorLog(contest.record.stderr_file(side, table)) for side in range(len(SIDES))]
        engines = seated(contest.commands, contest.record.terms.names, self._conditions, logs)
        with self._lock:
            self._served[table], self._engines[table] = contest, engines

    def _rise(self, table: int) -> None:
        """Ask the engines of a table to quit, and wait for them."""
        for engine in self._engines.get(table, []):
            engine.close()

    def _kill(self) -> None:
        with self._lock:
            engines = [engine for those in self._engines.values() for engine in those]
        for engine in engines:
            engine.stop()


def seated(
    commands: Sequence[list[str]], names: Sequence[str], conditions: Conditions, logs: Sequence[ErrorLog] | None = None
) -> list[Engine]:
    """Return the engines of a match, and the judge if there is one. Their processes start when they are needed."""
    limits = conditions.limits
    engines = [
        Engine(command, f"{SIDES[side]} ({names[side]})", logs[side] if logs else None, limits)
        for side, command in enumerate(commands)
    ]
    return [*engines, Engine(conditions.judge, "judge", limits=limits)] if conditions.judge else engines


def game_of(engines: Sequence[Engine], number: int, conditions: Conditions, names: Sequence[str]) -> PlayedGame:
    """Play the game of this number in a match between engines of these names, with the judge if there is one."""
    opening = conditions.openings[number // 2 % len(conditions.openings)]
    black = 1 if conditions.terms.handicap else number % 2
    a, b, *judge = engines
    referee = Referee(number, (a, b), black, conditions.terms, conditions.conduct, opening, *judge)
    played = referee.play()
    return PlayedGame(played, _game_sgf(referee.game, played, names))


def _game_sgf(game: Game, played: GameRecord, names: Sequence[str]) -> str:
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
    )


# --- On a worker of a cluster -----------------------------------------------------------------------------------------


class Tables:
    """Plays games of matches on a worker. Engines live from one game of a match to the next."""

    def __init__(self, conditions: Conditions, files: Mapping[str, Path], here: Here) -> None:
        self._conditions, self._files, self._here = conditions, files, here
        self._lock = threading.Lock()
        self._free: list[tuple[bytes, list[Engine]]] = []
        self._engines: list[list[Engine]] = []

    def do(self, unit: Unit) -> bytes | None:
        """Play a game. Return it, or None if the engines were killed under the referee."""
        _, number, *match = msgspec.json.decode(unit.arguments)
        engines = self._taken(msgspec.json.encode(match), *match)
        try:
            played = game_of(engines, number, self._conditions, match[1])
        finally:
            with self._lock:
                self._free.append((msgspec.json.encode(match), engines))
        return None if self._here.stop.is_set() else msgspec.json.encode(played)

    def _taken(self, match: bytes, commands: Sequence[Sequence[str]], names: Sequence[str]) -> list[Engine]:
        """Take free engines of a match, or start some in place of those of another match that have no game."""
        with self._lock:
            place = next((place for place, (key, _) in enumerate(self._free) if key == match), None)
            if place is not None:
                return self._free.pop(place)[1]
            engines = seated([local_command(each, self._files) for each in commands], names, self._conditions)
            others = [each for _, each in self._free][: max(0, len(self._engines) + 1 - self._here.threads)]
            self._free = [(key, each) for key, each in self._free if each not in others]
            self._engines = [*(each for each in self._engines if each not in others), engines]
        for engine in (engine for each in others for engine in each):
            engine.close()
        return engines

    def close(self) -> None:
        """Kill the processes of all engines."""
        with self._lock:
            engines = [engine for each in self._engines for engine in each]
        for engine in engines:
            engine.stop()


def open_job(settings: bytes, files: Mapping[str, Path], here: Here) -> Tables:
    """Open what games of matches need on a worker of a cluster."""
    conditions = msgspec.msgpack.decode(settings, type=Conditions)
    return Tables(dataclasses.replace(conditions, judge=local_command(conditions.judge, files)), files, here)
