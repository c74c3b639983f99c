"""The yardstick: its figures on rows made up by hand, and the published ones of known networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gtp_engine import command_line
from nets.evaluator import LEAD, LOSS, WIN, Evaluation
from nets.open import open_network
from training.errors import TrainingError
from training.labels.samples import HAS_POLICY, HAS_VALUE, Origin, encode_samples, pack_samples
from training.yardstick import evaluate_function, load_yardstick, measure_rows, rows_of_samples


def write_rows(path: Path) -> Path:
    """Two rows of 19×19 and one of 9×9 in KataGo's layout."""
    planes = np.zeros((3, 22, 361), np.uint8)
    planes[:2, 0] = 1
    planes[2, 0].reshape(19, 19)[:9, :9] = 1
    policy = np.zeros((3, 2, 362), np.int16)
    policy[0, 0, [0, 361]] = 30, 10  # the pass has a quarter
    policy[1, 0, 5] = 7
    policy[2, 0, 8 * 19 + 8] = 9  # the last point of 9x9
    targets = np.zeros((3, 64), np.float32)
    targets[:, 12] = 1.0, 0.5, 0.0
    targets[:, 13] = 0.0, 0.5, 1.0
    targets[:, 21] = 4.0, -2.0, 1.0
    targets[:, 26] = 1.0, 3.0, 1.0
    targets[:, 27] = 1.0, 0.0, 1.0
    targets[:, 29] = 1.0, 1.0, 1.0
    np.savez(
        path,
        binaryInputNCHWPacked=np.packbits(planes, axis=2),
        globalInputNC=np.zeros((3, 19), np.float32),
        policyTargetsNCMove=policy,
        globalTargetsNC=targets,
        valueTargetsNCHW=np.ones((3, 5, 19, 19), np.int8),
    )
    return path


def evaluate(spatial: NDArray[np.float32], global_: NDArray[np.float32]) -> Evaluation:
    """Even chances, no lead, half of every point; the first point is e times as likely as any other."""
    count, _, height, width = spatial.shape
    policy = np.zeros((count, height * width + 1), np.float32)
    policy[:, 0] = 1.0
    value = np.zeros((count, 3), np.float32)
    value[:, [WIN, LOSS]] = 0.5
    score = np.zeros((count, 6), np.float32)
    score[:, LEAD] = 1.0
    return Evaluation(policy, value, score, np.full((count, height * width), 0.5, np.float32))


def test_figures_on_rows_made_up_by_hand(tmp_path: Path) -> None:
    full, small = load_yardstick(write_rows(tmp_path / "rows.npz")).measure(evaluate)
    log_sum = np.log(361 + np.e)
    assert (full.rows, small.rows) == (2, 1)
    assert full.policy_cross_entropy == pytest.approx((1 * (log_sum - 0.75) + 3 * log_sum) / 4)
    assert full.top1 == pytest.approx(1 / 4)
    assert full.value_mse == pytest.approx((1.0 + 0.0) / 2)
    assert full.lead_mae == pytest.approx((3.0 + 3.0) / 2)
    assert (full.value_bias, full.lead_bias) == pytest.approx((-0.5, 0.0))
    assert full.ownership_mse == pytest.approx(0.25)
    assert small.policy_cross_entropy == pytest.approx(np.log(81 + np.e))
    assert small.value_mse == pytest.approx(1.0)


def write_samples(folder: Path) -> Path:
    """A board of 7×7 in the corner of a canvas, without any say about score and owners, and one of 9×9."""
    folder.mkdir()
    planes = np.zeros((2, 22, 9, 9), np.uint8)
    planes[0, 0, :7, :7] = 1
    planes[1, 0] = 1
    policy = np.zeros((2, 82), np.float32)
    policy[0, [0, 81]] = 0.5  # the pass comes last, after cells outside the board
    policy[1, 1] = 1.0
    value = np.array([[1, 0, 0], [0.25, 0.75, 0]], np.float32)
    numbers, score, ownership = (np.zeros((2, width), np.float32) for width in (19, 6, 81))
    known = np.full(2, HAS_POLICY | HAS_VALUE, np.uint8)
    samples = pack_samples(planes, numbers, policy, value, score, ownership, known)
    (folder / "09-000000.samples").write_bytes(encode_samples(samples, Origin()))
    return folder


def test_sample_files_are_measured_alike(tmp_path: Path) -> None:
    folder = write_samples(tmp_path / "samples")
    assert measure_rows(rows_of_samples(folder, full=True), evaluate).rows == 0
    measure = measure_rows(rows_of_samples(folder, full=False), evaluate)
    assert measure.rows == 2
    assert measure.policy_cross_entropy == pytest.approx((np.log(49 + np.e) - 0.5 + np.log(81 + np.e)) / 2, rel=1e-3)
    assert measure.top1 == pytest.approx(1 / 2)
    assert measure.value_mse == pytest.approx((1.0 + 0.25) / 2, abs=0.001)
    assert (measure.lead_mae, measure.ownership_mse) == (0.0, 0.0)  # nothing is known


def test_several_files_are_measured_in_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, samples = write_rows(tmp_path / "rows.npz"), write_samples(tmp_path / "samples")
    assert command_line.run(["yardstick", "strong", str(rows), str(samples)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" rows")[0] for line in lines] == [f"{rows}:", "19x19  2", "small  1", f"{samples}:", "small  2"]
    assert command_line.run(["yardstick", "strong", str(samples)]) == 0
    assert capsys.readouterr().out.splitlines() == lines[-1:]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    for arrays in ({}, {"binaryInputNCHWPacked": np.zeros(3)}):
        np.savez(path, **arrays)
        with pytest.raises(TrainingError, match="not a file of KataGo"):
            load_yardstick(path)
    np.save(tmp_path / "rows.npy", np.zeros(3))
    with pytest.raises(TrainingError, match="not a file of KataGo"):
        load_yardstick(tmp_path / "rows.npy")
    with np.load(write_rows(path)) as rows:
        sound = dict(rows)
    for name in sound:
        for wrong in (sound[name][:-1], sound[name][..., :8], sound[name][0]):
            np.savez(path, **{**sound, name: wrong})
            with pytest.raises(TrainingError, match="not of 19x19"):
                load_yardstick(path)
        wrong_kind = sound[name].astype(np.float32 if name == "binaryInputNCHWPacked" else str)
        np.savez(path, **{**sound, name: wrong_kind})
        with pytest.raises(TrainingError, match="not of the numbers"):
            load_yardstick(path)
    for name in ("globalInputNC", "globalTargetsNC"):
        for number in (np.nan, np.inf):
            damaged = sound[name].copy()
            damaged[1, 12] = number
            np.savez(path, **{**sound, name: damaged})
            with pytest.raises(TrainingError, match="not finite"):
                load_yardstick(path)
    with pytest.raises(TrainingError, match="no sample files"):
        next(rows_of_samples(tmp_path, full=True))
    path.write_bytes(b"rows")
    with pytest.raises(TrainingError, match="not a file of KataGo"):
        load_yardstick(path)


@pytest.mark.slow
def test_a_known_network_has_its_published_figures(shared: Callable[[str], Path]) -> None:
    yardstick = load_yardstick(shared("data/kata-rows-1024.npz"))
    network = open_network(shared("nets/g170-b6c96-s175395328-d26788732.bin.gz"), precision="fp32")
    full, small = yardstick.measure(evaluate_function(network))
    assert (full.rows, small.rows) == (709, 315)
    figures = (full.policy_cross_entropy, full.top1, full.value_mse, full.lead_mae, full.ownership_mse)
    assert figures == pytest.approx((2.783, 0.331, 0.314, 4.63, 0.503), abs=0.006)
    assert small.policy_cross_entropy == pytest.approx(2.507, abs=0.003)
