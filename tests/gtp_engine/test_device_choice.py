"""`--device auto` with simulated devices: a fast one plays, a slow one does not, and neither is measured twice."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

import pytest

from gtp_engine import device_choice
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.device_choice import known_comparison
from gtp_engine.networks import known_rate, open_evaluator
from nets.devices import DEVICES, MissingDevice, named_device
from nets.embedded import network_file
from nets.evaluator import DeviceFailed
from nets.graph import accelerator

FAST, SLOW = "simulated:0:0", "simulated:0.5:0"


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    """A network that was never seen, on a machine where everything is compiled."""
    monkeypatch.setattr("nobi_machine.jit.compilations", 0)
    monkeypatch.setattr(device_choice, "SECONDS", 0.3)  # a worker's first call of a kernel is among them
    monkeypatch.setattr(accelerator, "SIZES", (4,))
    shutil.copy(network_file(), tmp_path / "net.bin.gz")
    return Configuration({"net": str(tmp_path / "net.bin.gz"), "size": "9", "workers": 2})


def offer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_choice, "accelerator", lambda precision="auto": named_device(name))


@pytest.mark.parametrize(("name", "provider"), [(FAST, "simulated"), (SLOW, "native")])
def test_the_faster_one_plays(
    name: str,
    provider: str,
    configuration: Configuration,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    offer(name, monkeypatch)
    assert known_comparison(configuration) is None
    assert open_evaluator(configuration).attributes.provider == provider
    found = known_comparison(configuration)
    assert found is not None
    assert found.is_won == (name == FAST)
    said = capsys.readouterr().err
    assert f"net.bin.gz: comparing {name} with the processor, once; this takes some seconds\n" in said
    assert f"{found}; {name if name == FAST else 'the processor'} plays\n" in said
    assert open_evaluator(configuration).attributes.provider == provider
    assert capsys.readouterr().err == ""
    assert known_comparison(dataclasses.replace(configuration, values={**configuration.values, "size": "13"})) is None


def test_nothing_is_measured_where_kernels_had_to_be_compiled(
    configuration: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(FAST, monkeypatch)
    monkeypatch.setattr("nobi_machine.jit.compilations", 1)
    assert open_evaluator(configuration).attributes.provider == "native"
    assert known_comparison(configuration) is None


@pytest.mark.parametrize("is_installed", [True, False])
def test_the_processor_plays_where_there_is_no_driver(
    is_installed: bool,
    configuration: Configuration,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def found(precision: str = "auto") -> object:
        if is_installed:
            return DEVICES[0]
        raise MissingDevice("device cuda is not here: pip")

    monkeypatch.setattr(device_choice, "accelerator", found)
    assert open_evaluator(configuration).attributes.provider == "native"
    assert re.search(r"^nobi: device cuda is not here.*; the processor plays$", capsys.readouterr().err, re.MULTILINE)
    assert known_comparison(configuration) is None
    assert known_rate(configuration) is None


@pytest.mark.filterwarnings("ignore:Specified provider")
def test_the_processor_plays_where_a_device_that_was_named_does_not_start(
    configuration: Configuration, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: [DEVICES[0].provider])
    named = dataclasses.replace(configuration, values={**configuration.values, "device": "cuda", "precision": "fp32"})
    with pytest.raises(DeviceFailed):
        open_evaluator(named)
    assert open_evaluator(named, plays=True).attributes.provider == "native"
    said = (
        "nobi: device cuda does not start: it needs an NVIDIA driver and the libraries of onnxruntime-gpu[cuda,cudnn]"
    )
    assert f"{said}; the processor plays, more slowly\n" in capsys.readouterr().err
