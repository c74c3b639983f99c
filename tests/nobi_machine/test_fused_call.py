"""Chains: kernels called by their addresses do what they do when they are called one by one."""

from __future__ import annotations

import gc
from typing import NamedTuple

import numpy as np
import pytest

from go_rules.random import next_u64, seed_state
from nobi_machine.fused_call import Given, KernelCall, fuse
from nobi_machine.jit import kernel
from tests.nobi_machine.test_jit import run


class Pair(NamedTuple):
    row: np.ndarray
    nothing: None
    factor: int


RECORD = np.dtype([("sum", "i8"), ("numbers", "i4", (3,))])


@kernel
def add(pair, record, nothing, plane, more):
    """Add up all that there is in `record`, and `more` to `plane`."""
    for number in record[0].numbers:
        record[0].sum += number
    for x in pair.row:
        record[0].sum += pair.factor * x
    for y in range(plane.shape[0]):
        for x in range(plane.shape[1]):
            plane[y, x] += more
    if nothing is not None:
        record[0].sum = 0


@kernel
def total(record, plane, limit):
    if record[0].sum > limit:
        raise OverflowError("too much")
    return record[0].sum, plane.sum()


def arguments() -> tuple[Pair, np.ndarray, np.ndarray]:
    record = np.zeros(1, RECORD)
    record["numbers"] = 1, 2, 3
    return Pair(np.arange(4), None, 10), record, np.zeros((3, 4))[:, ::2]


def test_a_fused_call_does_what_its_kernels_do() -> None:
    pair, record, plane = arguments()
    steps = [KernelCall(add, (pair, record, None, plane, Given(0))), KernelCall(total, (record, Given(1), 500))]
    call = fuse(steps, 0.5, plane)
    for turn in range(1, 4):
        assert call(0.5, plane) == (66 * turn, 3.0 * turn)
        assert plane.tolist() == [[0.5 * turn] * 2] * 3


def test_an_exception_ends_a_fused_call() -> None:
    pair, record, plane = arguments()
    steps = [KernelCall(total, (record, plane, 100)), KernelCall(add, (pair, record, None, plane, 1))]
    call = fuse(steps)
    call()
    call()
    with pytest.raises(OverflowError, match="too much"):
        call()
    assert record["sum"][0] == 132


def test_a_fused_call_keeps_what_its_kernels_read() -> None:
    pair, record, plane = arguments()
    call = fuse([KernelCall(add, (pair, record, None, plane, 1)), KernelCall(total, (record, plane, 10**6))])
    del pair, record, plane
    gc.collect()
    others = [np.full(12, 7) for _ in range(1000)]
    assert [call() for _ in range(100)] == [(66 * turn, 6 * turn) for turn in range(1, 101)]
    assert all((other == 7).all() for other in others)


@pytest.mark.parametrize("argument", [1.5, True, np.int32(3), "text"])
def test_what_a_fused_call_cannot_keep_is_refused(argument: object) -> None:
    pair, record, plane = arguments()
    with pytest.raises(TypeError):
        fuse([KernelCall(add, (pair, record, None, plane, argument))])


PROGRAM = """
from nobi_machine import jit
from nobi_machine.fused_call import Given, KernelCall, fuse
from go_rules.random import next_u64, seed_state
import numpy as np
call = fuse([KernelCall(next_u64, (Given(0),)), KernelCall(next_u64, (Given(0),))], seed_state(1))
print(int(call(seed_state(1))), jit.compilations)
try:
    call(np.zeros(2, np.uint32))
except TypeError:
    print("refused")
"""


def test_a_fused_call_is_kept_on_disk(tmp_path) -> None:
    state = seed_state(1)
    next_u64(state)
    second = str(int(next_u64(state)))
    assert run(tmp_path, PROGRAM) == [second, "2", "refused"]
    assert run(tmp_path, PROGRAM) == [second, "0", "refused"]
    assert run(tmp_path, PROGRAM, NUMBA_DISABLE_JIT="1")[0] == second
