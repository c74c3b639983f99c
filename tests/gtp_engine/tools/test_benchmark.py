"""`nobi benchmark`: what it prints; the figures themselves depend on the machine."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gtp_engine import cli
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.tools import benchmark, benchmark_trials
from gtp_engine.tools.benchmark_trials import Trial, best_of, request_of
from nets.constant import ConstantEvaluator
from nets.evaluator import Evaluation, EvaluationRequest, Evaluator, EvaluatorError
from nets.recording import RecordingEvaluator
from search.puct.parameters import SearchParameters


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_evaluator(configuration: Configuration) -> Evaluator:
        if configuration.engine.precision == "int8":
            raise EvaluatorError(f"{configuration.net}: int8 is only for other networks")
        return ConstantEvaluator()

    monkeypatch.setattr(benchmark, "open_evaluator", open_evaluator)
    monkeypatch.setattr(benchmark_trials, "MIN_TRIAL_SECONDS", 0.02)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    assert cli.run(["benchmark", "--size", "7", "--seconds", "1", *arguments]) == 0
    return capsys.readouterr()


def test_with_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "--net", "any.onnx", "--workers", "2", "--batch", "4", "--json")
    report = json.loads(out)
    assert (report["workers"], report["batch"], report["size"]) == (2, 4, "7")
    assert (report["network"], report["precision"], report["provider"]) == ("constant", "fp32", "none")
    for figure in ("evals_per_second", "visits_per_second", "bare_evals_per_second", "ratio"):
        assert report[figure] > 0
    assert set(report["batch_sizes"]) <= {"1", "2", "3", "4"}
    assert {"numpy", "numba", "onnxruntime"} <= set(report["versions"])
    assert report["cores"] >= 1
    advice = report["advice"]
    chosen = {name: advice[name] for name in ("precision", "workers", "batch", "evals_per_second")}
    assert chosen in advice["tried"]
    assert len(advice["tried"]) >= 8


def test_without_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(run(capsys, "--net", "none", "--json")[0])
    assert report["player"] == "rave"
    assert report["playouts_per_second"] > 0
    assert "ratio" not in report


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "--net", "any.onnx", "--workers", "1", "--no-advice")
    assert "\nbare loop " in out
    assert "advice" not in out
    out, _ = run(capsys, "--net", "any.onnx", "--workers", "1")
    assert "\nadvice     --workers " in out
    assert " playouts/s" in run(capsys, "--net", "none")[0]


def test_many_settings_make_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    several = ("--net", "a.onnx", "--net", "b.onnx", "--batch", "1,4", "--workers", "1", "--precision", "fp32,int8")
    report = json.loads(run(capsys, *several, "--json")[0])
    keys = [(row["net"], row["precision"], row.get("batch")) for row in report["settings"]]
    assert keys == [
        (net, *rest)
        for net in ("a.onnx", "b.onnx")
        for rest in (("fp32", 1), ("fp32", 4), ("int8", None), ("int8", None))
    ]
    for row in report["settings"]:
        assert ("error" in row) == (row["precision"] == "int8")
        assert ("evals_per_second" in row) == (row["precision"] == "fp32")
    assert [best["net"] for best in report["best"]] == ["a.onnx", "b.onnx"]
    assert report["versions"]["numpy"]

    out, _ = run(capsys, *several)
    lines = out.splitlines()
    assert lines[2].split()[:3] == ["network", "board", "precision"]
    assert len([line for line in lines if line.endswith("  int8 is only for other networks")]) == 4
    assert len([line for line in lines if line.startswith("best for ")]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "1,x"], "batch must be a whole number, not x"),
        (["--precision", "fp32,fp8"], "precision must be one of auto, int16, int8, fp32, fp16, not fp8"),
        (["--size", "9,,19"], "size must be a text"),
    ],
)
def test_bad_lists(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["benchmark", "--net", "any.onnx", *arguments]) == 2
    assert message in capsys.readouterr().err


class Slow(Trial):
    """A setting whose speed is known beforehand."""

    def __init__(self, rate: float, workers: int, batch: int) -> None:
        super().__init__(ConstantEvaluator(), SearchParameters(workers=workers, batch=batch), 9, 9)
        self.rate = rate
        self.searches = 0

    def search(self, number: int, seconds: float) -> float:
        self.searches += 1
        self._searched.append(self.rate)
        return self.rate


def test_the_best_is_the_gentlest_of_the_fast() -> None:
    settings = [(500.0, 1, 1), (990.0, 2, 2), (1000.0, 2, 8), (985.0, 2, 4), (700.0, 1, 8), (600.0, 4, 1), (10.0, 9, 9)]
    trials = [Slow(*each) for each in settings]
    ticks: list[float] = []
    assert best_of(trials, 30.0, ticks.append) is trials[1]
    assert sum(ticks) == pytest.approx(30.0)
    assert trials[-1].searches == 1
    assert trials[2].searches == 3
    assert best_of(trials, 1.0, ticks.append, favourite=trials[-1]) is trials[1]
    assert trials[-1].searches == 4
    assert best_of([trials[-1]], 1.0, ticks.append) is trials[-1]


def test_a_network_that_fails_ends_the_bare_loop() -> None:
    class Failing(ConstantEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            raise EvaluatorError("it broke")

    recorder = RecordingEvaluator(ConstantEvaluator())
    recorder.evaluate(EvaluationRequest(np.zeros((1, 22, 9, 9), np.float32), np.zeros((1, 19), np.float32)))
    recorder.evaluator = Failing()
    with pytest.raises(EvaluatorError, match="it broke"):
        benchmark_trials.bare_rate(recorder, 2, 1, 0.1)


def test_bare_requests_repeat_what_was_recorded() -> None:
    recorder = RecordingEvaluator(ConstantEvaluator())
    spatial = (np.arange(3 * 22 * 4).reshape(3, 22, 2, 2) % 5 == 0).astype(np.float32)
    global_ = np.arange(3 * 19, dtype=np.float32).reshape(3, 19)
    recorder.evaluate(EvaluationRequest(spatial, global_))
    request = request_of(recorder.positions, 4, 2)
    np.testing.assert_array_equal(request.spatial, spatial[[2, 0, 1, 2]])
    np.testing.assert_array_equal(request.global_, global_[[2, 0, 1, 2]])
    assert request.spatial.dtype == np.float32
