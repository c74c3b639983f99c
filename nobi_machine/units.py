"""Units of work, and the pool that does several at a time: games to play, positions to search.

A unit is a task by its name, with bytes as arguments, and its result is bytes. Whatever the result depends on is in
these two, the hash of the network and the version too: so the key of a unit stands for its result, what was worked out
once need not be worked out again, and random numbers that begin with the key are the same on every machine.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from nobi_machine.files import append_regular, read_regular

POLL_SECONDS = 0.2
"""How long `run` may take to notice that the work is to stop."""
MOST_BYTES = 1 << 30
"""Of a file of results."""


@dataclass(frozen=True)
class Unit:
    """A piece of work that depends on no other."""

    name: str
    """What messages call it."""
    task: str
    """What is to be done, by its name: `match`, `review`, ..."""
    arguments: bytes

    @cached_property
    def key(self) -> str:
        """The name of its result."""
        return hashlib.sha256(self.task.encode() + b"\0" + self.arguments).hexdigest()[:32]

    @property
    def seed(self) -> int:
        """The number, 0 to 2**31 - 1, that its random numbers begin with."""
        return int(self.key[:8], 16) >> 1


class Batch(NamedTuple):
    """Units that one thread does one after another where it can, because what it needs for one serves the next, too."""

    group: str
    """Batches of one group need the same."""
    units: Iterator[Unit]
    """Asked for the next one when a thread is free for it."""


class Pool:
    """Threads that do units of work. Each has a place, a number from 0."""

    def __init__(
        self,
        threads: int,
        do: Callable[[Unit, int], bytes | None],
        leave: Callable[[int], None] = lambda _place: None,
        interrupt: Callable[[], None] = lambda: None,
        stop: threading.Event | None = None,
    ) -> None:
        """`do` works a unit out at a place, and `leave` is called there when nothing is left to do. `interrupt` makes
        every `do` end soon, with None if there is no result; it is called again and again until all have. `stop` may be
        set from outside."""
        self._threads, self._do, self._leave, self._interrupt = threads, do, leave, interrupt
        self._lock = threading.Lock()
        self._batches: list[Batch] = []
        self._busy = Counter[str]()
        """How many threads are at work for each group."""
        self._failure: BaseException | None = None
        self.stopped = stop or threading.Event()
        """Set when the work is to end, by any thread: `run` returns then."""

    def run(self, batches: Iterable[Batch], keep: Callable[[Unit, bytes], None]) -> None:
        """Do all units. A free thread goes on with its batch; then it takes the first one of the group with the fewest
        threads.

        `keep` is called with each result, in any thread but never twice at a time, before the thread takes another
        unit. Raises what `keep` raises, and what a unit's work raises, with the unit's name as its attribute `unit`;
        nothing runs any more then.
        """
        self._batches = list(batches)
        threads = [threading.Thread(target=self._serve, args=(n, keep), daemon=True) for n in range(self._threads)]
        try:
            for thread in threads:
                thread.start()
            self._await(threads)
        except BaseException:
            self.stopped.set()
            self._await(threads)
            raise
        if self._failure is not None:
            raise self._failure

    def _await(self, threads: Sequence[threading.Thread]) -> None:
        """Wait until those threads have ended that have begun, and see to it that they do when the work is to end."""
        running = list(threads)
        while running:
            running = [thread for thread in threads if thread.is_alive()]
            if self.stopped.is_set():
                self._interrupt()
            if running:
                running[0].join(POLL_SECONDS)

    def _serve(self, place: int, keep: Callable[[Unit, bytes], None]) -> None:
        """Do one unit after another, in a thread."""
        try:
            for unit in self._dealt():
                try:
                    result = self._do(unit, place)
                except Exception as error:
                    vars(error)["unit"] = unit.name
                    raise
                if result is not None:
                    with self._lock:
                        keep(unit, result)
            if not self.stopped.is_set():
                self._leave(place)
        except BaseException as error:
            if not self.stopped.is_set():
                self._failure = error
                self.stopped.set()

    def _dealt(self) -> Iterator[Unit]:
        """Yield the units of a thread."""
        batch: Batch | None = None
        while True:
            with self._lock:
                while (unit := None if batch is None or self.stopped.is_set() else next(batch.units, None)) is None:
                    if batch is not None:
                        self._busy[batch.group] -= 1
                        self._batches = [each for each in self._batches if each is not batch]
                    if self.stopped.is_set() or not self._batches:
                        return
                    batch = min(self._batches, key=lambda each: self._busy[each.group])
                    self._busy[batch.group] += 1
            yield unit


class Lines:
    """A file of lines, of which each is appended whole. A last one that was cut off counts for nothing."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        """Read the lines of the file, if there is one. Raises OSError, also for a link: nothing is written through
        one."""
        if path.is_symlink():
            raise OSError(errno.ELOOP, "a link, and not a file", str(path))
        self._path = path
        content = read_regular(path, most_bytes) if os.path.lexists(path) else b""
        self._whole = content.rfind(b"\n") + 1
        self.lines = content[: self._whole].splitlines()
        """Those that were there."""
        self.rest = content[self._whole :]
        """What was there of one that was cut off."""

    def append(self, line: bytes) -> None:
        """Add a line, and wait until it is on the disk. Raises OSError."""
        if self.rest:  # not before: a file that turns out to be another's stays as it is
            os.truncate(self._path, self._whole)
            self.rest = b""
        append_regular(self._path, line + b"\n", durable=True)


class Results:
    """The results of units, in a file with a line for each: the unit's key, a space, and the result, which is JSON."""

    def __init__(self, path: Path) -> None:
        """Read the results that there are. Raises OSError, and ValueError where the file has other lines."""
        self._file = Lines(path)
        found = [_RESULT.fullmatch(line) for line in self._file.lines]
        if not all(found) or not _PART.fullmatch(self._file.rest):
            raise ValueError("not a file of results")
        self._known = {line[1]: line[2] for line in found if line is not None}

    def __contains__(self, unit: Unit) -> bool:
        """Return whether the result of a unit is known."""
        return unit.key.encode() in self._known

    def __getitem__(self, unit: Unit) -> bytes:
        """Return the result of a unit. Raises KeyError where it is not known."""
        return self._known[unit.key.encode()]

    def add(self, unit: Unit, result: bytes) -> None:
        """Keep the result of a unit. Raises OSError."""
        self._file.append(unit.key.encode() + b" " + result)
        self._known[unit.key.encode()] = result


_RESULT = re.compile(rb"([0-9a-f]{32}) (.+)")
_PART = re.compile(rb"[0-9a-f]{0,32}|[0-9a-f]{32} .*", re.DOTALL)
