"""The error of training: what its user can mend."""

from __future__ import annotations


class TrainingError(Exception):
    """A run that cannot start or go on. The text is one line, fit for a user."""
