"""The SETTINGS record: what the kernels need of the parameters and of the root, as plain numbers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from search.puct.parameters import SearchParameters

SETTINGS = np.dtype(
    [
        # From SearchParameters, under the same names.
        ("win_loss_factor", "f8"),
        ("static_score_factor", "f8"),
        ("dynamic_score_factor", "f8"),
        ("dynamic_score_center_scale", "f8"),
        ("no_result_utility", "f8"),
        ("draw_wins_for_white", "f8"),
        ("cpuct", "f8"),
        ("cpuct_log", "f8"),
        ("cpuct_base", "f8"),
        ("cpuct_stdev_prior", "f8"),
        ("cpuct_stdev_prior_weight", "f8"),
        ("cpuct_stdev_scale", "f8"),
        ("fpu_reduction", "f8"),
        ("root_fpu_reduction", "f8"),
        ("fpu_loss_proportion", "f8"),
        ("root_fpu_loss_proportion", "f8"),
        ("fpu_parent_power", "f8"),
        ("virtual_loss", "f8"),
        ("value_weight_exponent", "f8"),
        ("noise_prune_scale", "f8"),
        ("uncertainty_coefficient", "f8"),
        ("uncertainty_max_weight", "f8"),
        ("subtree_bias_factor", "f8"),
        ("subtree_bias_exponent", "f8"),
        ("subtree_bias_free", "f8"),
        ("lcb_stdevs", "f8"),
        ("lcb_min_weight", "f8"),
        ("lcb", "i1"),
        ("graph_repetition_bound", "i8"),
        ("graph_search", "i1"),
        ("noise_pruning", "i1"),
        ("uncertainty", "i1"),
        ("conservative_pass", "i1"),
        ("explore_pass", "i1"),
        ("random_symmetry", "i1"),
        # Of this search.
        ("wide_root_noise", "f8"),
        ("score_center", "f8"),  # centre of the dynamic score's S curve: points, white's view
        ("sqrt_area", "f8"),  # square root of the board's points
        ("utility_radius", "f8"),  # the largest |utility|
        ("ending_bonuses", "i1"),  # 1: root moves have ending bonuses
        ("has_filter", "i1"),  # 1: some moves are excluded for some depth
    ],
    align=True,
)


def make_settings(parameters: SearchParameters, points: int, analysis: bool = False) -> np.void:
    """The record for searching a board of `points` points; the score's centre is still 0."""
    out = np.zeros(1, SETTINGS)
    fields = SETTINGS.names or ()
    for field in dataclasses.fields(parameters):
        if field.name in fields:
            out[field.name] = getattr(parameters, field.name)
    if parameters.root_noise:
        out["root_fpu_reduction"] = 0.0
    out["wide_root_noise"] = parameters.analysis_wide_root_noise if analysis else parameters.wide_root_noise
    out["sqrt_area"] = math.sqrt(points)
    out["utility_radius"] = (
        parameters.win_loss_factor + parameters.static_score_factor + parameters.dynamic_score_factor
    )
    return out[0]
