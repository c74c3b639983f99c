"""What can go wrong in training through no fault of the program."""

from __future__ import annotations


class TrainingError(Exception):
    """A run that cannot start or go on. The text is one line, fit for a user."""


def require_torch() -> None:
    """Raise TrainingError where PyTorch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise TrainingError("training needs PyTorch: pip install torch, or pipx inject nobi torch") from None
