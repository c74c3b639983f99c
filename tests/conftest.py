"""What holds for every test: where reference data lies, that Ctrl-C is heard, and that nothing depends on chance."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as for the command `nobi` (gtp_engine/cli.py)
signal.signal(signal.SIGINT, signal.default_int_handler)  # which scripts' background jobs ignore, and what they start
settings.register_profile("nobi", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("nobi")

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
