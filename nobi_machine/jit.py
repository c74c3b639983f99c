"""The only place that starts numba: `@kernel` compiles a function once on each machine.

Numba's own disk cache misses edits in other files, fails on corrupt entries and shares one index between processes.
This cache has a file for each compiled signature, with a hash in its name of all that the machine code depends on: the
sources of the kernel's module and of our modules that it imports, the signature, the processor and the versions of
Python, numba, LLVM and numpy. To load such a file is to execute it, so only entries of our own are loaded (cache.py).
What cannot be read is compiled again, and what cannot be written stays in memory. While another process compiles a
kernel, this one waits for it (locks.py). A wheel may bring kernels along that were compiled for processors like this
one (shipped.py).

A file of settings for numba in the current directory, which anybody may have put there, is kept from it.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from nobi_machine.cache import CHECKSUM_BYTES, cache_root, read_entry, write_entry
from nobi_machine.fingerprint import source_fingerprint
from nobi_machine.linking import has_entry, link, prepare
from nobi_machine.locks import acquire, release
from nobi_machine.numba_variables import check_numba_variables
from nobi_machine.shipped import Archive, Family, archive_name, family_of, python_abi, usable_archive
from nobi_machine.tile_registers import without_refused_tiles


@contextmanager
def without_numba_file() -> Iterator[None]:
    """Have numba, which is imported in the body, read no settings from the current directory.

    Where PyYAML is installed, it would take any of its settings from a file `.numba_config.yaml` there: for example
    kernels that are not optimised, which the cache would keep. Without PyYAML it only warns of the file.
    """
    warnings.filterwarnings("ignore", "A Numba config file is found")
    yaml = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment] # which means: not installed
    try:
        yield
    finally:
        del sys.modules["yaml"]
        if yaml is not None:
            sys.modules["yaml"] = yaml


check_numba_variables()
with without_numba_file():
    import llvmlite.binding
    import numba
    import numpy
    from llvmlite.binding import FeatureMap
    from numba.core import serialize
    from numba.core.caching import CompileResultCacheImpl, NullCache
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.runtime.nrt import rtsys

F = TypeVar("F", bound=Callable[..., Any])

_settings: Any = numba.config

OPTIMISATION = 2
"""How much LLVM optimises. 3, numba's default, takes 6 % longer to compile and makes nothing faster. 1 takes less,
but makes networks 6 % slower with AVX2 (docs/log/speed.md)."""
if "NUMBA_OPT" not in os.environ:
    _settings.OPT = type(_settings.OPT)(OPTIMISATION)

OBJECTS_BEFORE_A_LOOK = 100_000
"""How many new objects a process that compiles may have before it looks for garbage among them."""

UNUSED_DAYS = 30
"""A file that nobody has loaded for so long is removed."""

_pickling: Any = CompileResultCacheImpl
"""How numba turns compiled code into what can be written to a file, and back; both methods ignore their `self`."""

_thread = threading.local()
_listener: Callable[[str], None] | None = None
compilations = 0
"""How many kernel signatures this process has compiled because the cache did not have them."""


@lru_cache(maxsize=1)
def usable_features() -> FeatureMap | None:
    """Return what this process may use of the processor's features, by LLVM's names, and ask the system for what it
    gives to those who ask. None if LLVM does not know how to ask this kind of processor."""
    try:
        return without_refused_tiles(llvmlite.binding.get_host_cpu_features())
    except RuntimeError:
        return None


def shippable() -> tuple[Family, str] | None:
    """Return the family of this processor, and the name of an archive of kernels that this process could use.

    None if the processor is of no family, and if it may not be asked for all that it can.
    """
    features = usable_features()
    family = family_of(features) if features is not None and _settings.ENABLE_AVX else None
    return (family, archive_name(family, numba.__version__, llvmlite.__version__)) if family else None


def _choose_target() -> Archive | None:
    """Return the shipped kernels for this process, and have numba compile for their family.

    None if there is none, and if NUMBA_CPU_NAME or NUMBA_CPU_FEATURES say what to compile for. Without shipped kernels
    numba compiles for this processor, less the tile registers that the system does not give.
    """
    usable = usable_features()  # in any case: what runs may have been compiled for tiles by name
    if usable is None or (_settings.CPU_NAME, _settings.CPU_FEATURES) != (None, None):
        return None
    found = shippable()
    archive = usable_archive(found[1]) if found else None
    if found and archive:
        _settings.CPU_NAME, _settings.CPU_FEATURES = found[0].processor, found[0].switches()
    elif _settings.ENABLE_AVX and usable != llvmlite.binding.get_host_cpu_features():
        _settings.CPU_NAME, _settings.CPU_FEATURES = llvmlite.binding.get_host_cpu_name(), usable.flatten()
    return archive


shipped_kernels = _choose_target()
"""The shipped kernels that this process uses; None if it uses none."""


def kernel(function: F) -> F:
    """Compile `function` to run without the GIL; keep it on disk. Division by zero gives inf or nan, as in numpy.

    It may make no arrays: for those references are counted, which numba would then do wherever any array is read.
    Compiled for kernels that call it, it is compiled once more if Python calls it too.
    """
    return _compiled(function, inline="never")


def kernel_for_python(function: F) -> F:
    """Compile `function` as a kernel that Python calls as well as other kernels or fused calls (fused_call.py)."""
    return _compiled(function, inline="never", for_python=True)


def kernel_with_arrays(function: F) -> F:
    """Compile `function` as a kernel, which Python may call too, that makes arrays of its own, but returns none."""
    return _compiled(function, inline="never", for_python=True, makes_arrays=True)


def kernel_part(function: F) -> F:
    """Compile `function` as a part of each kernel that calls it, as if it were written there.

    For a function with one caller this compiles faster: numba optimises a called kernel alone, and then again with its
    caller.
    """
    return _compiled(function, inline="always")


def _compiled(function: F, inline: str, for_python: bool = False, makes_arrays: bool = False) -> F:
    def run_plainly(*arguments: Any) -> Any:
        return function(*map(_with_attributes, arguments))

    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return cast(F, run_plainly)
    options: Any = {"nogil": True, "error_model": "numpy", "inline": inline}
    options["no_cfunc_wrapper"] = True  # nothing calls kernels from C, and to compile what lets C do so costs much
    options["_nrt"] = makes_arrays
    options[NO_ENTRY] = not for_python
    dispatcher: Any = numba.njit(**options)(function)
    dispatcher._cache = KernelCache(function)
    dispatcher._cache.options = dispatcher.targetoptions
    compiled_for, add_overload = dispatcher._compile_for_args, dispatcher.add_overload

    def callable_for(*arguments: Any) -> Any:
        """What Python calls where it has not called the kernel with such arguments yet."""
        if getattr(_thread, "waits_for_none", False):
            return run_plainly
        with _with_entry(dispatcher, tuple(map(dispatcher.typeof_pyval, arguments))):
            return compiled_for(*arguments)

    def add(compiled: Any) -> None:
        """Have other kernels find the compiled code, and Python too if there is what it calls."""
        if has_entry(compiled):
            add_overload(compiled)
        else:
            dispatcher.overloads[compiled.signature.args] = compiled

    dispatcher._compile_for_args, dispatcher.add_overload = callable_for, add
    return dispatcher


NO_ENTRY = "no_cpython_wrapper"
"""numba's option that leaves out what Python calls. That takes the arguments out of Python's objects, which is often
more code than the kernel is; of five kernels Python calls one. To leave it out saves a tenth of a first start."""


@contextmanager
def _with_entry(dispatcher: Any, kinds: tuple[Any, ...]) -> Iterator[None]:
    """Have the body compile or load a kernel for arguments of these types with what Python calls."""
    with global_compiler_lock:
        if kinds in dispatcher.overloads and not has_entry(dispatcher.overloads[kinds]):
            del dispatcher.overloads[kinds]  # it was for other kernels, which keep it
        had_none = dispatcher.targetoptions[NO_ENTRY]
        dispatcher.targetoptions[NO_ENTRY] = False
        try:
            yield
        finally:
            dispatcher.targetoptions[NO_ENTRY] = had_none


def entry_point(kernel: Any, kinds: tuple[Any, ...]) -> Callable[..., Any]:
    """Compile or load a kernel, for arguments of these types of numba's. Return what Python calls."""
    with _with_entry(kernel, kinds):
        return cast(Callable[..., Any], kernel.compile(kinds))


def _with_attributes(argument: Any) -> Any:
    """An argument whose fields are attributes if it is a record or an array of records, as they are for compiled code;
    it is the same memory."""
    if type(argument) is numpy.void or (type(argument) is numpy.ndarray and argument.dtype.type is numpy.void):
        return numpy.asarray(argument).view(numpy.dtype((numpy.record, argument.dtype)))[()]
    return argument


@contextmanager
def waiting_for_no_compiler() -> Iterator[None]:
    """Run kernels that nobody has compiled yet as plain Python in this thread, while the body runs.

    A move then takes a tenth of a second, where to compile the rules takes several.
    """
    _thread.waits_for_none = True
    try:
        yield
    finally:
        _thread.waits_for_none = False


def compile_for(kernel: Any, *arguments: Any) -> None:
    """Compile or load a kernel for arguments like these, as kernels that call it do."""
    kernel.compile(tuple(map(numba.typeof, arguments)))


def on_compile(listener: Callable[[str], None] | None) -> None:
    """Call `listener(kernel name)` before each compilation from now on, or nothing if it is None."""
    global _listener
    _listener = listener


class KernelCache(NullCache):
    """The cache that a numba dispatcher asks for compiled code, and gives it to."""

    options: dict[str, Any]
    """The dispatcher's: how the kernel is compiled now."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        # Now, not at the first call: a source edited in between is not what this process compiles.
        self._fingerprint = source_fingerprint(function.__module__)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        global compilations
        rtsys.initialize(target_context)  # what compiled code needs; all that only compiling needs would take longer
        path, key = self._entry(sig, target_context)
        compiled = self._rebuilt(read_entry(path, key), target_context)
        if compiled is None and shipped_kernels is not None:
            compiled = self._rebuilt(shipped_kernels.read(path.name, key), target_context)
        if compiled is None:
            acquire(path)  # another process may have compiled it meanwhile
            compiled = self._rebuilt(read_entry(path, key), target_context)
            if compiled is not None:
                release(path)
        if compiled is not None:
            return compiled
        if compilations == 0:  # most of what compiling makes stays: to look for garbage took a twelfth of the time
            gc.set_threshold(OBJECTS_BEFORE_A_LOOK)
        compilations += 1
        if _listener is not None:
            _listener(self._name)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        path, key = self._entry(sig, data.target_context)
        try:
            linkage = link(data)
            if not data.lifted and not data.library.has_dynamic_globals:
                # Annotations tell people about types, and name folders. A third of a file would be theirs.
                reduced = _pickling.reduce(None, data._replace(type_annotation=""))
                content = serialize.dumps((*reduced, linkage))
                write_entry(path, key, content, UNUSED_DAYS)
        except Exception:  # numba's, for code that it cannot write; that stays in memory
            pass
        finally:
            release(path)

    def _rebuilt(self, content: bytes | None, target_context: Any) -> Any:
        """The compiled code that a file holds; None if it cannot be used, or lacks what Python calls and is to have
        it."""
        if content is None:
            return None
        try:
            *reduced, linkage = pickle.loads(content)
            if not (linkage.has_entry or self.options[NO_ENTRY]):
                return None
            prepare(linkage, reduced[1], target_context)
            compiled = _pickling.rebuild(None, target_context, reduced)
            if linkage.own is not None:
                linkage.own.register()
            return compiled
        except Exception:  # whatever numba or pickle find wrong with it
            return None

    def _entry(self, sig: Any, target_context: Any) -> tuple[Path, str]:
        """The file of a signature's code, and the key to it."""
        depends_on = (
            python_abi(),
            numba.__version__,
            llvmlite.__version__,
            _settings.USING_SVML,
            int(_settings.OPT),
            bool(_settings.BOUNDSCHECK),  # a debugging aid, whose kernels are slower
            numpy.__version__.partition(".")[0],  # by which numba decides what type a result has
            str(sig),
            target_context.codegen().magic_tuple(),
            self._fingerprint,
        )
        digest = hashlib.sha256(repr(depends_on).encode()).hexdigest()
        return cache_root() / "kernels" / f"{self._name}-{digest[:24]}.kernel", f"{self._name} {digest}"


def compile_again(entry: bytes) -> None:
    """Compile or load the kernel that an entry of our own was compiled from, for this process's processor."""
    _library, descriptor, _environment, signature, *_, linkage = pickle.loads(entry[CHECKSUM_BYTES:])
    kernel = getattr(importlib.import_module(descriptor.modname), descriptor.qualname)
    if linkage.has_entry:
        entry_point(kernel, signature.args)
    else:
        kernel.compile(signature.args)
