"""The SETTINGS record: what the kernels need of the parameters and of the root, as plain numbers."""

from __future__ import annotations

import math

import numpy as np

from search.parameter_records import record_fields, record_of
from search.puct.parameters import SearchParameters

SETTINGS = np.dtype(
    [
        # SearchParameters, with `root_fpu_reduction` and `wide_root_noise` as this search needs them.
        *record_fields(SearchParameters),
        # What belongs to this search alone.
        ("score_center", "f8"),  # centre of the dynamic score's S curve: points, white's view
        ("sqrt_area", "f8"),  # square root of the board's points
        ("utility_radius", "f8"),  # the largest |utility|
        ("ending_bonuses", "i1"),  # 1: root moves have ending bonuses
        ("white_doublings", "f8"),  # playout doubling advantage, white's view
        (
            "mirroring",
            "i1",
        ),  # the colour that plays mirror Go (leaves/mirror.py), 0 if none does or it is not countered
        ("mirror_wins", "i1"),  # 1: the komi gives that colour the game if everything is mirrored
        ("has_filter", "i1"),  # 1: some moves are excluded for some depth
        # HumanParameters, 0 where nobody is asked.
        ("asks_people", "i1"),  # 1: some visits of the root look at what people might play
        ("human_weightless", "f8"),
        ("human_weightful", "f8"),
        ("human_cpuct", "f8"),
        ("human_cpuct_permanent", "f8"),
    ],
    align=True,
)


def make_settings(parameters: SearchParameters, points: int, analysis: bool = False) -> np.void:
    """Make the record for searching a board of `points` points. What depends on the root, as `score_center`, is 0."""
    out = record_of(parameters, SETTINGS)
    if parameters.root_noise:
        out["root_fpu_reduction"] = 0.0
    if analysis:
        out["wide_root_noise"] = parameters.analysis_wide_root_noise
    out["sqrt_area"] = math.sqrt(points)
    out["utility_radius"] = (
        parameters.win_loss_factor + parameters.static_score_factor + parameters.dynamic_score_factor
    )
    return out[0]
