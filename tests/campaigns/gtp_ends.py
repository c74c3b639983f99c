"""Ends of the real engine: every way to end it, whatever it is doing, again and again.

    python -m tests.campaigns.gtp_ends --rounds 50 [-- ARGUMENTS OF nobi gtp ...]

Each round ends 25 engines: by quit, the end of the input, SIGTERM, SIGINT and a broken pipe, each while starting,
loading, thinking, analysing and pondering. Prints the slowest end of each kind in seconds, and whatever went
wrong: an end that takes more than a second, a truncated reply, anything unexpected on stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import subprocess
import sys
import time

ENDS = ("quit", "eof", "SIGTERM", "SIGINT", "broken pipe")
STATES = ("starting", "loading", "thinking", "analysing", "pondering")
CODES = {"SIGTERM": {143}, "SIGINT": {130}, "broken pipe": {0, 1}}
LIMIT = 1.0
"""Seconds."""
HANGS = 10.0


def start(arguments: list[str], state: str) -> subprocess.Popen[bytes]:
    """An engine in that state."""
    ponder = ["--ponder", "--visits", "20"] if state == "pondering" else []
    command = [sys.executable, "-m", "gtp_engine.cli", "gtp", "--time", "60", *arguments, *ponder]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    if state == "starting":
        # Python itself needs a moment until signals reach the engine.
        time.sleep(0.2)
        return process
    ask(process, "name")
    if state == "loading":
        say(process, "boardsize 9")
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


def end(process: subprocess.Popen[bytes], how: str) -> tuple[float, list[str]]:
    """Seconds until the process was gone, and complaints."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    started = time.monotonic()
    if how == "quit":
        say(process, "quit")
    elif how == "eof":
        process.stdin.close()
    elif how == "broken pipe":
        process.stdout.close()
    else:
        process.send_signal(getattr(signal, how))
    try:
        code = process.wait(timeout=HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        return HANGS, ["hangs"]
    seconds = time.monotonic() - started
    complaints = [] if seconds <= LIMIT else [f"took {seconds:.2f} s"]
    if code not in CODES.get(how, {0}):
        complaints.append(f"exit code {code}")
    if how != "broken pipe":
        output = process.stdout.read()
        if output and not output.endswith(b"\n\n"):
            complaints.append(f"truncated reply {output[-80:]!r}")
        if how == "quit" and not output.endswith(b"= \n\n"):
            complaints.append("no reply to quit")
    errors = process.stderr.read()
    if any(not line.startswith(b"nobi: ") for line in errors.splitlines()):
        complaints.append(f"stderr {errors[-200:]!r}")
    return seconds, complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("arguments", nargs="*", help="of nobi gtp, after --")
    options = parser.parse_args()
    slowest: dict[tuple[str, str], float] = {}
    offences = 0
    for round_number in range(options.rounds):
        for state in STATES:
            for how in ENDS:
                process = start(options.arguments, state)
                try:
                    time.sleep(random.uniform(0.06, 0.6))
                    seconds, complaints = end(process, how)
                finally:
                    for stream in (process.stdin, process.stdout, process.stderr):
                        with contextlib.suppress(OSError):
                            if stream is not None:
                                stream.close()
                slowest[state, how] = max(slowest.get((state, how), 0.0), seconds)
                for complaint in complaints:
                    offences += 1
                    print(f"round {round_number}: {state}, {how}: {complaint}")
    for state in STATES:
        print(f"{state:10}", "  ".join(f"{how} {slowest[state, how]:.2f}" for how in ENDS))
    print(f"{25 * options.rounds} ends, {offences} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
