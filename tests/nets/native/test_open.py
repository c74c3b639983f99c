"""When int16 is used, and when not: calibrated, kept, judged, refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nets.conversion.convert import load_model
from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.native.convolutions.calibrate import Verdict, calibrate, from_bytes
from nets.native.convolutions.pack import Packed, pack
from nets.native.convolutions.tiling import (
    FINER,
    LARGEST,
)
from nets.native.evaluator import NativeEvaluator
from nets.open import check_network, open_network
from nets.precision.loss import compare
from tests.nets.conversion.test_katago_networks import inputs
from tests.nets.golden import COLOURS, encoded, game_of, new_scratch, positions
from tests.nets.native.test_convolutions import made, needs_kernels
from tests.nets.random_networks import RandomNetwork
from tests.nets.small_series import SMALL_SERIES

pytestmark = pytest.mark.usefixtures("own_networks")


def test_a_verdict_survives_its_file() -> None:
    verdict = Verdict({"tip": np.array([0.1, 3.0], np.float32)}, {"lead_mean": 0.25}, "it is slow", FINER)
    back = from_bytes(verdict.to_bytes())
    np.testing.assert_array_equal(back.highest["tip"], verdict.highest["tip"])
    assert (back.loss, back.reason_against, back.largest) == (verdict.loss, verdict.reason_against, FINER)
    assert from_bytes(b'{"highest": {}, "loss": {}, "reason_against": ""}').largest == LARGEST


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network that `auto` calibrates, on a few positions, and that takes no time worth comparing."""
    monkeypatch.setattr("nets.open.SMALLEST_AUTO_BYTES", 0)
    monkeypatch.setattr("nets.precision.loss.SLOWEST", 1e9)
    for function in ("nets.native.convolutions.calibrate.calibrate", "nets.precision.int8.quantize"):
        defaults = (SMALL_SERIES, lambda share: None)
        monkeypatch.setattr(f"{function}.__defaults__", (*defaults, None) if "native" in function else ("", *defaults))
    network, _ = made(channels=16)
    path = tmp_path / "network.bin.gz"
    path.write_bytes(network.compressed())
    return path


@needs_kernels
def test_auto_is_int16_where_the_limits_are_kept(path: Path) -> None:
    notes: list[str] = []
    evaluator = open_network(path, "auto", note=notes.append)
    assert (evaluator.attributes.precision, evaluator.attributes.provider) == ("int16", "native")
    assert len(notes) == 1
    assert "once" in notes[0]
    notes.clear()
    evaluator = open_network(path, "auto", note=notes.append)
    assert evaluator.attributes.precision == "int16"
    assert not notes, "the second time there is nothing to do"
    spatial, global_ = inputs(9, 9)
    truth = open_network(path, "fp32").evaluate(EvaluationRequest(spatial, global_))
    np.testing.assert_allclose(evaluator.evaluate(EvaluationRequest(spatial, global_)).value, truth.value, atol=0.02)


@needs_kernels
def test_auto_goes_on_and_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.native.convolutions.calibrate.reason_against", lambda loss, share: "its lead is wrong")
    notes: list[str] = []
    assert open_network(path, "auto", note=notes.append).attributes.precision != "int16"
    assert "network.bin.gz: not using int16, for in it its lead is wrong" in notes
    assert open_network(path, "int16", note=notes.append).attributes.precision == "int16"
    assert notes[-1] == "network.bin.gz: using int16 as asked, though its lead is wrong"


@needs_kernels
def test_several_threads_for_one_evaluation_are_onnxruntimes(path: Path) -> None:
    assert open_network(path, "auto", threads=2).attributes.precision != "int16"


def test_processors_without_vectors(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.native.unsupported.is_available", lambda: False)
    assert open_network(path, "auto").attributes.precision != "int16"
    for function in (open_network, check_network):
        with pytest.raises(EvaluatorError, match=r"network\.bin\.gz: int16 needs a processor with AVX2"):
            function(path, "int16")  # type: ignore[operator]


@needs_kernels
def test_unsuitable_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.open.SMALLEST_AUTO_BYTES", 0)
    network = RandomNetwork(14, activation="ACTIVATION_MISH")
    network.write([{"kind": "ordinary_block", "dilation": 2}])
    path = tmp_path / "dilated.bin.gz"
    path.write_bytes(network.compressed())
    assert open_network(path, "auto").attributes.precision == "fp32"
    for function in (open_network, check_network):
        with pytest.raises(EvaluatorError, match=r"dilated\.bin\.gz: int16 is only for"):
            function(path, "int16")  # type: ignore[operator]


STRICTER = {"winrate_mean": 0.002, "winrate_p99": 0.01, "lead_mean": 0.1, "policy_kl": 0.001, "other_top_moves": 0.02}
"""Than quantize.LIMITS; int8 misses them all but the first."""


@needs_kernels
@pytest.mark.slow
def test_limits_on_golden_positions(shared: Callable[[str], Path]) -> None:
    source = shared("nets/g170-b6c96-s175395328-d26788732.bin.gz")
    reference = open_network(source, "fp32")
    model = load_model(source.read_bytes(), "g170")
    verdict = calibrate(model, reference)
    assert verdict.reason_against == ""
    packed: Packed = pack(model, verdict.highest)
    scratch = new_scratch(reference.attributes.pass_alive_under_suicide)
    by_size: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    for row in positions(shared("golden/g170-b6c96.jsonl.gz")):
        by_size.setdefault(tuple(row["size"]), []).append(encoded(game_of(row), COLOURS[row["to_play"]], scratch))
    batches = [tuple(np.stack(each) for each in zip(*entries, strict=True)) for entries in by_size.values()]
    candidate = NativeEvaluator(model, packed, "g170", lambda: reference)
    loss, _ = compare(reference, candidate, batches)  # type: ignore[arg-type]
    for name, limit in STRICTER.items():
        assert getattr(loss, name) <= limit, loss
