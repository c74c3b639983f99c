"""Compiles the kernels of some files once more, for another processor, and runs none of them.

    NUMBA_CPU_NAME=... NUMBA_CPU_FEATURES=... NOBI_CACHE_DIR=... python -m gtp_engine.tools.cross_compile KERNEL...

So a wheel has kernels for processors other than that of the machine where it is made (gtp_engine/tools/wheel.py). They
come to the cache, under the keys that such a processor will ask for. All that decides what is compiled depends on these
variables, and nothing on this machine.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from nobi_machine.jit import compiled_from


def compile_again(kernels: Sequence[Path]) -> None:
    """Compile each kernel that one of these files of the cache was compiled from."""
    for path in kernels:
        module, name, arguments = compiled_from(path.read_bytes())
        getattr(importlib.import_module(module), name).compile(arguments)


if __name__ == "__main__":
    compile_again([Path(name) for name in sys.argv[1:]])
