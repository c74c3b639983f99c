"""Networks run by onnxruntime on the processor, and what those on other devices have in common with them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nets.devices import CPU, onnxruntime_module
from nets.evaluator import (
    Evaluation,
    EvaluationRequest,
    EvaluatorAttributes,
    EvaluatorError,
    NetworkEvaluator,
    metadata_rows,
    of_colours,
)
from nets.graph.check import OUTPUTS, check_onnx
from nets.graph.sizes import ShapeError
from nets.human_profile import HumanProfile

if TYPE_CHECKING:
    import onnxruntime

NOT_FINITE = "an output is not finite"


class GraphEvaluator(NetworkEvaluator):
    """What all evaluators of ONNX models have in common: the facts of the model, and what it is told of positions."""

    def __init__(
        self, content: bytes, source: str, provider: str, optimism: float = 1.0, profile: HumanProfile | None = None
    ) -> None:
        """`content` is an ONNX model, `provider` what computes it; for the others see `NetworkEvaluator`. Raises
        EvaluatorError."""
        self.facts = facts = check_onnx(content, source)
        attributes = EvaluatorAttributes(
            facts.name,
            facts.precision,
            provider,
            "optimism" in facts.inputs,
            profile,
            facts.pass_alive_under_suicide,
            facts.only_safe_area,
        )
        super().__init__(attributes, source, optimism, "meta" in facts.inputs)

    def check_board(self, height: int, width: int) -> None:
        """Raise EvaluatorError for boards of a size that the model does not take."""
        try:
            self.facts.sizes.check(height, width)
        except ShapeError as error:
            raise EvaluatorError(f"{self.source}: not a usable network: {error}") from None

    def feed(self, request: EvaluationRequest) -> dict[str, NDArray[np.float32]]:
        """Return the model's inputs for the positions of a request. Raises what `check_board` raises."""
        spatial, global_, optimism, colours = request
        count, _, height, width = spatial.shape
        self.check_board(height, width)
        profile = self._attributes.profile
        feed = {"spatial": spatial, "global": global_}
        if self._attributes.has_optimism:
            feed["optimism"] = self.optimism_of(count, optimism).reshape(count, 1)
        if profile is not None:
            feed["meta"] = of_colours(metadata_rows(profile, height * width), count, colours)
        return feed


class OnnxEvaluator(GraphEvaluator):
    """An evaluator that has the processor run an ONNX model in onnxruntime. Any number of threads may call it at once.

    A call computes on the calling thread alone, so workers share the session and its weights and still use a core each.
    """

    def __init__(
        self, content: bytes, source: str, *, optimism: float = 1.0, profile: HumanProfile | None = None
    ) -> None:
        """For the arguments see `GraphEvaluator`. Raises EvaluatorError."""
        super().__init__(content, source, CPU.provider, optimism, profile)
        self._session = open_session(content, source)

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Evaluate positions as `Evaluator.evaluate` says."""
        feed = self.feed(request)
        try:
            evaluation = Evaluation(*self._session.run(list(OUTPUTS), feed))
        except Exception as error:  # onnxruntime's exceptions have no common type of their own
            raise EvaluatorError(f"{self.source}: evaluation failed: {first_line(error)}") from None
        count, _, height, width = request.spatial.shape
        area = height * width
        shapes = tuple(output.shape for output in evaluation)
        if shapes != ((count, area + 1), (count, 3), (count, 6), (count, area)):
            raise EvaluatorError(f"{self.source}: outputs of the wrong shape")
        if not all(np.isfinite(output).all() for output in evaluation):
            raise EvaluatorError(f"{self.source}: {NOT_FINITE}")
        return evaluation


def open_recorder(
    content: bytes, source: str, wanted: Collection[str]
) -> Callable[..., dict[str, NDArray[np.float32]]]:
    """Open an ONNX model of our own making with the `wanted` ones of its outputs.

    Returns a function of `spatial` and `global_`, and of `meta` [N, 192] for HumanSL networks, that returns the outputs
    by name. Where the network takes a share of the optimistic policy it is given 0. Raises EvaluatorError.
    """
    session = open_session(content, source)
    names = [output.name for output in session.get_outputs() if output.name in wanted]
    inputs = {each.name for each in session.get_inputs()}

    def record(
        spatial: NDArray[np.float32], global_: NDArray[np.float32], meta: NDArray[np.float32] | None = None
    ) -> dict[str, NDArray[np.float32]]:
        feed = {"spatial": spatial, "global": global_}
        if meta is not None:
            feed["meta"] = meta
        if "optimism" in inputs:
            feed["optimism"] = np.zeros((len(spatial), 1), np.float32)
        return dict(zip(names, session.run(names, feed), strict=True))

    return record


def open_session(content: bytes, source: str) -> onnxruntime.InferenceSession:
    """Open an ONNX model on the processor. Raises EvaluatorError."""
    try:
        # Its fallback to other providers prints to stdout.
        return onnxruntime_module().InferenceSession(
            content, session_options(), providers=[CPU.provider], enable_fallback=0
        )
    except Exception as error:  # onnxruntime's exceptions have no common type of their own
        raise EvaluatorError(f"{source}: onnxruntime refuses the network: {first_line(error)}") from None


def session_options() -> onnxruntime.SessionOptions:
    """Return what every session is opened with."""
    options = onnxruntime_module().SessionOptions()
    options.intra_op_num_threads = 1  # the calling thread
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # whatever goes wrong is raised; onnxruntime's own lines would reach stderr
    # Each call's buffers return to the system: an arena keeps the largest batch on the largest board for ever, and a
    # memory pattern for every batch size.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    return options


def first_line(error: Exception) -> str:
    """Return what an exception of onnxruntime's says, in one line."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
