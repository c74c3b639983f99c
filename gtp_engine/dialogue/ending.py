"""How a process that answers on stdin and stdout ends: by a signal or by an order of its own, and without waiting."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, TypeVar

GRACE = 0.7
"""Seconds that what runs may still take to reply once the session has to end."""
WAKE_UP = 0.2
"""Seconds after which the main thread, which waits for the end, looks for signals. A signal that comes to another
thread, or just before the wait begins, does not end the wait, and on Windows none does."""

EXIT_DONE, EXIT_FAILURE = 0, 1

Order = TypeVar("Order")


def handle_signals(end: Callable[[int], None]) -> None:
    """Have SIGTERM, SIGINT and SIGHUP call `end` with the exit code of the process, but under `nohup` not SIGHUP.

    Only the main thread may call this. `end` may do no more than a signal handler: it may put into a SimpleQueue.
    """

    def on_signal(number: int, _frame: FrameType | None) -> None:
        end(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        signal.signal(hangup, on_signal)


def await_order(orders: queue.SimpleQueue[Order]) -> Order:
    """Wait for the next order, and let signals be handled meanwhile. For the main thread."""
    while True:
        with contextlib.suppress(queue.Empty):
            return orders.get(timeout=WAKE_UP)


def leave(code: int) -> NoReturn:
    """End the process at once with this exit code.

    Leaving by `os._exit` is deliberate: searching, loading and compiling threads may be anywhere, and neither waiting
    for them nor taking the interpreter down around them ends in time.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.close()
    os._exit(code)
