"""`nobi benchmark`: what it prints; the figures themselves depend on the machine."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from gtp_engine import command_line
from gtp_engine.benchmark import command, trials
from gtp_engine.benchmark.trials import MIN_TURNS, Trial, choose, interval, request_of
from gtp_engine.configuration.configuration import Configuration
from nets.evaluator import (
    ConstantEvaluator,
    Evaluation,
    EvaluationRequest,
    Evaluator,
    EvaluatorAttributes,
    EvaluatorError,
    RecordedPosition,
    RecordingEvaluator,
)
from search.nobi import search as puct_search
from search.nobi.parameters import SearchParameters
from tests.gtp_engine.benchmark.reckoned import Reckoned


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_evaluator(configuration: Configuration) -> Evaluator:
        if configuration.engine.precision == "int16":
            raise EvaluatorError(f"{configuration.net}: int16 is only for other networks")
        return ConstantEvaluator()

    monkeypatch.setattr(command, "open_evaluator", open_evaluator)
    monkeypatch.setattr(trials, "MIN_TRIAL_SECONDS", 0.02)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    assert command_line.run(["benchmark", "--size", "7", "--seconds", "1", *arguments]) == 0
    return capsys.readouterr()


def test_with_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "--net", "any.onnx", "--workers", "2", "--batch", "4", "--seconds", "2", "--json")
    report = json.loads(out)
    assert (report["workers"], report["batch"], report["size"]) == (2, 4, "7")
    assert (report["network"], report["precision"], report["provider"]) == ("constant", "fp32", "none")
    for figure in ("evals_per_second", "visits_per_second", "bare_evals_per_second", "ratio"):
        assert report[figure] > 0
    assert set(report["batch_sizes"]) <= {"1", "2", "3", "4"}
    assert {"numpy", "numba", "onnxruntime"} <= set(report["versions"])
    assert report["cores"] >= 1


def test_without_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(run(capsys, "--net", "none", "--json")[0])
    assert report["player"] == "rave"
    assert report["playouts_per_second"] > 0
    assert "ratio" not in report


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\nbare loop " in run(capsys, "--net", "any.onnx", "--workers", "1")[0]
    assert " playouts/s" in run(capsys, "--net", "none")[0]


def test_nothing_but_the_reason_of_a_failure_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["benchmark", "--net", "any.onnx", "--precision", "int16"]) == 1
    assert capsys.readouterr() == ("", "nobi: any.onnx: int16 is only for other networks\n")


def test_many_settings_make_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    several = ("--net", "a.onnx", "--net", "b.onnx", "--batch", "1,4", "--workers", "1", "--precision", "fp32,int16")
    report = json.loads(run(capsys, *several, "--json")[0])
    keys = [(row["net"], row["precision"], row.get("batch")) for row in report["settings"]]
    assert keys == [
        (net, *rest)
        for net in ("a.onnx", "b.onnx")
        for rest in (("fp32", 1), ("fp32", 4), ("int16", None), ("int16", None))
    ]
    for row in report["settings"]:
        assert ("error" in row) == (row["precision"] == "int16")
        assert ("evals_per_second" in row) == (row["precision"] == "fp32")
    assert [best["net"] for best in report["best"]] == ["a.onnx", "b.onnx"]
    assert report["versions"]["numpy"]

    out, _ = run(capsys, *several[:5], "1", *several[6:])
    lines = out.splitlines()
    cells = [re.split(r"\s*[│┃|]\s*", line)[1:-1] for line in lines]
    assert cells[2][:3] == ["network", "board", "precision"]
    assert [row[-1] for row in cells if row].count("int16 is only for other networks") == 2
    assert len([line for line in lines if line.startswith("best for ")]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "1,x"], "batch must be a whole number, not x"),
        (["--precision", "fp32,fp8"], "precision must be one of auto, int16, fp32, fp16, not fp8"),
        (["--size", "9,,19"], "size must be a text"),
    ],
)
def test_bad_lists(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["benchmark", "--net", "any.onnx", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--net", "none", "--workers", "1,2"], "several settings can be compared only with a network"),
        (["--net", "none", "--net", "any.onnx"], "several settings can be compared only with a network"),
        (["--net", "any.onnx", "--net", "none"], "several settings can be compared only with a network"),
        (["--net", "any.onnx", "--player", "gumbel"], "with a network only the search of nobi can be measured"),
        (["--player", "random"], "the player random has no search to measure"),
    ],
)
def test_what_cannot_be_measured(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["benchmark", *arguments]) == 1
    assert capsys.readouterr() == ("", f"nobi: {message}\n")


class Slow(Trial):
    """A setting whose speed is known beforehand, but for some noise."""

    def __init__(self, rate: float, workers: int, batch: int, noise: float = 0.01, precision: str = "fp32") -> None:
        evaluator = ConstantEvaluator()
        evaluator.attributes = EvaluatorAttributes("constant", precision, "none")
        super().__init__(evaluator, SearchParameters(workers=workers, batch=batch), 9, 9)
        self.rate, self.noise = rate, noise
        self.lengths: list[float] = []
        self.random = np.random.default_rng(workers * 100 + batch)

    def search(self, number: int, seconds: float) -> float:
        self.lengths.append(seconds)
        rate = self.rate * (1 + self.noise * self.random.uniform(-1, 1))
        self._searched.append(rate)
        return rate


SETTINGS = [(500.0, 1, 1), (990.0, 2, 2), (1000.0, 2, 8), (985.0, 2, 4), (700.0, 1, 8), (600.0, 4, 1), (10.0, 9, 9)]


def test_the_faster_one_is_recommended() -> None:
    present, *others = (Slow(*each) for each in SETTINGS)
    ticks: list[float] = []
    choice = choose(present, others, 60.0, ticks.append)
    assert choice.best in others[:3]
    assert choice.low <= choice.ratio <= choice.high
    assert choice.ratio == pytest.approx(2, rel=0.02)
    assert choice.needed == 0
    assert 30 < sum(ticks) <= 60
    assert len(choice.best.lengths) >= MIN_TURNS + 1  # type: ignore[attr-defined]
    assert len(others[-1].lengths) == 1


def test_nothing_is_recommended_that_is_not_certain() -> None:
    """The same speed, more positions under way and a little faster, and faster in noise that says nothing."""
    for rate, workers, batch, noise in ((100.0, 2, 4, 0.1), (103.0, 2, 8, 0.001), (110.0, 2, 3, 1.2)):
        present, other = Slow(100.0, 2, 4, noise), Slow(rate, workers, batch, noise)
        choice = choose(present, [other], 600.0, lambda seconds: None)
        assert choice.best is present
        assert (choice.ratio, choice.low, choice.high) == (1.0, 1.0, 1.0)
    present, gentler = Slow(100.0, 2, 4, 0.001), Slow(98.0, 2, 1, 0.001)
    assert choose(present, [gentler], 600.0, lambda seconds: None).best is gentler, "as good, and chosen knowing more"


@pytest.mark.parametrize(("rate", "is_enough"), [(990.0, True), (800.0, False)])
def test_values_that_make_no_difference_stay(rate: float, is_enough: bool) -> None:
    """Here the precision alone makes it fast; workers and batch that stay automatic follow the machine later on."""
    present = Slow(100.0, 2, 4)
    rates = [(1000.0, 3, 4), (1010.0, 4, 8), (rate, 2, 4), (995.0, 1, 4)]
    others = [Slow(*each, precision="int16") for each in rates]
    best = choose(present, others, 60.0, lambda seconds: None).best
    assert best.evaluator.attributes.precision == "int16"
    assert (best is others[2]) == is_enough


def test_a_slow_network_needs_long_trials() -> None:
    present, *others = (Slow(rate / 25, workers, batch) for rate, workers, batch in SETTINGS)
    choice = choose(present, others, 60.0, lambda seconds: None)
    assert choice.best is present
    assert choice.needed == pytest.approx(100, rel=0.02)
    assert all(not other.lengths for other in others)
    choice = choose(present, others, 1000.0, lambda seconds: None)
    assert choice.best is not present
    assert min(choice.best.lengths) * 20 >= 100  # type: ignore[attr-defined]


def test_a_network_that_evaluates_nothing_in_time() -> None:
    present, other = Slow(0.0, 2, 4), Slow(0.0, 2, 8)
    choice = choose(present, [other], 10.0, lambda seconds: None)
    assert choice.best is present
    assert choice.needed > 10.0


def test_intervals_are_students() -> None:
    assert interval([10.0, 12.0, 14.0]) == (12.0, pytest.approx(4.30 * 2 / 3**0.5))
    assert interval([5.0]) == (5.0, float("inf"))


def test_a_network_that_fails_ends_the_bare_loop() -> None:
    class Failing(ConstantEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            raise EvaluatorError("it broke")

    positions = [RecordedPosition(np.zeros((22, 9, 9), np.uint8), np.zeros(19, np.float32))]
    with pytest.raises(EvaluatorError, match="it broke"):
        trials.bare_rate(Failing(), positions, 2, 1, 0.1)


def test_bare_requests_repeat_what_was_recorded() -> None:
    recorder = RecordingEvaluator(ConstantEvaluator())
    spatial = (np.arange(3 * 22 * 4).reshape(3, 22, 2, 2) % 5 == 0).astype(np.float32)
    global_ = np.arange(3 * 19, dtype=np.float32).reshape(3, 19)
    recorder.evaluate(EvaluationRequest(spatial, global_))
    request = request_of(recorder.positions, 4, 2)
    np.testing.assert_array_equal(request.spatial, spatial[[2, 0, 1, 2]])
    np.testing.assert_array_equal(request.global_, global_[[2, 0, 1, 2]])
    assert request.spatial.dtype == np.float32


def test_a_trial_lasts_as_long_as_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(puct_search, "Search", Reckoned)
    trial = Trial(ConstantEvaluator(), SearchParameters(workers=1, batch=1), 9, 9)
    assert trial.search(0, 2.0) == pytest.approx(1000.0)
    assert 1600 <= trial.batches[1] <= 2000
