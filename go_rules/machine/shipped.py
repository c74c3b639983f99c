"""Kernels that a wheel brings along compiled, so that the first start on a machine compiles nothing.

`make wheel` puts them into the wheel (gtp_engine/tools/wheel.py), below the folder `kernels` beside this file, in a
folder whose name says what they need: a family of processors, Python's binary interface, and the versions of numba and
llvmlite. Where a process has all of that, jit.py has numba compile for this family and not for the very processor. So
all kernels of a process are for one kind of processor, whoever compiled them, and these files are found by the keys
that the user's cache has. Everywhere else they are ignored, and so is a file that is damaged, that belongs to other
sources, or that others may have written.
"""

from __future__ import annotations

import importlib.machinery
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from go_rules.machine.cache import MAX_BYTES, entry_content
from go_rules.machine.files import read_owned
from go_rules.machine.owners import is_private, trusted_folder

SHIPPED = Path(__file__).with_name("kernels")
"""The folder of all shipped kernels. Sources have none."""

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


def folder_name(family: Family, numba: str, llvmlite: str) -> str:
    """Name the folder of a family's kernels for this Python and these versions."""
    return f"{family.name}-{python_abi()}-numba-{numba}-llvmlite-{llvmlite}"


def usable_shipped(name: str) -> Path | None:
    """Return the folder of this name among the shipped kernels, if there is one that no other user can write to."""
    try:
        return trusted_folder(SHIPPED / name)
    except (OSError, ValueError):
        return None


def read_shipped(path: Path, key: str) -> bytes | None:
    """Return the content of a shipped kernel; None if there is none under this key, or none to be trusted."""
    try:
        return entry_content(read_owned(path, MAX_BYTES, is_private), key)
    except (OSError, MemoryError):
        return None
