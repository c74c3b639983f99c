"""What LLVM makes of the products' loops on processors other than this one: compiled to assembly, not run.

`make campaign-arm64` runs the kernels on emulated ARM processors."""

from __future__ import annotations

import re
from collections import Counter

import llvmlite.binding as llvm
import pytest
from llvmlite import ir

from nets.native.simd import neon, x86
from nets.native.simd.instructions import Instructions
from nets.native.simd.processor import is_arm, is_available
from nets.native.simd.products import emit_product, put_sums
from nets.native.simd.vectors import I64
from nobi_machine.shipped import FAMILIES

LINUX_X86, LINUX_ARM, MAC_ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "arm64-apple-darwin23.0.0"
VNNI = {x86.NARROW, x86.WIDE, x86.WIDE_BYTES}
X86 = {
    "x86-64-v3": {x86.NARROW},
    "alderlake": {x86.NARROW, x86.NARROW_BYTES},
    "x86-64-v4": {x86.NARROW, x86.WIDE},
    "icelake-server": VNNI,
    "znver4": VNNI,
}
SHIPPED = {f"family {each.name}": each for each in FAMILIES}
"""What kernels in a wheel are compiled for."""
X86 |= {name: set(family.features) for name, family in SHIPPED.items()}
HAS_DOT = {"cortex-a53": False, "cortex-a72": False, "cortex-a76": True, "neoverse-n1": True, "apple-m1": True}
EXPECTED = {
    "x86-64-v3": ("vpmaddwd", "", 8),
    "alderlake": ("vpdpwssd", "vpdpbusd", 12),
    "x86-64-v4": ("vpmaddwd", "", 24),
    "icelake-server": ("vpdpwssd", "vpdpbusd", 24),
    "znver4": ("vpdpwssd", "vpdpbusd", 24),
    "cortex-a72": ("smlal", "", 48),
    "cortex-a76": ("smlal", "sdot", 48),
    "neoverse-n1": ("smlal", "sdot", 48),
    "apple-m1": ("smlal", "sdot", 48),
}
SAME = {"x86-64-v3": "x86-64-v3", "x86-64-v3-vnni": "alderlake", "x86-64-v4": "x86-64-v4"}
SAME |= dict.fromkeys(("x86-64-v4-vnni", "x86-64-v4-vnni-tiles"), "znver4")
EXPECTED |= {f"family {name}": EXPECTED[processor] for name, processor in SAME.items()}
"""For each processor the instruction that multiplies and adds in the loops of 16-bit and of 8-bit levels, and how many
the loop has. `sdot` does what two of `smlal` and `smlal2` do."""
MULTIPLIES = ("vpmaddwd", "vpdp", "smlal", "sdot")
OTHERS = ("mov", "vmov", "ld", "vpbroadcast", "vpaddd", "lea", "add", "sub", "inc", "cmp", "uzp")
"""How other instructions begin that such a loop may have: it loads, counts, and
tells the weights of two inputs apart."""


def triple(processor: str) -> str:
    return LINUX_X86 if processor in X86 else MAC_ARM if processor.startswith("apple") else LINUX_ARM


def target(processor: str) -> dict[str, str]:
    family = SHIPPED.get(processor)
    return {"cpu": family.processor, "features": family.switches()} if family else {"cpu": processor}


def instructions_of(processor: str) -> Instructions:
    if processor in X86:
        return x86.instructions(X86[processor])
    return neon.instructions(neon.knows_dot(triple(processor), processor, ""))


@pytest.fixture(scope="module", autouse=True)
def _all_processors() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def loop(processor: str, kind: str) -> list[str]:
    """The lines of assembly between the loop's label and the jump back to it."""
    here = instructions_of(processor)
    module = ir.Module()
    module.triple = triple(processor)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 6), "product")
    builder = ir.IRBuilder(function.append_basic_block())
    emit_product(builder, function.args, here.most_rows, getattr(here, kind), here, put_sums)
    builder.ret_void()
    machine = llvm.Target.from_triple(module.triple).create_target_machine(**target(processor), opt=3)
    parsed, passes = llvm.parse_assembly(str(module)), llvm.create_pipeline_tuning_options(speed_level=3)
    builder_of_passes = llvm.create_pass_builder(machine, passes)
    builder_of_passes.getModulePassManager().run(parsed, builder_of_passes)
    lines = [line.strip() for line in machine.emit_assembly(parsed).splitlines()]
    labels = {line.partition(":")[0]: number for number, line in enumerate(lines) if re.match(r"[.L]\w+:", line)}
    for number, line in enumerate(lines):
        jump = re.fullmatch(r"(?:j\w+|b\.\w+)\s+(\S+)", line)
        if jump and labels.get(jump[1], number) < number:
            return lines[labels[jump[1]] + 1 : number]
    raise AssertionError("no loop")


@pytest.mark.skipif(llvm.llvm_version_info < (20,), reason="numba is too old: its LLVM does not know these processors")
@pytest.mark.parametrize("processor", EXPECTED)
@pytest.mark.parametrize("kind", ["pairs", "quads"])
def test_products_keep_to_registers(processor: str, kind: str) -> None:
    """One instruction for each vector of products and no more, and no sum that is kept in memory."""
    *names, count = EXPECTED[processor]
    name = str(names[kind == "quads"])
    if not name:
        assert getattr(instructions_of(processor), kind) is None
        return
    body = loop(processor, kind)
    counts = Counter(re.sub(r"^\{vex\}\s*", "", line).split()[0].split(".")[0] for line in body if line[0] != "#")
    assert any(each.startswith(name) for each in counts)
    multiplying = [each for each in counts if each.startswith(MULTIPLIES)]
    assert sum(counts.pop(each) for each in multiplying) == (count // 2 if name == "sdot" else count)
    assert all(each.startswith(OTHERS) for each in counts), counts
    assert not [line for line in body if re.search(r"\bv?st[rpu]|\[sp|%rsp.*mm|mm.*%rsp", line)], "sums in memory"


@pytest.mark.parametrize("processor", HAS_DOT)
def test_what_llvm_knows_of_arm(processor: str) -> None:
    """By its name, as on macOS, where no feature is listed."""
    assert neon.knows_dot(triple(processor), processor, "") == HAS_DOT[processor]
    assert neon.knows_dot(LINUX_ARM, "generic", "+dotprod")
    assert not neon.knows_dot(LINUX_ARM, "generic", "+neon")


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (LINUX_ARM, True),
        (MAC_ARM, True),
        ("aarch64-pc-windows-msvc", True),
        ("aarch64_be-unknown-linux-gnu", False),
        ("arm64_32-apple-watchos", False),
        ("armv7l-unknown-linux-gnueabihf", False),
        ("powerpc64le-unknown-linux-gnu", False),
    ],
)
def test_which_machines_have_arm_processors(machine: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.native.simd.processor.features", lambda: frozenset())
    monkeypatch.setattr("nets.native.simd.processor.target", lambda: (machine, "generic", ""))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    assert is_arm() == is_available() == expected
