"""Ends of the real engine: every way to end it, whatever it is doing, again and again.

    python -m tests.campaigns.gtp_ends --rounds 50 [--limit 1.0] [-- ARGUMENTS OF nobi gtp ...]

Each round ends 56 engines: by quit, the end of the input, SIGTERM, SIGINT, SIGHUP, SIGKILL, a broken pipe and the
death of the controller, each while starting, loading, compiling, idle, thinking, analysing and pondering. Prints the
slowest end of each kind in seconds, and whatever went wrong: an end that takes longer than the limit, a truncated
reply, anything unexpected on stderr, and a process that is left behind.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import REPOSITORY

ENDS = ("quit", "eof", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL", "broken pipe", "controller's death")
STATES = ("starting", "loading", "compiling", "idle", "thinking", "analysing", "pondering")
CODES = {
    "SIGTERM": {143},
    "SIGINT": {130},
    "SIGHUP": {129},
    "SIGKILL": {-9},
    "broken pipe": {0, 1},
    "controller's death": {0, 1},
}
BEFORE_THE_HANDLERS = {-1, -15}
"""Exit codes of an engine that a signal met before it could handle one."""
LIMIT = 1.0
"""Seconds."""
HANGS = 20.0
LEFT_BEHIND = 3.0
"""Seconds after which a process of the engine's that still runs is an orphan."""
MARK = "NOBI_ENDS_MARK"
"""The environment variable by which the processes of one engine are found."""


def start(arguments: list[str], state: str, mark: str, cache: Path) -> subprocess.Popen[bytes]:
    """An engine in that state. `cache` is an empty folder, for an engine that has to compile."""
    ponder = ["--ponder", "--visits", "20"] if state == "pondering" else []
    command = [sys.executable, "-m", "gtp_engine.cli", "gtp", "--time", "60", *arguments, *ponder]
    environment = {**os.environ, MARK: mark}
    if state == "compiling":
        environment["NOBI_CACHE_DIR"] = str(cache)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=REPOSITORY,
        env=environment,
    )
    if state == "starting":
        # Python itself needs a moment until signals reach the engine.
        time.sleep(0.2)
        return process
    ask(process, "name")
    if state in ("loading", "compiling"):
        say(process, "boardsize 9")
        if state == "compiling":
            # The second process is under way after some seconds.
            time.sleep(random.uniform(0, 8))
    else:
        ask(process, "boardsize 9")
    if state == "thinking":
        say(process, "genmove b")
    elif state == "analysing":
        say(process, "kata-analyze 10")
    elif state == "pondering":
        ask(process, "genmove b")
    return process


def say(process: subprocess.Popen[bytes], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line.encode() + b"\n")


def ask(process: subprocess.Popen[bytes], line: str) -> None:
    say(process, line)
    assert process.stdout is not None
    while process.stdout.readline() not in (b"\n", b""):
        pass


def end(process: subprocess.Popen[bytes], state: str, how: str, limit: float) -> tuple[float, list[str]]:
    """Seconds until the process was gone, and complaints."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    if process.poll() is not None:
        return 0.0, [f"ended by itself with {process.returncode}: {process.stderr.read()[-300:]!r}"]
    started = time.monotonic()
    if how == "quit":
        say(process, "quit")
    elif how == "eof":
        process.stdin.close()
    elif how == "broken pipe":
        process.stdout.close()
    elif how == "controller's death":
        process.stdout.close()
        process.stdin.close()
    else:
        process.send_signal(getattr(signal, how))
    try:
        code = process.wait(timeout=HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        return HANGS, ["hangs"]
    seconds = time.monotonic() - started
    complaints = [] if seconds <= limit else [f"took {seconds:.2f} s"]
    if code not in CODES.get(how, {0}) and not (state == "starting" and code in BEFORE_THE_HANDLERS):
        complaints.append(f"exit code {code}")
    if how not in ("broken pipe", "controller's death", "SIGKILL"):
        output = process.stdout.read()
        if output and not output.endswith(b"\n\n"):
            complaints.append(f"truncated reply {output[-80:]!r}")
        if how == "quit" and not output.endswith(b"= \n\n"):
            complaints.append("no reply to quit")
    errors = process.stderr.read()
    if any(not line.startswith(b"nobi: ") for line in errors.splitlines()):
        complaints.append(f"stderr {errors[-200:]!r}")
    return seconds, complaints


def processes(mark: str) -> list[str]:
    """The command lines of all processes that run with this mark, on systems with /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


def orphans(mark: str) -> list[str]:
    """What still runs some seconds after the engine has ended."""
    deadline = time.monotonic() + LEFT_BEHIND
    while (left := processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [f"left behind: {command}" for command in left]


@contextlib.contextmanager
def closing(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()


def end_one(arguments: list[str], state: str, how: str, limit: float) -> tuple[float, list[str]]:
    """Seconds that the end of one engine took, and complaints."""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        process = start(arguments, state, mark, Path(cache))
        with closing(process):
            time.sleep(random.uniform(0.06, 0.6))
            seconds, complaints = end(process, state, how, limit)
        return seconds, complaints + orphans(mark)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds; more for a busy machine")
    parser.add_argument("--states", nargs="+", choices=STATES, default=STATES)
    parser.add_argument("arguments", nargs="*", help="of nobi gtp, after --")
    options = parser.parse_args()
    # A script's background jobs ignore SIGINT, those of nohup SIGHUP, and so would their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    taken: dict[tuple[str, str], list[float]] = {}
    offences = 0
    for round_number in range(options.rounds):
        for state in options.states:
            for how in ENDS:
                seconds, complaints = end_one(options.arguments, state, how, options.limit)
                taken.setdefault((state, how), []).append(seconds)
                for complaint in complaints:
                    offences += 1
                    print(f"round {round_number}: {state}, {how}: {complaint}", flush=True)
    for state in options.states:
        print(f"{state:10}", "  ".join(f"{how} {max(taken[state, how]):.2f}" for how in ENDS))
    every = sorted(seconds for times in taken.values() for seconds in times)
    print(
        f"{len(every)} ends, {offences} offences; median {every[len(every) // 2]:.2f} s, slowest {every[-1]:.2f} s, "
        f"{sum(seconds > LIMIT for seconds in every)} longer than {LIMIT:g} s"
    )
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
