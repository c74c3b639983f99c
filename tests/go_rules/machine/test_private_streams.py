"""A process whose stdin is guarded: only the guard reads what was written to it."""

from __future__ import annotations

import os
import subprocess
import sys

GUARDED = """
import os, subprocess, sys, threading
from go_rules.machine.private_streams import guard_stdin
stdin = guard_stdin()
reader = threading.Thread(target=lambda: print(os.read(stdin, 100)))
reader.start()
ask = [sys.executable, "-c", "import os, sys; os.fstat(0); print(sys.stdin.read())"]
print(repr(sys.stdin.read()), subprocess.run(ask, capture_output=True).stdout.split(), flush=True)
reader.join()
"""


def test_others_find_an_empty_stdin_and_do_not_wait() -> None:
    """On Windows whoever asks about a pipe that somebody reads waits for what is read."""
    process = subprocess.Popen(
        [sys.executable, "-c", GUARDED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path) or os.curdir},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline().rstrip() == b"'' []"
    process.stdin.write(b"ours\n")
    process.stdin.flush()
    assert process.stdout.readline().rstrip() == b"b'ours\\n'"
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()
