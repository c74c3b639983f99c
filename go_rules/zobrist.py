"""Zobrist keys: random 64-bit numbers; the exclusive or of those that apply is the hash of a position.

A fixed generator makes them, so hashes are the same on every machine and in every run.
"""

from __future__ import annotations

import numpy as np

from go_rules.points import N_POINTS

_generator = np.random.Generator(np.random.PCG64(20161010))

STONE_KEYS = _generator.integers(1, 2**64, size=(3, N_POINTS), dtype=np.uint64)
"""[colour, point]: a stone of that colour there. Row 0 is zero: EMPTY changes no hash."""
STONE_KEYS[0] = 0

KO_KEYS = _generator.integers(1, 2**64, size=N_POINTS, dtype=np.uint64)
"""[point]: that point is banned by simple ko."""

TO_PLAY_KEYS = _generator.integers(1, 2**64, size=3, dtype=np.uint64)
"""[colour]: that colour is to move."""

PHASE_KEYS = _generator.integers(1, 2**64, size=4, dtype=np.uint64)
"""[phase]: the game is in that phase. The main phase changes no hash."""
PHASE_KEYS[0] = 0

BUTTON_KEY = _generator.integers(1, 2**64, dtype=np.uint64)
"""The button is still to be taken."""

BLOCKED_KEYS = _generator.integers(1, 2**64, size=N_POINTS, dtype=np.uint64)
"""[point]: the stone there may not be retaken yet (clean-up phases)."""

START_KEYS = _generator.integers(1, 2**64, size=(3, N_POINTS), dtype=np.uint64)
"""[colour, point]: a stone of that colour was there as the second clean-up phase began."""
