"""What pages are told: each has a stream of events, whose memory is bounded however slowly it reads.

An event that replaces an earlier one, as a newer analysis does, takes its place. A stream that falls far behind loses
what it has not read and is given a fresh `hello`, which says everything; so does one that begins or begins again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

MOST_PENDING = 64
"""Events that a stream keeps for a slow reader."""
MOST_STREAMS = 32
HEARTBEAT = 15.0
"""Seconds after which a silent stream sends a line, so that a reader that vanished is found out."""
REPLACEABLE = frozenset({"analysis", "engine", "clock", "networks", "progress"})
"""The events of which only the latest counts."""

Hello = Callable[[str], dict[str, Any]]
"""Tells a page, which is called so, everything."""


class Streams:
    """All streams of a server. Any thread may publish."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held while what a `hello` says is changed and published, so that no stream misses a change."""
        self.on_end: Callable[[str], None] = lambda _page: None
        """Called when a page has left, with its name."""
        self._open: list[Stream] = []
        self._number = 0
        self._is_closed = False

    def publish(self, name: str, data: dict[str, Any]) -> None:
        """Send an event to all pages."""
        with self.lock:
            self._number += 1
            text = _event(self._number, name, data) if self._open else b""
            for stream in self._open:
                stream.put(name if name in REPLACEABLE else f"{name} {self._number}", text)

    def close(self) -> None:
        """End all streams; none can begin any more."""
        with self.lock:
            self._is_closed = True
            for stream in self._open:
                stream.wake()

    @property
    def has_readers(self) -> bool:
        """Whether any page looks on."""
        return bool(self._open)

    @property
    def has_room(self) -> bool:
        """Whether one more stream may begin."""
        return len(self._open) < MOST_STREAMS and not self._is_closed

    async def events(self, hello: Hello) -> AsyncIterator[bytes]:
        """Yield the text of a stream, which begins with what `hello` says, until it ends or its reader leaves."""
        stream = Stream()
        with self.lock:
            self._open.append(stream)
        try:
            while not self._is_closed:
                if stream.is_behind:
                    yield await asyncio.to_thread(self._hello, stream, hello)
                elif (text := stream.take()) is not None:
                    yield text
                elif not await stream.news(HEARTBEAT):
                    yield b":\n\n"
        finally:
            with self.lock:
                self._open.remove(stream)
            self.on_end(stream.name)

    def _hello(self, stream: Stream, hello: Hello) -> bytes:
        with self.lock:
            stream.catch_up()
            return _event(self._number, "hello", hello(stream.name))


_numbers = itertools.count(1)


class Stream:
    """What one page has still to be told."""

    is_behind: bool
    """Whether it has to be told everything anew."""

    def __init__(self) -> None:
        """Only the server's thread may make one."""
        self.name = f"page {next(_numbers)}"
        self.is_behind = True
        self._pending: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def put(self, key: str, text: bytes) -> None:
        """Add an event, in place of one with the same key. Any thread may call this."""
        with self._lock:
            self._pending.pop(key, None)
            if self.is_behind or len(self._pending) >= MOST_PENDING:
                self._pending.clear()
                self.is_behind = True
            else:
                self._pending[key] = text
        self.wake()

    def take(self) -> bytes | None:
        """Return the next event; None if there is none."""
        with self._lock:
            if not self._pending:
                return None
            return self._pending.pop(next(iter(self._pending)))

    def catch_up(self) -> None:
        """Forget what was to be sent: a `hello` says it all."""
        with self._lock:
            self._pending.clear()
            self.is_behind = False

    def wake(self) -> None:
        """Have `news` return. Any thread may call this."""
        with contextlib.suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self._news.set)

    async def news(self, seconds: float) -> bool:
        """Wait until something happens; False if nothing has within these seconds."""
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except asyncio.TimeoutError:  # another one than Python's own until 3.11
            return False
        self._news.clear()
        return True


def _event(number: int, name: str, data: dict[str, Any]) -> bytes:
    return b"id: %d\nevent: %s\ndata: %b\n\n" % (number, name.encode(), msgspec.json.encode(data))
