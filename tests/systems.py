"""What differs between the systems on which the tests run."""

from __future__ import annotations

import ctypes
import os
import sys

import pytest

PATIENCE = 300.0
"""Seconds for whatever is expected to happen: the machine may be busy, and compile first."""

IS_WINDOWS = sys.platform == "win32"

needs_fifos = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs are POSIX")
needs_signals = pytest.mark.skipif(IS_WINDOWS, reason="signals are POSIX")
needs_a_pipe_that_does_not_wait = pytest.mark.skipif(
    IS_WINDOWS, reason="pipes that do not wait are others there, and Python has them from 3.12 on"
)
needs_no_launcher = pytest.mark.skipif(IS_WINDOWS, reason="what starts a Python there keeps its pipes open")


def native(message: str) -> str:
    """A message whose paths are written as on this system."""
    return message.replace("/", os.sep)


def no_program() -> str:
    """What the system says of a program that it does not find."""
    if sys.platform == "win32":  # as a statement, of which mypy always knows that it is not for here
        return ctypes.FormatError(2).strip(" .\n")
    return "No such file or directory"
