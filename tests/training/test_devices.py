"""What a device is good at."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tests.training.pytorch import torch
from training import devices

CPU = torch.device("cpu")


@pytest.mark.parametrize(("supported", "low", "full", "want"), [
    (True, 1.0, 2.0, True),
    (True, 2.0, 1.0, False),
    (False, 1.0, 2.0, False),
])  # fmt: skip
def test_bf16_is_taken_where_it_is_faster(
    monkeypatch: pytest.MonkeyPatch, supported: bool, low: float, full: float, want: bool
) -> None:
    times = itertools.accumulate(itertools.cycle((0.0, low, 0.0, full)))
    monkeypatch.setattr(devices.time, "perf_counter", lambda: next(times))
    monkeypatch.setattr(devices, "multiplies_bf16", lambda: supported)
    assert devices.is_faster_in_bf16.__wrapped__(CPU) is want


@pytest.mark.parametrize("fails", [True, False])
def test_what_cannot_be_compiled_runs_without(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fails: bool
) -> None:
    calls: list[str] = []

    def compile(function: Callable[..., object], **_options: object) -> Callable[..., object]:
        def compiled(*inputs: object) -> object:
            calls.append("compiled")
            if fails:
                raise RuntimeError("no compiler here\nand more")
            return function(*inputs)

        return compiled

    monkeypatch.setattr(torch, "compile", compile)
    module = torch.nn.Linear(2, 1)
    compilation = devices.Compilation([module])
    for _ in range(2):
        assert compilation.run(lambda: module(torch.ones(1, 2))).shape == (1, 1)
    assert len(calls) == (1 if fails else 2)
    told = capsys.readouterr().err
    assert told.count("without compiled code: no compiler here") == (1 if fails else 0)


def test_full_memory_is_no_fault_of_a_compiler() -> None:
    compilation = devices.Compilation([torch.nn.Linear(2, 1)])

    def work() -> None:
        raise torch.cuda.OutOfMemoryError

    with pytest.raises(torch.cuda.OutOfMemoryError):
        compilation.run(work)
