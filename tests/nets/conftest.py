"""What tests of networks share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of networks of the test's own; kernels are shared, since they take seconds to compile."""
    monkeypatch.setattr("nets.cache.networks_directory", lambda: tmp_path / "networks")
