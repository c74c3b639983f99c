"""Rounding the matrices of a network's file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nets.katago.reader import decompress
from training.files import read_network
from training.run import pack as module
from training.run.pack import rounded, rounded_network


def test_rounding_numbers() -> None:
    half = 2.0**-8
    values = np.array([1.0, 1.0 + half / 2, 1.0 + half, 1.0 + 3 * half, -1e-3, 0.0], np.float32)
    found = rounded(values)
    assert found[:4].tolist() == [1.0, 1.0, 1.0, 1.0 + 4 * half]  # ties go to even
    assert not (found.view(np.uint32) & 0xFFFF).any()
    assert (np.abs(found - values) <= np.abs(values) * half).all()


def test_a_teachers_matrices_are_rounded_and_nothing_else(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MATRIX", 3000)
    smaller = tmp_path / "smaller.bin.gz"
    smaller.write_bytes(rounded_network(teacher))
    before, after = read_network(teacher), read_network(smaller)
    convolution = before.trunk.blocks[0].first.weights  # type: ignore[union-attr]
    assert convolution.size > 3000
    np.testing.assert_array_equal(after.trunk.blocks[0].first.weights, rounded(convolution))  # type: ignore[union-attr]
    np.testing.assert_array_equal(after.value.hidden, before.value.hidden)
    np.testing.assert_array_equal(after.trunk.stem_global, before.trunk.stem_global)


def test_a_matrix_with_worn_weights_is_rounded_too(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MATRIX", 3000)
    convolution = read_network(teacher).trunk.blocks[0].first.weights.copy()  # type: ignore[union-attr]
    content = decompress(teacher.read_bytes())
    stored = convolution.transpose(2, 3, 1, 0).astype("<f4").tobytes()
    assert content.count(stored) == 1
    worn = np.frombuffer(stored, "<f4").copy()
    worn[5] = 1e-38  # read as 0
    teacher.write_bytes(content.replace(stored, worn.tobytes()))
    smaller = tmp_path / "smaller.bin.gz"
    smaller.write_bytes(rounded_network(teacher))
    before, after = read_network(teacher), read_network(smaller)
    expected = rounded(before.trunk.blocks[0].first.weights)  # type: ignore[union-attr]
    assert (expected == 0.0).sum() == 1
    np.testing.assert_array_equal(after.trunk.blocks[0].first.weights, expected)  # type: ignore[union-attr]
