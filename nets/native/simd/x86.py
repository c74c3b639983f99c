"""The instructions of x86: AVX2 or AVX-512, and VNNI where the processor has it.

Pairs are multiplied and added by `vpmaddwd`; with VNNI LLVM makes `vpdpwssd` of it and the addition after it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from nets.native.simd.instructions import Emit, GroupProduct, Instructions, Product
from nets.native.simd.vectors import HALF_SHORTS, I8, I16, I32, INTS, SHORTS, spread

WIDE, NARROW = "avx512bw", "avx2"
"""Processor features; one of them is needed."""
WIDE_BYTES, NARROW_BYTES = "avx512vnni", "avxvnni"
"""Features for products of 8-bit levels."""
TILES = "amx-int8"
"""The feature for products of 8-bit levels in tile registers."""
LOW_TILES = "amx-bf16"
"""The feature for products of bf16 in them."""


@dataclass(frozen=True)
class _Register:
    """Instructions for registers of so many 32-bit lanes."""

    lanes: int

    def call(self, builder: Any, name: str, result: Any, *values: Any) -> Any:
        kind = ir.FunctionType(result, [value.type for value in values])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{name}"), values)

    def spread(self, builder: Any, levels: Any) -> Any:
        return spread(builder, levels, ir.VectorType(I32, self.lanes))

    def add_pairs(self, builder: Any, sums: Any, levels: Any, weights: Any) -> Any:
        shorts = ir.VectorType(I16, 2 * self.lanes)
        name = "avx512.pmaddw.d.512" if self.lanes == INTS.llvm.count else "avx2.pmadd.wd"
        factors = [builder.bitcast(each, shorts) for each in (levels, weights)]
        return builder.add(sums, self.call(builder, name, sums.type, *factors))

    def add_quads(self, builder: Any, sums: Any, levels: Any, weights: Any) -> Any:
        """The levels have no sign, the weights have one."""
        # With these types every LLVM takes it; from version 22 on it has others of its own.
        return self.call(builder, f"avx512.vpdpbusd.{32 * self.lanes}", sums.type, sums, levels, weights)

    def multiply_int8(self, builder: Any, levels: Any, weights: Any) -> Any:
        return self.call(builder, "avx2.pmadd.ub.sw", ir.VectorType(I16, 2 * self.lanes), levels, weights)

    def add_groups(self, builder: Any, sums: Any, groups: Any) -> Any:
        return self.add_pairs(builder, sums, groups, ir.Constant(groups.type, [1] * groups.type.count))


def instructions(features: Collection[str]) -> Instructions:
    """Return the instructions of a processor with these features, which have to include WIDE or NARROW."""
    if WIDE in features:
        # 24 of 32 registers hold sums.
        wide = _high_half_wide, _fade_wide, _add_shares_wide
        made = _made(_Register(16), 12, 4, False, WIDE_BYTES in features, *wide)
        has_tiles = made.quads is not None and TILES in features
        return replace(made, has_tiles=has_tiles, has_bf16_tiles=has_tiles and LOW_TILES in features)
    narrow = _high_half_narrow, _fade_narrow, _add_shares_narrow
    if NARROW_BYTES in features:
        # 12 of 16 do, the levels are in 3, and all weights pass through one: products need no register of their own.
        return _made(_Register(8), 3, 2, True, True, *narrow)
    # 8 of 16 do; with more, some sums would be kept in memory.
    return _made(_Register(8), 2, 1, False, False, *narrow)


def _made(
    of: _Register, most_rows: int, more_rows: int, levels_first: bool, has_int8: bool, *of_shorts: Emit
) -> Instructions:
    pairs = Product(of.spread, lambda builder, weights: weights, of.add_pairs)
    quads = replace(pairs, add=of.add_quads) if has_int8 else None
    # In wider vectors they were never tried.
    has_groups = not has_int8 and of.lanes < INTS.llvm.count
    groups = GroupProduct(of.spread, of.multiply_int8, of.add_groups) if has_groups else None
    return Instructions(
        of.lanes, most_rows, more_rows, levels_first, pairs, quads, groups, False, False, 128, *of_shorts
    )


def _high_half_wide(builder: Any, x: Any, y: Any) -> Any:
    # LLVM makes it of multiplications too, but not where it knows that all lanes of y are alike.
    return _Register(16).call(builder, "avx512.pmulhu.w.512", SHORTS.llvm, x, y)


def _high_half_narrow(builder: Any, x: Any, y: Any) -> Any:
    halves = zip(_halves(builder, x), _halves(builder, y), strict=True)
    return _joined(builder, [_Register(8).call(builder, "avx2.pmulhu.w", HALF_SHORTS, *half) for half in halves])


def _fade_wide(builder: Any, x: Any, y: Any) -> Any:
    return _Register(16).call(builder, "avx512.psrlv.w.512", SHORTS.llvm, x, y)


def _add_shares_wide(builder: Any, sums: Any, shares: Any) -> Any:
    return _Register(16).add_pairs(builder, sums, shares, ir.Constant(SHORTS.llvm, [1] * 32))


def _fade_narrow(builder: Any, x: Any, y: Any) -> Any:
    """Take the higher half of x * 2^(16 - y), since only lanes of 32 bits can be shifted by numbers of their own.

    The power's lower byte is number y - 9 of a table of 2^7, 2^6 and so on, its higher byte number y - 1."""
    bytes_kind, most = ir.VectorType(I8, 32), ir.Constant(HALF_SHORTS, [16] * 16)
    powers = ir.Constant(bytes_kind, [1 << 7 - bit if bit < 8 else 0 for bit in range(16)] * 2)
    lacking = ir.Constant(bytes_kind, [-9, -1] * 16)  # a place below 0 gives 0
    results = []
    for number, bits in zip(_halves(builder, x), _halves(builder, y), strict=True):
        bits = builder.select(builder.icmp_unsigned("<", bits, most), bits, most)
        both = builder.bitcast(builder.mul(bits, ir.Constant(HALF_SHORTS, [257] * 16)), bytes_kind)
        at = builder.add(both, lacking)
        power = builder.bitcast(_Register(8).call(builder, "avx2.pshuf.b", bytes_kind, powers, at), HALF_SHORTS)
        results.append(_Register(8).call(builder, "avx2.pmulhu.w", HALF_SHORTS, number, power))
    return _joined(builder, results)


def _add_shares_narrow(builder: Any, sums: Any, shares: Any) -> Any:
    parts = zip(_halves(builder, sums), _halves(builder, shares), strict=True)
    ones = ir.Constant(HALF_SHORTS, [1] * 16)
    return _joined(builder, [_Register(8).add_pairs(builder, each, ours, ones) for each, ours in parts])


def _halves(builder: Any, vector: Any) -> list[Any]:
    half = vector.type.count // 2
    lanes = [ir.Constant(ir.VectorType(I32, half), [at + lane for lane in range(half)]) for at in (0, half)]
    return [builder.shuffle_vector(vector, vector, each) for each in lanes]


def _joined(builder: Any, halves: list[Any]) -> Any:
    lanes = ir.Constant(ir.VectorType(I32, 2 * halves[0].type.count), list(range(2 * halves[0].type.count)))
    return builder.shuffle_vector(*halves, lanes)
