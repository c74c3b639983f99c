"""Sample files: what is written reads back, turned or not, and what is damaged is refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.training.games import read_samples
from tests.training.pytorch import torch  # noqa: F401
from training.errors import TrainingError
from training.labels.batches import ShuffleBuffer
from training.labels.samples import (
    HAS_VALUE,
    Origin,
    Samples,
    SampleWriter,
    encode_samples,
    pack_planes,
    pack_probabilities,
    read_origin,
    sample_files,
    unpack_planes,
    unpack_probabilities,
)
from training.yardstick import rows_of_samples

ORIGIN = Origin(("teacher",), has_optimistic=True)


def made_up(count: int, size: int, canvas: int, seed: int = 1) -> Samples:
    """Samples with random content on boards of one size."""
    generator = np.random.default_rng(seed)
    spatial = np.zeros((count, 22, canvas, canvas), np.uint8)
    spatial[:, :, :size, :size] = generator.integers(0, 2, (count, 22, size, size))
    spatial[:, 0, :size, :size] = 1
    on_board = np.append(spatial[0, 0].ravel(), 1)
    policy = generator.random((count, canvas * canvas + 1)).astype(np.float32) * on_board
    policy /= policy.sum(axis=1, keepdims=True)
    shares = generator.random((count, 3))
    replies = np.flatnonzero(on_board)
    return Samples(
        planes=pack_planes(spatial),
        global_=generator.random((count, 19), np.float32),
        policy=pack_probabilities(policy),
        optimistic=pack_probabilities(policy**2),
        reply=generator.choice(replies, count).astype(np.int16),
        value=(shares / shares.sum(axis=1, keepdims=True)).astype(np.float32),
        score=generator.random((count, 6), np.float32),
        ownership=(generator.integers(-127, 128, (count, canvas * canvas)) * on_board[:-1]).astype(np.int8),
        known=np.full(count, 63, np.uint8),
    )


def test_planes_and_probabilities_survive_packing() -> None:
    spatial: NDArray[np.uint8] = np.random.default_rng(1).integers(0, 2, (5, 22, 9, 9), np.uint8)
    np.testing.assert_array_equal(unpack_planes(pack_planes(spatial), 9), spatial)
    given = np.array([[0.9, 0.09, 0.0099, 0.0001], [0.25, 0.25, 0.25, 0.25]], np.float32)
    back = unpack_probabilities(pack_probabilities(given))
    np.testing.assert_allclose(back, given, rtol=0.03, atol=0.00006)


def written(path: Path, samples: Samples) -> Path:
    path.write_bytes(encode_samples(samples, ORIGIN))
    return path


@pytest.mark.parametrize(("size", "canvas"), [(7, 9), (13, 13), (19, 19)])
def test_samples_come_back(tmp_path: Path, size: int, canvas: int) -> None:
    given = made_up(5, size, canvas)
    for one, other in zip(given, read_samples(written(tmp_path / "a.samples", given)), strict=True):
        np.testing.assert_array_equal(one, other)
        assert other.flags.writeable


def test_the_writer_fills_files_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "samples"
    writer = SampleWriter(folder, ORIGIN, capacity=10)
    for seed in range(5):
        writer.add(made_up(4, 9, 9, seed))
    writer.add(made_up(2, 13, 13))
    writer.close()
    names = [path.name for path in sample_files(folder)]
    assert names == ["09-000000.samples", "13-000000.samples", "09-000001.samples"]
    assert sum(read_samples(path).length for path in sample_files(folder)) == 22
    assert read_origin(folder) == read_origin(folder / names[0]) == ORIGIN
    again = SampleWriter(folder, Origin(("other",)), capacity=1)
    again.add(made_up(1, 9, 9))
    assert (folder / "09-000002.samples").exists()
    assert read_origin(folder) == Origin(("teacher", "other"), has_optimistic=True)


def test_a_batch_larger_than_a_file_becomes_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.labels.samples.MAX_SAMPLES", 4)
    writer, samples = SampleWriter(tmp_path, ORIGIN), made_up(9, 9, 9)
    writer.add(samples)
    writer.close()
    parts = [read_samples(path) for path in sample_files(tmp_path)]
    assert [part.length for part in parts] == [4, 4, 1]
    np.testing.assert_array_equal(np.concatenate([part.policy for part in parts]), samples.policy)


def test_nothing_waits_long_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SampleWriter(tmp_path, ORIGIN)
    writer.add(made_up(3, 9, 9))
    writer.add(made_up(2, 13, 13))
    assert not sample_files(tmp_path)
    monkeypatch.setattr("training.labels.samples.KEPT_SECONDS", 0.0)
    writer.add(made_up(1, 9, 9))
    assert [read_samples(path).length for path in sample_files(tmp_path)] == [4, 2]


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "09-000000.samples", made_up(3, 9, 9))
    content = path.read_bytes()
    middle = len(content) // 2
    for what, damaged in {
        "cut short": content[:-1],
        "cut in the middle": content[:middle],
        "no samples": b"hello",
        "empty": b"",
        "too large": content + bytes(1 << 26),
    }.items():
        path.write_bytes(damaged)
        with pytest.raises(TrainingError) as caught:
            read_samples(path)
        assert path.name in str(caught.value), what
        assert "\n" not in str(caught.value), what
    with pytest.raises(TrainingError, match="No such file"):
        read_samples(tmp_path / "none.samples")


def test_a_flipped_byte_never_gives_other_samples(tmp_path: Path) -> None:
    given = made_up(3, 9, 9)
    path = written(tmp_path / "09-000000.samples", given)
    content, refused = path.read_bytes(), 0
    places = range(0, len(content), 41)
    for place in places:
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            samples = read_samples(path)
        except TrainingError:
            refused += 1
            continue
        for one, other in zip(given, samples, strict=True):  # it was a date, say
            np.testing.assert_array_equal(one, other)
    assert refused > 0.8 * len(places)


def changed(name: str, cell: Any, value: float) -> Callable[[Samples], Samples]:
    """What puts a value into an array of samples."""

    def change(samples: Samples) -> Samples:
        array = getattr(samples, name).copy()
        array[cell] = value
        return samples._replace(**{name: array})

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda samples: samples._replace(policy=samples.policy[:, :-1]), "damaged"),
        (lambda samples: samples._replace(known=samples.known[:-1]), "damaged"),
        (lambda samples: samples._replace(score=samples.score.astype(np.float64)), "damaged"),
        (lambda samples: samples._replace(score=samples.score.astype(">f4")), "damaged"),
        (lambda samples: samples._replace(reply=np.array(["here"] * 3)), "damaged"),
        (lambda samples: samples._replace(ownership=samples.ownership[:, :-1]), "damaged"),
        (lambda samples: samples._replace(known=np.array([{}, {}, {}])), "damaged"),
        (lambda samples: samples.chosen(slice(0, 0)), "damaged"),
        (changed("global_", (0, 3), np.nan), "not finite"),
        (changed("score", (0, 3), np.inf), "not finite"),
        (changed("value", (1, 0), -0.25), "no probability"),
        (changed("value", (1, 0), 1.5), "no probability"),
        (changed("reply", 2, 82), "outside the board"),
        (changed("reply", 2, -2), "outside the board"),
        (changed("policy", (0, 80), 1), "outside the board"),
        (changed("planes", (0, 0, 0), 0b01111110), "not a square"),
        (changed("planes", (0, 0, 10), 0x80), "not a square"),
    ],
)
def test_content_that_is_out_of_bounds_is_refused(
    tmp_path: Path, change: Callable[[Samples], Samples], problem: str
) -> None:
    path = written(tmp_path / "09-000000.samples", change(made_up(3, 8, 9)))
    with pytest.raises(TrainingError, match=problem):
        read_samples(path)


def test_headers_that_promise_much_cost_no_memory(tmp_path: Path) -> None:
    """A file of a few bytes may say that it has terabytes of samples, and be believed by whoever allocates them."""
    path, terabytes = tmp_path / "09-000000.samples", io.BytesIO()
    np.lib.format.write_array_header_1_0(terabytes, {"shape": (3, 1 << 42), "fortran_order": False, "descr": "|u1"})
    for name in Samples._fields:
        written(path, made_up(3, 9, 9))
        arrays = dict(np.load(path))
        del arrays[name]
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(f"{name}.npy", terabytes.getvalue())
        with pytest.raises(TrainingError, match="not a sample file of this version, or a damaged one"):
            read_samples(path)


@pytest.mark.parametrize("about", [b"", b"[1]", b'{"teachers": 1}', b'{"teachers": []}' + b" " * (1 << 16)])
def test_an_origin_that_is_none_is_refused(tmp_path: Path, about: bytes) -> None:
    path = written(tmp_path / "09-000000.samples", made_up(3, 9, 9))
    arrays = {**np.load(path), "origin": np.frombuffer(about, np.uint8)}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
    with pytest.raises(TrainingError, match="or a damaged one"):
        read_samples(path)


def test_files_of_any_name_are_read_with_their_folder(tmp_path: Path) -> None:
    """As when those of two machines are put together."""
    written(tmp_path / "09-000000.samples", made_up(3, 9, 9))
    written(tmp_path / "other-machine.samples", made_up(2, 9, 9, seed=2))
    buffer = ShuffleBuffer((str(tmp_path),))
    assert buffer.counts()[9] == 5
    assert sum(len(rows.value) for rows in rows_of_samples(tmp_path, full=False)) == 5
    written(tmp_path / "later.samples", made_up(4, 9, 9, seed=3))
    assert buffer.counts()[9] == 9
    writer = SampleWriter(tmp_path, ORIGIN, capacity=1)
    writer.add(made_up(1, 9, 9))
    assert (tmp_path / "09-000001.samples").exists()


def test_sources_that_do_not_exist_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file is an error; a missing folder may come later."""
    there, missing, later = written(tmp_path / "a.samples", made_up(3, 9, 9)), tmp_path / "b.samples", tmp_path / "c"
    with pytest.raises(TrainingError, match=r"b\.samples: there is no such file, which data\.samples names"):
        ShuffleBuffer((str(there), str(missing)))
    capsys.readouterr()
    buffer = ShuffleBuffer((str(there), str(later)))
    assert capsys.readouterr().err == f"{later}: there is no such folder yet, which data.samples names\n"
    later.mkdir()
    written(later / "09-000000.samples", made_up(2, 9, 9, seed=2))
    assert buffer.counts()[9] == 5


def test_a_buffer_reads_by_and_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins with some chunks, sees all of them in time, and never holds more than it may."""
    for name, value in (("FIRST_READ", 2), ("SAMPLES_HELD", 12), ("PASSES", 1.0)):
        monkeypatch.setattr(f"training.labels.batches.{name}", value)
    writer = SampleWriter(tmp_path, ORIGIN, capacity=4)
    for number in range(6):
        samples = made_up(4, 9, 9, number)
        writer.add(samples._replace(reply=np.full(4, number, np.int16)))
    buffer, generator = ShuffleBuffer((str(tmp_path),)), np.random.default_rng(1)
    seen = []
    for _ in range(60):
        seen.append({row.numpy().tobytes() for row in buffer.draw(9, 4, generator).global_})
    assert len(seen[0]) <= 8
    assert len(set().union(*seen)) > 20


def test_a_batch_is_not_sorted_by_chunk(tmp_path: Path) -> None:
    """Or a part of it, which has gradients of its own, would know less than another."""
    for number, known in enumerate((255, HAS_VALUE)):
        samples = made_up(40, 9, 9, number)
        written(tmp_path / f"09-00000{number}.samples", samples._replace(known=np.full(40, known, np.uint8)))
    buffer = ShuffleBuffer((str(tmp_path),))
    targets = buffer.draw(9, 200, np.random.default_rng(1)).targets
    assert targets is not None
    for half in (targets.known[:100, 0], targets.known[100:, 0]):
        assert 0.3 < float(half.mean()) < 0.7


def test_two_writers_never_share_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training.labels import samples as module

    one, other = SampleWriter(tmp_path, ORIGIN, capacity=1), SampleWriter(tmp_path, ORIGIN, capacity=1)
    encode = module.encode_samples

    def meanwhile(samples: Samples, origin: Origin, units: Sequence[str]) -> bytes:
        monkeypatch.setattr(module, "encode_samples", encode)
        other.add(made_up(2, 9, 9))
        return encode(samples, origin, units)

    monkeypatch.setattr(module, "encode_samples", meanwhile)
    one.add(made_up(3, 9, 9))
    assert [read_samples(path).length for path in sample_files(tmp_path)] == [2, 3]
    assert len(list(tmp_path.iterdir())) == 2  # and no temporary file


def test_a_full_disk_loses_no_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SampleWriter(tmp_path, ORIGIN, capacity=100)
    writer.add(made_up(3, 9, 9))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("nobi_machine.files.os.fsync", full)
        with pytest.raises(TrainingError, match="No space left"):
            writer.close()
    assert not sample_files(tmp_path)
    writer.close()
    assert [read_samples(path).length for path in sample_files(tmp_path)] == [3]
