"""Devices: which is chosen by what onnxruntime offers, and what happens where one is missing or does not start."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnxruntime
import pytest

from nets.devices import CPU, DEVICES, MissingDevice, accelerator, device_for, offered_providers, onnxruntime_module
from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.graph.accelerator import SIZES
from nets.open import check_network, open_network
from tests.nets.test_open import position

CUDA, DIRECTML = "CUDAExecutionProvider", "DmlExecutionProvider"
Session = onnxruntime.InferenceSession
pytestmark = pytest.mark.usefixtures("own_cache")


class FakeSession(Session):  # type: ignore[misc]
    """A session that computes on the processor and claims to have done it on whatever was asked for."""

    broken: ClassVar[dict[str, str]] = {}
    """Providers that raise this error."""
    absent: ClassVar[set[str]] = set()
    """Providers whose libraries are missing, which onnxruntime passes over in silence."""
    opened: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def __init__(self, content: bytes, options: Any, providers: list[Any], **more: Any) -> None:
        first = providers[0] if isinstance(providers[0], tuple) else (providers[0], {})
        if first[0] in self.broken:
            raise RuntimeError(self.broken[first[0]])
        self.claimed = [first[0]] if first[0] not in self.absent else []
        self.opened.append(first)
        super().__init__(content, options, providers=[CPU.provider], **more)

    def get_providers(self) -> list[str]:
        return [*self.claimed, CPU.provider]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes onnxruntime offer these providers beside the processor."""
    monkeypatch.setattr(FakeSession, "broken", {})
    monkeypatch.setattr(FakeSession, "absent", set())
    monkeypatch.setattr(FakeSession, "opened", [])
    monkeypatch.setattr(onnxruntime, "InferenceSession", FakeSession)

    def offer(*providers: str) -> None:
        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [*providers, CPU.provider])

    return offer


@pytest.fixture
def tensorrt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of this name."""
    (tmp_path / "tensorrt.py").touch()
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("tensorrt")
@pytest.mark.parametrize(
    ("name", "providers", "chosen"),
    [
        ("auto", [], "cpu"),
        ("auto", [device.provider for device in DEVICES], "cpu"),
        ("cpu", [CUDA], "cpu"),
        ("cuda", [CUDA, "TensorrtExecutionProvider"], "cuda"),
        ("tensorrt", [CUDA, "TensorrtExecutionProvider"], "tensorrt"),
        ("directml", [DIRECTML], "directml"),
        ("openvino", ["OpenVINOExecutionProvider"], "openvino"),
        ("coreml", ["CoreMLExecutionProvider"], "coreml"),
    ],
)
def test_only_a_device_that_is_named_is_used(name: str, providers: list[str], chosen: str) -> None:
    assert device_for(name, lambda: [*providers, CPU.provider]).name == chosen


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("cuda", "onnxruntime-gpu"),
        ("tensorrt", "onnxruntime-gpu"),
        ("directml", "onnxruntime-directml"),
        ("coreml", '"onnxruntime" on a Mac'),
        ("openvino", "onnxruntime-openvino"),
    ],
)
def test_a_missing_device_names_its_package(name: str, package: str) -> None:
    with pytest.raises(MissingDevice) as caught:
        device_for(name, lambda: [CPU.provider])
    assert str(caught.value).startswith(f"device {name} is not here (there is: cpu); it comes with ")
    assert package in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tensorrt_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    with pytest.raises(MissingDevice, match=r"device tensorrt needs .*: pip install \"tensorrt<11\""):
        device_for("tensorrt", lambda: ["TensorrtExecutionProvider", CUDA])
    monkeypatch.setattr("ctypes.util.find_library", lambda name: f"lib{name}.so")
    assert device_for("tensorrt", lambda: ["TensorrtExecutionProvider", CUDA]).name == "tensorrt"


def test_a_package_that_another_one_was_installed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert accelerator() is None
    metadata = tmp_path / "onnxruntime_gpu-1.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Name: onnxruntime-gpu\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CPU.provider])
    mends = "installed over onnxruntime-gpu, .*: pip install --force-reinstall --no-deps onnxruntime-gpu$"
    for ask in (accelerator, lambda: device_for("cuda", lambda: [CPU.provider])):
        with pytest.raises(MissingDevice, match=mends):
            ask()
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["TensorrtExecutionProvider", CUDA])
    assert [accelerator(), accelerator("int16")] == [DEVICES[0], None]


def test_an_onnxruntime_that_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pip leaves a folder without a module where it removes one of two packages."""
    onnxruntime_module.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", types.ModuleType("onnxruntime"))
    with pytest.raises(MissingDevice, match=r"onnxruntime does not start \(.*: pip install --force-reinstall"):
        offered_providers()


@pytest.mark.usefixtures("tensorrt")
def test_every_device_gets_what_it_needs(network: Path, offered: Callable[..., None]) -> None:
    offered(*(device.provider for device in DEVICES if device is not CPU))
    for device in DEVICES:
        FakeSession.opened.clear()
        evaluator = open_network(network, "fp32", device.name)
        assert (evaluator.attributes.provider, evaluator.attributes.precision) == (device.provider, "fp32")
        evaluator.evaluate(EvaluationRequest(*position(3)))
        assert FakeSession.opened[0][0] == device.provider
        assert device.options.items() <= FakeSession.opened[0][1].items()
        assert (device.name == "tensorrt") == ("trt_engine_cache_path" in FakeSession.opened[0][1])


@pytest.mark.usefixtures("tensorrt")
def test_what_tensorrt_prepares_is_kept_for_each_shape(network: Path, offered: Callable[..., None]) -> None:
    offered("TensorrtExecutionProvider")
    notes: list[str] = []

    def open_it() -> set[str]:
        FakeSession.opened.clear()
        open_network(network, "fp16", "tensorrt", note=notes.append).warm_up(1, 5, 5)
        assert all(options["trt_fp16_enable"] == "1" for _, options in FakeSession.opened)
        return {options["trt_engine_cache_path"] for _, options in FakeSession.opened}

    folders = open_it()
    assert notes[0] == "tensorrt: preparing batches of 4 on 9x9, once; this may take minutes"
    assert len(folders) == len(notes) == 1 + len(SIZES)
    for folder in folders:
        (Path(folder) / "engine").touch()
    assert open_it() == folders
    assert len(notes) == len(folders)


def test_a_device_that_does_not_start(network: Path, offered: Callable[..., None]) -> None:
    """What was asked for by name is not replaced."""
    offered(CUDA)
    FakeSession.absent.add(CUDA)
    with pytest.raises(EvaluatorError, match=r"^device cuda does not start: it needs an NVIDIA driver[^\n]*$"):
        open_network(network, device="cuda")
    FakeSession.broken[CUDA] = "CUDA failure 35: driver version is insufficient\n at line 80"
    assert open_network(network).attributes.provider == CPU.provider
    with pytest.raises(EvaluatorError) as caught:
        open_network(network, device="cuda")
    assert str(caught.value) == "device cuda does not start: CUDA failure 35: driver version is insufficient"


def test_a_device_that_cannot_compute(
    network: Path, offered: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: FakeSession, *arguments: Any) -> Any:
        raise RuntimeError("no kernel image is available")

    offered(CUDA)
    monkeypatch.setattr(FakeSession, "run_with_iobinding", run)
    with pytest.raises(EvaluatorError, match="device cuda does not work: evaluation failed: no kernel image"):
        open_network(network, device="cuda")


@pytest.mark.parametrize(
    ("precision", "device", "message"),
    [
        ("fp16", "auto", "precision fp16 is not to be had: cpu computes in int16 or fp32"),
        ("fp16", "cpu", "precision fp16 is not to be had: cpu computes in int16 or fp32"),
        ("int16", "cuda", "precision int16 is not to be had: cuda computes in fp16 or fp32"),
        ("auto", "directml", "device directml is not here (there is: cuda, cpu)"),
    ],
)
def test_precisions_that_a_device_lacks(
    network: Path, offered: Callable[..., None], precision: str, device: str, message: str
) -> None:
    offered(*([] if precision == "fp16" else [CUDA]))
    for function in (open_network, check_network):
        with pytest.raises(EvaluatorError) as caught:
            function(network, precision, device)  # type: ignore[operator]
        assert str(caught.value).startswith(message)


def test_fp16_is_compared_with_fp32_once(network: Path, offered: Callable[..., None]) -> None:
    offered(CUDA)
    notes: list[str] = []
    evaluator = open_network(network, device="cuda", note=notes.append)
    assert (evaluator.attributes.provider, evaluator.attributes.precision) == (CUDA, "fp16")
    assert notes == ["network.bin.gz: comparing fp16 with fp32 on cuda, once"]
    assert open_network(network, device="cuda", note=notes.append).attributes.precision == "fp16"
    assert len(notes) == 1


def test_fp32_where_fp16_loses_too_much(
    network: Path, offered: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(CUDA)
    monkeypatch.setattr("nets.graph.convert.reason_against_fp16", lambda reference, candidate: "its lead mean is 5")
    notes: list[str] = []
    evaluator = open_network(network, device="cuda", note=notes.append)
    assert (evaluator.attributes.provider, evaluator.attributes.precision) == (CUDA, "fp32")
    assert notes[-1] == "network.bin.gz: using fp32, for in fp16 its lead mean is 5"
    assert open_network(network, "fp16", "cuda").attributes.precision == "fp16"


def test_one_call_at_a_time_where_a_device_takes_no_more(
    network: Path, offered: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, most = [0], [0]
    lock = threading.Lock()

    def run(self: FakeSession, *arguments: Any) -> Any:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        try:
            return Session.run_with_iobinding(self, *arguments)
        finally:
            with lock:
                inside[0] -= 1

    offered(DIRECTML)
    evaluator = open_network(network, "fp32", "directml")
    monkeypatch.setattr(FakeSession, "run_with_iobinding", run)
    request = EvaluationRequest(*position(2))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(evaluator.evaluate, [request] * 20))
    assert most[0] == 1


def test_the_real_onnxruntime_says_what_it_lacks(network: Path) -> None:
    if CUDA in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime has CUDA")
    with pytest.raises(EvaluatorError, match=r"device cuda is not here .*onnxruntime-gpu"):
        open_network(network, device="cuda")
    assert np.isfinite(open_network(network).evaluate(EvaluationRequest(*position())).value).all()


def test_cudas_libraries_are_loaded_first_and_quietly(
    network: Path, offered: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    preloaded: list[int] = []

    def preload() -> None:
        preloaded.append(len(FakeSession.opened))
        print("Failed to load libcublasLt.so")
        raise RuntimeError("no such directory")

    offered(CUDA, DIRECTML)
    monkeypatch.setattr(onnxruntime, "preload_dlls", preload, raising=False)
    open_network(network, "fp32", "directml")
    assert preloaded == []
    FakeSession.opened.clear()
    open_network(network, "fp32", "cuda")
    assert preloaded == [0]
    monkeypatch.delattr(onnxruntime, "preload_dlls")  # onnxruntime before 1.21
    open_network(network, "fp32", "cuda")
    assert capsys.readouterr() == ("", "")
