"""Networks of convolutions run by our own kernels, in integers of 16 bits."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.evaluator import Evaluation, Evaluator, EvaluatorError
from nets.katago.model import FloatArray, Model
from nets.native.outputs import pass_logits, value_and_score
from nets.native.pack import Packed
from nets.native.tiling import SMALLEST
from nets.native.workspace import Workspace

PRECISION = "int16"
PROVIDER = "native"
MOST_IDLE = 8
"""Workspaces that wait for their next call; more than that many callers at once, or kinds of batches, allocate anew."""


class NativeEvaluator:
    """Implements `Evaluator`. Any number of threads may evaluate at once, each computing its own call alone."""

    precision = PRECISION
    provider = PROVIDER
    needs_colours = False
    profile = None

    def __init__(
        self, model: Model, packed: Packed, source: str, open_other: Callable[[], Evaluator], optimism: float = 1.0
    ) -> None:
        """`packed` is `model`, a prepared network; `source` its name in errors, `optimism` the default share of the
        optimistic policy in networks that have one. Boards of a single line, which no tile fits, are left to what
        `open_other` opens, another evaluator of the same network."""
        self.name = model.name
        self.has_optimism = model.policy.channels > 1
        self.pass_alive_under_suicide = model.pass_alive_under_suicide
        self.only_safe_area = model.only_safe_area
        self._version = model.version
        self._packed, self._source, self._optimism = packed, source, optimism
        self._open_other = open_other
        self._other: Evaluator | None = None
        self._idle: list[Workspace] = []
        self._lock = threading.Lock()

    def evaluate(
        self,
        spatial: NDArray[np.float32],
        global_: NDArray[np.float32],
        optimism: NDArray[np.float32] | None = None,
        colours: NDArray[np.int8] | None = None,
    ) -> Evaluation:
        """Evaluate `spatial` [N, 22, H, W] and `global_` [N, 19]; `optimism` [N] overrides the default share, `colours`
        change nothing. Raises EvaluatorError."""
        count, planes, height, width = spatial.shape
        shares = np.full(count, self._optimism, np.float32) if optimism is None else optimism.reshape(-1)
        if min(height, width) < SMALLEST:
            return self._evaluate_line(spatial, global_, shares)
        if (
            planes != self._packed.planes
            or global_.shape != (count, self._packed.global_features)
            or max(height, width) > MAX_SIZE
        ):
            raise EvaluatorError(f"{self._source}: evaluation failed: {planes} planes of {height}x{width}")
        small, area = self._packed.small, height * width
        space = self._take(count, height, width)
        space.spatial[:], space.global_[:] = spatial, global_
        space.run()
        passes = pass_logits(small, space.pools[:, : space.pooled_blocks].reshape(count, -1))
        hidden = space.pools[:, space.pooled_blocks :, 0].reshape(count, -1) @ space.hidden
        policy = np.empty((count, area + 1), np.float32)
        policy[:, :area], policy[:, area] = space.policies[:, 0], passes[:, 0]
        if self.has_optimism:
            policy[:, :area] += (space.policies[:, 1] - space.policies[:, 0]) * shares[:, None]
            policy[:, area] += (passes[:, 1] - passes[:, 0]) * shares
        ownership = np.tanh(space.ownership)
        self._give_back(space)
        result = Evaluation(policy, *value_and_score(small, hidden, global_, area, self._version), ownership)
        if not math.isfinite(sum(float(output.sum()) for output in result)):
            raise EvaluatorError(f"{self._source}: an output is not finite")
        return result

    def _evaluate_line(self, spatial: FloatArray, global_: FloatArray, shares: FloatArray) -> Evaluation:
        with self._lock:
            if self._other is None:
                self._other = self._open_other()
        more = (shares,) if self.has_optimism else ()
        return self._other.evaluate(spatial, global_, *more)

    def _take(self, count: int, height: int, width: int) -> Workspace:
        kind = count, height, width
        with self._lock:
            for number in reversed(range(len(self._idle))):
                if self._idle[number].kind == kind:
                    return self._idle.pop(number)
        return Workspace(self._packed, *kind)

    def _give_back(self, space: Workspace) -> None:
        with self._lock:
            self._idle = [*self._idle, space][-MOST_IDLE:]
