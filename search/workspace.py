"""The memory of a search for one size of board: its tree, its context and a desk for every worker."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES, Evaluation, Evaluator
from nets.features import IN_TREE, new_scratch
from nets.symmetry import symmetry_images
from search.context import new_context, new_work
from search.encode import draw_symmetries, encode_all
from search.expand import digest_all
from search.parameters import SearchParameters
from search.settings import make_settings
from search.tree import new_tree

MEGABYTE = 1 << 20


class Desk:
    """What one worker writes on: its leaves and the network's input."""

    def __init__(self, width: int, height: int, batch: int, seed: int, evaluator: Evaluator) -> None:
        self.work = new_work(batch, seed)
        self.leaves = self.work.leaves
        self.spatial = np.zeros((batch, SPATIAL_PLANES, height, width), np.float32)
        self.flat = self.spatial.reshape(batch, SPATIAL_PLANES, height * width)
        self.global_ = np.zeros((batch, GLOBAL_FEATURES), np.float32)
        self.planes = np.zeros((SPATIAL_PLANES, height, width), np.float32)
        self.symmetries = np.zeros(batch, np.int64)
        self.features = new_scratch(bool(getattr(evaluator, "pass_alive_under_suicide", False)))


class Workspace:
    """Tree, context and desks for boards of `width` times `height`."""

    def __init__(
        self,
        width: int,
        height: int,
        parameters: SearchParameters,
        evaluator: Evaluator,
        workers: int,
        seed: int,
        with_ownership: bool,
    ) -> None:
        """Reserves what `parameters.memory` allows. Raises MemoryError if there is next to nothing to be had."""
        self.width = width
        self.height = height
        self.area = width * height
        self.with_ownership = with_ownership
        self.evaluator = evaluator
        self.tree = new_tree(self.area, parameters.memory * MEGABYTE, with_ownership)
        self.context = new_context(width, height, parameters.value_weight_exponent)
        self.images = symmetry_images(width, height)
        self.points: list[int] = self.context["points"][0, : self.area].tolist()
        self.desks = [Desk(width, height, parameters.batch, seed + i, evaluator) for i in range(workers)]
        self.root_desk = Desk(width, height, len(self.images), seed - 1, evaluator)
        self._has_optimism = bool(getattr(evaluator, "has_optimism", False))
        self._optimism = np.full(parameters.batch, parameters.policy_optimism, np.float32)

    def set_parameters(self, parameters: SearchParameters, analysis: bool) -> None:
        """Take over what the kernels need, keeping the score's centre."""
        center = self.context["settings"][0]["score_center"]
        self.context["settings"][0] = make_settings(parameters, self.area, analysis)
        self.context["settings"]["score_center"] = center

    def evaluate_leaves(self, desk: Desk, leaves: int) -> None:
        """Encode a desk's first leaves, have them evaluated and digest the answers. Raises EvaluatorError."""
        draw_symmetries(self.context, desk.work, leaves, len(self.images), desk.symmetries)
        evaluation = self.evaluate(desk, leaves, IN_TREE, self._optimism[:leaves])
        digest_all(self.context, desk.work, leaves, *evaluation, desk.symmetries, self.images)

    def evaluate(self, desk: Desk, leaves: int, view: int, optimism: NDArray[np.float32]) -> Evaluation:
        """Encode a desk's first leaves under the desk's symmetries and have them evaluated. Raises EvaluatorError.

        `view`: features.IN_TREE or AT_ROOT; `optimism` [leaves]: shares of the optimistic policy, in networks with one.
        """
        encode_all(
            self.context,
            desk.work,
            leaves,
            view,
            desk.symmetries,
            self.images,
            desk.features,
            desk.planes,
            desk.flat,
            desk.global_,
        )
        spatial, global_ = desk.spatial[:leaves], desk.global_[:leaves]
        if self._has_optimism:
            return self.evaluator.evaluate(spatial, global_, optimism)  # type: ignore[call-arg]
        return self.evaluator.evaluate(spatial, global_)
