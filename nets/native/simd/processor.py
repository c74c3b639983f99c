"""The processor that numba compiles for, and which instructions the kernels use on it."""

from __future__ import annotations

import os
from functools import lru_cache

from numba.core.registry import cpu_target

from nets.native.simd import neon, x86
from nets.native.simd.instructions import Instructions

ARM = ("aarch64", "arm64", "arm64e")
"""How names of machines with 64-bit ARM processors begin, on Linux and Windows, and on macOS. Others are 32-bit, or put
the highest byte first."""


@lru_cache(maxsize=1)
def target() -> tuple[str, str, str]:
    """Return what numba compiles for, in LLVM's names: the machine (a triple), the processor, and its features."""
    triple, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return str(triple), str(processor), str(features)


@lru_cache(maxsize=1)
def features() -> frozenset[str]:
    """Return the features of the processor, by LLVM's names; on ARM they are incomplete."""
    return frozenset(name[1:] for name in target()[2].split(",") if name.startswith("+"))


def is_arm() -> bool:
    """Tell whether it is a 64-bit ARM processor."""
    return target()[0].split("-")[0] in ARM


def is_available() -> bool:
    """Tell whether kernels with vectors can be compiled here and are fast."""
    has_vectors = is_arm() or not features().isdisjoint((x86.WIDE, x86.NARROW))
    return has_vectors and os.environ.get("NUMBA_DISABLE_JIT") != "1"


@lru_cache(maxsize=1)
def instructions() -> Instructions:
    """Return the instructions that kernels use; where none is available, some that are never compiled."""
    return neon.instructions(neon.knows_dot(*target())) if is_arm() else x86.instructions(features())
