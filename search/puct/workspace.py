"""The memory of a search for one size of board: its tree, its context and a desk for every worker."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES, Evaluation, Evaluator
from nets.features import IN_TREE, scratch_for
from nets.symmetry import symmetry_images
from search.puct.context import new_context, new_work
from search.puct.iteration import advance
from search.puct.leaves.encode import encode_all
from search.puct.leaves.mixing import mix_playouts, new_mixer
from search.puct.leaves.nn_cache import Cache, new_cache
from search.puct.parameters import SearchParameters
from search.puct.settings import make_settings
from search.puct.tree.expand import digest_all
from search.puct.tree.nodes import new_tree

MEGABYTE = 1 << 20


class Desk:
    """What one worker writes on: its leaves and the network's input."""

    def __init__(
        self, width: int, height: int, batch: int, seed: int, evaluator: Evaluator, mixes: bool = False
    ) -> None:
        """`mixes`: playouts have a share in the values of leaves."""
        self.work = new_work(batch, seed)
        self.leaves = self.work.leaves
        self.spatial = np.zeros((batch, SPATIAL_PLANES, height, width), np.float32)
        self.flat = self.spatial.reshape(batch, SPATIAL_PLANES, height * width)
        self.global_ = np.zeros((batch, GLOBAL_FEATURES), np.float32)
        self.inputs = [(self.spatial[:count], self.global_[:count]) for count in range(batch + 1)]
        self.planes = np.zeros((SPATIAL_PLANES, height, width), np.float32)
        self.symmetries = np.zeros(batch, np.int64)
        self.under_way = 0
        """Leaves that were collected and are not yet in the tree."""
        self.keys = np.zeros(batch, np.uint64)
        """Of the leaves in the cache."""
        self.missing = np.arange(batch)
        """Indices of the leaves to be evaluated, the first `asked` of them."""
        self.asked = 0
        self.generation = 0
        """The search's when they were collected."""
        self.features = scratch_for(evaluator)
        self.mixer = new_mixer(seed) if mixes else None


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
        cache: Cache | None = None,
    ) -> None:
        """Reserves what `parameters.memory` allows. Raises MemoryError if there is next to nothing to be had."""
        self.width = width
        self.height = height
        self.area = width * height
        self.with_ownership = with_ownership
        self.evaluator = evaluator
        self.tree = new_tree(self.area, parameters.memory * MEGABYTE, with_ownership)
        self.cache = cache or new_cache(self.area, parameters.cache_memory * MEGABYTE)
        self.context = new_context(width, height, parameters.value_weight_exponent)
        self.images = symmetry_images(width, height)
        self.points: list[int] = self.context["points"][0, : self.area].tolist()
        mixes = parameters.playout_share > 0.0
        self.desks = [Desk(width, height, parameters.batch, seed + i, evaluator, mixes) for i in range(workers)]
        self.root_desk = Desk(width, height, len(self.images), seed - 1, evaluator)
        self._has_optimism = bool(getattr(evaluator, "has_optimism", False))
        self._playouts, self._playout_share = parameters.playouts, parameters.playout_share
        self._optimism = np.full(parameters.batch, parameters.policy_optimism, np.float32)

    def set_parameters(self, parameters: SearchParameters, analysis: bool) -> None:
        """Take over what the kernels need, keeping the score's centre."""
        center = self.context["settings"][0]["score_center"]
        self.context["settings"][0] = make_settings(parameters, self.area, analysis)
        self.context["settings"]["score_center"] = center

    def set_cache_salt(self, game: Game, parameters: SearchParameters) -> None:
        """Tell the cache what evaluations of this game depend on beside the position."""
        mix = parameters.playout_share, parameters.playouts if parameters.playout_share else 0
        terms = game.record.tobytes() + repr((parameters.policy_optimism, *mix)).encode()
        self.cache.salt[0] = int.from_bytes(hashlib.blake2b(terms, digest_size=8).digest(), "little")

    def advance(self, desk: Desk, room: int, left: float) -> tuple[int, int]:
        """Insert the leaves of a desk and collect new ones, as `advance` says. Returns how many visits were completed
        and how the last descent ended. Under the search's lock."""
        done, desk.under_way, desk.asked, outcome = advance(
            self.tree,
            self.cache,
            self.context,
            desk.work,
            desk.keys,
            desk.missing,
            desk.under_way,
            desk.asked,
            room,
            left,
        )
        return done, outcome

    def evaluate_missing(self, desk: Desk) -> None:
        """Encode the leaves that the cache did not know, have them evaluated and digest the answers.

        Raises EvaluatorError.
        """
        missing = desk.asked
        evaluation = self.evaluate(desk, missing, IN_TREE, self._optimism[:missing], len(self.images))
        digest_all(self.context, desk.work, desk.missing, missing, *evaluation, desk.symmetries, self.images)
        if desk.mixer is not None:
            mix_playouts(
                self.context, desk.work, desk.missing, missing, desk.mixer, self._playouts, self._playout_share
            )

    def evaluate(
        self, desk: Desk, count: int, view: int, optimism: NDArray[np.float32], draw_of: int = 0
    ) -> Evaluation:
        """Encode the leaves listed in `desk.missing` under the desk's symmetries and have them evaluated.

        `view`: features.IN_TREE or AT_ROOT; `optimism` [count]: shares of the optimistic policy, in networks with one;
        `draw_of`: how many symmetries to draw the desk's from, 0 to keep them. Raises EvaluatorError.
        """
        encode_all(
            self.context,
            desk.work,
            desk.missing,
            count,
            view,
            draw_of,
            desk.symmetries,
            self.images,
            desk.features,
            desk.planes,
            desk.flat,
            desk.global_,
        )
        spatial, global_ = desk.inputs[count]
        if getattr(self.evaluator, "needs_colours", False):
            leaves, chosen = desk.leaves, desk.missing[:count]
            colours = leaves["stack"]["to_play"][chosen, leaves["last"][chosen]]
            return self.evaluator.evaluate(spatial, global_, optimism, colours)  # type: ignore[call-arg]
        if self._has_optimism:
            return self.evaluator.evaluate(spatial, global_, optimism)  # type: ignore[call-arg]
        return self.evaluator.evaluate(spatial, global_)
