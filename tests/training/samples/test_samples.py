"""Sample files: what is written reads back, turned or not, and what is damaged is refused."""

# ruff: noqa: E402
from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nets.symmetry import symmetry_permutations
from training.errors import TrainingError
from training.run.yardstick import rows_of_samples
from training.samples.compact import encode_chunk
from training.samples.origin import Origin, first_line, read_origin
from training.samples.packer import pack
from training.samples.sample_files import (
    HEADER,
    SampleWriter,
    encode_samples,
    read_chunk,
    read_chunks,
    read_samples,
    sample_files,
)
from training.samples.samples import (
    HAS_VALUE,
    Samples,
    pack_planes,
    pack_probabilities,
    turned,
    unpack_planes,
    unpack_probabilities,
)

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from training.samples.shuffle_buffer import ShuffleBuffer

ORIGIN = Origin(("teacher",), has_optimistic=True)


def made_up(count: int, size: int, canvas: int, seed: int = 1) -> tuple[Samples, NDArray[np.uint8]]:
    """Samples with random content on boards of one size, and their planes."""
    generator = np.random.default_rng(seed)
    spatial = np.zeros((count, 22, canvas, canvas), np.uint8)
    spatial[:, :, :size, :size] = generator.integers(0, 2, (count, 22, size, size))
    spatial[:, 0, :size, :size] = 1
    on_board = np.append(spatial[0, 0].ravel(), 1)
    policy = generator.random((count, canvas * canvas + 1)).astype(np.float32) * on_board
    policy /= policy.sum(axis=1, keepdims=True)
    shares = generator.random((count, 3))
    replies = np.flatnonzero(on_board)
    return (
        Samples(
            planes=pack_planes(spatial),
            global_=generator.random((count, 19), np.float32),
            policy=pack_probabilities(policy),
            optimistic=pack_probabilities(policy**2),
            reply=generator.choice(replies, count).astype(np.int16),
            value=(shares / shares.sum(axis=1, keepdims=True)).astype(np.float32),
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
    for symmetry, image in enumerate(symmetry_permutations(size, size)):
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


def written(path: Path, samples: Samples) -> Path:
    path.write_bytes(first_line(ORIGIN) + encode_samples(samples, ORIGIN))
    return path


def test_the_writer_fills_files_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "samples"
    writer = SampleWriter(folder, ORIGIN, capacity=10)
    for seed in range(5):
        writer.add(made_up(4, 9, 9, seed)[0])
    writer.add(made_up(2, 13, 13)[0])
    writer.close()
    names = [path.name for path in sample_files(folder)]
    assert names == ["09-000000.samples", "13-000000.samples", "09-000001.samples"]
    assert sum(read_samples(path).length for path in sample_files(folder)) == 22
    assert read_origin(folder) == read_origin(folder / names[0]) == ORIGIN
    again = SampleWriter(folder, ORIGIN, capacity=1)
    again.add(made_up(1, 9, 9)[0])
    assert (folder / "09-000002.samples").exists()


def test_nothing_waits_long_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SampleWriter(tmp_path, ORIGIN)
    writer.add(made_up(3, 9, 9)[0])
    writer.add(made_up(2, 13, 13)[0])
    assert writer.files == 0
    monkeypatch.setattr("training.samples.sample_files.KEPT_SECONDS", 0.0)
    writer.add(made_up(1, 9, 9)[0])
    assert [read_samples(path).length for path in sample_files(tmp_path)] == [4, 2]


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "09-000000.samples", made_up(3, 9, 9)[0])
    content = path.read_bytes()
    start = content.index(b"\n") + 1
    damaged = {
        "cut short": content[:-1],
        "cut in a header": content[: start + 5],
        "no samples": b"hello",
        "empty": b"",
        "only a line": content[:start],
        "a line without end": content[: start - 1] + b" " * 100_000,
        "another version": b"nobi-samples-3" + content[14:],
        "a strange origin": b"nobi-samples-2 {]" + content[start - 1 :],
        "flipped": content[:-9] + bytes([content[-9] ^ 0xFF]) + content[-8:],
        "another canvas": content[:start] + b"\x08" + content[start + 1 :],
        "too many": content[:start] + struct.pack("<BBHI", 9, 0, 60_000, 100) + content[start + 8 :],
        "too long": content[:start] + struct.pack("<BBHI", 9, 0, 3, 1 << 31) + content[start + 8 :],
    }
    for what, bytes_ in damaged.items():
        path.write_bytes(bytes_)
        with pytest.raises(TrainingError) as caught:
            read_samples(path)
        assert path.name in str(caught.value), what
        assert "\n" not in str(caught.value), what
    with pytest.raises(TrainingError, match="No such file"):
        read_samples(tmp_path / "none.samples")


def test_hostile_chunks_are_refused_or_read_as_something(tmp_path: Path) -> None:
    """Whatever bytes have the right checksum: nothing crashes, and what is read is within all bounds."""
    path = tmp_path / "09-000000.samples"
    body = encode_chunk(made_up(4, 8, 9)[0], False)
    generator = np.random.default_rng(3)
    refused = 0
    for _ in range(60):
        changed = np.frombuffer(body, np.uint8).copy()
        for _ in range(generator.integers(1, 9)):
            changed[generator.integers(0, len(changed))] = generator.integers(0, 256)
        hostile = changed.tobytes()[: generator.integers(0, len(changed))]
        header = HEADER.pack(9, 1, 50, len(hostile), zlib.crc32(hostile))
        path.write_bytes(first_line(ORIGIN) + header + hostile)
        try:
            samples = read_samples(path)
        except TrainingError:
            refused += 1
            continue
        assert samples.length == 50
        boards = unpack_planes(samples.planes, 9)[:, 0]
        assert (boards == boards[:, :, :1] * boards[:, :1, :]).all()
        assert (boards[:, 0, 0] == 1).all()
        assert (np.abs(samples.value.sum(axis=1) - 1)[samples.known & HAS_VALUE != 0] < 1e-5).all()
        assert (samples.value >= 0).all()
        assert np.isfinite(samples.score).all()
        assert np.isfinite(samples.global_).all()
        assert ((samples.reply >= -1) & (samples.reply <= 81)).all()
    assert 0 < refused < 60


def test_many_files_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of folders and files, those of the earlier version too; it is learned from like a folder."""
    monkeypatch.setattr("training.samples.packer.MAX_SAMPLES", 8)
    first, second, third = tmp_path / "first", tmp_path / "second", tmp_path / "third"
    for folder, origin in ((first, ORIGIN), (second, Origin(("other",)))):
        writer = SampleWriter(folder, origin, capacity=3)
        for seed in range(3):
            writer.add(made_up(3, 9, 9, seed + 10 * (folder == second))[0])
            writer.add(made_up(2, 19, 19, seed)[0])
        writer.close()
    third.mkdir()
    older = made_up(5, 10, 13)[0]
    np.savez(third / "13-000000.samples.npz", format=np.array("nobi-samples-1"), **older._asdict())
    out = tmp_path / "all.samples"
    assert pack(out, (first, second, third)) == 18 + 12 + 5
    assert read_origin(out) == ORIGIN.joined_with(Origin(("other",)))
    chunks = read_chunks(out)
    assert sorted((chunk.canvas, chunk.length) for chunk in chunks) == [
        (9, 2), (9, 8), (9, 8), (13, 5), (19, 4), (19, 8),
    ]  # fmt: skip
    given = {
        row.tobytes() for path in (*sample_files(first), *sample_files(second)) for row in read_samples(path).planes
    }
    packed = {row.tobytes() for chunk in chunks if chunk.canvas != 13 for row in read_chunk(chunk).planes}
    assert packed == given
    buffer = ShuffleBuffer("samples", (str(out),))
    assert buffer.counts() == {9: 18, 13: 5, 19: 12}
    spatial, _, targets = buffer.draw(13, 4, np.random.default_rng(1))
    assert spatial.shape == (4, 22, 13, 13)
    assert targets.policy.shape == (4, 170)
    buffer.close()
    again = tmp_path / "again.samples"
    assert pack(again, (out,)) == 35
    assert again.read_bytes() == out.read_bytes()
    empty = tmp_path / "empty"
    empty.mkdir()
    for wrong, sources, complaint in (
        (tmp_path / "all.zip", (first,), "ends in .samples"),
        (out, (out, first), "another file"),
        (first / "all.samples", (second, first), "another folder"),
        (first / "09-000009.samples", (second, tmp_path / "second" / ".." / "first"), "another folder"),
        (tmp_path / "none.samples", (empty,), "no sample files"),
    ):
        with pytest.raises(TrainingError, match=complaint):
            pack(wrong, sources)
    with pytest.raises(TrainingError, match="nobi pack"):
        ShuffleBuffer("samples", (str(third),))


def test_a_packed_file_in_a_folder_is_not_passed_over(tmp_path: Path) -> None:
    """It is named itself, or refused by all that read the folder."""
    folder = tmp_path / "samples"
    folder.mkdir()
    written(folder / "09-000000.samples", made_up(3, 9, 9)[0])
    packed = written(folder / "packed.samples", made_up(2, 9, 9, seed=2)[0])
    out = tmp_path / "out.samples"
    for read in (
        lambda: pack(out, (folder,)),
        lambda: ShuffleBuffer("samples", (str(folder),)),
        lambda: next(rows_of_samples(folder, full=True)),
    ):
        with pytest.raises(TrainingError, match=r"packed\.samples: .* is not read with its folder"):
            read()
    assert not out.exists()
    assert pack(out, (folder, packed)) == 5
    buffer = ShuffleBuffer("samples", (str(folder), str(packed)))
    assert buffer.counts()[9] == 5
    written(folder / "later.samples", made_up(4, 9, 9, seed=3)[0])
    written(folder / "09-000001.samples", made_up(1, 9, 9, seed=4)[0])
    assert buffer.counts()[9] == 6  # a run that goes on does not end for a file that came later
    buffer.close()


def test_sources_that_do_not_exist_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file is an error; a missing folder may come later."""
    there, missing, later = written(tmp_path / "a.samples", made_up(3, 9, 9)[0]), tmp_path / "b.samples", tmp_path / "c"
    with pytest.raises(TrainingError, match=r"b\.samples: there is no such file, which data\.fresh names"):
        ShuffleBuffer("fresh", (str(there), str(missing)))
    capsys.readouterr()
    buffer = ShuffleBuffer("samples", (str(there), str(later)))
    assert capsys.readouterr().err == f"{later}: there is no such folder yet, which data.samples names\n"
    later.mkdir()
    written(later / "09-000000.samples", made_up(2, 9, 9, seed=2)[0])
    assert buffer.counts()[9] == 5
    buffer.close()


def test_a_buffer_reads_by_and_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins with some chunks, sees all of them in time, and never holds more than it may."""
    for name, value in (("FIRST_READ", 2), ("SAMPLES_HELD", 12), ("PASSES", 1.0)):
        monkeypatch.setattr(f"training.samples.shuffle_buffer.{name}", value)
    writer = SampleWriter(tmp_path, ORIGIN, capacity=4)
    for number in range(6):
        samples = made_up(4, 9, 9, number)[0]
        writer.add(samples._replace(reply=np.full(4, number, np.int16)))
    buffer, generator = ShuffleBuffer("samples", (str(tmp_path),)), np.random.default_rng(1)
    seen = []
    for _ in range(60):
        _, global_, _ = buffer.draw(9, 4, generator)
        seen.append({row.tobytes() for row in global_})
    buffer.close()
    assert len(seen[0]) <= 8
    assert len(set().union(*seen)) > 20


def test_a_batch_is_not_sorted_by_chunk(tmp_path: Path) -> None:
    """Or a part of it, which has gradients of its own, would know less than another."""
    for number, known in enumerate((255, HAS_VALUE)):
        samples = made_up(40, 9, 9, number)[0]
        written(tmp_path / f"09-00000{number}.samples", samples._replace(known=np.full(40, known, np.uint8)))
    buffer = ShuffleBuffer("samples", (str(tmp_path),))
    _, _, targets = buffer.draw(9, 200, np.random.default_rng(1))
    buffer.close()
    for half in (targets.policy_weight[:100], targets.policy_weight[100:]):
        assert 0.3 < float(half.mean()) < 0.7


def test_two_writers_never_share_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training.samples import sample_files as module

    one, other = SampleWriter(tmp_path, ORIGIN, capacity=1), SampleWriter(tmp_path, ORIGIN, capacity=1)
    encode = module.encode_samples

    def meanwhile(samples: Samples, origin: Origin) -> bytes:
        monkeypatch.setattr(module, "encode_samples", encode)
        other.add(made_up(2, 9, 9)[0])
        return encode(samples, origin)

    monkeypatch.setattr(module, "encode_samples", meanwhile)
    one.add(made_up(3, 9, 9)[0])
    assert [read_samples(path).length for path in sample_files(tmp_path)] == [2, 3]
    assert len(list(tmp_path.iterdir())) == 3  # origin.json, and no temporary file


def test_a_full_disk_loses_no_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SampleWriter(tmp_path, ORIGIN, capacity=100)
    writer.add(made_up(3, 9, 9)[0])

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("go_rules.machine.files.os.fsync", full)
        with pytest.raises(TrainingError, match="No space left"):
            writer.close()
    assert not sample_files(tmp_path)
    writer.close()
    assert [read_samples(path).length for path in sample_files(tmp_path)] == [3]
