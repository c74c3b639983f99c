"""Runs a command and tells of every socket that it or a process of its own asks for, but for those inside the machine.

    python tests/gtp_engine/socket_guard.py REPORT command ...

The system asks this program what to do about each such call (seccomp(2), user notification; Linux 5.0). It writes a
line to the file REPORT, and refuses. The exit code is the command's, or CANNOT_GUARD where the system does not offer
this. Sockets of the family AF_UNIX reach no other machine; the C library asks its name service through one.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import select
import socket
import struct
import subprocess
import sys

CANNOT_GUARD = 77

NUMBERS = {"x86_64": (0xC000003E, 317, 41, 425), "aarch64": (0xC00000B7, 277, 198, 425)}
"""By machine: its code in linux/audit.h, and the numbers of the calls seccomp, socket and io_uring_setup."""

LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
"""Instructions of a filter (linux/filter.h): of 32 bits of struct seccomp_data."""
CALL, MACHINE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in struct seccomp_data."""
ALLOW, NOTIFY, KILL = 0x7FFF0000, 0x7FC00000, 0x80000000
NO_NEW_PRIVILEGES, SET_FILTER, NEW_LISTENER = 38, 1, 8
RECEIVE, SEND = 0xC0502100, 0xC0182101
NOTIFICATION, ANSWER = "<QIIiIQ6Q", "<QqiI"
POLL_SECONDS = 0.02


class Filter(ctypes.Structure):
    """The struct sock_fprog of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def listen() -> int | None:
    """Have this process and its children ask before they open a socket. A descriptor; None where that cannot be had."""
    if sys.platform != "linux" or platform.machine() not in NUMBERS:
        return None
    machine, seccomp, socket_call, io_uring_setup = NUMBERS[platform.machine()]
    program = b"".join(
        struct.pack("<HBBI", *instruction)
        for instruction in (
            (LOAD, 0, 0, MACHINE),
            (IF_EQUAL, 1, 0, machine),
            (RETURN, 0, 0, KILL),  # calls by the numbers of another machine
            (LOAD, 0, 0, CALL),
            (IF_EQUAL, 3, 0, io_uring_setup),
            (IF_EQUAL, 0, 3, socket_call),
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (IF_EQUAL, 1, 0, socket.AF_UNIX),
            (RETURN, 0, 0, NOTIFY),
            (RETURN, 0, 0, ALLOW),
        )
    )
    memory = ctypes.create_string_buffer(program)
    filter_ = Filter(len(program) // 8, ctypes.addressof(memory))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return None
    descriptor = library.syscall(seccomp, SET_FILTER, NEW_LISTENER, ctypes.byref(filter_))
    return descriptor if descriptor >= 0 else None


def refuse(descriptor: int) -> str:
    """Refuse one call, and say which it was."""
    import fcntl

    question = bytearray(struct.calcsize(NOTIFICATION))
    fcntl.ioctl(descriptor, RECEIVE, question)
    number, process, _, call, _, _, *arguments = struct.unpack(NOTIFICATION, question)
    with open(f"/proc/{process}/cmdline", "rb") as file:
        command = file.read().replace(b"\0", b" ").decode(errors="replace")
    fcntl.ioctl(descriptor, SEND, struct.pack(ANSWER, number, 0, -errno.EPERM, 0))
    return f"call {call} of family {arguments[0]} by {command.strip()}"


def main() -> int:
    report, command = sys.argv[1], sys.argv[2:]
    descriptor = listen()
    if descriptor is None:
        return CANNOT_GUARD
    process = subprocess.Popen(command)
    while process.poll() is None:
        if select.select([descriptor], [], [], POLL_SECONDS)[0]:
            line = refuse(descriptor)
            with open(report, "a") as file:
                file.write(line + "\n")
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


if __name__ == "__main__":
    sys.exit(main())
