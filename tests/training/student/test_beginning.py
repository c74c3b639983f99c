"""What a student begins as: a file, a part of one, random weights; and a run that begins with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gtp_engine import command_line
from nets.embedded import network_file
from nets.evaluator import EvaluationRequest
from nets.katago.model import AttentionBlock, BottleneckBlock, RmsTip
from nets.katago.writer import encode_model
from nets.open import open_network
from tests.nets.random_networks import RandomNetwork
from tests.training.games import random_games, write_records
from tests.training.networks import NESTED, SHAPES, TRANSFORMER, inputs, new_student
from tests.training.pytorch import torch
from training.config import TrainingConfig
from training.errors import TrainingError
from training.files import CHECKPOINT, START, read_network
from training.labels.samples import Origin
from training.network import Network, evaluate_with
from training.run.checkpoint import Progress, load_checkpoint
from training.run.trained_network import describe_network, progress_of, read_trained_network
from training.student.beginning import random_model, read_student, shape_name

CPU = torch.device("cpu")
PAIR = ({"kind": "transformer_attention_block"}, {"kind": "transformer_ffn_block"})


def write(path: Path, version: int = 15, blocks: int = 4, **options: object) -> Path:
    """A file of random weights whose blocks are nested transformers."""
    network = RandomNetwork(version, activation="ACTIVATION_SILU")
    network.write([{"kind": "nested_bottleneck_block", "inner": PAIR}] * blocks, tip="rms_spatial", **options)
    path.write_bytes(network.compressed())
    return path


def test_blocks_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "teacher.bin.gz", 17, policy_channels=4)
    whole, part = read_student(path), read_student(path, "1,2")
    assert len(whole.trunk.blocks) == 4
    for number, block in zip((0, 3), part.trunk.blocks, strict=True):
        source = whole.trunk.blocks[number]
        assert isinstance(block, BottleneckBlock)
        assert isinstance(source, BottleneckBlock)
        assert np.array_equal(block.narrow.weights, source.narrow.weights)
    rest = replace(whole.trunk, blocks=read_student(path, "0,1,2").trunk.blocks)
    spatial, global_ = inputs(2, 9)
    only = Network(replace(whole, trunk=rest)).eval()
    last = Network(whole).eval()
    del last.blocks[:3]
    with torch.no_grad():
        for one, other in zip(only(spatial, global_), last(spatial, global_), strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("without", "complaint"),
    [
        ("4", "--without 4: {path} has no block 4; its blocks are 0 to 3"),
        ("0,-1", "--without 0,-1: {path} has no block -1; its blocks are 0 to 3"),
        ("0,1,2,3", "--without 0,1,2,3: no block of {path} is left"),
        ("0;1", "--without 0;1: not numbers of blocks like 6,7,8"),
        ("0,", "--without 0,: not numbers of blocks like 6,7,8"),
    ],
)
def test_wrong_blocks_are_told(tmp_path: Path, without: str, complaint: str) -> None:
    path = write(tmp_path / "teacher.bin.gz")
    with pytest.raises(TrainingError) as caught:
        read_student(path, without)
    assert str(caught.value) == complaint.format(path=path)


def test_what_cannot_learn_is_told(tmp_path: Path) -> None:
    path = tmp_path / "network.bin.gz"
    for version, blocks, options in (
        (8, [{"kind": "ordinary_block"}], {}),
        (15, [{"kind": "ordinary_block"}], {"meta": True}),
    ):
        network = RandomNetwork(version)
        network.write(blocks, **options)
        path.write_bytes(network.compressed())
        with pytest.raises(TrainingError, match=f"networks of this kind cannot learn .model version {version}"):
            read_student(path)
    path.write_text("no network")
    for name, message in (("network.bin.gz", "not a usable KataGo network"), ("none.bin.gz", "No such file")):
        with pytest.raises(TrainingError, match=message):
            read_student(tmp_path / name)


@pytest.mark.parametrize("name", SHAPES)
def test_random_weights_of_a_shape(tmp_path: Path, name: str) -> None:
    config = SHAPES[name]
    model = random_model(config, 1)
    path = tmp_path / "network.bin.gz"
    path.write_bytes(encode_model(Network(model).to_model("random", has_optimistic=True)))
    engine = open_network(path, "fp32")
    spatial, global_ = inputs(3, 9)
    expected = evaluate_with(Network(model).eval())(spatial.numpy(), global_.numpy())
    given = engine.evaluate(EvaluationRequest(spatial.numpy(), global_.numpy(), np.zeros(3, np.float32)))
    for want, have in zip(expected, given, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4)
    shallow = replace(model, trunk=replace(model.trunk, blocks=model.trunk.blocks[:1]))
    with torch.no_grad():  # all blocks begin as the identity
        for one, other in zip(Network(model)(spatial, global_), Network(shallow)(spatial, global_), strict=True):
            torch.testing.assert_close(one, other)
    assert encode_model(random_model(config, 1)) == encode_model(model) != encode_model(random_model(config, 2))


def test_shapes_are_those_of_katagos_networks() -> None:
    nested, plain = random_model(NESTED, 1), random_model(replace(TRANSFORMER, blocks=7, channels=96), 1)
    assert (shape_name(nested), shape_name(plain)) == ("b2c16h2nbttf", "b7c96h2tf")
    assert shape_name(random_model(SHAPES["residual"], 1)) == "b3c16"
    assert isinstance(nested.trunk.tip, RmsTip)
    assert nested.trunk.tip.spatial
    assert len(nested.trunk.blocks) == 2
    block = nested.trunk.blocks[0]
    assert isinstance(block, BottleneckBlock)
    assert (block.narrow.outputs, len(block.blocks)) == (8, 4)
    attention, feed_forward = plain.trunk.blocks[:2]
    assert isinstance(attention, AttentionBlock)
    assert feed_forward.first.shape == (96, 256)  # type: ignore[union-attr]
    for shape, heads, channels in ((TRANSFORMER, 3, 16), (NESTED, 8, 8)):
        with pytest.raises(TrainingError, match=rf"network\.channels: {channels} in a block are no multiple of twice"):
            random_model(replace(shape, attention_heads=heads), 1)


def test_an_embedded_network_goes_through_unchanged() -> None:
    model = read_student(network_file())
    again = Network(model).to_model(model.name, True, model.pass_alive_under_suicide)
    assert encode_model(again) == encode_model(model)


def test_what_a_network_had_learned(tmp_path: Path) -> None:
    file, card = tmp_path / "student.bin.gz", tmp_path / "student.json"
    written = new_student().to_model("exported", has_optimistic=True, pass_alive_under_suicide=True)
    file.write_bytes(encode_model(written))
    model = read_network(file)
    nothing = Progress(origin=Origin(("exported",), True, True), began_as="exported")
    assert progress_of(model, file) == nothing
    card.write_text('{"name": "another", "positions": 5, "steps": 1, "teachers": []}')
    assert progress_of(model, file) == nothing
    card.write_text('{"name": "exported", "positions": "many"}')
    with pytest.raises(TrainingError, match=r"student\.json: damaged"):
        progress_of(model, file)
    card.write_text('{"name": "exported", "began_as": "b10c384"}')
    learned = progress_of(model, file)
    assert describe_network(Network(model), TrainingConfig(), learned).facts["began_as"] == "b10c384"
    card.unlink()
    plain = new_student().to_model("plain", has_optimistic=False)
    assert progress_of(plain, file).origin == Origin(("plain",))
    embedded = progress_of(read_student(network_file()), network_file())
    assert embedded.origin.teachers
    assert embedded.records_drawn == embedded.samples > 0  # others than it has seen come next


def test_nobi_train_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, run = write(tmp_path / "student.bin.gz"), tmp_path / "run"
    records = write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2))
    settings = [f"data.records.path={records}", "data.records.skip=0", "data.play_share=0", "run.batch=2"]
    settings += ["data.records_share=1", "run.device=cpu", "run.threads=1", "optimiser.rate=1e-9"]
    card = {"name": "random", "positions": 5000, "steps": 70, "teachers": ["some-teacher"], "parameters": 1}
    (tmp_path / "student.json").write_text(json.dumps(card))
    command = ["train", str(run), *(word for setting in settings for word in ("-s", setting))]
    command += ["--pause-after", "0.01s", "--budget", "1h"]
    begin = [*command, "--from", str(file), "--without", "1,2"]
    assert command_line.run(begin) == 0
    begun = Network(read_student(file, "1,2"))
    trained = load_checkpoint(run / CHECKPOINT, CPU).weights
    torch.testing.assert_close(trained["blocks.1.narrow.weight"], begun.blocks[1].narrow.weight.detach())
    model, facts = read_trained_network(run)
    assert (model.name.partition("-s")[0], len(model.trunk.blocks)) == ("nobi-b2c8h4nbttf", 2)
    assert facts["teachers"] == ["some-teacher"]
    assert 5000 < facts["positions"] < 5100
    assert 70 < facts["steps"] < 100
    capsys.readouterr()
    file.unlink()  # the run has its own
    for again in ([*command, "--from", "strong"], command):
        step = load_checkpoint(run / CHECKPOINT, CPU).progress.step
        assert command_line.run(again) == 0
        assert load_checkpoint(run / CHECKPOINT, CPU).progress.step > step
    assert "has begun already; it goes on" in capsys.readouterr().err
    other = ["train", str(tmp_path / "other"), *command[2:], "--from", "strong"]
    for words, complaint in (
        ([*command, "-s", "network.channels=24"], "network.channels=24: the student has the shape of the network that"),
        ([*other, "-s", "network.channels=24"], "network.channels=24: the student has the shape of the network that"),
        ([*other, "--without", "7"], f"--without 7: {network_file()} has no block 7"),
    ):
        assert command_line.run(words) == 1
        message = capsys.readouterr().err
        assert complaint in message
        assert message.count("\n") == 1
    assert not (tmp_path / "other").exists()
    (run / START).unlink()
    assert command_line.run(command) == 1
    assert "not of this network" in capsys.readouterr().err
