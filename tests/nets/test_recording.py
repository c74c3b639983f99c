"""An evaluator that remembers what it was asked."""

from __future__ import annotations

import numpy as np
import pytest

from nets.evaluator import ConstantEvaluator, EvaluationRequest, EvaluatorError, RecordingEvaluator
from nets.human_profile import parse_profile

SPATIAL = (np.arange(3 * 22 * 4).reshape(3, 22, 2, 2) % 5 == 0).astype(np.float32)
GLOBAL = np.arange(3 * 19, dtype=np.float32).reshape(3, 19)
REQUEST = EvaluationRequest(SPATIAL, GLOBAL)


def test_answers_are_the_other_evaluators() -> None:
    other = ConstantEvaluator()
    recorder = RecordingEvaluator(other)
    for ours, theirs in zip(recorder.evaluate(REQUEST), other.evaluate(REQUEST), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert recorder.attributes == other.attributes
    with pytest.raises(EvaluatorError, match="constant: a human profile is only for HumanSL networks"):
        recorder.use_profile(parse_profile("rank_5k"))


def test_positions_are_kept_and_taken() -> None:
    recorder = RecordingEvaluator(ConstantEvaluator(), most=4, chosen=lambda count: range(1, count))
    for _ in range(3):
        recorder.evaluate(REQUEST)
    assert recorder.batches == {3: 3}
    taken = recorder.take_positions()
    assert len(taken) == 4
    for row, position in zip((1, 2, 1, 2), taken, strict=True):
        np.testing.assert_array_equal(position.spatial, SPATIAL[row])
        np.testing.assert_array_equal(position.global_, GLOBAL[row])
    assert recorder.take_positions() == []
