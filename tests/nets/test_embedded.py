"""The networks that ship: their files belong together, are installed, and spare a first start the calibration."""

from __future__ import annotations

import configparser
import dataclasses
import hashlib
import json
import shutil
from pathlib import Path

import pytest

from nets import embedded
from nets.constant import ConstantEvaluator
from nets.conversion.convert import load_model
from nets.embedded import (
    EMBEDDED,
    FAST,
    WEIGHTS,
    embedded_network,
    facts_file,
    int16_file,
    network_file,
    ready_made_int16,
)
from nets.native import calibrate
from nets.native.simd.processor import is_available
from nets.open import open_network
from tests.conftest import REPOSITORY

MOST_BYTES = 10_000_000
"""The wheel is to stay under 15 MB."""


each_network = pytest.mark.parametrize("name", EMBEDDED)


def facts_of(name: str) -> dict[str, object]:
    return dict(json.loads(facts_file(name).read_bytes()))


@each_network
def test_the_files_belong_together(name: str) -> None:
    path, facts = embedded_network(name), facts_of(name)
    assert path == network_file(name)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert facts["sha256"] == sha256
    assert load_model(path.read_bytes(), "embedded").name == facts["name"]
    card = (WEIGHTS / "README.md").read_text(encoding="utf-8")
    assert f"| {facts['name']} |" in card
    assert sha256 in card


def test_there_are_no_other_files() -> None:
    files = [file(name) for name in EMBEDDED for file in (network_file, int16_file, facts_file)]
    assert sorted(WEIGHTS.iterdir()) == sorted([*files, WEIGHTS / "README.md"])


def test_they_are_installed_and_small() -> None:
    setup = configparser.ConfigParser()
    setup.read(REPOSITORY / "setup.cfg", encoding="utf-8")
    assert setup["options.package_data"]["nets"].split() == ["weights/*", "precision/*.txt"]
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) < MOST_BYTES


needs_kernels = pytest.mark.skipif(not is_available(), reason="numba is off, or the processor has no such vectors")


@needs_kernels
@each_network
def test_a_first_start_does_not_calibrate(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.cache.networks_directory", lambda: tmp_path)
    monkeypatch.setattr(calibrate, "calibrate", None)
    lines: list[str] = []
    evaluator = open_network(network_file(name), "auto", note=lines.append)
    assert evaluator.attributes.precision == "int16"
    assert not lines


@needs_kernels
def test_each_machine_checks_int16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.cache.networks_directory", lambda: tmp_path)
    ready = ready_made_int16(str(facts_of(FAST)["sha256"]))
    assert ready is not None
    model = load_model(network_file(FAST).read_bytes(), "embedded")
    plain = open_network(network_file(FAST), "fp32")
    assert calibrate.checked_here(ready, model, plain).reason_against == ""
    assert "is allowed" in calibrate.checked_here(ready, model, ConstantEvaluator()).reason_against
    monkeypatch.setattr(calibrate, "HERE", dataclasses.replace(calibrate.HERE, has_bf16_tiles=False))
    bad = dataclasses.replace(ready, loss={**ready.loss, "policy_kl": 0.5})
    found = calibrate.checked_here(bad, model, plain)
    assert found.reason_against == "its policy kl is 0.5000 where 0.01 is allowed"


@each_network
def test_without_the_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sha256, facts, int16 = str(facts_of(name)["sha256"]), facts_file(name), int16_file(name)
    assert ready_made_int16(sha256) is not None
    assert ready_made_int16("0" * 64) is None
    monkeypatch.setattr(embedded, "WEIGHTS", tmp_path)
    assert embedded_network(name) is None
    assert ready_made_int16(sha256) is None
    for path in (facts, int16):
        shutil.copy(path, tmp_path)
    assert ready_made_int16(sha256) is not None
    for damage in (b"PK\x03\x04 cut off", b""):
        int16_file(name).write_bytes(damage)
        assert ready_made_int16(sha256) is None
    shutil.copy(int16, tmp_path)
    assert ready_made_int16(sha256) is not None
