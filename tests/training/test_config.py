"""The configuration of training runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.config import TrainingConfig, describe, override, read_config
from training.errors import TrainingError

ROOT = Path(__file__).parents[2]


def test_the_printed_defaults_are_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "training.toml"
    path.write_text(describe(), encoding="utf-8")
    assert read_config(path) == TrainingConfig()


def test_a_described_configuration_reads_back(tmp_path: Path) -> None:
    config = override(TrainingConfig(), ("run.batch=64", 'data.samples=["a", "b"]', "network.activation=silu"))
    path = tmp_path / "training.toml"
    path.write_text(describe(config), encoding="utf-8")
    assert read_config(path) == config


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "recipes").glob("*.toml")), ids=lambda path: path.stem)
def test_the_recipes_are_configurations(path: Path) -> None:
    read_config(path)


def test_settings_are_read_as_toml_would() -> None:
    config = override(TrainingConfig(), ("network.blocks=20", 'data.canvas_shares={"9": 1.0}', "data.teacher=/a/b.gz"))
    assert (config.network.blocks, config.data.canvas_shares, config.data.teacher) == (20, {"9": 1.0}, "/a/b.gz")


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("run.batch", "not a setting"),
        ("run.bach=3", "not a setting"),
        ("batch=3", "not a setting"),
        ("run.batch=many", "run.batch"),
        ("run.batch=0", "run.batch"),
        ("network.activation=mish", "network.activation"),
        ("network.channels=4.5", "network.channels"),
        ("run.threads=100000", "run.threads must be 0 to 256"),
        ("run.batch=1000000000", "run.batch must be 1 to 65536"),
        ("network.value_hidden=1000000000", "network.value_hidden must be 4 to 4096"),
        ("network.policy_channels=1000000000", "network.policy_channels must be 4 to 1024"),
        ("network.bottleneck=1000000000", "network.bottleneck must be 0 to 1024"),
    ],
)
def test_bad_settings_are_named(setting: str, complaint: str) -> None:
    with pytest.raises(TrainingError) as caught:
        override(TrainingConfig(), (setting,))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"[run]\nbach = 3\n", "bach"), (b"[run\n", "training.toml"), (b"\xff\xfe", "training.toml"), (b"run = 3", "run")],
)
def test_bad_files_are_named(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "training.toml"
    path.write_bytes(content)
    with pytest.raises(TrainingError) as caught:
        read_config(path)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="No such file"):
        read_config(tmp_path / "none.toml")
