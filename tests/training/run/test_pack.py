"""Packing what a leg on another machine needs, its networks with rounded matrices."""

from __future__ import annotations

import gzip
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nets.katago.reader import decompress, parse_model
from tests.nets.random_networks import RandomNetwork
from tests.systems import IS_WINDOWS
from tests.training.games import random_games, write_records
from training.config import DataConfig, RecordsConfig, RunConfig, TrainingConfig, read_config
from training.errors import TrainingError
from training.files import read_network
from training.run import pack as module
from training.run.pack import pack, packed_records, rounded, rounded_network, size_of

ROOM = 64 << 20


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return write_records(tmp_path / "games.npz", random_games(count=6, length=40, seed=3))


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    """A network with a matrix that is worth rounding."""
    network = RandomNetwork(8, channels=64)
    network.write([{"kind": "ordinary_block"}])
    path = tmp_path / "teacher.bin.gz"
    path.write_bytes(network.content)
    return path


def test_records_are_cut_to_the_room_there_is(records: Path) -> None:
    whole, kept, count = packed_records(records, ROOM, skip=0)
    assert kept == count == 6
    part, kept, count = packed_records(records, len(whole) - 50, skip=0)
    assert len(part) <= len(whole) - 50
    assert 0 < kept < count
    records.write_bytes(part)
    archive = np.load(records)
    assert len(archive["moves"]) == archive["offsets"][-1] == 40 * kept
    with pytest.raises(TrainingError, match="no room"):
        packed_records(records, 100, skip=0)


@pytest.mark.skipif(IS_WINDOWS, reason="starts a script of a POSIX shell")
def test_all_lies_in_one_folder(
    records: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "download", lambda target, python: target.mkdir())
    out, start = tmp_path / "out", {"start.bin.gz": b"a network"}
    config = TrainingConfig(data=DataConfig(teacher=str(teacher), records=RecordsConfig(path=str(records))))
    pack(out, config, start, "3.12", ROOM)
    assert "6 of 6 games fit" in capsys.readouterr().err
    packed = read_config(out / "gpu.toml").data
    assert (packed.teacher, packed.records.path) == ("teacher.bin.gz", "games.npz")
    assert gzip.decompress((out / packed.teacher).read_bytes())
    assert (out / "code" / "training" / "run" / "loop.py").exists()
    assert (out / "start.bin.gz").read_bytes() == b"a network"
    assert not list(out.rglob("__pycache__"))
    subprocess.run(["sh", "-n", str(out / "leg.sh")], check=True)
    with pytest.raises(TrainingError, match="exists already"):
        pack(out, config, start, "3.12", ROOM)
    with pytest.raises(TrainingError, match="no room"):
        pack(tmp_path / "full", config, start, "3.12", size_of(out) // 2)
    without = TrainingConfig(data=DataConfig(records_share=0.0))
    with pytest.raises(TrainingError, match="larger than the 1 MiB"):
        pack(tmp_path / "larger", without, {}, "3.12", 1 << 20)


@pytest.mark.parametrize("missing", ["teacher", "records", "no records", "yardstick", "samples"])
def test_errors_name_the_file_before_anything_is_downloaded(
    records: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setattr(module, "download", lambda target, python: pytest.fail("it was downloaded"))
    nothing, out = tmp_path / "nothere", tmp_path / "out"
    path = {"records": str(nothing), "no records": ""}.get(missing, str(records))
    config = TrainingConfig(
        run=RunConfig(yardstick=str(nothing) if missing == "yardstick" else ""),
        data=DataConfig(
            teacher=str(nothing if missing == "teacher" else teacher),
            records=RecordsConfig(path=path),
            samples_share=0.5 if missing == "samples" else 0.0,
        ),
    )
    named = {"no records": "data.records.path: no game records", "samples": "sample files do not travel"}
    with pytest.raises(TrainingError) as error:
        pack(out, config, {}, "3.12", ROOM)
    assert str(error.value).startswith(named.get(missing, f"{nothing}: No such file"))
    assert not out.exists()


def test_a_failure_leaves_nothing_in_the_way(records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, out = TrainingConfig(data=DataConfig(records=RecordsConfig(path=str(records)))), tmp_path / "new" / "out"

    def fail(target: Path, python: str) -> None:
        target.mkdir()
        raise TrainingError("no network")

    monkeypatch.setattr(module, "download", fail)
    with pytest.raises(TrainingError, match="no network"):
        pack(out, config, {}, "3.12", ROOM)
    monkeypatch.setattr(module, "download", lambda target, python: target.mkdir())
    pack(out, config, {}, "3.12", ROOM)
    with pytest.raises(TrainingError, match="exists already"):
        pack(out, config, {}, "3.12", ROOM)
    assert (out / "games.npz").exists()  # what another call made stays


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed (extra `train`)")
def test_training_imports_only_what_travels() -> None:
    names = "import sys, gtp_engine.command_line, training.commands, training.run.loop\n"
    names += "print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", names]
    imported = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert "torch" in imported
    assert not imported & {"onnx", "onnxruntime", "rich", "matplotlib", "scipy"}


def test_a_network_to_begin_with_travels_rounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packed: list[dict[str, bytes]] = []
    monkeypatch.setattr(module, "pack", lambda _out, _config, start, *_: packed.append(start))
    monkeypatch.setattr("training.run.pack.MATRIX", 100)
    network = RandomNetwork(17, channels=16)
    network.write([{"kind": "transformer_attention_block"}, {"kind": "transformer_ffn_block"}] * 2, tip="rms")
    source, card = tmp_path / "network.bin.gz", tmp_path / "network.json"
    source.write_bytes(network.compressed())
    card.write_text("provenance")
    command = [str(tmp_path / "out"), "--from", str(source)]
    for without in ("", "1,2"):
        module.main.main([*command, "--without", without] if without else command, standalone_mode=False)
    whole, part = (parse_model(decompress(start["start.bin.gz"])) for start in packed)
    assert (len(whole.trunk.blocks), len(part.trunk.blocks), part.version) == (4, 2, 15)
    stem = parse_model(bytes(network.content)).trunk.stem.weights
    assert not np.array_equal(whole.trunk.stem.weights, stem)
    np.testing.assert_allclose(whole.trunk.stem.weights, stem, rtol=2**-8)
    assert [start["start.json"] for start in packed] == [b"provenance"] * 2
    with pytest.raises(SystemExit):
        module.main.main([*command, "--without", "4"])
    assert f"Error: --without 4: {source} has no block 4; its blocks are 0 to 3" in capsys.readouterr().err


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
