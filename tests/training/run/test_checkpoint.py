"""Checkpoints: whole or not at all, whatever happens while one is written."""

# ruff: noqa: E402
from __future__ import annotations

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from training.errors import TrainingError
from training.run import checkpoint
from training.run.checkpoint import (
    Checkpoint,
    Progress,
    has_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from training.samples.sample_files import Origin

CPU = torch.device("cpu")


def progress(step: int) -> Progress:
    return Progress(step=step, origin=Origin(("teacher",), has_optimistic=True))


def made_up(step: int) -> Checkpoint:
    weights = {"stem": torch.full((3,), float(step))}
    return Checkpoint(weights, {"weights": weights, "updates": step}, [{"state": {}}], progress(step))


def test_it_reads_back(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    for step in (1, 2):
        save_checkpoint(folder, made_up(step))
    back = load_checkpoint(folder, CPU)
    assert back.progress == progress(2)
    assert back.weights["stem"].tolist() == [2, 2, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_a_full_disk_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "checkpoint"
    save_checkpoint(folder, made_up(1))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TrainingError, match="No space left"):
        save_checkpoint(folder, made_up(2))
    assert load_checkpoint(folder, CPU).progress.step == 1


def test_a_killed_save_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, rename = tmp_path / "checkpoint", os.rename
    save_checkpoint(folder, made_up(2))

    def killed(old: Path, new: Path) -> None:
        if new == folder:
            raise KeyboardInterrupt
        rename(old, new)

    monkeypatch.setattr(os, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(folder, made_up(3))
    assert load_checkpoint(folder, CPU).progress.step == 2


def test_an_interrupted_replacement_is_repaired(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    save_checkpoint(folder, made_up(1))
    folder.rename(tmp_path / "checkpoint.old")  # killed between the two renamings
    assert has_checkpoint(folder)
    assert load_checkpoint(folder, CPU).progress.step == 1
    save_checkpoint(folder, made_up(2))
    assert load_checkpoint(folder, CPU).progress.step == 2


def test_a_large_state_is_cut_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "PART_BYTES", 1000)
    folder = tmp_path / "checkpoint"
    save_checkpoint(folder, made_up(3))
    sizes = [path.stat().st_size for path in folder.glob("part*.pt")]
    assert len(sizes) > 1
    assert max(sizes) == 1000
    assert load_checkpoint(folder, CPU).weights["stem"].tolist() == [3, 3, 3]
    (folder / "part2.pt").unlink()
    with pytest.raises(TrainingError, match=r"part2\.pt: a damaged checkpoint"):
        load_checkpoint(folder, CPU)


def test_a_checkpoint_of_an_earlier_version_is_named_so(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "weights.pt").write_bytes(b"whatever")
    (folder / "state.json").write_text('{"step": 4}')
    with pytest.raises(TrainingError, match=r"checkpoint: a checkpoint of an earlier version, .* cannot resume$"):
        load_checkpoint(folder, CPU)


@pytest.mark.parametrize("damage", [b"\x80\x02garbage", None])
@pytest.mark.parametrize("name", ["part1.pt", "state.json"])
def test_damage_is_told_in_a_line(tmp_path: Path, name: str, damage: bytes | None) -> None:
    folder = tmp_path / "checkpoint"
    save_checkpoint(folder, made_up(1))
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    with pytest.raises(TrainingError) as caught:
        load_checkpoint(folder, CPU)
    assert "damaged checkpoint" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_there_is_none(tmp_path: Path) -> None:
    assert not has_checkpoint(tmp_path / "checkpoint")
    with pytest.raises(TrainingError, match="no checkpoint"):
        load_checkpoint(tmp_path / "checkpoint", CPU)
