"""The instructions of AArch64: NEON, which all have, and `sdot` where the processor has it.

NEON adds no neighbours while it multiplies. So the weights of two inputs are told apart when they are loaded, once for
all rows, and each input is multiplied by its own (`smlal`, `smlal2`).
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils

from nets.native.simd.instructions import Instructions, Product, plain_add_shares, plain_fade, plain_high_half
from nets.native.simd.vectors import I8, I16, I32, spread

LANES = 8
"""In two registers: of so many weights of two inputs each, LLVM loads those of each input into a register."""
HALF = LANES // 2
SUMS, QUARTER = ir.VectorType(I32, LANES), ir.VectorType(I32, HALF)
BYTES = ir.VectorType(I8, 4 * HALF)


def instructions(has_dot: bool) -> Instructions:
    """Return the instructions of a processor with NEON; `has_dot` tells whether it has `sdot`, see `knows_dot`."""
    # 24 of 32 registers hold sums.
    quads = Product(_spread_quads, lambda builder, weights: weights, _add_quads) if has_dot else None
    pairs = Product(_spread_pair, _arrange_pairs, _add_pairs)
    return Instructions(
        LANES, 3, 1, True, pairs, quads, None, False, False, 0, plain_high_half, plain_fade, plain_add_shares
    )


def _picked(builder: Any, vector: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(I32, len(lanes)), lanes))


def _spread_pair(builder: Any, levels: Any) -> tuple[Any, Any]:
    """Both levels, each in all lanes of a vector."""
    both = builder.bitcast(levels, ir.VectorType(I16, 2))
    first, second = (builder.sext(_picked(builder, both, [lane] * LANES), SUMS) for lane in (0, 1))
    return first, second


def _arrange_pairs(builder: Any, weights: Any) -> tuple[Any, Any]:
    """The weights of the first inputs and those of the second ones."""
    both = builder.bitcast(weights, ir.VectorType(I16, 2 * LANES))
    first, second = (builder.sext(_picked(builder, both, list(range(at, 2 * LANES, 2))), SUMS) for at in (0, 1))
    return first, second


def _add_pairs(builder: Any, sums: Any, levels: tuple[Any, Any], weights: tuple[Any, Any]) -> Any:
    for level, weight in zip(levels, weights, strict=True):
        sums = builder.add(sums, builder.mul(level, weight))
    return sums


def _spread_quads(builder: Any, levels: Any) -> Any:
    return builder.bitcast(spread(builder, levels, QUARTER), BYTES)


def _add_quads(builder: Any, sums: Any, levels: Any, weights: Any) -> Any:
    kind = ir.FunctionType(QUARTER, [QUARTER, BYTES, BYTES])
    dot = cgutils.get_or_insert_function(builder.module, kind, "llvm.aarch64.neon.sdot.v4i32.v16i8")
    results = []
    for start in (0, HALF):
        ours = [_picked(builder, each, list(range(start, start + HALF))) for each in (sums, weights)]
        results.append(builder.call(dot, [ours[0], levels, builder.bitcast(ours[1], BYTES)]))
    return builder.shuffle_vector(*results, ir.Constant(ir.VectorType(I32, LANES), list(range(LANES))))


def knows_dot(triple: str, processor: str, features: str) -> bool:
    """Tell whether LLVM takes a processor to have `sdot`.

    LLVM finds the names of the processors that it knows, but seldom this feature, and does not tell which ones come
    with a name. So it is asked to compile what it would use `sdot` for."""
    sums = ir.Module()
    sums.triple = triple
    function = ir.Function(sums, ir.FunctionType(I32, [BYTES, BYTES]), "dot")
    builder = ir.IRBuilder(function.append_basic_block())
    wide = ir.VectorType(I32, BYTES.count)
    products = builder.mul(*(builder.sext(each, wide) for each in function.args))
    name = f"llvm.vector.reduce.add.v{wide.count}i32"
    total = cgutils.get_or_insert_function(sums, ir.FunctionType(I32, [wide]), name)
    builder.ret(builder.call(total, [products]))
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, features=features, opt=2)
    return "sdot" in machine.emit_assembly(llvm.parse_assembly(str(sums)))
