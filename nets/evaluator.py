"""The interface of a network ready to run: an `EvaluationRequest` goes in, an `Evaluation` comes out."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import WHITE
from nets.devices import USUAL_BATCH
from nets.human_profile import NEEDS_PROFILE, HumanProfile, metadata_row

if TYPE_CHECKING:
    from nobi_machine.fused_call import Given, KernelCall

SPATIAL_PLANES = 22
GLOBAL_FEATURES = 19

WIN, LOSS, NO_RESULT = 0, 1, 2
"""Columns of `Evaluation.value`."""
SCORE_MEAN, SCORE_STDEV, LEAD, VAR_TIME_LEFT, SHORTTERM_WINLOSS_ERROR, SHORTTERM_SCORE_ERROR = range(6)
"""Columns of `Evaluation.score`."""
SCORE_COLUMNS = 6

FLOAT = np.dtype(np.float32)

TAKES_NO_PROFILE = "a human profile is only for HumanSL networks, and this is none"


@dataclass(frozen=True)
class EvaluatorAttributes:
    """What an evaluator is, and what it has to be told about a position."""

    name: str
    """The network's own name."""
    precision: str
    """`fp32`, `fp16` or `int16`."""
    provider: str
    """What computes the network: `native`, or the name of an onnxruntime provider such as `CPUExecutionProvider`."""
    has_optimism: bool = False
    """Whether the network has an optimistic policy too, so that `EvaluationRequest.optimism` makes a difference."""
    profile: HumanProfile | None = None
    """The kind of player that a HumanSL network imitates; None for every other network."""
    pass_alive_under_suicide: bool = False
    """Whether the network's area planes count chains as pass-alive only if suicide moves cannot kill them."""
    only_safe_area: bool = False
    """Whether the network's area planes show certain area only, under all rules (KataGo's V4 features)."""

    @property
    def needs_colours(self) -> bool:
        """Whether evaluations depend on `EvaluationRequest.colours`: black and white are imitated differently."""
        return self.profile is not None and self.profile.black != self.profile.white


class EvaluationRequest(NamedTuple):
    """N encoded positions of boards of H×W points, all of one size (nets/features.py encodes them)."""

    spatial: NDArray[np.float32]
    """[N, 22, H, W] planes of V7 features."""
    global_: NDArray[np.float32]
    """[N, 19] numbers of V7 features."""
    optimism: NDArray[np.float32] | None = None
    """[N] shares of the optimistic policy, 0 to 1. None: the evaluator's default. Networks without one ignore it."""
    colours: NDArray[np.int8] | None = None
    """[N] colours to move, BLACK or WHITE. Only needed where `EvaluatorAttributes.needs_colours`; None means black."""


class Evaluation(NamedTuple):
    """A network's opinion of N positions of H×W points, seen by the side to move."""

    policy: NDArray[np.float32]
    """[N, H*W + 1] logits, row by row from the top left, the pass last; illegal moves are not masked. Optimism is
    already mixed in."""
    value: NDArray[np.float32]
    """[N, 3] probabilities of win, loss, no result; they sum to 1."""
    score: NDArray[np.float32]
    """[N, 6]: expected final score, its standard deviation, and lead, in points; the time, in moves, after which the
    rest of the score's variance is expected to be decided (KataGo's varTimeLeft: a time, not a variance); short-term
    errors of win minus loss (-1..1) and of the score (points). The last three are -1 where the network has none."""
    ownership: NDArray[np.float32]
    """[N, H*W] in [-1, 1]: +1 is the side to move's."""

    @classmethod
    def zeros(cls, count: int, height: int, width: int) -> Evaluation:
        """Return arrays for `count` positions of such boards, to be written to."""
        columns = height * width + 1, 3, SCORE_COLUMNS, height * width
        return cls(*(np.zeros((count, wide), np.float32) for wide in columns))


Pending = Callable[[], Evaluation]
"""An evaluation that has begun. It waits for the end and returns the result. Raises EvaluatorError."""


class EvaluationSteps(NamedTuple):
    """An evaluation as calls of kernels, which a caller may fuse with its own (nobi_machine/fused_call.py)."""

    steps: list[KernelCall]
    """They raise FloatingPointError where `Evaluator.evaluate` would raise EvaluatorError."""
    multiple: int
    """Only a multiple of so many positions can be evaluated by them."""


def as_floats(array: NDArray[Any]) -> NDArray[np.float32]:
    """Return the array as the one kind that bound kernels take: np.float32 in C order; a copy if need be."""
    if array.dtype is FLOAT and array.flags.carray:
        return array
    return np.array(array, np.float32, order="C")


def softmax(logits: NDArray[Any], legal: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Compute probabilities of the same shape and precision as `logits` [..., P]; every row sums to 1.

    `legal` [P]: which moves of one position (`logits` [P]) may be played. The others have the probability 0, and all
    have it where no move is legal.
    """
    if legal is not None:
        out = np.zeros_like(logits)
        if legal.any():
            out[legal] = softmax(logits[legal])
        return out
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


class EvaluatorError(Exception):
    """A network that cannot be loaded or gave unusable output. The text is one line, fit for a user."""


class DeviceFailed(EvaluatorError):
    """A device that does not start on this machine, or cannot compute."""


class ProfileMissing(EvaluatorError):
    """A HumanSL network that nobody told whom to imitate."""


class Evaluator(ABC):
    """A network ready to run. Several threads may call `evaluate` at once; it releases the GIL."""

    @property
    @abstractmethod
    def attributes(self) -> EvaluatorAttributes:
        """What the evaluator is and needs. Only `use_profile` changes it."""

    @abstractmethod
    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Evaluate the positions of a request. Raises EvaluatorError."""

    suited_workers = 0
    """How many threads should search with it; 0: one for each core."""
    requests_in_flight = 1
    """How many requests each of them should have under way: 1 where the thread itself computes, more where a device
    computes one while the thread prepares the next."""

    def submit(self, request: EvaluationRequest) -> Pending:
        """Begin to evaluate a request, whose arrays have to stay as they are until the evaluation is there.

        By default the calling thread computes it at once. Raises EvaluatorError.
        """
        evaluation = self.evaluate(request)
        return lambda: evaluation

    def searching(self) -> AbstractContextManager[None]:
        """Return a context that lasts as long as a search, of which several may share the evaluator."""
        return nullcontext()

    def fair_batch(self, batch: int) -> int:
        """Return how many positions a request may have now, of `batch` at most: fewer where many searches share."""
        return batch

    def steps(self, request: EvaluationRequest, evaluation: Evaluation, count: Given) -> EvaluationSteps | None:
        """Return the calls of kernels that evaluate the first `count` positions of a request, again and again.

        They read what the request's arrays hold by then, and write to those of `evaluation`; all must be np.float32 in
        C order. None, as by default, where it takes more than kernels to evaluate these positions.
        """
        return None

    def suited_batch(self, height: int, width: int) -> int:
        """Return how many positions of such boards a request of a search should have at most. Raises EvaluatorError."""
        return USUAL_BATCH

    def warm_up(self, count: int, height: int, width: int) -> None:
        """Do now what a first evaluation of `count` boards of this size would wait for. Raises EvaluatorError.

        Evaluates empty boards once, unless an evaluator knows better."""
        spatial = np.zeros((count, SPATIAL_PLANES, height, width), np.float32)
        spatial[:, 0] = 1.0
        self.evaluate(EvaluationRequest(spatial, np.zeros((count, GLOBAL_FEATURES), np.float32)))

    def use_profile(self, profile: HumanProfile) -> None:
        """Imitate other players from the next evaluation on. Raises EvaluatorError if this is no HumanSL network."""
        raise EvaluatorError(f"{self.attributes.name}: {TAKES_NO_PROFILE}")


class NetworkEvaluator(Evaluator):
    """An evaluator that computes a network itself: what those have in common besides how they compute it."""

    def __init__(self, attributes: EvaluatorAttributes, source: str, optimism: float, imitates_people: bool) -> None:
        """`source` is the network's name in errors. `optimism` is the default share of the optimistic policy, if it has
        one. A network that `imitates_people` must have a profile in its `attributes`, and no other one may. Raises
        EvaluatorError."""
        if imitates_people and attributes.profile is None:
            raise ProfileMissing(f"{source}: {NEEDS_PROFILE}")
        if attributes.profile is not None and not imitates_people:
            raise EvaluatorError(f"{source}: {TAKES_NO_PROFILE}")
        self.source, self._attributes, self._optimism = source, attributes, optimism

    @property
    def attributes(self) -> EvaluatorAttributes:
        """What this evaluator is and wants, as `Evaluator.attributes` says."""
        return self._attributes

    def use_profile(self, profile: HumanProfile) -> None:
        """Imitate other players from now on, as `Evaluator.use_profile` says."""
        if self._attributes.profile is None:
            raise EvaluatorError(f"{self.source}: {TAKES_NO_PROFILE}")
        self._attributes = replace(self._attributes, profile=profile)

    def optimism_of(self, count: int, optimism: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """Return the shares [count] of the optimistic policy of a network that has one, given those of a request."""
        if self._attributes.profile is not None:  # people's optimism is in their plain policy
            return np.zeros(count, np.float32)
        return np.full(count, self._optimism, np.float32) if optimism is None else as_floats(optimism.reshape(-1))


@lru_cache(maxsize=64)
def metadata_rows(profile: HumanProfile, points: int) -> NDArray[np.float32]:
    """Return what a HumanSL network is told of its players on a board of so many points: [2, 192], with black and with
    white to move."""
    return np.array([metadata_row(profile, is_black, points) for is_black in (True, False)], np.float32)


def of_colours(rows: NDArray[np.float32], count: int, colours: NDArray[np.int8] | None) -> NDArray[np.float32]:
    """Return the row [count, C] for each of the `colours` [count] to move, of `rows` [2, C] for black and for white.

    None means black everywhere."""
    is_white = np.zeros(count, np.int64) if colours is None else (colours == WHITE).astype(np.int64)
    return rows[is_white]


class ForwardingEvaluator(Evaluator):
    """An evaluator that has another one answer its requests; a subclass does something more in `evaluate`."""

    def __init__(self, evaluator: Evaluator) -> None:
        """`evaluator` is the other one."""
        self.evaluator = evaluator

    @property
    def attributes(self) -> EvaluatorAttributes:
        """The attributes of the other evaluator."""
        return self.evaluator.attributes

    def suited_batch(self, height: int, width: int) -> int:
        """Return what suits the other evaluator, as `Evaluator.suited_batch` says."""
        return self.evaluator.suited_batch(height, width)

    def warm_up(self, count: int, height: int, width: int) -> None:
        """Have the other evaluator warm up, as `Evaluator.warm_up` says."""
        self.evaluator.warm_up(count, height, width)

    def use_profile(self, profile: HumanProfile) -> None:
        """Have the other evaluator imitate other players, as `Evaluator.use_profile` says."""
        self.evaluator.use_profile(profile)


class ConstantEvaluator(Evaluator):
    """An evaluator for tests, and to measure what the search tree costs by itself."""

    attributes = EvaluatorAttributes("constant", "fp32", "none")

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Return a uniform policy, a winning chance of one half, a lead of 0 and no ownership."""
        count, _, height, width = request.spatial.shape
        evaluation = Evaluation.zeros(count, height, width)
        evaluation.value[:, [WIN, LOSS]] = 0.5
        evaluation.score[:, [SHORTTERM_WINLOSS_ERROR, SHORTTERM_SCORE_ERROR]] = -1.0
        return evaluation


class RecordedPosition(NamedTuple):
    """One position as the network saw it."""

    spatial: NDArray[np.uint8]
    """[22, H, W]: all planes of V7 features are 0 or 1."""
    global_: NDArray[np.float32]
    """[19]"""


class RecordingEvaluator(ForwardingEvaluator):
    """Counts the batches that another evaluator is given, and keeps some of their positions."""

    def __init__(
        self, evaluator: Evaluator, most: float = float("inf"), chosen: Callable[[int], Iterable[int]] = range
    ) -> None:
        """The positions of a request are kept where fewer than `most` were kept before it. `chosen` is told the number
        of positions in a request and returns the rows to keep."""
        super().__init__(evaluator)
        self.batches: Counter[int] = Counter()
        """How many requests of each size there were."""
        self.positions: list[RecordedPosition] = []
        self._most, self._chosen = most, chosen
        self._lock = threading.Lock()

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Have the other evaluator answer the request."""
        with self._lock:
            self.batches[len(request.spatial)] += 1
            if len(self.positions) < self._most:
                for row in self._chosen(len(request.spatial)):
                    planes, numbers = request.spatial[row], request.global_[row]
                    self.positions.append(RecordedPosition(planes.astype(np.uint8), numbers.copy()))
        return self.evaluator.evaluate(request)

    def take_positions(self) -> list[RecordedPosition]:
        """Return the positions kept since the last call, and forget them."""
        with self._lock:
            positions, self.positions = self.positions, []
        return positions
