"""The learning rate over a leg: warm-up, stable, decay."""

from __future__ import annotations


def rate_share(step: int, warm_up: int, spent: float, decay_share: float) -> float:
    """Share of the full rate at the leg's `step` (0, 1, ...), when `spent` (0 to 1) of the budget is used up.

    Rises linearly over `warm_up` steps, stays, and falls linearly to zero over the last `decay_share` of the budget:
    the shape of Hägele et al., "Scaling laws and compute-optimal training beyond fixed training durations" (2024).
    """
    warm = min(1.0, (step + 1) / (warm_up + 1))
    return warm * min(1.0, max(0.0, (1.0 - spent) / decay_share)) if decay_share > 0 else warm


def is_decaying(spent: float, decay_share: float) -> bool:
    """Whether the last phase has begun."""
    return decay_share > 0 and spent > 1.0 - decay_share
