"""The configuration of training runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.config import NetworkConfig, TrainingConfig, describe, override, read_config
from training.errors import TrainingError

ROOT = Path(__file__).parents[2]


OTHER = override(TrainingConfig(), ("run.batch=64", 'data.samples=["a", "b"]', "network.kind=nested"))


@pytest.mark.parametrize("config", [None, OTHER])
def test_a_described_configuration_reads_back(tmp_path: Path, config: TrainingConfig | None) -> None:
    path = tmp_path / "training.toml"
    path.write_text(describe(config), encoding="utf-8")
    assert read_config(path) == (config or TrainingConfig())


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "recipes").glob("*.toml")), ids=lambda path: path.stem)
def test_the_recipes_are_configurations(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read_config(path)
    assert capsys.readouterr().err == ""


def test_a_network_that_is_there_says_what_a_file_leaves_out(tmp_path: Path) -> None:
    """A run that goes on keeps the shape of its network, and the file may repeat it."""
    path = tmp_path / "training.toml"
    path.write_text("[network]\nchannels = 24\n[run]\nbatch = 8\n")
    there = NetworkConfig(blocks=3, channels=16, policy_channels=8)
    config = read_config(path, there)
    assert config.network == NetworkConfig(blocks=3, channels=24, policy_channels=8)
    assert config.run.batch == 8
    path.write_text("")
    assert read_config(path, there).network == there


def test_settings_are_read_as_toml_would() -> None:
    config = override(TrainingConfig(), ("network.blocks=20", 'data.canvas_shares={"9": 1.0}', "data.teacher=/a/b.gz"))
    assert (config.network.blocks, config.data.canvas_shares, config.data.teacher) == (20, {"9": 1.0}, "/a/b.gz")
    assert override(TrainingConfig(), ("data.canvas_shares={13 = 1.0}",)).data.canvas_shares == {"13": 1.0}
    for text in ("/a/b c.gz", '"/a/b c.gz"'):
        assert override(TrainingConfig(), (f"data.teacher={text}",)).data.teacher == "/a/b c.gz"


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("run.batch", "not a setting"),
        ("run.batch.size=3", "not a setting"),
        ("run.bach=3", "not a setting"),
        ("run.batch=many", "run.batch"),
        ("network.kind=round", "network.kind"),
        ("network.channels=4.5", "network.channels"),
        ("run.threads=100000", "run.threads must be 0 to 256"),
        ("run.measure_every=0", "run.measure_every must be above 0"),
        ("data.selfplay.full_share=0", "data.selfplay.full_share must be"),
        ("data.selfplay.resign_below=0.5", "data.selfplay.resign_below must be at least 0 and below 0.5"),
        ("learn.match_games=1", "learn.match_games must be at least 2"),
    ],
)
def test_bad_settings_are_named(setting: str, complaint: str) -> None:
    with pytest.raises(TrainingError) as caught:
        override(TrainingConfig(), (setting,))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"[run\n", b"\xff\xff"])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "training.toml"
    path.write_bytes(content)
    with pytest.raises(TrainingError) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: not TOML")
    assert "\n" not in str(caught.value)


def test_a_run_goes_on_with_the_file_of_an_earlier_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What no longer exists, and what is wrong, is a line each; the rest of the file holds."""
    path = tmp_path / "training.toml"
    path.write_text(
        "network.blocks = 20\nnetwork.channels = 1\nrun = {batch = 8, bach = 3, rate = 0.1}\nloss = 3\n"
        '[optimizer]\nrate = 1\n[optimiser]\nlearns = "errors"\nclip = 2\n'
        '[learn]\nprecision = "int8"\n'
    )
    config = read_config(path, NetworkConfig(blocks=3, channels=16))
    assert config == override(
        TrainingConfig(network=NetworkConfig(blocks=20, channels=16)), ("run.batch=8", "optimiser.clip=2")
    )
    assert capsys.readouterr().err.splitlines() == [
        f"nobi: {path}: {line}; ignored"
        for line in (
            "network.channels must be 8 to 1024, not 1",
            "unknown parameter: run.bach (did you mean run.batch?)",
            "unknown parameter: run.rate (did you mean optimiser.rate?)",
            "loss must be a table, not 3",
            "unknown parameter: optimizer (did you mean optimiser?)",
            "unknown parameter: optimiser.learns",
            "learn.precision must be one of auto, int16, fp32, not int8",
        )
    ]
    assert read_config(path, NetworkConfig(blocks=3, channels=16)) == config
    assert capsys.readouterr().err == "", "a command that reads it again says nothing more"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="No such file"):
        read_config(tmp_path / "none.toml")
