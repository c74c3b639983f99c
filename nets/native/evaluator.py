"""Networks run by our own kernels, in integers of 16 bits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.evaluator import (
    SCORE_COLUMNS,
    TAKES_NO_PROFILE,
    Evaluation,
    EvaluationRequest,
    EvaluationSteps,
    Evaluator,
    EvaluatorAttributes,
    EvaluatorError,
    ProfileMissing,
    as_floats,
)
from nets.human_profile import NEEDS_PROFILE, HumanProfile
from nets.katago.model import FloatArray
from nets.native.convolutions.tiling import SMALLEST
from nets.native.outputs import VALUES
from nets.native.packed import Packed
from nets.native.profiles import ProfileEncoder
from nets.native.workspace import Workspace

PRECISION = "int16"
PROVIDER = "native"
MOST_IDLE = 8
"""How many idle workspaces are kept. More callers at once, or more kinds of batches, allocate their own."""
LONG = 400_000_000
"""An evaluation of so many multiplications takes long, some milliseconds. What a search does besides it is little to
that, and a batch would still be under way long after the search's time, and in the way of the next move's."""
NO_OPTIMISM = np.zeros(0, np.float32)


class NativeEvaluator(Evaluator):
    """An evaluator that runs a network with our own kernels. Any number of threads may call it at once; each computes
    its call alone."""

    def __init__(
        self,
        packed: Packed,
        source: str,
        open_other: Callable[[], Evaluator],
        optimism: float = 1.0,
        profile: HumanProfile | None = None,
    ) -> None:
        """Run a network as the kernels read it. Raises EvaluatorError.

        `source` names the network in errors. `optimism` is the default share of the optimistic policy, if there is one.
        Boards of a single line fit no tile: the evaluator that `open_other` opens evaluates them. `profile` says whom
        a HumanSL network imitates; it must have one, and no other network may."""
        encoder = packed.metadata
        if encoder is not None and profile is None:
            raise ProfileMissing(f"{source}: {NEEDS_PROFILE}")
        if encoder is None and profile is not None:
            raise EvaluatorError(f"{source}: {TAKES_NO_PROFILE}")
        self._profile_encoder = None if encoder is None else ProfileEncoder(encoder)
        self._attributes = EvaluatorAttributes(
            packed.name,
            PRECISION,
            PROVIDER,
            packed.has_optimism,
            profile,
            packed.pass_alive_under_suicide,
            packed.only_safe_area,
        )
        self._packed, self._source, self._optimism = packed, source, optimism
        self._open_other = open_other
        self._other: Evaluator | None = None
        self._idle: list[Workspace] = []
        self._lock = threading.Lock()

    @property
    def attributes(self) -> EvaluatorAttributes:
        """What this evaluator is and wants, as `Evaluator.attributes` says."""
        return self._attributes

    def use_profile(self, profile: HumanProfile) -> None:
        """Imitate other players from now on, as `Evaluator.use_profile` says."""
        if self._profile_encoder is None:
            raise EvaluatorError(f"{self._source}: {TAKES_NO_PROFILE}")
        self._attributes = replace(self._attributes, profile=profile)

    def suited_batch(self, points: int) -> int:
        """Return 1 where an evaluation takes long, else the usual batch, as `Evaluator.suited_batch` says: the kernels
        themselves gain nothing by batches."""
        return 1 if self._packed.work.multiplications(points) >= LONG else super().suited_batch(points)

    def warm_up(self, count: int, height: int, width: int) -> None:
        """Do nothing: the kernels are the same for batches and boards of every size."""

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Evaluate positions as `Evaluator.evaluate` says."""
        spatial, global_, optimism, colours = request
        if min(spatial.shape[2:]) < SMALLEST:
            return self._evaluate_line(request)
        return self._computed(spatial, global_, [self._optimism_of(len(spatial), optimism)], colours)[0]

    def steps(self, request: EvaluationRequest, evaluation: Evaluation, count: Any) -> EvaluationSteps | None:
        """Return the steps of an evaluation as `Evaluator.steps` says, in memory of their own."""
        spatial, global_, optimism, _ = request
        if self._profile_encoder is not None or min(spatial.shape[2:]) < SMALLEST or optimism is None:
            return None
        space = Workspace(self._packed, len(spatial), *spatial.shape[2:])
        given = optimism if self._attributes.has_optimism else NO_OPTIMISM
        return EvaluationSteps(space.steps(count, spatial, global_, given, *evaluation), space.boards)

    def evaluate_both(self, spatial: FloatArray, global_: FloatArray) -> tuple[Evaluation, FloatArray | None]:
        """Evaluate without optimism, and return the logits [N, H*W + 1] of the optimistic policy too, or None.

        The boards must have more than a single line. Raises EvaluatorError."""
        has_optimism = self._attributes.has_optimism
        optimisms = [np.full(len(spatial), each, np.float32) for each in (0.0, 1.0)] if has_optimism else [NO_OPTIMISM]
        evaluations = self._computed(spatial, global_, optimisms, None)
        return evaluations[0], evaluations[1].policy if has_optimism else None

    def _computed(
        self, spatial: FloatArray, global_: FloatArray, optimisms: list[FloatArray], colours: NDArray[np.int8] | None
    ) -> list[Evaluation]:
        """An evaluation for each of `optimisms`. Raises EvaluatorError."""
        count, planes, height, width = spatial.shape
        if planes != self._packed.planes or max(height, width) > MAX_SIZE:
            raise EvaluatorError(f"{self._source}: evaluation failed: {planes} planes of {height}x{width}")
        if global_.shape != (count, self._packed.global_features):
            raise EvaluatorError(f"{self._source}: evaluation failed: global features of the shape {global_.shape}")
        spatial, global_ = as_floats(spatial), as_floats(global_)
        area = height * width
        columns = area + 1, VALUES, SCORE_COLUMNS, area
        results = [Evaluation(*(np.empty((count, wide), np.float32) for wide in columns)) for _ in optimisms]
        space = self._take(count, height, width)
        if self._profile_encoder is not None and self._attributes.profile is not None:
            added = self._profile_encoder.added(self._attributes.profile, count, colours, area)
            space.profile_bias[:, : added.shape[1]] = added
        try:
            space.evaluate(count, spatial, global_, optimisms[0], *results[0])
            for each, result in zip(optimisms[1:], results[1:], strict=True):
                space.finish(count, global_, each, result)
        except FloatingPointError as error:
            # What is no number may stay in the workspace where no other evaluation writes, so it is not used again.
            raise EvaluatorError(f"{self._source}: {error}") from None
        self._give_back(space)
        return results

    def _optimism_of(self, count: int, optimism: FloatArray | None) -> FloatArray:
        """[count] of the optimistic policy; empty in networks without."""
        if not self._attributes.has_optimism:
            return NO_OPTIMISM
        if self._attributes.profile is not None:  # people's optimism is in their plain policy
            return np.zeros(count, np.float32)
        if optimism is None:
            return np.full(count, self._optimism, np.float32)
        return as_floats(optimism.reshape(-1))

    def _evaluate_line(self, request: EvaluationRequest) -> Evaluation:
        with self._lock:
            if self._other is None:
                self._other = self._open_other()
            other = self._other
        if self._attributes.profile is not None:
            other.use_profile(self._attributes.profile)
        optimism = self._optimism_of(len(request.spatial), request.optimism)
        return other.evaluate(request._replace(optimism=optimism if self._attributes.has_optimism else None))

    def _take(self, count: int, height: int, width: int) -> Workspace:
        kind = count, height, width
        with self._lock:
            for number in reversed(range(len(self._idle))):
                if self._idle[number].kind == kind:
                    return self._idle.pop(number)
        return Workspace(self._packed, *kind)

    def _give_back(self, space: Workspace) -> None:
        with self._lock:
            self._idle.append(space)
            del self._idle[:-MOST_IDLE]
