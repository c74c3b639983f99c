"""Guarded streams: a stdin of which only the guard reads what was written to it, a stderr that nobody has to read."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading

from nobi_machine.streams import MOST_WAITING, LossyStream

GUARDED = """
import os, subprocess, sys, threading
from nobi_machine.streams import guard_stdin
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


def test_the_oldest_of_what_nobody_reads_is_lost_and_who_writes_goes_on() -> None:
    reading, writing = os.pipe()
    stream = LossyStream(os.fdopen(writing, "w", newline=""))
    count = 2 * MOST_WAITING // 100
    for number in range(count):
        stream.write(f"{number:99}\n")
        stream.flush()
    stream.close()
    with open(reading, encoding="utf-8") as pipe:
        lines = [pipe.readline() for _ in range(MOST_WAITING // 100)]
    told = next(place for place, line in enumerate(lines) if line.startswith("nobi: "))
    before, after = ([int(line) for line in part] for part in (lines[:told], lines[told + 1 :]))
    assert before == list(range(told))
    assert after == list(range(after[0], after[0] + len(after)))
    assert lines[told] == f"nobi: {after[0] - told} lines lost here\n"
    assert after[0] > count // 3


def test_a_reader_gets_everything_in_order() -> None:
    reading, writing = os.pipe()
    lines = [f"{number}\n" for number in range(20_000)]
    read: list[str] = []
    with open(reading, newline="") as pipe:
        reader = threading.Thread(target=lambda: read.extend(pipe.readline() for _ in lines))
        reader.start()
        stream = LossyStream(os.fdopen(writing, "w", newline=""))
        for line in lines:
            print(line, end="", file=stream, flush=True)
        reader.join(60)
    assert read == lines


def test_a_stream_that_fails_stops_nobody() -> None:
    closed = io.StringIO()
    closed.close()
    stream = LossyStream(closed)
    stream.write("nothing")
    stream.close()
