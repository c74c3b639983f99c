"""How much memory a search may have on this machine, so that nobody can ask for more than there is; how many cores.

Three things set limits: the machine's memory, a container's share of it (cgroups, versions 1 and 2), and the limits of
the process on its address space and its data (`ulimit -v` and `-d`). What the rest of the engine needs is taken off.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from pathlib import Path, PurePosixPath

MEGABYTE = 1 << 20
ENGINE = 400 * MEGABYTE
"""What Python, the libraries, the kernels and a network of usual size take in memory."""
ADDRESSES = 700 * MEGABYTE
"""What the same take of the address space, where much is reserved and little used."""
ADDRESSES_A_THREAD = 80 * MEGABYTE
"""A thread's stack, its part of the C library's heap, and its buffer of the linear algebra library."""
LEAST = 24 * MEGABYTE
"""A search that has so little plays all the same."""
LEAST_ADDRESSES, LEAST_ADDRESSES_OF_ANALYSIS = 560 * MEGABYTE, 680 * MEGABYTE
"""With less address space not even the libraries of `nobi gtp`, and of `nobi analysis`, can be loaded on two cores;
some of them end the process then."""
UNKNOWN = 8 << 30
"""What a machine is taken to have that does not tell."""
GROUPS, MOUNTS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
"""Where Linux says which control groups a process is in, and what they are."""


def memory_for_search() -> int:
    """Return how many bytes the trees and caches of a search may take in all, besides the rest of the engine."""
    address_space, data = process_limits()
    threads = thread_bytes() * usable_cores()
    rooms = (_machine_memory() - ENGINE, address_space - ADDRESSES - threads, data - ENGINE - threads)
    return int(max(LEAST, min(rooms)))


def thread_bytes() -> int:
    """Return what a thread takes of this process's limits on address space and data; 0 where there are none."""
    return ADDRESSES_A_THREAD if min(process_limits()) < float("inf") else 0


def most_threads() -> int:
    """Return how many threads fit into the limits on address space and data; 2^30 without any."""
    if thread_bytes() == 0:
        return 1 << 30
    address_space, data = process_limits()
    return max(0, int(min(address_space - ADDRESSES, data - ENGINE) // thread_bytes()))


def lacking_addresses(needed: int) -> str | None:
    """Return in one line that this process may not use so many bytes of address space; None where it may."""
    address_space, _data = process_limits()
    if address_space >= needed:
        return None
    megabytes = address_space / MEGABYTE
    return f"this process may use {megabytes:.0f} MB of addresses (ulimit -v); {needed >> 20} MB are needed"


@functools.cache
def _machine_memory() -> int:
    """The machine's memory, or a container's share of it, in bytes."""
    physical = _windows_memory() if sys.platform == "win32" else _posix_memory()
    return min([physical, *container_limits()])


def _posix_memory() -> int:
    with contextlib.suppress(OSError, ValueError):
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        if pages > 0 and size > 0:
            return pages * size
    return UNKNOWN


def _windows_memory() -> int:
    import ctypes

    kilobytes = ctypes.c_ulonglong(0)
    found = getattr(ctypes, "windll").kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes))  # noqa: B009
    return kilobytes.value << 10 if found and kilobytes.value else UNKNOWN


def container_limits(groups: Path = GROUPS, mounts: Path = MOUNTS) -> list[int]:
    """List the limits in bytes of the control groups that this process is in, and of those above them."""
    limits: list[int] = []
    for line in _text(groups).splitlines():
        _, controllers, name = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            top, file = mounts, "memory.max"
        elif "memory" in controllers.split(","):
            top, file = mounts / "memory", "memory.limit_in_bytes"
        else:
            continue
        own = PurePosixPath(name.lstrip("/"))
        # Parts `..` are of a process that is outside of its container's view.
        values = [_text(top / group / file).strip() for group in (own, *own.parents) if ".." not in group.parts]
        limits += [int(value) for value in values if value.isdecimal()]
    return limits


def _text(path: Path) -> str:
    """A file's text, empty where it cannot be read; groups have names like folders."""
    with contextlib.suppress(OSError):
        return os.fsdecode(path.read_bytes())
    return ""


def process_limits() -> tuple[float, float]:
    """Read the limits of this process on its address space and on its data, in bytes; infinite without any."""
    if sys.platform == "win32":
        return float("inf"), float("inf")
    import resource

    limits = (resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    space, data = (float("inf") if limit == resource.RLIM_INFINITY else float(limit) for limit in limits)
    return space, data


def usable_cores() -> int:
    """Count the cores that this process may run on, at least 1. An affinity mask, as containers set it, counts."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
