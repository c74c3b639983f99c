"""What tests of networks share."""

from __future__ import annotations

from pathlib import Path

import pytest

from nets.features import Scratch, new_scratch
from tests.nets.random_networks import content_of


@pytest.fixture
def own_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of networks of the test's own; kernels are shared, since they take seconds to compile."""
    monkeypatch.setattr("nets.cache.networks_directory", lambda: tmp_path / "networks")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and of what it starts."""
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A small network's file."""
    path = tmp_path / "network.bin.gz"
    path.write_bytes(content_of(8, [{"kind": "gpool_block"}]))
    return path


@pytest.fixture(scope="session")
def scratch() -> Scratch:
    """What `encode` works in; it remembers ladders from test to test, as from move to move."""
    return new_scratch()
