"""Stdin, stdout and stderr of a process that was started without some of them (`nobi gtp <&-`)."""

from __future__ import annotations

import contextlib
import io
import os
import sys


def occupy_missing() -> None:
    """Put something in the place of a standard stream that is closed: whatever is opened next would become it.

    Reading from the stdin and writing to the stdout that are put there fail, so that whoever needs them says so.
    What is written to the stderr is lost.
    """
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDWR)):
        try:
            os.fstat(descriptor)
        except OSError:
            _occupy(descriptor, flags)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - it is open as long as the process lives
    if sys.stderr is None:
        sys.stderr = open(2, "w", errors="replace", closefd=False)  # noqa: SIM115


def write_utf8() -> None:
    """Write stdout and stderr in UTF-8 on Windows too, where Python would take another encoding for files and pipes.

    What `nobi config` writes to a file is read as UTF-8, and what programs read from our stderr too.
    """
    if sys.platform == "win32":
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")


def _occupy(descriptor: int, flags: int) -> None:
    opened = os.open(os.devnull, flags)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)


def flush_stdout() -> None:
    """Flush stdout while a failure can still be reported. At exit Python would print a traceback of its own."""
    with contextlib.suppress(ValueError, AttributeError):
        sys.stdout.flush()


def silence_broken_stdout() -> None:
    """Send stdout nowhere if it cannot be written to: Python's flush at exit then does no harm."""
    try:
        flush_stdout()
    except OSError:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
