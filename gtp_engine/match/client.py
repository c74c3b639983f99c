"""The controller's side of GTP: it starts an engine, sends it commands, and survives everything that the engine does.

Every wait has a limit. Each thing that an engine may do wrong has an exception: it answers `?` (GtpFailure), it does
not answer in time (EngineTimeout), it ends or closes a pipe (EngineDied), or it writes something that is not GTP
(EngineGarbled): too much, an answer before its question, or answers to questions it has not read. After the last three
the process cannot be used any more.

A thread reads each pipe. What is kept of it is bounded: MAX_REPLY_BYTES that nobody has asked for yet, and as much
while a reply is read. Beyond the bound nothing is read, so that an engine that floods a pipe fills only the pipe and
then waits. Threads look twice a second whether they are still wanted, because a process that an engine left behind may
hold its pipe open for ever (where the system cannot wait for a pipe with a limit, on Windows, such a thread stays).
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from nobi_machine.files import append_regular
from nobi_machine.text import printable

QUIT_GRACE = 5.0
"""Seconds that an engine has to end after `quit`, again after SIGTERM, and again after SIGKILL."""
MAX_REPLY_BYTES = 1 << 18
"""The longest reply that is read, with what came before it: no engine may fill the referee's memory. The longest honest
ones, to `list_commands`, have some 4 kB."""
LOOK_UP_SECONDS = 0.5
"""How often a wait for a reply looks whether the process is still there, and one for a pipe whether it is wanted."""
CHUNK = 1 << 16
"""Bytes that are read at once."""
MOST_LOGGED = 1 << 23
"""Bytes of a file for stderr. When it is full, it replaces the one that was full before it: the newest are kept."""
LOG_BURST = 2 * MOST_LOGGED
"""Bytes that an engine may write to stderr as fast as it can."""
LONGEST_TAIL = 2000
"""Bytes of the newest of it that are remembered too, to show its last line."""
LOG_RATE = float(1 << 20)
"""Bytes a second that it may write beyond that; then it waits, and does not keep the disk and our processor busy."""

OWN_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""What keeps a Ctrl-C from the engine on Windows, where there are no sessions."""
SUPERVISED = sys.platform == "linux"
"""Whether a process stands between the referee and an engine that can kill all descendants of the engine."""
SUPERVISOR = Path(__file__).resolve().with_name("supervisor.py")

REPLY = re.compile(rb"^[=?]", re.MULTILINE)
LINE = re.compile(rb"\S[^\n]*")
"""A line that is not blank."""


class EngineError(Exception):
    """The engine did something after which it cannot be used any more. The text is one printable line."""


class EngineTimeout(EngineError):
    """The engine did not reply in time."""


class EngineDied(EngineError):
    """The engine's process ended, or closed its stdin or stdout."""


class EngineGarbled(EngineError):
    """The engine wrote something that is not GTP."""


class GtpFailure(Exception):
    """The engine refused a command with `? text`. The text is the engine's, as one printable line."""


def chunks_of(pipe: IO[bytes], is_wanted: Callable[[], bool]) -> Iterator[bytes]:
    """Yield what comes through a pipe until it ends, or until nobody wants it any more; then the pipe is closed.

    `is_wanted` is asked before each chunk, and again after each wait of LOOK_UP_SECONDS for one.
    """
    with contextlib.suppress(OSError, ValueError), pipe:
        poll = select.poll() if hasattr(select, "poll") and os.name == "posix" else None
        if poll is not None:
            poll.register(pipe.fileno(), select.POLLIN)
        while is_wanted():
            if poll is None or poll.poll(1000 * LOOK_UP_SECONDS):
                data = os.read(pipe.fileno(), CHUNK)
                if not data:
                    break
                yield data


class Incoming:
    """What has come through a pipe and was not taken yet: at most `most` bytes and one chunk."""

    def __init__(self, pipe: IO[bytes], most: int) -> None:
        """Read `pipe`, which this object closes, in a thread."""
        self._most = most
        self._waiting = bytearray()
        self._ended = self._closed = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read, args=(pipe,), name="gtp-reader", daemon=True).start()

    def take(self, seconds: float) -> bytes | None:
        """Take all that has come; wait up to `seconds` for something. Empty: nothing came. None: the pipe has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended, max(0.0, seconds))
            if not self._waiting and self._ended:
                return None
            taken = bytes(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
            return taken

    def close(self) -> None:
        """End the thread: nothing more is read, and the pipe is closed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _read(self, pipe: IO[bytes]) -> None:
        for data in chunks_of(pipe, self._has_room):
            with self._changed:
                self._waiting += data
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _has_room(self) -> bool:
        """Wait until more may be read, and return whether it is still wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._waiting) < self._most)
            return not self._closed


class ErrorLog:
    """What an engine writes to stderr in a match: lines are counted, and the newest bytes are kept in two files.

    `PATH` grows to MOST_LOGGED bytes and then becomes `PATH.old`. The log outlives the engine's processes.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Without a path, nothing is kept."""
        self.path = path
        self._lines = 0
        self._tail = b""
        self._size = -1
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def follow(self, pipe: IO[bytes], closed: threading.Event) -> None:
        """Keep what comes through `pipe`, in a thread that closes the pipe in the end, until `closed`."""
        self.write(b"")  # so that there is a file for every process
        self._thread = threading.Thread(target=self._read, args=(pipe, closed), name="gtp-stderr", daemon=True)
        self._thread.start()

    def lines(self, seconds: float = 0.0) -> int:
        """Count the lines so far. Waits up to `seconds` for the pipe's end, where it is known to come."""
        if self._thread is not None and seconds:
            self._thread.join(seconds)
        return self._lines

    def last_line(self) -> str:
        """Return the last line so far that is not empty, in printable characters; empty if there is none."""
        text = self._tail.decode("utf-8", "replace").strip()
        return printable(text.splitlines()[-1]) if text else ""

    def write(self, data: bytes) -> None:
        """Count and keep `data`. A file that cannot be written loses it, and nothing else happens."""
        with self._lock:
            self._lines += data.count(b"\n")
            self._tail = (self._tail + data)[-LONGEST_TAIL:]
            if self.path is not None:
                with contextlib.suppress(OSError):
                    self._keep(self.path, data)

    def _read(self, pipe: IO[bytes], closed: threading.Event) -> None:
        credit, before = float(LOG_BURST), time.monotonic()
        for data in chunks_of(pipe, lambda: not closed.is_set()):
            self.write(data)
            now = time.monotonic()
            credit, before = min(LOG_BURST, credit + LOG_RATE * (now - before)) - len(data), now
            if credit < 0:
                closed.wait(-credit / LOG_RATE)

    def _keep(self, path: Path, data: bytes) -> None:
        if self._size < 0:
            self._size = path.stat().st_size if path.exists() else 0
        if path.is_symlink():  # planted: nothing outside the match's folder is written
            return
        if self._size and self._size + len(data) > MOST_LOGGED:
            os.replace(path, path.with_name(path.name + ".old"))
            self._size = 0
        append_regular(path, data)
        self._size += len(data)


class GtpClient:
    """One engine process. Only one thread may use it at a time; `kill` is safe from any thread."""

    def __init__(self, command: Sequence[str], log: ErrorLog | None = None) -> None:
        """Start `command`. Its stderr goes to `log`, or nowhere. Raises EngineError."""
        self.command = list(command)
        self.stray_lines = 0
        """How many lines that are not blank came between replies. They are ignored."""
        self._log = log or ErrorLog()
        self._process = _start(self.command)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin = self._process.stdin
        if hasattr(os, "set_blocking"):  # on Windows since Python 3.12; before, a write may wait there
            os.set_blocking(self._stdin.fileno(), False)
        self._stdin_lock = threading.Lock()
        self._incoming = Incoming(self._process.stdout, MAX_REPLY_BYTES)
        self._unread = bytearray()
        """What was taken from `_incoming` and belongs to no reply yet."""
        self._closed = threading.Event()
        self._log.follow(self._process.stderr, self._closed)
        self._commands: frozenset[str] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended yet."""
        return self._process.poll() is None

    def send(self, command: str, seconds: float, longest: int | None = None) -> str:
        """Send a command and return the text of the reply without its status and its last blank line.

        The text may hold anything but a blank line: use `printable` to show it. `longest`: bytes of the longest reply
        that is read, MAX_REPLY_BYTES unless given. Raises GtpFailure, EngineTimeout (after `seconds`), EngineDied,
        EngineGarbled.
        """
        longest = longest or MAX_REPLY_BYTES
        deadline = time.monotonic() + seconds
        self._discard_unasked(command)
        self._write(command)
        lines: list[bytes] = []
        size = done = searched = 0
        while True:
            end = self._unread.find(b"\n", searched)
            if end < 0:
                searched = len(self._unread)
                if size + searched - done > longest:
                    raise EngineGarbled(f"endless reply to {command!r}")
                self._unread += self._wait(command, deadline, seconds)
                continue
            line = bytes(self._unread[done:end]).rstrip()
            size += end + 1 - done
            done = searched = end + 1
            if size > longest:
                raise EngineGarbled(f"endless reply to {command!r}")
            if not lines and line[:1] not in (b"=", b"?"):
                self.stray_lines += bool(line)
            elif line:
                lines.append(line)
            else:
                break
        del self._unread[:done]
        status, text = lines[0][:1], b"\n".join(lines)[1:].lstrip(b"0123456789").decode("utf-8", "replace").strip()
        if status == b"?":
            raise GtpFailure(printable(text))
        return text

    def knows(self, command: str, seconds: float) -> bool:
        """Return whether `list_commands` names `command`. An engine that refuses `list_commands` knows no command.

        The engine is asked once. Raises what `send` raises, but for GtpFailure.
        """
        if self._commands is None:
            try:
                self._commands = frozenset(self.send("list_commands", seconds).split())
            except GtpFailure:
                self._commands = frozenset()
        return command in self._commands

    def close(self) -> None:
        """End the engine: with `quit`, if that does not help with SIGTERM, and then with SIGKILL.

        Takes about five times QUIT_GRACE at most.
        """
        if self.is_running:
            with contextlib.suppress(EngineError, GtpFailure):
                self.send("quit", QUIT_GRACE)
            self._close_stdin()
            if not self._leaves():
                self._signal_group(signal.SIGTERM)
                self._leaves()
        self.kill()

    def kill(self) -> None:
        """End the process and its descendants at once. Safe to call at any time, from any thread, more than once."""
        if not self._closed.is_set():
            self._closed.set()
            if SUPERVISED and self.is_running:
                with contextlib.suppress(OSError):
                    os.kill(self._process.pid, signal.SIGUSR1)
                    os.kill(self._process.pid, signal.SIGCONT)
                self._leaves()
            self._signal_group(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._leaves()
        self._incoming.close()
        self._close_stdin()

    def stderr_is_read(self) -> None:
        """Wait, for a second at most, until the log has all that a process which has ended wrote to stderr."""
        if not self.is_running:
            self._log.lines(1.0)

    def _discard_unasked(self, command: str) -> None:
        """Throw away what came since the last reply. What looks like a reply came before its question: a lie."""
        self._unread += self._incoming.take(0.0) or b""
        if REPLY.search(self._unread):
            raise EngineGarbled(f"replied before {command!r} was asked")
        if len(self._unread) >= MAX_REPLY_BYTES:
            raise EngineGarbled(f"flooded its stdout before {command!r}")
        self.stray_lines += sum(1 for _ in LINE.finditer(self._unread))
        self._unread.clear()

    def _write(self, command: str) -> None:
        """Write a line into a pipe that is empty: an engine that has answered everything has read everything."""
        line = command.encode() + b"\n"
        try:
            with self._stdin_lock:
                written = self._stdin.write(line)
        except (OSError, ValueError) as error:
            raise self._death(command, "closed its stdin") from error
        if written != len(line):
            raise EngineGarbled("answers commands that it does not read")

    def _wait(self, command: str, deadline: float, seconds: float) -> bytes:
        """The next bytes from the engine, before the deadline."""
        while (left := deadline - time.monotonic()) > 0:
            running = self.is_running
            data = self._incoming.take(min(left, LOOK_UP_SECONDS))
            if data is None or not (data or running):
                raise self._death(command, "closed its stdout")
            if data:
                return data
        raise EngineTimeout(f"no reply to {command!r} within {seconds:.3g} s")

    def _death(self, command: str, how: str) -> EngineDied:
        self._leaves()
        code = self._process.returncode
        if code is not None:
            how = f"was killed by signal {-code}" if code < 0 else f"exited ({code})"
        return EngineDied(f"{how} at {command!r}")

    def _leaves(self) -> bool:
        try:
            self._process.wait(QUIT_GRACE)
            return True
        except subprocess.TimeoutExpired:
            return False

    def _signal_group(self, number: int) -> None:
        """Signal the process group, so that what a wrapper script started goes with it."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            elif self.is_running:
                self._process.send_signal(number)

    def _close_stdin(self) -> None:
        with self._stdin_lock, contextlib.suppress(OSError):
            self._stdin.close()


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    """Start an engine with three pipes, on Linux under supervisor.py. Raises EngineError."""
    program = printable(command[0])
    try:
        if SUPERVISED:
            if shutil.which(command[0]) is None:
                reason = "Permission denied" if os.path.exists(command[0]) else "No such file or directory"
                raise EngineError(f"cannot start {program}: {reason}")
            command = [sys.executable, "-I", "-S", str(SUPERVISOR), str(os.getpid()), *command]
        return subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that a Ctrl-C meant for us leaves it alone, and a signal gets its children
            creationflags=OWN_GROUP,
        )
    except (OSError, ValueError) as error:
        raise EngineError(f"cannot start {program}: {getattr(error, 'strerror', None) or error}") from error
