"""Ctrl-C and SIGTERM: how a process ends by them, and how long work saves what it did.

Python raises KeyboardInterrupt wherever the main thread is, and prints a traceback where nothing catches it: between
imports, and while the interpreter ends. So while Nobi starts and ends, the process ends at once instead, with
EXIT_INTERRUPTED and without a traceback. Long work ends after its present step.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


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


EXIT_INTERRUPTED = 130


def end_at_once() -> None:
    """Have SIGINT end the process at once from now on, unless it is ignored, as in the background jobs of a script.

    Only the main thread may call this.
    """
    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, _end)
    sys.unraisablehook = _on_unraisable


def raise_interrupts() -> None:
    """Have SIGINT raise KeyboardInterrupt from now on, where `end_at_once` had it end the process."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(EXIT_INTERRUPTED)


def _on_unraisable(unraisable: UnraisableHookArgs) -> None:
    """Raise a KeyboardInterrupt again a little later, where Python itself would print and forget it: in `__del__`, and
    in what importing calls."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        threading.Timer(0.01, _interrupt_main_thread).start()
    else:
        sys.__unraisablehook__(unraisable)


def _interrupt_main_thread() -> None:
    """Send SIGINT to the main thread, so that it also ends a wait there for input."""
    if sys.platform == "win32":
        signal.raise_signal(signal.SIGINT)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
