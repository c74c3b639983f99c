"""`nobi average`: the mean of several networks' weights, and what has none."""

# ruff: noqa: E402
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from gtp_engine import cli
from nets.katago.writer import encode_model
from nets.open import open_network
from tests.training.networks import SHAPE, new_student, untrained
from training.files import read_network
from training.network import Network
from training.run.folder import CARD, STUDENT


def write(file: Path, student: Network, name: str, **how: bool) -> Path:
    file.write_bytes(encode_model(student.to_model(name, has_optimistic=True, **how)))
    return file


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    one, two = new_student(), new_student()
    with torch.no_grad():
        for parameter in two.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return write(tmp_path / "one.bin.gz", one, "one"), write(tmp_path / "two.bin.gz", two, "two")


def card(file: Path, name: str, positions: int, teachers: list[str]) -> None:
    content = {"name": name, "positions": positions, "steps": positions // 8, "teachers": teachers}
    file.with_name(f"{name}.json").write_text(json.dumps(content))


def test_it_is_the_mean(both: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "deep" / "mean"
    assert cli.run(["average", str(out), *map(str, both)]) == 0
    mean, one, two = (read_network(path) for path in (out / STUDENT, *both))
    weights, first, second = (model.trunk.stem.weights for model in (mean, one, two))
    assert not np.array_equal(first, second)
    np.testing.assert_allclose(weights, (first + second) / 2, rtol=1e-6, atol=1e-7)
    hidden = [model.value.hidden for model in (mean, one, two)]
    np.testing.assert_allclose(hidden[0], (hidden[1] + hidden[2]) / 2, rtol=1e-6, atol=1e-7)
    assert open_network(out / STUDENT, "fp32").attributes.name == mean.name


def test_the_mean_of_one_is_itself(both: tuple[Path, Path], tmp_path: Path) -> None:
    assert cli.run(["average", str(tmp_path / "out"), str(both[0])]) == 0
    mean = read_network(tmp_path / "out" / STUDENT)
    assert encode_model(replace(mean, name="one")) == both[0].read_bytes()


def test_its_card_says_where_it_comes_from(both: tuple[Path, Path], tmp_path: Path) -> None:
    card(both[0], "one", 800, ["b18", "b6"])
    card(both[1], "two", 1600, ["b6", "b28"])
    assert cli.run(["average", str(tmp_path / "out"), str(both[0]), *map(str, both)]) == 0
    facts = json.loads((tmp_path / "out" / CARD).read_text())
    assert facts["name"].endswith("-s1600-mean2")
    assert (facts["positions"], facts["steps"]) == (1600, 200)
    assert facts["teachers"] == ["b18", "b6", "b28"]
    assert facts["mean_of"] == {"one": 2, "two": 1}
    assert "began_as" not in facts
    both[1].with_name("two.json").unlink()
    assert cli.run(["average", str(tmp_path / "unknown"), *map(str, both)]) == 0
    assert json.loads((tmp_path / "unknown" / CARD).read_text())["began_as"] == "two"


def test_what_has_no_mean_is_refused(
    both: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wider = write(tmp_path / "wider.bin.gz", untrained(replace(SHAPE, channels=2 * SHAPE.channels)), "wider")
    smooth = write(tmp_path / "smooth.bin.gz", untrained(replace(SHAPE, activation="silu")), "smooth")
    other = write(tmp_path / "other.bin.gz", new_student(), "other", pass_alive_under_suicide=True)
    broken = tmp_path / "broken.bin.gz"
    broken.write_bytes(both[0].read_bytes()[:-100])
    out = tmp_path / "out"
    for file, complaint in (
        (wider, f"wider.bin.gz: of another shape than {both[0]}"),
        (smooth, f"smooth.bin.gz: of another shape than {both[0]}"),
        (other, "other.bin.gz: it counts pass-alive groups in another way"),
        (broken, "broken.bin.gz: not a usable KataGo network"),
    ):
        assert cli.run(["average", str(out), str(both[0]), str(file)]) == 1
        message = capsys.readouterr().err
        assert complaint in message
        assert message.count("\n") == 1
        assert not out.exists()
    (tmp_path / STUDENT).write_bytes(b"precious")
    assert cli.run(["average", str(tmp_path), str(both[0])]) == 1
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / STUDENT).read_bytes() == b"precious"
