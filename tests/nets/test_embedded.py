"""The network that ships: its files belong together, are installed, and spare a first start the calibration."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from nets import embedded
from nets.embedded import WEIGHTS, embedded_network, facts_file, int16_file, network_file, ready_made_int16
from nets.evaluator import ConstantEvaluator, EvaluationRequest
from nets.graph.convert import load_model
from nets.katago.model import Model
from nets.loss import LIMITS, few_recorded
from nets.native import calibrate
from nets.native.calibrate import Verdict, depends_on_products
from nets.native.evaluator import NativeEvaluator
from nets.native.transformers.products import HAS_INT8, PRODUCTS, PRODUCTS_HERE
from nets.open import open_network
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD, inputs
from tests.nets.native.networks import model_of, needs_kernels, nested, plain
from tests.nets.random_networks import content_of


def facts() -> dict[str, object]:
    return dict(json.loads(facts_file().read_bytes()))


def test_the_files_belong_together() -> None:
    path, name = embedded_network(), facts()["name"]
    assert path == network_file()
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert facts()["sha256"] == sha256
    assert load_model(path.read_bytes(), "embedded").name == name
    card = (WEIGHTS / "README.md").read_text(encoding="utf-8")
    assert f"| {name} |" in card
    assert sha256 in card


def test_katago_reads_it() -> None:
    """It refuses a trunk with a number of channels that is not positive, of blocks too that the network has not."""
    header = gzip.decompress(network_file().read_bytes()).partition(b"@BIN@")[0].split()
    blocks, channels, middle, regular, _, pooled = map(int, header[header.index(b"trunk") + 1 :][:6])
    assert min(blocks, channels, middle, regular, pooled) > 0


@needs_kernels
@pytest.mark.usefixtures("own_networks")
def test_a_first_start_does_not_calibrate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "calibrate", None)
    lines: list[str] = []
    evaluator = open_network(network_file(), "auto", note=lines.append)
    assert evaluator.attributes.precision == "int16"
    assert not lines


@needs_kernels
def test_each_machine_checks_int16(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of()
    ready = Verdict(calibrate.ranges(model, [inputs(9, 9)]), dict.fromkeys(dataclasses.asdict(LIMITS), 0.0), "")
    assert "is allowed" in calibrate.checked_here(ready, model, ConstantEvaluator()).reason_against
    monkeypatch.setattr(calibrate, "HERE", dataclasses.replace(calibrate.HERE, has_bf16_tiles=False))
    bad = dataclasses.replace(ready, loss={**ready.loss, "policy_kl": 0.5})
    found = calibrate.checked_here(bad, model, ConstantEvaluator())
    assert found.reason_against == "its policy kl is 0.5000 where 0.01 is allowed"


def test_without_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(network_file().read_bytes(), "embedded")
    products = PRODUCTS_HERE if depends_on_products(model) else ""
    sha256, description, int16 = str(facts()["sha256"]), facts_file(), int16_file(products)
    assert ready_made_int16(sha256, model) is not None
    assert ready_made_int16("0" * 64, model) is None
    monkeypatch.setattr(embedded, "WEIGHTS", tmp_path)
    assert embedded_network() is None
    assert ready_made_int16(sha256, model) is None
    for path in (description, int16):
        shutil.copy(path, tmp_path)
    assert ready_made_int16(sha256, model) is not None
    for damage in (b"PK\x03\x04 cut off", b""):
        int16_file(products).write_bytes(damage)
        assert ready_made_int16(sha256, model) is None
    shutil.copy(int16, tmp_path)
    assert ready_made_int16(sha256, model) is not None


@pytest.fixture
def transformer(tmp_path: Path, own_networks: None, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Verdict, Model]:
    """A small transformer in the place of the embedded network, with a calibration for processors like this one."""
    monkeypatch.setattr("nets.open.SMALLEST_AUTO_BYTES", 0)
    monkeypatch.setattr(calibrate, "recorded_positions", few_recorded)
    monkeypatch.setattr(calibrate, "reason_against", lambda *_, **__: "")  # random weights miss the limits
    monkeypatch.setattr(embedded, "WEIGHTS", tmp_path)
    content = content_of(15, [ATTENTION, FEED_FORWARD, nested(ATTENTION, FEED_FORWARD)], channels=16)
    model = load_model(content, "random")
    verdict = calibrate.calibrate(model, plain(content))
    network_file().write_bytes(content)
    facts_file().write_text(json.dumps({"sha256": hashlib.sha256(content).hexdigest()}))
    int16_file(PRODUCTS_HERE).write_bytes(verdict.to_bytes(model))
    return network_file(), verdict, model


@needs_kernels
def test_a_first_start_takes_over_what_transformers_have_in_8_bits(
    transformer: tuple[Path, Verdict, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, verdict, model = transformer
    assert any(verdict.in_int8) == HAS_INT8
    for work in ("calibrate", "rounded", "ranges"):
        monkeypatch.setattr(calibrate, work, None)
    lines: list[str] = []
    evaluator = open_network(path, "auto", note=lines.append)
    assert evaluator.attributes.precision == "int16"
    assert not lines
    expected = NativeEvaluator(calibrate.packed_by(verdict, model), "random", lambda: evaluator)
    request = EvaluationRequest(*inputs(9, 9))
    for ours, theirs in zip(evaluator.evaluate(request), expected.evaluate(request), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@needs_kernels
@pytest.mark.parametrize("fault", ["missing", "other processors", "damaged", "other network", "other verdict", "wrong"])
def test_what_a_machine_calibrates_itself(
    fault: str, transformer: tuple[Path, Verdict, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, verdict, _ = transformer
    file = int16_file(PRODUCTS_HERE)
    if fault == "missing":
        file.unlink()
    elif fault == "other processors":
        file.rename(int16_file(next(each for each in PRODUCTS if each != PRODUCTS_HERE)))
    elif fault == "damaged":
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 255
        file.write_bytes(content)
    elif fault == "other network":
        facts_file().write_text(json.dumps({"sha256": "0" * 64}))
    elif fault == "other verdict":
        other = model_of(15, [ATTENTION, FEED_FORWARD] * 2, channels=20)
        others = calibrate.rounded(other, [inputs(7, 4)])
        foreign = dataclasses.replace(verdict, in_int8=verdict.in_int8._replace(matrices=others))
        file.write_bytes(foreign.to_bytes(other))
    else:
        reasons = iter(["", "its lead is wrong"])  # what is known of the verdict, and what the check finds
        monkeypatch.setattr(calibrate, "reason_against", lambda *_, **__: next(reasons, ""))
    lines: list[str] = []
    assert open_network(path, "auto", note=lines.append).attributes.precision == "int16"
    assert ["calibrating" in line for line in lines] == [True]
