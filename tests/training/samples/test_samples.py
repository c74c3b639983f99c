"""Sample files: what is written reads back, turned or not, and what is damaged is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nets.symmetry import symmetry_images
from training.errors import TrainingError
from training.samples.sample_files import SampleWriter, encode_samples, read_samples, sample_files
from training.samples.samples import (
    Samples,
    pack_planes,
    pack_probabilities,
    turned,
    unpack_planes,
    unpack_probabilities,
)


def made_up(count: int, size: int, canvas: int, seed: int = 1) -> tuple[Samples, NDArray[np.uint8]]:
    """Samples with random content on boards of one size, and their planes."""
    generator = np.random.default_rng(seed)
    spatial = np.zeros((count, 22, canvas, canvas), np.uint8)
    spatial[:, :, :size, :size] = generator.integers(0, 2, (count, 22, size, size))
    spatial[:, 0, :size, :size] = 1
    on_board = np.append(spatial[0, 0].ravel(), 1)
    policy = generator.random((count, canvas * canvas + 1)).astype(np.float32) * on_board
    policy /= policy.sum(axis=1, keepdims=True)
    replies = np.flatnonzero(on_board)
    return (
        Samples(
            planes=pack_planes(spatial),
            global_=generator.random((count, 19), np.float32),
            policy=pack_probabilities(policy),
            optimistic=pack_probabilities(policy**2),
            reply=generator.choice(replies, count).astype(np.int16),
            value=generator.random((count, 3), np.float32),
            score=generator.random((count, 6), np.float32),
            ownership=(generator.integers(-127, 128, (count, canvas * canvas)) * on_board[:-1]).astype(np.int8),
            known=np.full(count, 63, np.uint8),
        ),
        spatial,
    )


def test_planes_and_probabilities_survive_packing() -> None:
    samples, spatial = made_up(5, 8, 9)
    np.testing.assert_array_equal(unpack_planes(samples.planes, 9), spatial)
    given = np.array([[0.9, 0.09, 0.0099, 0.0001], [0.25, 0.25, 0.25, 0.25]], np.float32)
    back = unpack_probabilities(pack_probabilities(given))
    np.testing.assert_allclose(back, given, rtol=0.03, atol=0.00006)


@pytest.mark.parametrize(("size", "canvas"), [(7, 9), (9, 9), (19, 19)])
def test_turning_moves_everything_alike(size: int, canvas: int) -> None:
    samples, spatial = made_up(8, size, canvas)
    planes, labels = turned(samples, np.arange(8))
    for symmetry, image in enumerate(symmetry_images(size, size)):
        for cell in range(size * size):
            here = cell // size * canvas + cell % size
            there = image[cell] // size * canvas + image[cell] % size
            assert labels.policy[symmetry, there] == samples.policy[symmetry, here]
            assert labels.ownership[symmetry, there] == samples.ownership[symmetry, here]
            given, got = spatial[symmetry].reshape(22, -1), planes[symmetry].reshape(22, -1)
            assert (got[:, there] == given[:, here]).all()
            if samples.reply[symmetry] == here:
                assert labels.reply[symmetry] == there
        assert labels.policy[symmetry, -1] == samples.policy[symmetry, -1]


def test_files_read_back(tmp_path: Path) -> None:
    samples, _ = made_up(6, 10, 13)
    path = tmp_path / "13-000000.samples.npz"
    path.write_bytes(encode_samples(samples))
    back = read_samples(path)
    assert back.canvas == 13
    for given, got in zip(samples, back, strict=True):
        np.testing.assert_array_equal(given, got)


def test_the_writer_fills_files_in_order(tmp_path: Path) -> None:
    writer = SampleWriter(tmp_path / "samples", capacity=10)
    for seed in range(5):
        writer.add(made_up(4, 9, 9, seed)[0])
    writer.add(made_up(2, 13, 13)[0])
    writer.close()
    names = [path.name for path in sample_files(tmp_path / "samples")]
    assert names == ["09-000000.samples.npz", "13-000000.samples.npz", "09-000001.samples.npz"]
    assert sum(read_samples(path).length for path in sample_files(tmp_path / "samples")) == 22
    again = SampleWriter(tmp_path / "samples", capacity=1)
    again.add(made_up(1, 9, 9)[0])
    assert (tmp_path / "samples" / "09-000002.samples.npz").exists()


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    samples, _ = made_up(3, 9, 9)
    path = tmp_path / "09-000000.samples.npz"
    path.write_bytes(encode_samples(samples))
    content = path.read_bytes()
    damaged = {
        "cut short": content[: len(content) // 2],
        "no archive": b"hello",
        "empty": b"",
        "flipped": content[:200] + bytes([content[200] ^ 0xFF]) + content[201:],
    }
    for what, bytes_ in damaged.items():
        path.write_bytes(bytes_)
        with pytest.raises(TrainingError) as caught:
            read_samples(path)
        assert path.name in str(caught.value), what
        assert "\n" not in str(caught.value), what
    for foreign in ({"moves": np.zeros(3)}, {**samples._asdict(), "format": np.array("nobi-samples-0")}):
        np.savez(path, **foreign)
        with pytest.raises(TrainingError, match="not a sample file"):
            read_samples(path)
    for field, wrong in {
        "policy": samples.policy[:, :-1],
        "ownership": samples.ownership[:2],
        "value": samples.value * np.nan,
        "score": samples.score * np.inf,
        "planes": samples.planes.astype(np.int16),
        "reply": samples.reply + np.int16(82),
    }.items():
        path.write_bytes(encode_samples(samples._replace(**{field: wrong})))
        with pytest.raises(TrainingError, match="damaged"):
            read_samples(path)
    for field, wrong in {
        "value": samples.value * 3,
        "planes": samples.planes & 0x7F,
    }.items():
        path.write_bytes(encode_samples(samples._replace(**{field: wrong})))
        with pytest.raises(TrainingError, match="damaged"):
            read_samples(path)


def test_two_writers_never_share_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training.samples import sample_files as module

    one, other = SampleWriter(tmp_path, capacity=1), SampleWriter(tmp_path, capacity=1)
    encode = module.encode_samples

    def meanwhile(samples: Samples) -> bytes:
        monkeypatch.setattr(module, "encode_samples", encode)
        other.add(made_up(2, 9, 9)[0])
        return encode(samples)

    monkeypatch.setattr(module, "encode_samples", meanwhile)
    one.add(made_up(3, 9, 9)[0])
    assert [read_samples(path).length for path in sample_files(tmp_path)] == [2, 3]
    assert len(list(tmp_path.iterdir())) == 2  # no temporary file is left


def test_a_full_disk_loses_no_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SampleWriter(tmp_path, capacity=100)
    writer.add(made_up(3, 9, 9)[0])

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("go_rules.machine.files.os.fsync", full)
        with pytest.raises(TrainingError, match="No space left"):
            writer.close()
    assert not list(tmp_path.iterdir())
    writer.close()
    assert [read_samples(path).length for path in sample_files(tmp_path)] == [3]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="No such file"):
        read_samples(tmp_path / "none.samples.npz")
