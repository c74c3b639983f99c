"""Several kernels called as one, with arguments that are unpacked once and not at every call.

To call a kernel from Python can take longer than what it does: numba looks at the types of all arguments and unpacks
every array, 30 to 80 us with cold caches. A fused call has the addresses of its kernels' machine code and their
arguments as numba passes them, in one piece of memory. What reads it and calls the kernels is a kernel too, compiled
for each kind of fused call. That takes little, since it knows them by their addresses only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nobi_machine.jit import entry_point, kernel, without_numba_file

with without_numba_file():
    import numba
    from llvmlite import ir
    from numba import extending, types
    from numba.core import cgutils
    from numba.extending import NativeValue, models, register_model, unbox

intrinsic: Any = extending.intrinsic
WORD = ir.IntType(64)
WORD_BYTES = 8


class Given(NamedTuple):
    """Stands for an argument that is given at each fused call: the one with this number."""

    number: int


class KernelCall(NamedTuple):
    """A kernel and its arguments: what a fused call consists of."""

    kernel: Callable[..., Any]
    arguments: tuple[Any, ...]
    """`Given`, arrays, integers, None, and tuples of these three."""
    memory: object = None
    """What has to be kept while the step may be called, besides the arguments."""


def fuse(steps: Sequence[KernelCall], *examples: Any) -> Callable[..., Any]:
    """Return a function that calls the kernels of all steps in turn and returns what the last one does.

    It takes arguments with the types of `examples`, to which `Given` refers, and does not look at their types: of
    arrays it checks no more than the size of an element. Integers that are not `Given` stay what they are. An exception
    ends the call. Kernels are compiled or loaded now if need be. Raises TypeError if a step has other arguments than
    it may have.
    """
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return lambda *given: [step.kernel(*_filled(step.arguments, given)) for step in steps][-1]
    given = tuple(numba.typeof(example) for example in examples)
    calls: list[_Call] = []
    words: list[int] = []
    for step in steps:
        kinds = tuple(numba.typeof(argument) for argument in _filled(step.arguments, examples))
        kept = [word for a in step.arguments if not isinstance(a, Given) for word in _words(a)]
        address, result = _machine_code(step.kernel, kinds)
        words += [address, *kept]
        calls.append(_Call(kinds, tuple(a.number if isinstance(a, Given) else KEPT for a in step.arguments), result))
    held = np.array(words, np.int64)
    memory = _Memory(held.ctypes.data)
    memory.held = held, tuple(steps)
    code = entry_point(_call_all, (_Fused(tuple(calls), len(words)), types.Tuple(given)))
    return lambda *given: code(memory, given)


KEPT = -1
"""The number of an argument that is not given."""


class _Memory(int):
    """The address of a fused call's memory, which is kept as long as this is."""

    held: object


class _Call(NamedTuple):
    """The types of a step."""

    arguments: tuple[Any, ...]
    numbers: tuple[int, ...]
    """For each argument its number among those given, or KEPT."""
    result: Any


class _Fused(types.Type):
    """numba's type for the memory of a fused call: for each step a word with the kernel's address, and what is KEPT."""

    def __init__(self, calls: tuple[_Call, ...], words: int) -> None:
        self.calls, self.words = calls, words
        super().__init__(name=f"Fused({calls}, {words})")


@register_model(_Fused)
class _FusedModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _Fused) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@unbox(_Fused)
def _address(_kind: Any, memory: Any, context: Any) -> Any:
    pointer = context.pyapi.long_as_voidptr(memory)
    return NativeValue(context.builder.bitcast(pointer, WORD.as_pointer()))


@kernel
def _call_all(memory, given):
    return _calls(memory, given)


@intrinsic
def _calls(_context: Any, memory: Any, given: Any) -> Any:
    """Make all calls of a fused call, and return what the last one does."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        at, conventions = 0, context.call_conv

        def next_(kind: Any) -> Any:
            """Read a value of LLVM's type `kind` from that memory."""
            nonlocal at
            place = builder.bitcast(builder.gep(values[0], [WORD(at)]), kind.as_pointer())
            at += context.get_abi_sizeof(kind) // WORD_BYTES
            return builder.load(place)

        for call in memory.calls:
            function = conventions.get_function_type(call.result, call.arguments)
            address = builder.inttoptr(next_(WORD), function.as_pointer())
            arguments = [
                next_(context.get_value_type(kind)) if number == KEPT else builder.extract_value(values[1], number)
                for kind, number in zip(call.arguments, call.numbers, strict=True)
            ]
            status, result = conventions.call_function(builder, address, call.result, call.arguments, arguments)
            with cgutils.if_unlikely(builder, status.is_error):
                conventions.return_status_propagate(builder, status)
        if at != memory.words:
            raise TypeError("this version of numba passes arguments in another way")
        return result

    return memory.calls[-1].result(memory, given), generate


def _filled(arguments: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The arguments of a step, with those that are given in their places."""
    return [given[a.number] if isinstance(a, Given) else a for a in arguments]


def _machine_code(compiled: Any, kinds: tuple[Any, ...]) -> tuple[int, Any]:
    """The address of a kernel's machine code for arguments of these types, and the type of its result."""
    compiled.compile(kinds)
    result = compiled.overloads[kinds]
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name), result.signature.return_type


def _words(value: Any) -> list[int]:
    """An argument as numba passes it; an array as if nobody owned it, so that kernels count no references to it."""
    if isinstance(value, tuple):
        return [word for part in value for word in _words(part)]
    if isinstance(value, np.ndarray):
        return [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
    if value is None:
        return [0]
    if numba.typeof(value) == types.int64:
        return [int(value)]
    raise TypeError(f"a fused call keeps no {type(value).__name__}")
