"""Interruption of long work: Ctrl-C and SIGTERM let it end after the present step, so that it can save what it did."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Give an event that SIGINT and SIGTERM set while the context lasts. A second signal ends the program at once.

    Only the main thread receives signals: in other threads the event is never set.
    """
    event = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
