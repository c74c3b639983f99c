"""What all tests of training share."""

from __future__ import annotations

import importlib.util

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Let PyTorch compute with one thread: tests that share the cores are faster so."""
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)
