"""Kernels of the rules and the search that check all bounds, from a first start on; more by make campaign-kernels."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY


@pytest.mark.slow
def test_no_kernel_leaves_its_arrays_or_reads_what_nobody_wrote() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.campaigns.kernels", "searches", "--short"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1:] == ["0 failures"], done.stdout + done.stderr
