"""The only place that starts numba: `@kernel` compiles a function once on each machine.

Numba's own disk cache misses edits in other files, fails on corrupt entries and shares one index between processes.
This cache has a file for each compiled signature, with a hash in its name of all that the machine code depends on: the
sources of the kernel's module and of our modules that it imports, the signature, the processor and the versions of
Python and numba. To load such a file is to execute it, so only entries of our own are loaded (cache.py). What cannot be
read is compiled again, and what cannot be written stays in memory. While another process compiles a kernel, this one
waits for it (locks.py).
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from go_rules.machine.cache import read_entry, write_entry
from go_rules.machine.directories import cache_root
from go_rules.machine.fingerprint import source_fingerprint
from go_rules.machine.locks import acquire, release
from go_rules.machine.numba_file import without_numba_file

with without_numba_file():
    import numba
    from numba.core import serialize
    from numba.core.caching import CompileResultCacheImpl, _Cache
    from numba.core.runtime.nrt import rtsys

F = TypeVar("F", bound=Callable[..., Any])

UNUSED_DAYS = 30
"""A file that nobody has loaded for so long is removed."""

_pickling: Any = CompileResultCacheImpl
"""How numba turns compiled code into what can be written to a file, and back; both methods ignore their `self`."""

_listener: Callable[[str], None] | None = None
compilations = 0
"""How many kernel signatures this process has compiled because the cache did not have them."""


def kernel(function: F) -> F:
    """Compile `function` to run without the GIL; keep it on disk. Division by zero gives inf or nan, as in numpy."""
    return _compiled(function, inline="never")


def kernel_part(function: F) -> F:
    """Compile `function` as a part of each kernel that calls it, as if it were written there.

    For a function with one caller this compiles faster: numba optimises a called kernel alone, and then again with its
    caller.
    """
    return _compiled(function, inline="always")


def _compiled(function: F, inline: str) -> F:
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return function
    # Nothing calls kernels from C, and wrappers for that are a good part of what compiling costs.
    options: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "inline": inline}
    dispatcher: Any = numba.njit(**options)(function)
    dispatcher._cache = KernelCache(function)
    return dispatcher


def specialised(compiled: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Return a kernel's machine code for arguments of the types of these, compiled or loaded if need be.

    A kernel looks at the types of all its arguments at every call, which takes longer than many kernels do, and longest
    with records, tuples and cold caches: 17 to 30 us of 50 to 80 us are left without it. The code that is returned does
    not look. It must be given arguments of these very types; of arrays it checks no more than the size of an element.
    """
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return compiled
    dispatcher: Any = compiled
    code: Callable[..., Any] = dispatcher.compile(tuple(numba.typeof(argument) for argument in arguments))
    return code


def on_compile(listener: Callable[[str], None] | None) -> None:
    """Call `listener(kernel name)` before each compilation from now on, or nothing if it is None."""
    global _listener
    _listener = listener


def cache_directory() -> Path:
    """Return the directory of the compiled kernels."""
    return cache_root() / "kernels"


class KernelCache(_Cache):
    """The cache that a numba dispatcher asks for compiled code, and gives it to."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        # Now, not at the first call: a source edited in between is not what this process compiles.
        self._fingerprint = source_fingerprint(function.__module__)

    @property
    def cache_path(self) -> str:
        return str(cache_directory())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        global compilations
        rtsys.initialize(target_context)  # what compiled code needs; all that only compiling needs would take longer
        path, key = self._entry(sig, target_context)
        compiled = _load(path, key, target_context)
        if compiled is None:
            acquire(path)
            compiled = _load(path, key, target_context)  # another process may have compiled it meanwhile
            if compiled is not None:
                release(path)
        if compiled is not None:
            return compiled
        compilations += 1
        if _listener is not None:
            _listener(self._name)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        path, key = self._entry(sig, data.target_context)
        try:
            if not data.lifted and not data.library.has_dynamic_globals:
                write_entry(path, key, serialize.dumps(_pickling.reduce(None, data)), UNUSED_DAYS)
        except Exception:  # numba's, for code that it cannot write; that stays in memory
            pass
        finally:
            release(path)

    def enable(self) -> None:
        pass

    def disable(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def _entry(self, sig: Any, target_context: Any) -> tuple[Path, str]:
        """The file of a signature's code, and the key to it."""
        depends_on = (
            sys.version,
            numba.__version__,
            str(sig),
            target_context.codegen().magic_tuple(),
            self._fingerprint,
        )
        digest = hashlib.sha256(repr(depends_on).encode()).hexdigest()
        return cache_directory() / f"{self._name}-{digest[:24]}.kernel", f"{self._name} {digest}"


def _load(path: Path, key: str, target_context: Any) -> Any:
    """The compiled code that a file holds; None if it cannot be used."""
    content = read_entry(path, key)
    if content is None:
        return None
    try:
        return _pickling.rebuild(None, target_context, pickle.loads(content))
    except Exception:  # whatever numba or pickle find wrong with it
        return None
