"""When int16 is used, and when not: calibrated, kept, judged, refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nets.devices import USUAL_BATCH
from nets.evaluator import ConstantEvaluator, EvaluationRequest, EvaluatorError
from nets.features import Scratch, scratch_for
from nets.graph.convert import load_model
from nets.katago.model import AttentionBlock
from nets.loss import Positions, compare, few_recorded, reason_against
from nets.native.calibrate import SURE, Verdict, affordable, calibrate, checked_here, from_bytes
from nets.native.convolutions.tiling import FINER, LARGEST
from nets.native.evaluator import NativeEvaluator
from nets.native.pack import pack, unsupported_reason
from nets.native.simd.products import HERE
from nets.native.transformers.packing import NO_INT8, Int8Matrix, Int8Parts
from nets.native.transformers.products import HAS_INT8, IN_GROUPS
from nets.native.transformers.rounding import choices as all_choices
from nets.native.transformers.rounding import rounded
from nets.open import check_network, open_network
from tests.conftest import REPOSITORY
from tests.nets.golden import COLOURS, encode_with, game_of, positions
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD, ORDINARY, POOLING, inputs
from tests.nets.native.networks import model_of, needs_int8, needs_kernels, opened, plain
from tests.nets.random_networks import content_of

pytestmark = pytest.mark.usefixtures("own_networks")

BLOCKS: dict[str, list[dict[str, Any]]] = {
    "convolutions": [ORDINARY, POOLING, ORDINARY],
    "transformer": [ATTENTION, FEED_FORWARD, ATTENTION, FEED_FORWARD],
    "mixed": [ORDINARY, ATTENTION, FEED_FORWARD, POOLING, FEED_FORWARD],
}


def test_a_verdict_survives_its_file() -> None:
    model = model_of(15, BLOCKS["mixed"], channels=16)
    inputs, outputs = 16, 4 * 8 + 2 * 8 + 2 * 3
    weights = np.random.default_rng(1).integers(-127, 128, (inputs, outputs), np.int8)
    matrix = Int8Matrix(np.linspace(0, 1, inputs, dtype=np.float32), weights, np.full(outputs, 0.02, np.float32))
    highest = {"block0_before": np.array([0.1, 3.0], np.float32)}
    verdict = Verdict(
        highest,
        {"lead_mean": 0.25},
        "it is slow",
        FINER,
        Int8Parts({"block1_first": matrix}, ("block2",), ("block0", "block2")),
    )
    back = from_bytes(verdict.to_bytes(model), model)
    np.testing.assert_array_equal(back.highest["block0_before"], highest["block0_before"])
    assert (back.loss, back.reason_against, back.largest) == (verdict.loss, verdict.reason_against, FINER)
    assert back.in_int8[1:] == verdict.in_int8[1:]
    for ours, expected in zip(back.in_int8.matrices["block1_first"], matrix, strict=True):
        np.testing.assert_array_equal(ours, expected)
        assert ours.dtype == expected.dtype


@pytest.fixture
def auto(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `auto` calibrate small networks, on a few positions, and take no time worth comparing."""
    monkeypatch.setattr("nets.open.SMALLEST_AUTO_BYTES", 0)
    monkeypatch.setattr("nets.loss.SLOWEST", 1e9)
    monkeypatch.setattr("nets.native.calibrate.recorded_positions", few_recorded)


@pytest.fixture(params=list(BLOCKS))
def path(request: pytest.FixtureRequest, tmp_path: Path, auto: None) -> Path:
    """A network of each kind."""
    kind = request.param
    path = tmp_path / "network.bin.gz"
    path.write_bytes(content_of(8 if kind == "convolutions" else 15, BLOCKS[kind], channels=16))
    return path


@needs_kernels
def test_auto_is_int16_where_the_limits_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Networks with random weights may miss them: in 8 bits a few numbers make much of a difference.
    monkeypatch.setattr("nets.native.calibrate.reason_against", lambda *_, **__: "")
    notes: list[str] = []
    evaluator = open_network(path, "auto", "cpu", note=notes.append)
    assert (evaluator.attributes.precision, evaluator.attributes.provider) == ("int16", "native")
    assert len(notes) == 1
    assert "once" in notes[0]
    notes.clear()
    again = open_network(path, "auto", "cpu", note=notes.append)
    assert again.attributes == evaluator.attributes
    assert not notes, "the second time there is nothing to do"
    truth = open_network(path, "fp32", "cpu")
    for size in ((9, 9), (1, 1), (1, 7)):  # also boards of a single line
        request = EvaluationRequest(*inputs(*size))
        for ours, first in zip(again.evaluate(request), evaluator.evaluate(request), strict=True):
            np.testing.assert_array_equal(ours, first)
        np.testing.assert_allclose(evaluator.evaluate(request).value, truth.evaluate(request).value, atol=0.05)


@needs_kernels
def test_a_later_start_imports_nothing_to_convert_or_to_calibrate() -> None:
    code = (
        "import sys\n"
        "from nets.embedded import embedded_network\n"
        "from nets.open import open_network\n"
        "open_network(embedded_network())\n"
        "print(*sorted({'onnx', 'nets.native.calibrate', 'nets.native.pack'} & set(sys.modules)))"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@needs_kernels
def test_auto_goes_on_and_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.native.calibrate.reason_against", lambda *_, **__: "its lead is wrong")
    notes: list[str] = []
    assert open_network(path, "auto", "cpu", note=notes.append).attributes.precision != "int16"
    assert "network.bin.gz: not using int16, for in it its lead is wrong" in notes
    assert open_network(path, "int16", "cpu", note=notes.append).attributes.precision == "int16"
    assert notes[-1] == "network.bin.gz: using int16 as asked, though its lead is wrong"


@needs_kernels
@pytest.mark.parametrize("kind", list(BLOCKS))
@pytest.mark.usefixtures("auto")
def test_what_is_tried_where_too_much_is_lost(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """First bf16 for convolutions, then 16 bits instead of 8, then finer levels."""
    content = content_of(15, BLOCKS[kind], channels=16)
    model, reference = load_model(content, "random"), plain(content)
    choices = len(all_choices(model, rounded(model, [inputs(7, 4)], without_attention=IN_GROUPS) if HAS_INT8 else {}))
    tries = choices if kind == "transformer" else (2 + HERE.has_bf16_tiles) * choices
    if kind == "convolutions":
        assert calibrate(model, reference).largest == LARGEST
    answers = ["its lead is wrong"] * (tries - 1) + ["", "it is slow"]
    monkeypatch.setattr("nets.native.calibrate.reason_against", lambda *_, **__: answers.pop(0))
    verdict = calibrate(model, reference)
    assert not answers
    assert not verdict.in_bf16
    assert (any(verdict.in_int8), verdict.reason_against) == (False, "it is slow")
    assert verdict.largest == (LARGEST if kind == "transformer" else FINER)
    assert bool(verdict.highest) == (kind != "transformer")


@pytest.mark.parametrize("path", ["convolutions", "transformer"], indirect=True)
def test_processors_without_vectors(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.native.pack.is_available", lambda: False)
    assert open_network(path, "auto", "cpu").attributes.precision != "int16"
    for function in (open_network, check_network):
        with pytest.raises(EvaluatorError, match=r"network\.bin\.gz: int16 needs a processor with AVX2"):
            function(path, "int16", "cpu")  # type: ignore[operator]


@needs_kernels
@pytest.mark.usefixtures("auto")
def test_unsuitable_networks(tmp_path: Path) -> None:
    path = tmp_path / "dilated.bin.gz"
    path.write_bytes(content_of(14, [{"kind": "ordinary_block", "dilation": 2}], activation="ACTIVATION_MISH"))
    assert open_network(path, "auto").attributes.precision == "fp32"
    for function in (open_network, check_network):
        with pytest.raises(EvaluatorError, match=r"dilated\.bin\.gz: int16 is only for"):
            function(path, "int16")  # type: ignore[operator]


@needs_kernels
def test_networks_of_convolutions_compile_nothing_of_transformers() -> None:
    """Not even where a kernel that may call both kinds is compiled."""
    code = (
        "import numba\n"
        "from nets.native import evaluator, network\n"
        "from tests.nets.native.networks import *\n"
        "evaluator.run_network = numba.njit(error_model='numpy')(network.run_network.py_func)\n"
        "from nets.evaluator import EvaluationRequest\n"
        "opened(content_of()).evaluate(EvaluationRequest(*inputs(9, 9)))\n"
        "assert network.run_layers.signatures\n"
        "assert not network.run_blocks.signatures\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, timeout=300)


def golden_batches(path: Path, every: int, scratch: Scratch) -> list[Positions]:
    """One in `every` of the golden positions of a file, those of boards of one size together."""
    by_size: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    for row in islice(positions(path), 0, None, every):
        entry = encode_with(game_of(row), scratch, COLOURS[row["to_play"]])
        by_size.setdefault(tuple(row["size"]), []).append(entry)
    return [
        (np.stack(planes), np.stack(numbers))
        for planes, numbers in (zip(*each, strict=True) for each in by_size.values())
    ]


STRICTER = {"winrate_mean": 0.002, "winrate_p99": 0.01, "lead_mean": 0.1, "policy_kl": 0.001, "other_top_moves": 0.02}
"""Than nets.loss.LIMITS."""


@needs_kernels
@pytest.mark.slow
def test_limits_on_golden_positions(shared: Callable[[str], Path]) -> None:
    source = shared("nets/g170-b6c96-s175395328-d26788732.bin.gz")
    reference = open_network(source, "fp32")
    model = load_model(source.read_bytes(), "g170")
    verdict = calibrate(model, reference)
    assert verdict.reason_against == ""
    packed = pack(model, verdict.highest)
    batches = golden_batches(shared("golden/g170-b6c96.jsonl.gz"), 3, scratch_for(reference))
    candidate = NativeEvaluator(packed, "g170", lambda: reference)
    loss, _ = compare(reference, candidate, batches)
    for name, limit in STRICTER.items():
        assert getattr(loss, name) <= limit, loss


@needs_kernels
@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "golden", "in_shorts", "every"),
    [
        ("b7c96h3tfrs-test5-cnorm", "b7c96h3tfrs-test5", 0.2, 3),
        ("b7c96h6kv3qk32v16tflrs-fson-bnh", "b7c96h6kv3", 0.2, 3),
        # It has twice as many blocks to lose something in, and in fp32 each position takes long.
        ("b10c384h6nbttflrs", "b10c384h6nbttflrs", 0.4, 6),
    ],
)
def test_limits_of_transformers_on_golden_positions(
    shared: Callable[[str], Path], net: str, golden: str, in_shorts: float, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`in_shorts` is the share of the limits that 16 bits alone may lose. One in `every` positions is read."""
    # So that a slow machine has the positions of a fast one.
    monkeypatch.setattr("nets.native.calibrate.EVALUATING_SECONDS", 1e9)
    source = shared(f"nets/{net}.bin.gz")
    monkeypatch.setattr("nets.native.calibrate.recorded_positions", few_recorded)
    reference = open_network(source, "fp32", "cpu")
    model = load_model(source.read_bytes(), net)
    assert unsupported_reason(model) == ""
    verdict = calibrate(model, reference)
    assert verdict.reason_against == ""
    assert HAS_INT8 or not any(verdict.in_int8)
    batches = golden_batches(shared(f"golden/{golden}.jsonl.gz"), every, scratch_for(reference))
    for in_int8, tolerance in ((verdict.in_int8, 1.0), (NO_INT8, in_shorts)):
        packed = pack(model, verdict.highest, verdict.largest, in_int8)
        candidate = NativeEvaluator(packed, net, lambda: reference)
        loss, _ = compare(reference, candidate, batches)
        assert reason_against(loss, 0.0, tolerance) == "", loss


@pytest.mark.parametrize(("seconds", "kept"), [(0.0, [7, 5, 2]), (0.1, [4, 3, 2]), (1e6, [3, 3, 2])])
def test_positions_that_a_machine_can_afford(monkeypatch: pytest.MonkeyPatch, seconds: float, kept: list[int]) -> None:
    """A clock may be too coarse to see an evaluation, and a machine so slow that it could afford none."""
    clock = count(0.0, seconds)
    monkeypatch.setattr("nets.native.calibrate.time.thread_time", lambda: next(clock))
    monkeypatch.setattr("nets.native.calibrate.EVALUATING_SECONDS", 0.75)
    positions = [(np.zeros((each, 22, 1, 3), np.float32), np.zeros((each, 19), np.float32)) for each in (7, 5, 2)]
    assert [len(spatial) for spatial, _ in affordable(positions, ConstantEvaluator())] == kept


@needs_int8
def test_a_choice_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is off in leads that decide a game speaks neither against 8 bits nor, in the end, against the whole."""
    content = content_of(15, BLOCKS["transformer"], channels=16)
    model, reference = load_model(content, "random"), plain(content)
    loss = replace(SURE, lead_mean=0.4)
    monkeypatch.setattr("nets.native.calibrate.compare_answers", lambda *_: (loss, 0.5))
    verdict = calibrate(model, reference)
    assert any(verdict.in_int8)
    assert verdict.reason_against == ""
    assert checked_here(verdict, model, reference).reason_against == ""


def weights_of(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.size
    return sum(map(weights_of, part.values() if isinstance(part, dict) else part if isinstance(part, tuple) else ()))


@needs_kernels
@pytest.mark.parametrize("kind", BLOCKS)
def test_a_search_asks_for_one_position_at_a_time_where_that_takes_long(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = content_of(8 if kind == "convolutions" else 15, BLOCKS[kind], channels=16)
    model = load_model(content, "random")
    weights = sum(weights_of(asdict(part)) for part in (model.trunk.stem, *model.trunk.blocks))
    attention = [block for block in model.trunk.blocks if isinstance(block, AttentionBlock)]
    pairs = sum(block.heads * (block.query_dimension + block.value_dimension) for block in attention)
    assert (pairs > 0) == (kind != "convolutions")
    network = opened(content)
    for side in (2, 9, 19):
        points = side * side
        multiplications = points * weights + points * points * pairs
        assert model.trunk.work.multiplications(points) == multiplications
        for more, batch in ((0, 1), (1, USUAL_BATCH)):
            monkeypatch.setattr("nets.native.evaluator.LONG", multiplications + more)
            assert network.suited_batch(side, side) == batch
    assert plain(content).suited_batch(19, 19) == USUAL_BATCH
