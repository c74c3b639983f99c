"""Rewrites networks trained on KataGo's older input features so that they read V7 features.

Each older version's inputs are, where they carry information at all, inputs of V7 too, in another place or unit. So
the first layer's weights move to where V7 has their feature, and the network runs on V7 as it is.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from nets.katago.model import Model

KOMI, KOMI_UNIT = 5, 15.0 / 20.0
"""V7 gives komi in units of 20 points, V3 to V5 in units of 15."""

_SAME_PLANES = tuple(range(SPATIAL_PLANES))
_WITHOUT_LIBERTIES = (0, 1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 20, 21)
_BEFORE_TAX = (*range(10), 12, 13, 14, 18)
PLACES: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {
    3: (_SAME_PLANES, _BEFORE_TAX),
    4: (_SAME_PLANES, _BEFORE_TAX),
    5: (_SAME_PLANES, _BEFORE_TAX),
    6: (_WITHOUT_LIBERTIES, (*range(10), 12, 13)),
    7: (_SAME_PLANES, (*range(15), 18)),
}
"""By model version: the V7 plane, and the V7 global feature, that each of its inputs is. Versions 3 to 6 were trained
under area scoring without tax, where the area planes of 3 and 4 are V7's; those of 5 are features.py's `only_safe`."""


def with_v7_inputs(model: Model) -> Model:
    """Return an equal network that reads V7 features."""
    if model.version >= 8:
        return model
    weights, matrix = model.trunk.stem.weights, model.trunk.stem_global
    planes, features = PLACES[model.version]
    wide = np.zeros((weights.shape[0], SPATIAL_PLANES, *weights.shape[2:]), np.float32)
    wide[:, planes] = weights
    tall = np.zeros((GLOBAL_FEATURES, matrix.shape[1]), np.float32)
    tall[features, :] = matrix
    if model.version <= 6:
        tall[KOMI] /= KOMI_UNIT
    stem = dataclasses.replace(model.trunk.stem, weights=wide)
    return dataclasses.replace(model, trunk=dataclasses.replace(model.trunk, stem=stem, stem_global=tall))
