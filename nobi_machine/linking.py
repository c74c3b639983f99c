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

LARGE = 100
"""A kernel is large from so many of LLVM's instructions, twice as many as LLVM puts into a caller."""


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
        if self.name in _called:
            return
        importlib.import_module(self.module)
        kernel = self.dispatcher()
        kernel.compile(self.arguments)
        compiled = kernel.overloads[self.arguments]
        name = compiled.fndesc.llvm_func_name
        if name != self.name:
            llvmlite.binding.add_symbol(self.name, compiled.library.get_pointer_to_function(name))
        _called[self.name] = self


_called: dict[str, KernelSymbol] = {}
"""The large kernels that code of this process may call, by their names."""


def call_if_large(compiled: Any) -> None:
    """Have kernels that call this one, if it is large, not contain it."""
    described, library = compiled.fndesc, compiled.library
    symbol = KernelSymbol(described.llvm_func_name, described.modname, described.qualname, compiled.signature.args)
    blocks = library.get_function(symbol.name).blocks
    instructions = itertools.chain.from_iterable(block.instructions for block in blocks)
    is_large = next(itertools.islice(instructions, LARGE, None), None) is not None
    if is_large and symbol.dispatcher() is not None:
        library._shared_module = _nothing()
        _called[symbol.name] = symbol


def called_by(compiled: Any) -> tuple[KernelSymbol, ...]:
    """Return the large kernels that a kernel's code calls."""
    functions = compiled.library._final_module.functions
    return tuple(_called[each.name] for each in functions if each.is_declaration and each.name in _called)


def declare(described: Any, target_context: Any) -> None:
    """Tell numba which functions the code has that it is about to load: it would ask a large kernel's callers' part."""
    names = described.llvm_func_name, described.llvm_cpython_wrapper_name
    target_context.codegen()._engine._defined_symbols.update(names)


@functools.cache
def _nothing() -> Any:
    """LLVM's module of no code."""
    return llvmlite.binding.parse_assembly("")
