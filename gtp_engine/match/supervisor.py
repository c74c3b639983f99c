"""Runs one engine, and leaves no process of it behind: for Linux, as a process of its own between referee and engine.

    python -I -S supervisor.py REFEREE COMMAND...

An engine may start processes that leave its process group, so that no signal to the group reaches them (`setsid`). On
Linux a process can become the parent of all its orphaned descendants (prctl, PR_SET_CHILD_SUBREAPER). This one does,
and when the engine has ended, or on SIGUSR1, or when the referee is gone, it kills all of them. Then it ends as the
engine did. Bytes between engine and referee do not pass through it: the engine inherits the pipes, and they are closed
here. It imports nothing of Nobi's, to start in a few milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
KILL_SECONDS = 3.0
"""How long descendants are hunted. They may start new ones meanwhile."""
LOOK_UP_SECONDS = 1.0
"""How often this process looks whether the referee is still there."""
CANNOT_START = 127
WATCHED = {signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""An engine would inherit that."""


def main(referee: int, command: list[str]) -> int:
    """Run the command to its end, or to that of the referee, whose process has this number. Returns the command's exit
    status as os.wait gives it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    try:
        engine = os.posix_spawnp(command[0], command, os.environ, setsigmask=[], setsigdef=IGNORED_BY_PYTHON)
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        return CANNOT_START << 8
    nothing = os.open(os.devnull, os.O_RDWR)
    for pipe in (0, 1, 2):
        os.dup2(nothing, pipe)
    status: int | None = None
    while status is None and os.getppid() == referee:
        status = reap(engine)
        if status is None:
            came = signal.sigtimedwait(WATCHED, LOOK_UP_SECONDS)
            if came is not None and came.si_signo == signal.SIGUSR1:
                break
    found = kill_children(engine)
    return status if status is not None else found


def reap(engine: int) -> int | None:
    """Collect all descendants that have ended. Returns the engine's status if it is among them."""
    status = None
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == engine:
            status = how


def kill_children(engine: int) -> int:
    """Kill every descendant: children first, whose own children then become ours. Returns the engine's status."""
    status = signal.SIGKILL.value
    until = time.monotonic() + KILL_SECONDS
    while (alive := children()) and time.monotonic() < until:
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        signal.sigtimedwait({signal.SIGCHLD}, 0.02)
        how = reap(engine)
        status = how if how is not None else status
    return status


def children() -> list[int]:
    """List the processes whose parent is this one, by /proc."""
    own = os.getpid()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = file.read().rpartition(b")")[2].split()[1]  # a process's name may hold anything
            except OSError:
                continue
            if int(parent) == own:
                found.append(int(name))
    return found


def end_like(status: int) -> None:
    """End this process as another one ended: with its exit code, or by its signal."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


if __name__ == "__main__":
    end_like(main(int(sys.argv[1]), sys.argv[2:]))
