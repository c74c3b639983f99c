"""What tests of networks share."""

from __future__ import annotations

from pathlib import Path

import pytest

from nets.features import Scratch, new_scratch


@pytest.fixture
def own_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of networks of the test's own; kernels are shared, since they take seconds to compile."""
    monkeypatch.setattr("nets.cache.networks_directory", lambda: tmp_path / "networks")


@pytest.fixture(scope="session")
def scratch() -> Scratch:
    """What `encode` works in; it remembers ladders from test to test, as from move to move."""
    return new_scratch()
