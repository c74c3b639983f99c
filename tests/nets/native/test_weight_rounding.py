"""Weights rounded to 8 bits: what is rounded later makes up for each error."""

from __future__ import annotations

import numpy as np

from nets.native.transformers.rounding import Groups, round_in_groups, round_matrix


def test_rounding_in_turn_is_better_on_the_inputs_it_was_made_for() -> None:
    random = np.random.default_rng(0)
    read, matrix = random.random((500, 18)) @ random.standard_normal((18, 18)), random.standard_normal((4, 18))
    integers, scales = round_matrix(matrix, read.T @ read)
    assert integers.dtype == np.int8
    errors = [read @ (back * scales[:, None] - matrix).T for back in (integers, np.round(matrix / scales[:, None]))]
    assert np.square(errors[0]).sum() < 0.7 * np.square(errors[1]).sum()


def test_rounding_in_groups_keeps_to_their_limit() -> None:
    random = np.random.default_rng(0)
    read = random.random((500, 64)) @ random.standard_normal((64, 64))
    matrix, moments = random.standard_normal((40, 64)) ** 3, read.T @ read
    groups = Groups(random.permutation(np.repeat(np.arange(8), 8)), 128)
    integers, scales = round_in_groups(matrix, moments, groups)
    for sign in (1, -1):
        sums = [np.bincount(groups.numbers, np.maximum(sign * row.astype(int), 0)) for row in integers]
        assert 100 < np.max(sums) <= 128
    errors = [read @ (back * scales[:, None] - matrix).T for back in (integers, np.round(matrix / scales[:, None]))]
    assert np.square(errors[0]).sum() < 0.7 * np.square(errors[1]).sum()
