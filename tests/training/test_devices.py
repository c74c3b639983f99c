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
