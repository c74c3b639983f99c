"""Evaluate: the leaves in flight, which the network evaluates together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from go_rules.points import BLACK
from nets.evaluator import SPATIAL_PLANES, Evaluation, EvaluationRequest, Evaluator
from nets.features import scratch_for
from nets.symmetry import symmetry_permutations
from search.alphazero.leaves import encode_leaf, expand_and_back_up, new_leaves, roll_out
from search.alphazero.parameters import AlphaZeroParameters
from search.alphazero.tree import Tree
from search.alphazero.walk import Walk
from search.playouts.board import new_playout_boards
from search.playouts.parameters import PlayoutParameters
from search.playouts.playout import new_tools, policy_of
from search.puct.memory.context import uniform_share


class Batch:
    """Leaves of one board's size on their way to the network and back."""

    def __init__(
        self,
        evaluator: Evaluator,
        parameters: AlphaZeroParameters,
        width: int,
        height: int,
        pool: ThreadPoolExecutor,
        workers: int,
        generator: np.random.Generator,
    ) -> None:
        """`pool` evaluates in up to `workers` of its threads at once. `generator`: for symmetries and rollouts."""
        self.room = parameters.leaves_in_flight
        """The most leaves that are evaluated together."""
        self.count = 0
        """How many there are now."""
        self.evaluations = 0
        """How many positions were evaluated since the batch was made."""
        self.owners = np.zeros(width * height)
        """Who owns each point, summed over all evaluations since `forget_owners`: [H*W], +1 is white's."""
        self.owners_weight = 0.0
        """The number of these evaluations."""
        self._evaluator = evaluator
        self._parameters = parameters
        self._size = (height, width)
        self._pool, self._workers, self._generator = pool, workers, generator
        self._permutations = symmetry_permutations(width, height)
        self._uniform_share = uniform_share(width, height)
        self._leaves = new_leaves(self.room, parameters.tree_depth, width * height)
        self._features = scratch_for(evaluator)
        self._board = new_playout_boards(1)
        self._tools = new_tools(int(generator.integers(1 << 62)), policy_of(PlayoutParameters()))

    @property
    def next_path(self) -> NDArray[np.int64]:
        """Where the walk to the next leaf writes its path."""
        return self._leaves.path[self.count]

    def add(self, walk: Walk, index: int, depth: int, view: int) -> None:
        """Add the node at which the walk has ended. `view`: features.IN_TREE or AT_ROOT."""
        leaves, i = self._leaves, self.count
        leaves.node[i], leaves.depth[i] = index, depth
        leaves.colour[i] = walk.stack["to_play"][walk.length[1] - 1]
        leaves.symmetry[i] = self._generator.integers(len(self._permutations)) if self._parameters.turn_leaves else 0
        permutation = self._permutations[leaves.symmetry[i]]
        encode_leaf(walk, view, self._features, permutation, leaves.spatial[i], leaves.global_[i], leaves.reach[i])
        leaves.rollout[i] = roll_out(walk, self._board, self._tools) if self._parameters.rollout_share > 0.0 else 0.0
        self.count += 1

    def finish(self, tree: Tree) -> Evaluation:
        """Have the leaves evaluated, expand them and back up their values. Returns the network's answer.

        Raises EvaluatorError.
        """
        evaluation = self._evaluate()
        expand_and_back_up(
            tree,
            self._leaves,
            self.count,
            evaluation.policy,
            evaluation.value,
            evaluation.score,
            self._permutations,
            self._size[1],
            self._uniform_share,
            self._parameters.rollout_share,
        )
        self._add_owners(evaluation)
        self.evaluations += self.count
        self.count = 0
        return evaluation

    def forget_owners(self, kept: float) -> None:
        """Let the ownership of earlier evaluations count for the share `kept` from now on."""
        self.owners *= kept
        self.owners_weight *= kept

    def _evaluate(self) -> Evaluation:
        leaves = self._leaves
        spatial = leaves.spatial[: self.count].reshape(self.count, SPATIAL_PLANES, *self._size)

        def part(rows: NDArray[np.int64]) -> Evaluation:
            chosen = slice(int(rows[0]), int(rows[-1]) + 1)
            return self._evaluator.evaluate(
                EvaluationRequest(spatial[chosen], leaves.global_[chosen], colours=leaves.colour[chosen])
            )

        parts = np.array_split(np.arange(self.count), min(self._workers, self.count))
        if len(parts) == 1:
            return part(parts[0])
        answers = list(self._pool.map(part, parts))
        return Evaluation(*(np.concatenate(column) for column in zip(*answers, strict=True)))

    def _add_owners(self, evaluation: Evaluation) -> None:
        turned = self._permutations[self._leaves.symmetry[: self.count], :-1].astype(np.int64)
        signs = np.where(self._leaves.colour[: self.count] == BLACK, -1.0, 1.0)
        self.owners += signs @ np.take_along_axis(evaluation.ownership, turned, axis=1)
        self.owners_weight += self.count
