"""Ctrl-C, SIGTERM and a closed terminal: how a process ends by them, and how long work saves what it did.

Python raises KeyboardInterrupt wherever the main thread is, and prints a traceback where nothing catches it: between
imports, and while the interpreter ends. So while Nobi starts and ends, the process ends at once instead, with
EXIT_INTERRUPTED and without a traceback. Long work is told by an event, and ends after its present step: an exception
that may come anywhere comes between a thread's start and the note that it runs, too.
"""

from __future__ import annotations

import _thread
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

REQUESTS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What asks a process to end. A terminal that is closed sends SIGHUP, which Windows does not have."""


@contextmanager
def interruptible(*numbers: int) -> Iterator[threading.Event]:
    """Give an event that these signals, REQUESTS if none are named, set while the context lasts, but for those that are
    ignored, as under `nohup`. A second signal, at least SAME_REQUEST seconds later, raises KeyboardInterrupt.

    Only the main thread receives signals: in other threads the event is never set.
    """
    event = _Request()
    first = 0.0

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if not event.is_set():
            first = time.monotonic()
            event.set_by_signal()
        elif time.monotonic() - first >= SAME_REQUEST:
            raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        heard = [number for number in numbers or REQUESTS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Request(threading.Event):
    """An event that the handler of a signal may set."""

    _came = False

    def set_by_signal(self) -> None:
        """Set the event. The thread that is interrupted may be holding its lock, about to wait: so whoever waits is
        told by another thread."""
        self._came = True
        _thread.start_new_thread(self.set, ())

    def is_set(self) -> bool:
        return self._came or super().is_set()


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
