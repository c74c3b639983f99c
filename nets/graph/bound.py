"""Sessions of onnxruntime on an accelerator, each of one shape, and memory bound to their inputs and outputs."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from nets.devices import CPU, Device, onnxruntime_module, runtime_version
from nets.evaluator import DeviceFailed, Evaluation
from nets.graph.accelerator import Batch, OpenSession, Shape, new_inputs
from nets.graph.check import OUTPUTS
from nets.graph.evaluator import first_line, session_options
from nobi_machine.cache import cache_root, usable_folder

if TYPE_CHECKING:
    import onnxruntime

DIMENSIONS = ("N", "H", "W")
"""What our own ONNX files call the parts of a Shape. Sessions of other files may be free to vary, and see one all the
same."""


def bound_sessions(content: bytes, device: Device, note: Callable[[str], None] = lambda line: None) -> OpenSession:
    """Return what opens the sessions of an ONNX model on a device. `note` is told of what takes minutes."""
    turn: AbstractContextManager[object] = nullcontext() if device.is_concurrent else threading.Lock()

    def open_session(shape: Shape, inputs: frozenset[str]) -> Callable[[], Batch]:
        session = _open_session(content, device, shape, note)
        return lambda: _bound_batch(session, inputs, shape, turn)

    return open_session


def _bound_batch(
    session: onnxruntime.InferenceSession, inputs: frozenset[str], shape: Shape, turn: AbstractContextManager[object]
) -> Batch:
    """Make a call of a session; `turn` is held while it computes."""
    memory, outputs, binding = new_inputs(inputs, shape), Evaluation.zeros(*shape), session.io_binding()
    wrap = onnxruntime_module().OrtValue.ortvalue_from_numpy
    values = {name: wrap(array) for name, array in memory.items()}
    for name, array in zip(OUTPUTS, outputs, strict=True):
        binding.bind_ortvalue_output(name, wrap(array))

    def run() -> None:
        with turn:
            for name, value in values.items():  # to bind an input is to copy it to the device
                binding.bind_ortvalue_input(name, value)
            binding.synchronize_inputs()
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()

    return Batch(memory, outputs, run)


def _open_session(
    content: bytes, device: Device, shape: Shape, note: Callable[[str], None]
) -> onnxruntime.InferenceSession:
    """Raises DeviceFailed."""
    onnxruntime = onnxruntime_module()
    onnxruntime.set_default_logger_severity(4)  # libraries that are missing are logged outside of any session
    options = session_options()
    for name, size in zip(DIMENSIONS, shape, strict=True):
        options.add_free_dimension_override_by_name(name, size)
    _preload(device)
    own = dict(device.options)
    if device.is_slow_to_start:
        kept = _kept_engines(content, shape)
        if kept is None or not any(kept.iterdir()):
            board = f"{shape.width}x{shape.height}"
            once = "once" if kept is not None else "at every start, for there is no cache"
            note(f"{device.name}: preparing batches of {shape.size} on {board}, {once}; this may take minutes")
        if kept is not None:
            own |= {"trt_engine_cache_enable": "1", "trt_engine_cache_path": str(kept)}
    providers = [(device.provider, own), CPU.provider]
    try:
        # Its fallback to other providers prints to stdout.
        session = onnxruntime.InferenceSession(content, options, providers=providers, enable_fallback=0)
    except Exception as error:  # onnxruntime's exceptions have no common type of their own
        raise DeviceFailed(f"device {device.name} does not start: {first_line(error)}") from None
    if device.provider not in session.get_providers():  # its libraries are missing, which is no error to onnxruntime
        raise DeviceFailed(f"device {device.name} does not start{device.needs and ': '}{device.needs}")
    return session


def _kept_engines(content: bytes, shape: Shape) -> Path | None:
    """The folder for TensorRT's engine of a session, None without a cache. It has no other session's: onnxruntime tells
    engines apart by the names in a graph, whatever its weights are."""
    name = "-".join([hashlib.sha256(content).hexdigest()[:24], runtime_version(), *map(str, shape)])
    return usable_folder(cache_root() / "tensorrt" / name, create=True)


def _preload(device: Device) -> None:
    """Have a device's libraries found in the packages of pip. What goes wrong with that is printed, to stdout; whether
    it matters shows when the session is opened."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        if device.needs_cuda:
            onnxruntime_module().preload_dlls()  # older versions have no such function
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        if device.module:
            importlib.import_module(device.module)
