"""The network that ships: its files belong together, are installed, and spare a first start the calibration."""

from __future__ import annotations

import configparser
import dataclasses
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from nets import embedded
from nets.constant import ConstantEvaluator
from nets.conversion.convert import load_model
from nets.embedded import (
    CHECK,
    FACTS,
    INT8,
    INT16,
    NETWORK,
    WEIGHTS,
    embedded_network,
    ready_made_int8,
    ready_made_int16,
)
from nets.evaluator import EvaluationRequest
from nets.native.convolutions import calibrate
from nets.native.simd.vectors import is_available
from nets.open import open_network
from nets.precision.calibration import SMALL_SERIES, own_positions, pack_positions, unpack_positions
from nets.precision.int8 import LIMITS, LOSS_KEY, checked_here, objection_of
from tests.conftest import REPOSITORY

MOST_BYTES = 10_000_000
"""The wheel is to stay under 15 MB."""


@pytest.fixture
def facts() -> dict[str, object]:
    return dict(json.loads((WEIGHTS / FACTS).read_bytes()))


def changed(content: bytes, **loss: object) -> bytes:
    """An 8-bit model that claims to lose something else."""
    proto = onnx.ModelProto.FromString(content)
    entry = next(entry for entry in proto.metadata_props if entry.key == LOSS_KEY)
    entry.value = json.dumps({**json.loads(entry.value), **loss})
    return proto.SerializeToString()


def test_the_files_belong_together(facts: dict[str, object]) -> None:
    path = embedded_network()
    assert path == WEIGHTS / NETWORK
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert facts["sha256"] == sha256
    model = onnx.load(WEIGHTS / INT8)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(metadata["nobi.source"])["sha256"] == sha256
    assert metadata["nobi.name"] == facts["name"]
    card = (WEIGHTS / "README.md").read_text(encoding="utf-8")
    assert f"| {facts['name']} |" in card
    assert sha256 in card


def test_they_are_installed_and_small() -> None:
    setup = configparser.ConfigParser()
    setup.read(REPOSITORY / "setup.cfg", encoding="utf-8")
    assert setup["options.package_data"]["nets"] == "weights/*"
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) < MOST_BYTES


def test_a_first_start_does_not_calibrate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("nets.precision.int8.quantize", None)
    lines: list[str] = []
    evaluator = open_network(WEIGHTS / NETWORK, "int8", note=lines.append)
    assert evaluator.attributes.precision == "int8"
    spatial = np.zeros((2, 22, 9, 9), np.float32)
    spatial[:, 0] = 1
    assert evaluator.evaluate(EvaluationRequest(spatial, np.zeros((2, 19), np.float32))).policy.shape == (2, 82)


needs_kernels = pytest.mark.skipif(not is_available(), reason="numba is off, or the processor lacks AVX2")


@needs_kernels
def test_a_first_start_does_not_calibrate_int16_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.cache.networks_directory", lambda: tmp_path)
    monkeypatch.setattr(calibrate, "calibrate", None)
    lines: list[str] = []
    evaluator = open_network(WEIGHTS / NETWORK, "auto", note=lines.append)
    assert evaluator.attributes.precision == "int16"
    assert not lines


@needs_kernels
def test_each_machine_checks_int16(facts: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.cache.networks_directory", lambda: tmp_path)
    ready = ready_made_int16(str(facts["sha256"]))
    assert ready is not None
    model = load_model((WEIGHTS / NETWORK).read_bytes(), "embedded")
    plain = open_network(WEIGHTS / NETWORK, "fp32")
    assert calibrate.checked_here(ready, model, plain).objection == ""
    assert "is allowed" in calibrate.checked_here(ready, model, ConstantEvaluator()).objection
    verdict = calibrate.from_bytes(ready.content)
    bad = dataclasses.replace(verdict, loss={**verdict.loss, "policy_kl": 0.5})
    found = calibrate.checked_here(ready._replace(content=bad.to_bytes()), model, plain)
    assert found.objection == "its policy kl is 0.5000 where 0.01 is allowed"


def test_without_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: dict[str, object]) -> None:
    sha256 = str(facts["sha256"])
    assert ready_made_int8(sha256) is not None
    assert ready_made_int8("0" * 64) is None
    monkeypatch.setattr(embedded, "WEIGHTS", tmp_path)
    assert embedded_network() is None
    assert ready_made_int8(sha256) is None
    assert ready_made_int16(sha256) is None
    for name in (FACTS, INT8, INT16, CHECK):
        shutil.copy(WEIGHTS / name, tmp_path)
    assert ready_made_int8(sha256) is not None
    (tmp_path / CHECK).write_bytes(b"PK\x03\x04 cut off")
    assert ready_made_int8(sha256) is None


def test_each_machine_checks_it(facts: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path))
    ready = ready_made_int8(str(facts["sha256"]))
    assert ready is not None
    plain = open_network(WEIGHTS / NETWORK, "fp32")
    good = changed(ready.content, **dict.fromkeys(vars(LIMITS), 0.0))
    wrong = checked_here(ready._replace(content=good), "test", ConstantEvaluator())
    assert "is allowed" in objection_of(wrong)
    bad = ready._replace(content=changed(good, policy_kl=0.5))
    assert objection_of(checked_here(bad, "test", plain)) == "its policy kl is 0.5000 where 0.01 is allowed"


def test_packed_positions() -> None:
    positions = own_positions(ConstantEvaluator(), SMALL_SERIES[:3])
    for (spatial, global_), (again, numbers) in zip(
        positions, unpack_positions(pack_positions(positions)), strict=True
    ):
        np.testing.assert_array_equal(spatial, again)
        np.testing.assert_array_equal(global_, numbers)
        assert again.dtype == np.float32
    with pytest.raises((ValueError, KeyError)):
        unpack_positions(b"nothing")
