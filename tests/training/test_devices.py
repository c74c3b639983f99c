"""What a device is good at."""

# ruff: noqa: E402
from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

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
    tried: list[torch.dtype] = []

    def convolution(kind: torch.dtype) -> Callable[[], None]:
        return lambda: tried.append(kind)

    def seconds(learn: Callable[[], None]) -> float:
        learn()
        return low if len(tried) % 2 else full

    monkeypatch.setattr(devices, "multiplies_bf16", lambda: supported)
    monkeypatch.setattr(devices, "seconds_of", seconds)
    monkeypatch.setattr(devices, "trial_convolution", convolution)
    assert devices.is_faster_in_bf16.__wrapped__(CPU) is want
    assert tried == ([torch.bfloat16, torch.float32] * devices.TRIALS if supported else [])


def test_the_trial_is_a_trial() -> None:
    assert all(devices.seconds_of(devices.trial_convolution(kind)) > 0 for kind in (torch.float32, torch.bfloat16))


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
