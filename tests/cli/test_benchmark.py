"""`nobi benchmark`: what it prints; the figures themselves depend on the machine."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gtp_engine import benchmark, cli
from nets.constant import ConstantEvaluator


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "open_evaluator", lambda configuration: ConstantEvaluator())
    monkeypatch.setattr(benchmark, "MIN_TRIAL_SECONDS", 0.02)


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
    assert set(report["batch_sizes"]) <= {"1", "2", "3", "4", "8"}
    assert {"numpy", "numba", "onnxruntime"} <= set(report["versions"])
    assert report["cores"] >= 1
    advice = report["advice"]
    assert {"workers": advice["workers"], "batch": advice["batch"]}.items() <= max(
        advice["tried"], key=lambda each: (each["workers"], each["batch"]) == (advice["workers"], advice["batch"])
    ).items()


def test_without_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(run(capsys, "--json")[0])
    assert report["player"] == "rave"
    assert report["playouts_per_second"] > 0
    assert "ratio" not in report


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "--net", "any.onnx", "--workers", "1", "--no-advice")
    assert "\nbare loop " in out
    assert "advice" not in out
    out, _ = run(capsys, "--net", "any.onnx", "--workers", "1")
    assert "\nadvice     --workers " in out
    assert " playouts/s" in run(capsys)[0]


def test_the_recorder_changes_nothing() -> None:
    recorder = benchmark.Recorder(ConstantEvaluator())
    spatial = np.arange(3 * 22 * 4, dtype=np.float32).reshape(3, 22, 2, 2)
    global_ = np.zeros((3, 19), np.float32)
    answer = recorder.evaluate(spatial, global_)
    assert answer.policy.shape == (3, 5)
    assert recorder.batches == {3: 1}
    np.testing.assert_array_equal(recorder.sample(4, 2)[0], spatial[[2, 0, 1, 2]])
    assert recorder.name == "constant"
