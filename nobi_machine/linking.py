"""Large kernels are compiled once and then called; only small ones become part of the kernels that call them.

To compile a kernel, numba gives LLVM the code of all kernels below it. They would be optimised and written again with
each one above them, although LLVM puts only small ones into the code of their callers: a first start took half as long
again. So callers of a large kernel get no more of it than its name. Where their code is loaded in another process, that
name is made known first (`KernelSymbol.provide`).
"""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
from typing import Any, NamedTuple

import llvmlite.binding

LARGE = 300
"""A kernel is large from so many of LLVM's instructions. From 100 the tree alone was 3 % slower, and a first
start took a second less of processor time."""


class KernelSymbol(NamedTuple):
    """What the code of other kernels calls a large kernel."""

    name: str
    """Of its machine code, by numba; it differs from process to process."""
    module: str
    function: str
    arguments: tuple[Any, ...]
    """numba's types."""

    def dispatcher(self) -> Any:
        """Return numba's dispatcher of the kernel; None if it is not an attribute of its module."""
        return getattr(sys.modules.get(self.module), self.function, None)

    def provide(self) -> None:
        """Have the linker know the kernel by this name, before it is given code that calls it. Compile or load it."""
        if self.name not in _called:
            importlib.import_module(self.module)
            kernel = self.dispatcher()
            kernel.compile(self.arguments)
            compiled = kernel.overloads[self.arguments]
            name = compiled.fndesc.llvm_func_name
            if name != self.name:
                llvmlite.binding.add_symbol(self.name, compiled.library.get_pointer_to_function(name))
        self.register()

    def register(self) -> None:
        """Have code of this process call the kernel by this name. Raises LookupError if another one is called so."""
        if _called.setdefault(self.name, self) != self:
            raise LookupError(self.name)


_called: dict[str, KernelSymbol] = {}
"""The large kernels that code of this process may call, by their names."""


class Linkage(NamedTuple):
    """What has to be known of a kernel's code to load it."""

    own: KernelSymbol | None
    """What other kernels call it, if it is large."""
    called: tuple[KernelSymbol, ...]
    """The large kernels that it calls."""
    has_entry: bool
    """Whether it has what Python calls."""


def link(compiled: Any) -> Linkage:
    """Have kernels that call this one, which was just compiled, not contain it if it is large.

    Raises LookupError if its code calls kernels that another process could not find.
    """
    described, library = compiled.fndesc, compiled.library
    own = KernelSymbol(described.llvm_func_name, described.modname, described.qualname, compiled.signature.args)
    is_large = own.dispatcher() is not None and _is_long(library.get_function(own.name))
    if is_large:
        own.register()
        library._shared_module = _nothing()
    functions = library._final_module.functions
    missing = [each.name for each in functions if each.is_declaration and each.name.startswith(MANGLED)]
    called = tuple(_called[name] for name in missing)
    return Linkage(own if is_large else None, called, has_entry(compiled))


MANGLED = "_ZN"
"""The beginning of numba's names of functions that it compiled."""


def _is_long(function: Any) -> bool:
    instructions = itertools.chain.from_iterable(block.instructions for block in function.blocks)
    return next(itertools.islice(instructions, LARGE, None), None) is not None


def prepare(linkage: Linkage, described: Any, target_context: Any) -> None:
    """Have the linker and numba know what they need before they load a kernel's code, which numba has `described`."""
    for symbol in linkage.called:
        symbol.provide()
    # numba would look for these names in what the kernel's callers contain of it.
    names = [described.llvm_func_name] + [described.llvm_cpython_wrapper_name] * linkage.has_entry
    target_context.codegen()._engine._defined_symbols.update(names)


def has_entry(compiled: Any) -> bool:
    """Return whether compiled code has what Python calls."""
    return bool(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cpython_wrapper_name))


@functools.cache
def _nothing() -> Any:
    """LLVM's module of no code."""
    return llvmlite.binding.parse_assembly("")
