"""Activations as the kernels compute them, all but ReLU by one formula, x * n / (n + c) with n = e^x (a * e^x + b).

ReLU is a comparison, so networks that know no other are run by kernels without the formula, which are compiled only
when a network asks for them: `curves` is then None instead of CURVES. What is cut off besides is the caller's to say.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import overload

from nets.katago.model import Activation
from nets.native.simd.vectors import FLOATS, FUSED, INTS, ROUNDING, emits, floats, larger, load_floats, smaller

KINDS = (Activation.RELU, Activation.MISH, Activation.SILU, Activation.IDENTITY)
"""The activations; kernels know each by its index here."""
RELU = KINDS.index(Activation.RELU)
CURVES = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 2.0], [0.0, 1.0, 1.0], [1.0, 2.0, 0.0]])
"""[kinds, 3] the formula's a, b and c. Without c it is x, which ReLU cuts off at 0."""
LOWEST = {Activation.RELU: 0.0, Activation.MISH: -0.30885, Activation.SILU: -0.27847, Activation.IDENTITY: -math.inf}
"""The lowest value of each activation."""

REACH = 30.0
"""For larger x, e^x no longer changes the result."""
EXPONENT_BITS = 23
POWER = (0.99992824, 0.69326094, 0.24260857, 0.05517052)
"""2^x for |x| <= 1/2, as a polynomial, to 8e-5 of it: a fraction of a level."""


@emits(FLOATS(FLOATS, FLOATS, FLOATS, FLOATS))
def gated(builder: Any, x: Any, a: Any, b: Any, c: Any) -> Any:
    """Compute the formula at the top of this module for vectors `x`, with vectors of its constants."""
    e = _exponential(builder, x)
    n = builder.fmul(e, _fused(builder, a, e, b), flags=FUSED)
    return _share(builder, x, n, c)


@emits(FLOATS(FLOATS))
def silu(builder: Any, x: Any) -> Any:
    """Compute x * e^x / (e^x + 1), the formula for SiLU without what its constants make idle."""
    return _share(builder, x, _exponential(builder, x), _constant(1.0))


def _constant(value: float) -> Any:
    return ir.Constant(FLOATS.llvm, [value] * FLOATS.llvm.count)


def _fused(builder: Any, first: Any, second: Any, third: Any) -> Any:
    return builder.fadd(builder.fmul(first, second, flags=FUSED), third, flags=FUSED)


def _exponential(builder: Any, x: Any) -> Any:
    """Emit e^x, for x cut off at REACH."""

    def bounded(value: Any, comparison: str, bound: float) -> Any:
        is_inside = builder.fcmp_ordered(comparison, value, _constant(bound))
        return builder.select(is_inside, value, _constant(bound))

    inside = bounded(bounded(x, "<", REACH), ">", -REACH)
    # e^x = 2^whole * 2^part, the first by adding to the exponent.
    shifted = _fused(builder, inside, _constant(math.log2(math.e)), _constant(ROUNDING))
    whole = builder.fsub(shifted, _constant(ROUNDING))
    part = _fused(builder, inside, _constant(math.log2(math.e)), builder.fneg(whole))
    power = _constant(POWER[-1])
    for factor in POWER[-2::-1]:
        power = _fused(builder, power, part, _constant(factor))
    exponent = builder.shl(builder.bitcast(shifted, INTS.llvm), ir.Constant(INTS.llvm, [EXPONENT_BITS] * 16))
    return builder.bitcast(builder.add(builder.bitcast(power, INTS.llvm), exponent), FLOATS.llvm)


def _share(builder: Any, x: Any, n: Any, c: Any) -> Any:
    """Emit x * n / (n + c)."""
    # An estimate that is made better once will do, instead of a division.
    share = builder.fdiv(n, builder.fadd(n, c), flags=("arcp", "afn", "reassoc", *FUSED))
    return builder.fmul(x, share, flags=FUSED)


def curve_at(curves: Any, kind: Any, per_step: Any, at: Any) -> Any:
    """Load what `activated` needs of the formula for the channels from `at` on; None if it is not used. For kernels.

    `per_step` is the address of the factors of the results."""
    raise NotImplementedError


def activated(value: Any, least: Any, most: Any, curve: Any) -> Any:
    """Apply the activation to a vector, in levels if the curve says so, and cut it off at both ends. Callable from
    kernels only."""
    raise NotImplementedError


@overload(curve_at)
def _curve_at(curves, kind, per_step, at):  # numba compares this signature with the next one
    if isinstance(curves, types.NoneType):
        return lambda curves, kind, per_step, at: None
    return lambda curves, kind, per_step, at: (
        load_floats(per_step, at),
        floats(curves[kind, 0]),
        floats(curves[kind, 1]),
        floats(curves[kind, 2]),
    )


@overload(activated)
def _activated(value, least, most, curve):  # numba compares this signature with the next one
    if isinstance(curve, types.NoneType):
        return lambda value, least, most, curve: smaller(larger(value, least), most)
    return lambda value, least, most, curve: smaller(
        larger(gated(value, curve[1], curve[2], curve[3]) * curve[0], least), most
    )
