"""Beginning from an exported network: every weight of the file comes back, and what is no student is refused."""

# ruff: noqa: E402
from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from gtp_engine import cli
from nets.embedded import FAST, network_file
from nets.katago.model import Activation
from nets.katago.parse import parse_model
from nets.katago.reader import decompress
from nets.katago.writer import encode_model
from tests.nets.random_networks import RandomNetwork
from tests.training.games import random_games, write_records
from tests.training.student.test_network import KINDS, SHAPE, inputs, new_student
from training.errors import TrainingError
from training.files import read_network
from training.run.checkpoint import Progress, load_checkpoint
from training.run.folder import CHECKPOINT
from training.run.trained_network import progress_of, read_trained_network
from training.samples.origin import Origin
from training.student.export import to_model
from training.student.network import PLAIN, REPLY, SOFT, Student
from training.student.restore import load_weights, shape_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "student.bin.gz"
    path.write_bytes(
        encode_model(to_model(new_student(), "exported", has_optimistic=True, pass_alive_under_suicide=True))
    )
    return path


@torch.no_grad()
def test_the_round_trip(file: Path) -> None:
    student, model = new_student(), read_network(file)
    assert shape_of(model) == SHAPE
    again = Student(SHAPE)
    load_weights(again, model)
    for (name, weights), (_, want) in zip(again.named_parameters(), student.named_parameters(), strict=True):
        if name.startswith(("policy.second", "policy.pass_second")):
            torch.testing.assert_close(weights[:2], want[:2], rtol=0, atol=0)
        else:
            torch.testing.assert_close(weights, want, rtol=0, atol=0)
    spatial, global_ = inputs(2, 9)
    policy = again(spatial, global_).policy
    torch.testing.assert_close(policy[:, SOFT], policy[:, PLAIN] / 4)
    assert not policy[:, REPLY].any()


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_every_kind_of_student_comes_back(tmp_path: Path, kind: str) -> None:
    student = new_student(KINDS[kind])
    path = tmp_path / "student.bin.gz"
    path.write_bytes(encode_model(to_model(student, "exported", has_optimistic=True)))
    model = read_network(path)
    shape = shape_of(model)
    fixed = KINDS[kind].norm if KINDS[kind].norm != "batch" else "fixed"
    assert shape == dataclasses.replace(KINDS[kind], norm=fixed)
    again = Student(shape)  # which is still in training
    load_weights(again, model)
    for given, want in zip(again(*inputs(2, 9)), student(*inputs(2, 9)), strict=True):
        if given.ndim == 3:
            given, want = given[:, :2], want[:, :2]
        torch.testing.assert_close(given, want, rtol=1e-4, atol=1e-4)


def test_the_embedded_network_can_be_trained_on() -> None:
    model = read_network(network_file(FAST))
    load_weights(Student(shape_of(model)), model)


def test_what_a_network_had_learned(tmp_path: Path, file: Path) -> None:
    model, card = read_network(file), tmp_path / "student.json"
    nothing = Progress(origin=Origin((), True, True))
    assert progress_of(model, file) == nothing
    card.write_text('{"name": "another", "positions": 5, "steps": 1, "teachers": []}')
    assert progress_of(model, file) == nothing
    card.write_text('{"name": "exported", "positions": "many"}')
    with pytest.raises(TrainingError, match=r"student\.json: damaged"):
        progress_of(model, file)
    card.unlink()
    plain = to_model(new_student(), "plain", has_optimistic=False)
    assert progress_of(plain, file).origin == Origin()
    embedded = progress_of(read_network(network_file(FAST)), network_file(FAST))
    assert embedded.origin.teachers
    assert embedded.samples > 5_000_000
    assert embedded.records_drawn == embedded.samples  # others than it has seen come next


def test_foreign_networks_are_refused(tmp_path: Path, file: Path) -> None:
    random = RandomNetwork(8, channels=16)
    random.write([{"kind": "ordinary_block"}])
    with pytest.raises(TrainingError, match="not a network that Nobi's training wrote"):
        shape_of(parse_model(decompress(random.compressed())))
    attention = RandomNetwork(15, channels=16, heads=(2, 2, 2, 2))
    attention.write([{"kind": kind} for kind in ("ordinary_block", "transformer_attention_block")])
    with pytest.raises(TrainingError, match="not a network that Nobi's training wrote"):
        shape_of(parse_model(decompress(attention.compressed())))
    model = read_network(file)
    value = dataclasses.replace(model.value, hidden_activation=Activation.MISH)
    for foreign in (
        dataclasses.replace(model, value=value),
        dataclasses.replace(model, multipliers=dataclasses.replace(model.multipliers, lead=10.0)),
        dataclasses.replace(
            model, trunk=dataclasses.replace(model.trunk, blocks=(*model.trunk.blocks[1:], model.trunk.blocks[0]))
        ),
        dataclasses.replace(model, trunk=dataclasses.replace(model.trunk, tip=_identity(model.trunk.tip))),
    ):
        with pytest.raises(TrainingError, match="not a network that Nobi's training wrote"):
            load_weights(Student(shape_of(foreign)), foreign)
    (tmp_path / "text.bin.gz").write_text("no network")
    for name, message in (("text.bin.gz", "not a usable KataGo network"), ("none.bin.gz", "No such file")):
        with pytest.raises(TrainingError, match=message):
            read_network(tmp_path / name)


def _identity(norm):  # type: ignore[no-untyped-def]
    return dataclasses.replace(norm, activation=Activation.IDENTITY)


def test_nobi_train_from(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2))
    settings = [f"data.records.path={records}", "data.records.skip=0", "data.play_share=0", "run.batch=2"]
    settings += ["data.records_share=1", "run.device=cpu", "run.threads=1", "optimiser.rate=1e-9"]
    run = tmp_path / "run"
    card = {"name": "exported", "positions": 5000, "steps": 70, "teachers": ["some-teacher"], "parameters": 1}
    (tmp_path / "student.json").write_text(json.dumps(card))
    command = ["train", str(run), *(word for setting in settings for word in ("-s", setting))]
    command += ["--pause-after", "0.01s", "--budget", "1h"]
    assert cli.run([*command, "--from", str(file)]) == 0
    student, trained = new_student(), load_checkpoint(run / CHECKPOINT, torch.device("cpu")).weights
    torch.testing.assert_close(trained["blocks.0.first.weight"], student.blocks[0].first.weight.detach())
    trained = read_trained_network(run)
    assert trained.model.trunk.channels == 16
    assert trained.facts["teachers"] == ["some-teacher"]
    assert 5000 < trained.facts["positions"] < 5100
    assert 70 < trained.facts["steps"] < 100
    capsys.readouterr()
    for again in ([*command, "--from", str(file)], command):  # neither says what the network looks like
        step = load_checkpoint(run / CHECKPOINT, torch.device("cpu")).progress.step
        assert cli.run(again) == 0
        assert load_checkpoint(run / CHECKPOINT, torch.device("cpu")).progress.step > step
    assert "has begun already; it goes on" in capsys.readouterr().err
    command[1] = str(tmp_path / "other")
    assert cli.run([*command, "-s", "network.blocks=2", "--from", str(file)]) == 1
    assert "nobi: network.blocks must be 3 at least" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
    grows = [*command, "-s", "network.channels=24"]
    assert cli.run([*grows, "--from", str(file)]) == 0
    for again in (grows, command):  # neither says how many blocks it has
        assert cli.run(again) == 0
    grown = read_trained_network(tmp_path / "other").model
    assert (grown.trunk.channels, len(grown.trunk.blocks), grown.policy.first.outputs) == (24, 3, 8)
