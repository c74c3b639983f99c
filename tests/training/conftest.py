"""What all tests of training share."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.training.games import random_games, write_records


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Let PyTorch compute with one thread: tests that share the cores are faster so."""
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A file of a few short games."""
    return write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2))


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    """A small network that can teach."""
    from nets.katago.writer import encode_model
    from tests.training.networks import new_student

    path = tmp_path / "teacher.bin.gz"
    path.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    return path
