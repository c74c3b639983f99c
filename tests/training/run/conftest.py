"""What several tests of runs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nets.random_networks import RandomNetwork


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    """A network with a matrix that is worth rounding."""
    network = RandomNetwork(8, channels=64)
    network.write([{"kind": "ordinary_block"}])
    path = tmp_path / "teacher.bin.gz"
    path.write_bytes(network.content)
    return path
