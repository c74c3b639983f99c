"""Kernels that a wheel brings along compiled, so that the first start on a machine compiles nothing.

`make wheel` puts them into the wheel (gtp_engine/tools/wheel.py), in the folder `kernels` beside this file, in an
archive whose name says what they need: a family of processors, Python's binary interface, and the versions of numba and
llvmlite. Where a process has all of that, jit.py has numba compile for this family and not for the very processor. So
all kernels of a process are for one kind of processor, whoever compiled them, and they are found by the keys that the
user's cache has. Everywhere else they are ignored, and so is an archive that is damaged or that others may have
written, and a kernel that belongs to other sources.

An archive is a tar file in xz: kernels have much in common, so together they take half the bytes that they take one by
one. It is unpacked in memory, when a process asks for the first of them.
"""

from __future__ import annotations

import functools
import importlib.machinery
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nobi_machine.cache import MAX_BYTES, entry_content, is_private, trusted_folder
from nobi_machine.files import read_owned

SHIPPED = Path(__file__).with_name("kernels")
"""The folder of all archives. Sources have none."""
SUFFIX = ".tar.xz"

_V3 = (
    *("64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2"),
    *("crc32", "cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    *("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
)
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")


@dataclass(frozen=True)
class Family:
    """Processors for which the same machine code is right and fast."""

    name: str
    processor: str
    """LLVM's name of the least of them. The levels of x86-64 are those of its psABI, section 3.1.1."""
    features: tuple[str, ...]
    """What all of them have, by LLVM's names."""

    def switches(self) -> str:
        """Return the features as LLVM and numba want to be told them."""
        return ",".join(f"+{feature}" for feature in self.features)

    def target(self) -> dict[str, str]:
        """Return the environment variables that have numba compile for them."""
        return {"NUMBA_CPU_NAME": self.processor, "NUMBA_CPU_FEATURES": self.switches()}


FAMILIES = (
    Family("x86-64-v4-vnni-tiles", "x86-64-v4", (*_V4, "avx512vnni", "amx-tile", "amx-int8", "amx-bf16")),
    Family("x86-64-v4-vnni", "x86-64-v4", (*_V4, "avx512vnni")),
    Family("x86-64-v4", "x86-64-v4", _V4),
    Family("x86-64-v3-vnni", "x86-64-v3", (*_V3, "avxvnni")),
    Family("x86-64-v3", "x86-64-v3", _V3),
)
"""A processor belongs to the first whose features it has. Features by which kernels choose instructions
(nets/native/simd/x86.py) tell families apart, so to compile for its family takes no instruction from a processor that
they name."""


def family_of(features: Mapping[str, bool]) -> Family | None:
    """Return the family of a processor, whose features are given by LLVM's names; None if it belongs to none."""
    return next((family for family in FAMILIES if all(features.get(name) for name in family.features)), None)


def python_abi() -> str:
    """Name the binary interface of this Python as its extension modules do, such as cpython-311-x86_64-linux-gnu."""
    return importlib.machinery.EXTENSION_SUFFIXES[0].strip(".").rpartition(".")[0]


def archive_name(family: Family, numba: str, llvmlite: str) -> str:
    """Name the archive of a family's kernels for this Python and these versions."""
    return f"{family.name}-{python_abi()}-numba-{numba}-llvmlite-{llvmlite}{SUFFIX}"


def write_archive(path: Path, kernels: Sequence[Path]) -> None:
    """Write an archive of some files of the cache of kernels. Raises OSError."""
    import tarfile

    with tarfile.open(path, "w:xz", preset=9) as archive:
        for kernel in kernels:
            entry = tarfile.TarInfo(kernel.name)  # without owner and time: the same kernels are the same bytes
            entry.size = kernel.stat().st_size
            with kernel.open("rb") as content:
                archive.addfile(entry, content)


@dataclass
class Archive:
    """The kernels of one archive."""

    path: Path

    @property
    def name(self) -> str:
        """What the kernels need, as `archive_name` says it, without its suffix."""
        return self.path.name.removesuffix(SUFFIX)

    def read(self, name: str, key: str) -> bytes | None:
        """Return the content of the kernel whose file in the cache would have this name and key.

        None if there is none, and if nothing in this archive is to be trusted.
        """
        try:
            return entry_content(self._entries.get(name, b""), key)
        except MemoryError:
            return None

    @functools.cached_property
    def _entries(self) -> dict[str, bytes]:
        """All files of the archive, by their names; none if it cannot be read whole."""
        import tarfile

        try:
            packed = io.BytesIO(read_owned(self.path, MAX_BYTES, is_private))
            with tarfile.open(fileobj=packed, mode="r:xz") as archive:
                return {entry.name: file.read() for entry in archive if (file := archive.extractfile(entry))}
        except Exception:  # whatever the system, tarfile or a Python without lzma find wrong
            return {}


def usable_archive(name: str) -> Archive | None:
    """Return the archive of this name, if there is one where no other user can put anything."""
    try:
        path = trusted_folder(SHIPPED) / name
    except (OSError, ValueError):
        return None
    return Archive(path) if path.is_file() else None
