"""A GTP engine that behaves until a moment and then attacks the referee. The zoo (zoo.py) says what must become of it.

    hostile_engine.py KIND MOMENT [MARK]

MOMENT is the GTP command at whose first coming it attacks, `start` (before the first command), `other` (after its first
move, while the opponent thinks) or `between` (after a game). MARK is a word that all its processes have in their
arguments.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

HOURS = 3600.0
kind, moment = sys.argv[1:3]
mark = sys.argv[3] if len(sys.argv) > 3 else "no-mark"
moves = ["D4", "D2", "E4"]
NASTY = "\x1b[31mred\x1b]0;title\x07 \x9b2J\x7f \u202egnp.exe [bold]x[/] \u2028\r\x08"


def write(text: str | bytes, stream: int = 1) -> None:
    data = text.encode() if isinstance(text, str) else text
    while data:
        data = data[os.write(stream, data) :]


def for_ever(text: str | bytes, stream: int = 1) -> None:
    block = text.encode() if isinstance(text, str) else text
    block *= max(1, 65536 // len(block))
    while True:
        write(block, stream)


def read_for_ever() -> None:
    while os.read(0, 4096):
        pass
    time.sleep(HOURS)


def half() -> None:
    write("= D")
    time.sleep(HOURS)


def drip() -> None:
    while True:
        write("= D4          "[int(time.time() * 20) % 14])
        time.sleep(0.05)


def drip_lines() -> None:
    while True:
        write("thinking\n")
        time.sleep(0.01)


def close_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    read_for_ever()


def close_stdin() -> None:
    """Answers this question, and cannot be asked another."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    write("= pass\n\n")
    time.sleep(HOURS)


def answer_unread() -> None:
    """Answers at the pace of an honest engine, and reads nothing."""
    while True:
        write("= pass\n\n")
        time.sleep(0.02)


def leave(alone: bool) -> None:
    """A process that nobody waits for and that holds the pipes: out of the group, without environment."""
    code = "import os,sys,time; os.setsid() if sys.argv[1] == '1' else 0; os.fork() and os._exit(0); time.sleep(3600)"
    child = [sys.executable, "-I", "-S", "-c", code, str(int(alone)), mark]
    subprocess.Popen(child, env={}).wait()


def leave_and_die() -> None:
    leave(True)
    os._exit(7)


def leave_and_go_on() -> None:
    leave(True)
    leave(False)


def ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def stay() -> None:
    ignore_signals()
    time.sleep(HOURS)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(HOURS)


def stop_supervisor() -> None:
    """The process that watches this one is its parent."""
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(HOURS)


def kill_supervisor() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(HOURS)


def much_stderr() -> None:
    """More than fits any pipe, then on with the game."""
    write(b"some line of a log\n" * 100_000, 2)


def die() -> None:
    os._exit(7)


ENDINGS: dict[str, Callable[[], Any]] = {
    "lines": lambda: for_ever("some text\n"),
    "one line": lambda: for_ever("x"),
    "newlines": lambda: for_ever("\n"),
    "nuls": lambda: for_ever(b"\0"),
    "blanks": lambda: for_ever(" \t\r"),
    "answers": lambda: for_ever("= D4\n\n"),
    "long answer": lambda: (write("="), for_ever(" D4\n")),
    "endless failure": lambda: (write("? "), for_ever(NASTY.replace("\r", "") + "\n")),
    "stderr": lambda: for_ever("some text\n", 2),
    "mute": read_for_ever,
    "blind": lambda: time.sleep(HOURS),
    "unread": answer_unread,
    "half": half,
    "drip": drip,
    "drip lines": drip_lines,
    "closes stdout": close_stdout,
    "closes stdin": close_stdin,
    "dies": die,
    "leaves and dies": leave_and_die,
    "stays": stay,
    "stops": stop,
    "stops supervisor": stop_supervisor,
    "kills supervisor": kill_supervisor,
}
"""After these the engine does nothing else."""

BEFORE: dict[str, Callable[[], Any]] = {
    "leaves": leave_and_go_on,
    "much stderr": much_stderr,
    "ignores signals": ignore_signals,
    "chatter": lambda: write("some text\n\n" * 3),
}
"""What it does before it answers as usual."""

INSTEAD = {
    "refuses": f"? {NASTY}\n\n",
    "nasty": f"= {NASTY}\n\n",
    "binary": b"= \xff\xfe\x80\x9b\n\n",
    "twice": "= D4\n\n= E5\n\n",
    "empty": "=\n\n",
}
"""What it answers."""


def answer(command: str) -> str:
    if command == "genmove":
        return moves.pop(0) if moves else "pass"
    if command == "final_score":
        return "W+30"
    return {"list_commands": "name\nplay\ngenmove\nfinal_status_list", "name": "Hostile"}.get(command, "")


def attack(now: str) -> bool:
    """Whether this is the moment, and the answer has been given."""
    global moment
    if moment != now:
        return False
    moment = ""
    if kind in ENDINGS:
        ENDINGS[kind]()
    if kind in BEFORE:
        BEFORE[kind]()
        return False
    write(INSTEAD[kind])
    return True


def main() -> None:
    attack("start")
    for line in sys.stdin:
        command = line.split()[0]
        if command == "clear_board":
            moves[:] = ["D4", "D2", "E4"]
        if not attack(command):
            write(f"= {answer(command)}\n\n")
        if command == "genmove":
            attack("other")
        elif command == "final_status_list":
            attack("between")
        elif command == "quit":
            break


main()
