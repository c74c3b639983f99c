"""Vectors as values in kernels: sixteen numbers of 32 bits, or thirty-two of 16, added and multiplied at once.

numba has no type for vectors, and uses them only for simple loops. Here they are a type for which numba emits the
vector instructions of LLVM; LLVM splits them where the processor's vectors are narrower. Memory is addressed in bytes,
by an address and an offset.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, overload, register_model

intrinsic: Any = extending.intrinsic
"""Marks a function that emits LLVM instructions: called with types, it returns a signature and a code generator."""

I8, I16, I32, I64, F32 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
FUSED = ("contract",)
"""A multiplication and an addition may become one instruction."""
ROUNDING = 1.5 * 2.0**23
"""A small float plus this number has the nearest integer in its last bits."""
ALIGNMENT = 2
"""Bytes that LLVM may take every address to be a multiple of. Processors load what is aligned better as fast as if LLVM
had known it."""


class Vector(types.Type):
    """A type of numba's for a vector of a processor; `llvm` is its type in LLVM."""

    def __init__(self, name: str, element: Any, lanes: int) -> None:
        self.llvm = ir.VectorType(element, lanes)
        super().__init__(name=name)


INTS = Vector("i32x16", I32, 16)
SHORTS = Vector("i16x32", I16, 32)
FLOATS = Vector("f32x16", F32, 16)
VECTOR_BYTES = 64
HALF_SHORTS = ir.VectorType(I16, 16)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, kind.llvm)


def place(builder: Any, address: Any, offset: Any, kind: Any) -> Any:
    """Make a pointer to a value of LLVM's type `kind`."""
    base = builder.inttoptr(address, I8.as_pointer())
    return builder.bitcast(builder.gep(base, [offset]), kind.as_pointer())


def spread(builder: Any, value: Any, kind: Any) -> Any:
    """Make a vector of LLVM's type `kind` with `value` in all lanes."""
    none = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(none, value, I32(0))
    return builder.shuffle_vector(one, none, ir.Constant(ir.VectorType(I32, kind.count), [0] * kind.count))


def emits(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make an intrinsic with this signature of a function that is given LLVM's builder and values, and that returns the
    value of a call; None where there is none."""

    def decorate(emit: Callable[..., Any]) -> Any:
        @wraps(emit)
        def typed(_context: Any, *_types: Any) -> Any:
            def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
                result = emit(builder, *values)
                return context.get_dummy_value() if result is None else result

            return signature, generate

        return intrinsic(typed)

    return decorate


def _loader(vector: Vector) -> Any:
    def load(builder: Any, address: Any, offset: Any) -> Any:
        return builder.load(place(builder, address, offset, vector.llvm), align=ALIGNMENT)

    return emits(vector(types.int64, types.int64))(load)


load_floats, load_ints, load_shorts = _loader(FLOATS), _loader(INTS), _loader(SHORTS)


@intrinsic
def store(_context: Any, address: Any, offset: Any, vector: Any) -> Any:
    """Write a vector of any type."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        builder.store(values[2], place(builder, values[0], values[1], values[2].type), align=ALIGNMENT)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, vector), generate


def rounded(builder: Any, vector: Any) -> Any:
    """Return integers whose lower halves are the nearest integers to floats: they are the sum's last bits."""
    shifted = builder.fadd(vector, ir.Constant(FLOATS.llvm, [ROUNDING] * FLOATS.llvm.count), flags=FUSED)
    return builder.bitcast(shifted, INTS.llvm)


@emits(types.void(types.int64, types.int64, FLOATS))
def store_as_shorts(builder: Any, address: Any, offset: Any, floats: Any) -> None:
    """Write sixteen floats from -32768 to 32767, rounded, as integers of 16 bits."""
    shorts = builder.trunc(rounded(builder, floats), HALF_SHORTS)
    builder.store(shorts, place(builder, address, offset, HALF_SHORTS), align=ALIGNMENT)


@emits(FLOATS(INTS))
def to_floats(builder: Any, ints: Any) -> Any:
    """Convert sixteen integers of 32 bits to floats."""
    return builder.sitofp(ints, FLOATS.llvm)


@emits(FLOATS(types.float64))
def floats(builder: Any, value: Any) -> Any:
    """Make a vector with one float in all lanes."""
    return spread(builder, builder.fptrunc(value, F32), FLOATS.llvm)


@emits(FLOATS(types.int64, types.int64))
def load_everywhere(builder: Any, address: Any, offset: Any) -> Any:
    """Load one float from memory into all lanes."""
    return spread(builder, builder.load(place(builder, address, offset, F32), align=4), FLOATS.llvm)


@emits(types.float32(types.int64, types.int64))
def load_float(builder: Any, address: Any, offset: Any) -> Any:
    """Load one float from memory."""
    return builder.load(place(builder, address, offset, F32), align=4)


@emits(SHORTS(types.int64, SHORTS))
def times(builder: Any, factor: Any, shorts: Any) -> Any:
    """Multiply 32 integers of 16 bits by the same one, and keep the lower 16 bits."""
    return builder.mul(spread(builder, builder.trunc(factor, I16), SHORTS.llvm), shorts)


def _selecting(comparison: str) -> Any:
    def select(builder: Any, x: Any, y: Any) -> Any:
        return builder.select(builder.fcmp_ordered(comparison, x, y), x, y)

    return emits(FLOATS(FLOATS, FLOATS))(select)


larger, smaller = _selecting(">"), _selecting("<")
"""Return the larger or the smaller of two floats, lane by lane; the second where the first is not a number."""


@emits(types.float32(FLOATS))
def total(builder: Any, vector: Any) -> Any:
    """Add all lanes of a vector of floats."""
    kind = ir.FunctionType(F32, [F32, FLOATS.llvm])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.fadd.v16f32")
    return builder.call(function, [F32(0.0), vector], fastmath=("reassoc",))


def _operator(python: Any, vector: Vector, emit: Any) -> None:
    compute = emits(vector(vector, vector))(emit)

    @overload(python)
    def _of_vectors(x, y):  # numba compares this signature with the next one
        if x is vector and y is vector:
            return lambda x, y: compute(x, y)
        return None


_operator(operator.add, SHORTS, lambda builder, x, y: builder.add(x, y))
_operator(operator.sub, SHORTS, lambda builder, x, y: builder.sub(x, y))
_operator(operator.sub, INTS, lambda builder, x, y: builder.sub(x, y))
_operator(operator.add, FLOATS, lambda builder, x, y: builder.fadd(x, y, flags=FUSED))
_operator(operator.sub, FLOATS, lambda builder, x, y: builder.fsub(x, y, flags=FUSED))
_operator(operator.mul, FLOATS, lambda builder, x, y: builder.fmul(x, y, flags=FUSED))
_operator(operator.truediv, FLOATS, lambda builder, x, y: builder.fdiv(x, y))


# --- bf16 ------------------------------------------------------------------------------------------------------------
# Such numbers are the upper halves of floats of 32 bits.

HALF = 16
"""Bits of a float that bf16 lacks."""


@emits(types.void(types.int64, types.int64, FLOATS))
def store_as_bfloats(builder: Any, address: Any, offset: Any, floats: Any) -> None:
    """Write sixteen floats in bf16, rounded to the nearest, halfway to the even one. Infinities and what is not a
    number stay what they are."""
    bits = builder.bitcast(floats, INTS.llvm)
    is_odd = builder.and_(builder.lshr(bits, _constant(HALF)), _constant(1))
    rounded = builder.add(bits, builder.add(is_odd, _constant((1 << HALF - 1) - 1)))
    shorts = builder.trunc(builder.lshr(rounded, _constant(HALF)), HALF_SHORTS)
    builder.store(shorts, place(builder, address, offset, HALF_SHORTS), align=ALIGNMENT)


def _constant(value: int) -> Any:
    return ir.Constant(INTS.llvm, [value] * INTS.llvm.count)
