"""Interruption of long work: Ctrl-C and SIGTERM let it end after the present step, so that it can save what it did."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SAME_REQUEST = 1.0
"""Signals within so many seconds are one request: `timeout`, for example, signals its child and then its group."""


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Give an event that SIGINT and SIGTERM set while the context lasts. A second signal, at least SAME_REQUEST seconds
    later, ends the program at once.

    Only the main thread receives signals: in other threads the event is never set.
    """
    event = threading.Event()
    first = 0.0

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if not event.is_set():
            first = time.monotonic()
            event.set()
        elif time.monotonic() - first >= SAME_REQUEST:
            raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
