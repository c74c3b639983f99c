"""Choices by share: which source, which canvas, which rules come next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from training.errors import TrainingError
from training.positions.batch import CANVASES

Key = TypeVar("Key")


def pick(shares: Mapping[Key, float], generator: np.random.Generator) -> Key:
    """One of the keys, with chances in proportion to their shares. Raises TrainingError where none is above 0."""
    keys = [key for key, share in shares.items() if share > 0]
    if not keys:
        raise TrainingError(f"nothing to choose from: none of {', '.join(map(str, shares)) or 'no shares'} is above 0")
    total = np.cumsum([shares[key] for key in keys])
    return keys[int(np.searchsorted(total, generator.random() * total[-1], side="right"))]


def canvas_shares(shares: Mapping[str, float]) -> dict[int, float]:
    """The setting data.canvas_shares by canvas. Raises TrainingError."""
    known = {str(canvas): canvas for canvas in CANVASES}
    unknown = [name for name in shares if name not in known]
    if unknown:
        raise TrainingError(f"data.canvas_shares: {unknown[0]} is none of {', '.join(known)}")
    chosen = {known[name]: share for name, share in shares.items() if share > 0}
    if not chosen:
        raise TrainingError("data.canvas_shares: no canvas has a share above 0")
    return chosen
