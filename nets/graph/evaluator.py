"""Networks run by onnxruntime."""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE, WHITE
from nets.devices import CPU, Device, onnxruntime_module
from nets.evaluator import (
    GLOBAL_FEATURES,
    SPATIAL_PLANES,
    TAKES_NO_PROFILE,
    Evaluation,
    EvaluationRequest,
    Evaluator,
    EvaluatorAttributes,
    EvaluatorError,
    ProfileMissing,
)
from nets.graph.check import OUTPUTS, check_onnx
from nets.graph.sizes import ShapeError
from nets.human_profile import META_FEATURES, NEEDS_PROFILE, HumanProfile, metadata_row
from nobi_machine.cache import cache_root, usable_folder

if TYPE_CHECKING:
    import onnxruntime

TENSORRT_SHAPES = {"min": (1, 2), "opt": (16, 19), "max": (64, MAX_SIZE)}
"""Positions and lines of the board that its engines are built for."""


class OnnxEvaluator(Evaluator):
    """An evaluator that runs an ONNX model in onnxruntime. Any number of threads may call it at once.

    With one intra-op thread a call computes on the calling thread alone, so workers share the session and its
    weights and still use a core each. Calls to a device that takes one at a time wait for each other.
    """

    def __init__(
        self,
        content: bytes,
        source: str,
        *,
        threads: int = 1,
        optimism: float = 1.0,
        profile: HumanProfile | None = None,
        device: Device = CPU,
    ) -> None:
        """`content` is an ONNX model, `source` its name in errors. `threads` compute one call together. `optimism`
        is the default share of the optimistic policy in networks that have one; `profile` says whom a HumanSL network
        imitates, and only such a one may and must have it. Raises EvaluatorError, also for a device that does not
        start."""
        facts = check_onnx(content, source)
        self.facts = facts
        self._source = source
        self._optimism = optimism
        if "meta" in facts.inputs and profile is None:
            raise ProfileMissing(f"{source}: {NEEDS_PROFILE}")
        if "meta" not in facts.inputs and profile is not None:
            raise EvaluatorError(f"{source}: {TAKES_NO_PROFILE}")
        self._attributes = EvaluatorAttributes(
            facts.name,
            facts.precision,
            device.provider,
            "optimism" in facts.inputs,
            profile,
            facts.pass_alive_under_suicide,
            facts.only_safe_area,
        )
        self._threads = threads
        self._session = _open_session(content, source, threads, device, facts.inputs)
        self._turn: AbstractContextManager[object] = nullcontext() if device.is_concurrent else threading.Lock()

    @property
    def attributes(self) -> EvaluatorAttributes:
        """What this evaluator is and wants, as `Evaluator.attributes` says."""
        return self._attributes

    def use_profile(self, profile: HumanProfile) -> None:
        """Imitate other players from now on, as `Evaluator.use_profile` says."""
        if self._attributes.profile is None:
            raise EvaluatorError(f"{self._source}: {TAKES_NO_PROFILE}")
        self._attributes = replace(self._attributes, profile=profile)

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Evaluate positions as `Evaluator.evaluate` says."""
        spatial, global_, optimism, colours = request
        count, _, height, width = spatial.shape
        attributes = self._attributes
        feed: dict[str, Any] = {"spatial": spatial, "global": global_}
        if attributes.has_optimism:
            shares = np.full(count, self._optimism, np.float32) if optimism is None else optimism
            feed["optimism"] = shares.reshape(count, 1)
            if attributes.profile is not None:  # people's optimism is in their plain policy
                feed["optimism"] = np.zeros((count, 1), np.float32)
        if attributes.profile is not None:
            is_white = np.zeros(count, np.int64) if colours is None else (colours == WHITE).astype(np.int64)
            feed["meta"] = _metadata(attributes.profile, height * width)[is_white]
        try:
            self.facts.sizes.check(height, width)
        except ShapeError as error:
            raise EvaluatorError(f"{self._source}: not a usable network: {error}") from None
        try:
            with self._turn:
                evaluation = Evaluation(*self._session.run(list(OUTPUTS), feed))
        except Exception as error:  # onnxruntime's exceptions have no common type of their own
            raise EvaluatorError(f"{self._source}: evaluation failed: {_first_line(error)}") from None
        area = height * width
        shapes = tuple(output.shape for output in evaluation)
        if shapes != ((count, area + 1), (count, 3), (count, 6), (count, area)):
            raise EvaluatorError(f"{self._source}: outputs of the wrong shape")
        if not all(np.isfinite(output).all() for output in evaluation):
            raise EvaluatorError(f"{self._source}: an output is not finite")
        return evaluation


@lru_cache(maxsize=64)
def _metadata(profile: HumanProfile, points: int) -> NDArray[np.float32]:
    """[2, 192]: what a HumanSL network is told with black and with white to move."""
    return np.array([metadata_row(profile, is_black, points) for is_black in (True, False)], np.float32)


def open_recorder(
    content: bytes, source: str, wanted: Collection[str]
) -> Callable[..., dict[str, NDArray[np.float32]]]:
    """Open an ONNX model of our own making with the `wanted` ones of its outputs.

    Returns a function of `spatial` and `global_`, and of `meta` [N, 192] for HumanSL networks, that returns the outputs
    by name. Where the network takes a share of the optimistic policy it is given 0. Raises EvaluatorError.
    """
    session = _open_session(content, source, threads=1)
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


def _open_session(
    content: bytes, source: str, threads: int, device: Device = CPU, inputs: frozenset[str] = frozenset()
) -> onnxruntime.InferenceSession:
    """`inputs` are the names of the model's; only devices other than the processor need to know them."""
    onnxruntime = onnxruntime_module()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # whatever goes wrong is raised; onnxruntime's own lines would reach stderr
    # Each call's buffers return to the system: an arena keeps the largest batch on the largest board for ever, and a
    # memory pattern for every batch size.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    providers: list[Any] = [CPU.provider]
    if device is not CPU:
        onnxruntime.set_default_logger_severity(4)  # libraries that are missing are logged outside of any session
        providers.insert(0, (device.provider, _provider_options(device, inputs)))
    if device.needs_cuda:
        _preload_cuda()
    try:
        # Its fallback to other providers prints to stdout.
        session = onnxruntime.InferenceSession(content, options, providers=providers, enable_fallback=0)
    except Exception as error:  # onnxruntime's exceptions have no common type of their own
        if device is not CPU:
            raise EvaluatorError(f"device {device.name} does not start: {_first_line(error)}") from None
        raise EvaluatorError(f"{source}: onnxruntime refuses the network: {_first_line(error)}") from None
    if device.provider not in session.get_providers():  # its libraries are missing, which is no error to onnxruntime
        raise EvaluatorError(f"device {device.name} does not start{device.needs and ': '}{device.needs}")
    return session


def _provider_options(device: Device, inputs: frozenset[str]) -> dict[str, str]:
    options = dict(device.options)
    if device.name == "tensorrt":
        # An engine for every batch and board: a shape outside of these would have one built in the middle of a game.
        for bound, (count, side) in TENSORRT_SHAPES.items():
            options[f"trt_profile_{bound}_shapes"] = ",".join(
                f"{name}:{'x'.join(map(str, (count, *shape)))}"
                for name, shape in (
                    ("spatial", (SPATIAL_PLANES, side, side)),
                    ("global", (GLOBAL_FEATURES,)),
                    ("optimism", (1,)),
                    ("meta", (META_FEATURES,)),
                )
                if name in inputs
            )
        kept = usable_folder(cache_root() / "tensorrt", create=True)
        if kept is not None:
            options["trt_engine_cache_enable"] = "1"
            options["trt_engine_cache_path"] = str(kept)
    return options


def _preload_cuda() -> None:
    """Have CUDA's libraries found in the packages of pip. What goes wrong with that is printed, to stdout; whether it
    matters shows when the session is opened."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        onnxruntime_module().preload_dlls()  # older versions have no such function


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
