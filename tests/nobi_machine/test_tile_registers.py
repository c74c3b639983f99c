"""Tile registers are used where the system gives them to a process, and nothing is compiled for them elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys

import llvmlite.binding
import pytest

from nobi_machine import tile_registers
from nobi_machine.shipped import FAMILIES

HAS_TILES = llvmlite.binding.get_host_cpu_features().get("amx-int8", False)
needs_tiles = pytest.mark.skipif(not HAS_TILES, reason="this processor has no tile registers")


@needs_tiles
def test_kernels_are_compiled_without_tiles_that_are_refused() -> None:
    program = (
        "from nobi_machine import tile_registers;"
        "tile_registers.may_use_tiles = lambda: {given};"
        "from nets.native.simd.processor import features; from nets.native.simd.products import HERE;"
        "print('amx-int8' in features(), HERE.has_tiles, 'avx512vnni' in features())"
    )
    variables = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CPU")}
    for given in (True, False):
        command = [sys.executable, "-c", program.format(given=given)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
        assert done.stdout.split() == [str(given), str(given), "True"]


def test_a_system_without_them_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_registers.sys, "platform", "darwin")
    assert tile_registers.may_use_tiles.__wrapped__() is False


def test_a_process_uses_tiles_only_where_it_may() -> None:
    from nets.native.simd.products import HERE

    assert not HERE.has_tiles or (HAS_TILES and tile_registers.may_use_tiles())


@needs_tiles
def test_who_names_the_processor_is_given_tiles_too() -> None:
    """So kernels for a wheel are, which run while it is made."""
    program = (
        "from nobi_machine import jit\n"
        "from nobi_machine import tile_registers\n"
        "print(tile_registers.may_use_tiles.cache_info().misses)"
    )
    family = next(each for each in FAMILIES if "amx-int8" in each.features)
    variables = {**os.environ, **family.target()}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=variables)
    assert done.stdout.split() == ["1"]
