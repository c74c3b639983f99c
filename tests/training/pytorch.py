"""PyTorch, for tests that are skipped without it: by its name this module is imported before those that need it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")
