"""The UCT_SETTINGS record: UctParameters as the kernels read them."""

from __future__ import annotations

import dataclasses

import numpy as np

from search.parameters import record_fields
from search.uct.parameters import UctParameters

UCT_SETTINGS = np.dtype(record_fields(UctParameters), align=True)


def uct_settings(parameters: UctParameters) -> np.ndarray:
    """UCT_SETTINGS[1]."""
    return np.array([dataclasses.astuple(parameters)], UCT_SETTINGS)
