"""Games of matches on the workers of a cluster: both engines of a game run on one of them.

An engine `nobi ...` is the worker's own, and the networks that its command names travel. Other programs have to be
there, by the same command. What engines write to stderr stays where they are.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from gtp_engine.cluster.tasks import Here
from gtp_engine.match.conditions import Conditions
from gtp_engine.match.engines import Engine, local_command
from gtp_engine.match.play import game_of, seated
from nobi_machine.units import Unit


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
