"""The campaigns on emulated processors notice what goes wrong there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.campaigns.kernel_outputs import differences
from tests.campaigns.x86 import HERE, failures, needed

PARTS = ("products", "genmove")
GOOD = [f"{HERE}/nobi_machine/kernels/x86-64-v4", "products: 0 kernels compiled so far", "OUTPUTS 0"]
GOOD += ["= ", "= E5", "", "= G3", "GENMOVE 0", "ENDED 0"]


def test_a_good_end() -> None:
    assert failures(GOOD, PARTS) == []
    assert failures([line for line in GOOD if "OUTPUTS" not in line], ["genmove"]) == []


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("OUTPUTS 0", "OUTPUTS 1"),
        ("GENMOVE 0", "Illegal instruction"),
        ("ENDED 0", "Kernel panic"),
        ("= G3", "? cannot play"),
        (GOOD[0], "None"),
        (GOOD[1], "products: 12 kernels compiled so far"),
    ],
)
def test_a_bad_end(good: str, bad: str) -> None:
    assert len(failures([bad if line == good else line for line in GOOD], PARTS)) == 1


def test_outputs_are_compared() -> None:
    ours = {"exact sums": np.arange(3), "lead": np.array([0.0, 10.0])}
    assert differences(ours, {"exact sums": np.arange(3), "lead": np.array([0.0, 10.1])}) == []
    assert differences(ours, {**ours, "exact sums": np.arange(1, 4)}) == ["exact sums: other integers"]
    (far,) = differences(ours, {**ours, "lead": np.array([0.0, 11.0])})
    assert far.startswith("lead: differs by up to 1")
    assert differences(ours, {"lead": ours["lead"]}) == ["exact sums: only on one of the two"]


def test_packages_come_with_all_that_they_need() -> None:
    files = [path for found in needed(["numba"]) for path in found]
    assert all(path.is_file() for path in files)
    assert {"numba", "numpy", "llvmlite"} <= {part for path in files for part in Path(path).parts}
    assert not any("numba/tests/" in path.as_posix() for path in files)
