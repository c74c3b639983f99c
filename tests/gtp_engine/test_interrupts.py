"""Ctrl-C while `nobi` starts: it ends without a traceback, whenever the signal comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nobi_machine.interruption import EXIT_INTERRUPTED
from tests.conftest import REPOSITORY
from tests.planted import SCRIPT
from tests.systems import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals the POSIX way")

MOMENTS = 6
"""How many moments of a start are tried."""


TELL = """
import os, sys
sys.addaudithook(lambda event, given: event == "import" and given[0] == "nobi_machine.launch" and os.write(2, b"."))
"""
"""The command tells of the first thing that it imports; before that, signals are Python's own affair."""


@pytest.mark.parametrize("arguments", [["gtp"], ["doctor"]], ids=" ".join)
def test_a_signal_while_starting_prints_nothing(arguments: list[str], tmp_path: Path) -> None:
    script = tmp_path / "nobi"
    script.write_text(TELL + SCRIPT)
    command = [sys.executable, str(script), *arguments]
    started = time.monotonic()
    subprocess.run([sys.executable, str(script), "--help"], env=environment(), capture_output=True, check=True)
    whole = time.monotonic() - started
    for moment in range(MOMENTS):
        output, code = interrupted(command, 1.2 * whole * moment / MOMENTS)
        assert "Traceback" not in output, output
        assert "KeyboardInterrupt" not in output, output
        assert code in (0, EXIT_INTERRUPTED, -signal.SIGINT), output


UNRAISABLE = """
import sys
from nobi_machine.interruption import EXIT_INTERRUPTED, end_at_once, raise_interrupts

class Deaf:
    def __del__(self):
        raise KeyboardInterrupt

end_at_once()
raise_interrupts()
try:
    Deaf()
    sys.stdin.buffer.readline()
except KeyboardInterrupt:
    sys.exit(EXIT_INTERRUPTED)
"""


def test_a_signal_that_python_would_forget_ends_a_wait_for_input() -> None:
    process = subprocess.Popen([sys.executable, "-c", UNRAISABLE], stdin=subprocess.PIPE, env=environment())
    try:
        assert process.wait(PATIENCE) == EXIT_INTERRUPTED
    finally:
        process.kill()
        process.communicate()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY)}


def interrupted(command: list[str], seconds: float) -> tuple[str, int]:
    """What a command wrote to stderr, and its exit code, after a SIGINT that many seconds after it had begun."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
    )
    assert process.stderr is not None
    assert process.stderr.read(1) == b"."
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=PATIENCE)[1]
    return errors.decode(), process.returncode
