"""Fixtures for every test: where reference data lies, and a kernel cache of the checkout's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as for the command `nobi` (gtp_engine/cli.py)

REPOSITORY = Path(__file__).resolve().parents[1]
SMALL_NETWORK = REPOSITORY / "tests" / "nets" / "golden_rows" / "convolutions.bin.gz"
"""A network with random weights, for tests in which any will do; it is quicker than the embedded one."""


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """A file of the reference data folder beside the checkout; the test is skipped where it is missing."""

    def find(name: str) -> Path:
        path = REPOSITORY.parent / "shared" / name
        if not path.exists():
            pytest.skip(f"reference data {name} is not beside this checkout")
        return path

    return find
