"""The memory of a search for one size of board: the tree, the kernels' context, and every worker's buffers.

A worker's buffers have the leaves it has selected, and what the network is shown of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import NO_POINT
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES, EvaluationRequest, Evaluator, Pending
from nets.features import Scratch, scratch_for
from nets.symmetry import symmetry_permutations
from nobi_machine.memory import MEGABYTE
from search.nobi.leaves.nn_cache import Cache, new_cache
from search.nobi.memory.context import make_settings, new_context, new_work
from search.nobi.parameters import SearchParameters
from search.nobi.tree.nodes import new_tree


class Workspace:
    """Everything that a search keeps for boards of one size."""

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
        """Reserve the memory that `parameters.memory` and `cache_memory` allow, or less where the machine has less.

        `with_ownership`: whether the tree keeps every node's ownership. `cache`: an older workspace's, to be used on.
        Raises MemoryError if there is almost no memory left.
        """
        self.width = width
        self.height = height
        self.area = width * height
        self.with_ownership = with_ownership
        self.evaluator = evaluator
        self.context = new_context(width, height, parameters.value_weight_exponent)
        self.permutations = symmetry_permutations(width, height)
        self.points: list[int] = self.context["points"][0, : self.area].tolist()
        batch = parameters.batch_for(evaluator, width, height)
        features = [scratch_for(evaluator) for _ in range(workers)]
        requests = workers * evaluator.requests_in_flight
        self.workers = [WorkerBuffers(width, height, batch, seed + i, features[i % workers]) for i in range(requests)]
        """Those of the first request of each worker, then those of the second, and so on."""
        for each in self.workers:
            each.optimism[:] = parameters.policy_optimism
        self.root_buffers = WorkerBuffers(width, height, len(self.permutations), seed - 1, scratch_for(evaluator))
        """For the root, which the calling thread evaluates before the workers begin."""
        self.cache = cache or _largest_cache(self.area, parameters.cache_memory * MEGABYTE)
        self.tree = new_tree(self.area, parameters.memory * MEGABYTE, with_ownership)
        self.set_parameters(parameters, analysis=False)

    def requests_of(self, worker: int) -> list[WorkerBuffers]:
        """Return the buffers of a worker's requests."""
        return self.workers[worker :: len(self.workers) // self.evaluator.requests_in_flight]

    def set_parameters(self, parameters: SearchParameters, analysis: bool) -> None:
        """Give the kernels these parameters. The centre of the dynamic score stays as it is."""
        center = self.context["settings"][0]["score_center"]
        self.context["settings"][0] = make_settings(parameters, self.area, analysis)
        self.context["settings"]["score_center"] = center
        if self.context["uniform_share"][0] > 0.0:
            # Most lines of such a board end in the same few results. Less exploration for so small a deviation would
            # count known draws again and again, and never look at the move that wins.
            self.context["settings"]["cpuct_stdev_scale"] = 0.0

    def set_likelihoods(self, likelihoods: NDArray[np.float64] | None) -> None:
        """Tell the kernels how likely people play each move of the root [H*W + 1], or that they were not asked."""
        settings = self.context["settings"]
        if likelihoods is None:
            settings["human_weightless"] = settings["human_weightful"] = 0.0
        else:
            self.context["human_priors"][0, : self.area + 1] = likelihoods
        settings["asks_people"] = bool(settings["human_weightless"][0] + settings["human_weightful"][0] > 0.0)

    def hide_history(self) -> None:
        """Let the networks not see what was played before the root."""
        roots, count = self.context["roots"][0], self.context["root_positions"]
        roots[0] = roots[int(count[0]) - 1]
        roots[0]["recent"] = NO_POINT
        count[0] = 1

    def set_cache_salt(self, game: Game, parameters: SearchParameters, other: object = None) -> None:
        """Tell the cache what the evaluations of this game depend on besides the position: rules, komi and so on.

        `other`: whatever else they depend on, for as long as its text is the same; None for nothing.
        """
        doublings = float(self.context["settings"]["white_doublings"][0])
        shift = float(self.context["rules"]["draw_shift"][0])
        terms = repr((game.record.item(), parameters.policy_optimism, doublings, shift)).encode()
        if other is not None:
            terms += repr(other).encode()
        self.cache.salt[0] = int.from_bytes(hashlib.blake2b(terms, digest_size=8).digest(), "little")


def _largest_cache(points: int, memory: int) -> Cache:
    """A cache of at most `memory` bytes: less where the machine has less."""
    while True:
        try:
            return new_cache(points, memory)
        except MemoryError:
            if memory < MEGABYTE:
                raise
            memory //= 2


class Kernels(NamedTuple):
    """Kernels bound to the memory of a worker and of its search (iteration.py)."""

    encode: Callable[[int, int, int], None]
    """`encode_leaves` of (count, view, n_symmetries)"""
    advance: Callable[[int, int, int, float], tuple[int, int, int, int]]
    """`advance_tree` of (leaves, asked, room, left)"""


class EvaluationKernels(NamedTuple):
    """The evaluation stage, bound in the same way."""

    at_once: Callable[[int], None] | None
    """The whole stage, of (count); None where the evaluator is more than kernels. Raises FloatingPointError where the
    evaluator would raise EvaluatorError."""
    multiple: int
    """What counts for `at_once` have to be a multiple of."""
    digest: Callable[..., None]
    """`digest_evaluation` of (count, policy, value, score, ownership)"""


class WorkerBuffers:
    """Memory that one worker writes to. Nobody else reads it, so no lock is needed."""

    def __init__(self, width: int, height: int, batch: int, seed: int, features: Scratch) -> None:
        """Make room for `batch` leaves on such boards. `seed`: for the random choices of the worker. `features`: work
        space of the encoder, which all requests of a worker share: what one has read of a board helps the others."""
        self.work = new_work(batch, seed)
        self.leaves = self.work.leaves
        spatial = np.zeros((batch, SPATIAL_PLANES, height, width), np.float32)
        self.flat = spatial.reshape(batch, SPATIAL_PLANES, height * width)
        self.global_ = np.zeros((batch, GLOBAL_FEATURES), np.float32)
        self.optimism = np.zeros(batch, np.float32)
        """The share of the optimistic policy, in networks that have one."""
        self.requests = [
            EvaluationRequest(spatial[:count], self.global_[:count], self.optimism[:count])
            for count in range(batch + 1)
        ]
        """What the network is asked for each number of leaves. The arrays are these buffers' own."""
        self.symmetries = np.zeros(batch, np.int64)
        self.features = features
        self.under_way = 0
        """How many leaves were selected and are not in the tree yet."""
        self.keys = np.zeros(batch, np.uint64)
        """The key of each leaf in the evaluation cache."""
        self.missing = np.arange(batch)
        """Indices of the leaves that the cache does not know; only the first `asked` entries count."""
        self.asked = 0
        """How many leaves the network has to evaluate."""
        self.pending: Pending | None = None
        """The evaluation of these, where it was submitted and is to be collected."""
        self.generation = 0
        """The search's generation in which the leaves were selected."""
        self.kernels: Kernels | None = None
        self.evaluation: EvaluationKernels | None = None
        """Both are None before they are needed."""
