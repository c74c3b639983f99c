"""Networks that imitate people, from the options to the replies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from go_rules.points import point_at, to_vertex
from gtp_engine import command_line
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.sources import load
from gtp_engine.players import IMITATION, chosen_player, make_player
from search.nobi.player import PolicyPlayer
from tests.gtp_engine.fakes import Dialogue
from tests.nets.random_networks import RandomNetwork

ORDINARY = {"kind": "ordinary_block"}


@pytest.fixture(autouse=True)
def cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks are kept elsewhere; kernels are not compiled again."""
    monkeypatch.setattr("nets.cache.networks_directory", lambda: tmp_path / "networks")


@pytest.fixture
def human(tmp_path: Path) -> Path:
    network = RandomNetwork(15, activation="ACTIVATION_MISH")
    network.write([ORDINARY], meta=True)
    path = tmp_path / "human.bin.gz"
    path.write_bytes(network.compressed())
    return path


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    network = RandomNetwork(15)
    network.write([ORDINARY])
    path = tmp_path / "plain.bin.gz"
    path.write_bytes(network.compressed())
    return path


OF_PEOPLE = (
    *("humanSLProfile", "humanSLChosenMoveProp", "humanSLChosenMovePiklLambda", "humanSLChosenMoveIgnorePass"),
    *("humanSLRootExploreProbWeightless", "humanSLRootExploreProbWeightful"),
    *("humanSLCpuctExploration", "humanSLCpuctPermanent"),
)


def likeliest(raw: str, size: int) -> list[str]:
    """The likeliest moves in a reply to `kata-raw-human-nn`, on an empty board: several if they look alike."""
    *rows, passing = raw.split("policy\n")[1].splitlines()[: size + 1]
    shares = [float(cell) for row in rows for cell in row.split()]
    moves = [to_vertex(point_at(i % size, i // size), size) for i in range(len(shares))]
    by_move = {**dict(zip(moves, shares, strict=True)), "pass": float(passing.split()[1])}
    return [move for move, share in by_move.items() if share > max(by_move.values()) - 2e-6]


def configured(net: Path, *settings: str) -> Configuration:
    return load(None, [f"net={net}", "size=9", "workers=1", "seed=1", *settings], {})


def test_a_profile_asks_for_the_policy_player(human: Path) -> None:
    configuration = configured(human, "human_profile=RANK_5k")
    assert chosen_player(configuration) == "policy"
    assert chosen_player(configured(human, "human_profile=rank_5k", "player=network")) == "nobi"
    assert chosen_player(configured(human)) == "nobi"
    player = make_player(configuration)
    assert isinstance(player, PolicyPlayer)
    assert player.parameters.temperature == IMITATION.temperature
    given = make_player(configured(human, "human_profile=rank_5k", "temperature=0.2"))
    assert isinstance(given, PolicyPlayer)
    assert given.parameters.temperature == 0.2
    player.close()
    given.close()


@pytest.mark.parametrize("player", ["policy", "network"])
def test_dialogue(human: Path, player: str) -> None:
    """Plays, changes whom it imitates, and the network's opinion changes with it."""
    made = make_player(configured(human, "human_profile=preaz_5k", f"player={player}"))
    dialogue = Dialogue(made)  # type: ignore[arg-type]
    assert dialogue.ask("kata-set-param maxVisits 10") == ""
    assert dialogue.ask("kata-get-param humanSLProfile") == "preaz_5k"
    assert dialogue.ask("kata-get-param human_profile") == "preaz_5k"
    assert "humanSLProfile" in dialogue.ask("kata-list-params").split()
    for _ in range(4):
        assert dialogue.ask("genmove b")
        assert dialogue.ask("genmove w")
    before = dialogue.ask("kata-raw-nn 0")
    dialogue.ask("kata-set-param humanSLProfile rank_9d_20k")
    assert dialogue.ask("kata-get-param humanSLProfile") == "rank_9d_20k"
    after = dialogue.ask("kata-raw-nn 0")
    assert after != before
    assert dialogue.ask("genmove b")
    for bad in ("rank_99k", "_", "proyear_1066"):
        assert "rank_20k to rank_9d" in dialogue.refuse(f"kata-set-param humanSLProfile {bad}")
    dialogue.refuse('kata-set-params {"maxVisits":3,"humanSLProfile":"rank_0d"}')
    assert dialogue.ask("kata-get-param maxVisits") == "10"
    assert dialogue.ask("kata-get-param humanSLProfile") == "rank_9d_20k"
    dialogue.ask('kata-set-params {"humanSLProfile":"preaz_5k"}', "undo")
    made.close()


def test_a_human_network_beside_the_search(human: Path, plain: Path) -> None:
    """Its parameters can be read and changed, its profile too, and it is asked for its own opinion."""
    settings = (
        "human_profile=preaz_5k",
        "human_prop=1",
        "temperature=0",
        "temperature_early=0",
        "random_symmetry=false",
        "root_symmetry_pruning=false",
    )
    made = make_player(configured(plain, f"human_net={human}", "precision=fp32", *settings))
    dialogue = Dialogue(made)  # type: ignore[arg-type]
    dialogue.ask('kata-set-params {"maxVisits":10,"humanSLChosenMovePiklLambda":1e8}')
    assert set(OF_PEOPLE) <= set(dialogue.ask("kata-list-params").split())
    known = json.loads(dialogue.ask("kata-get-params"))
    assert {name: known[name] for name in OF_PEOPLE} == {
        "humanSLProfile": "preaz_5k",
        "humanSLChosenMoveProp": 1.0,
        "humanSLChosenMovePiklLambda": 1e8,
        "humanSLChosenMoveIgnorePass": False,
        "humanSLRootExploreProbWeightless": 0.0,
        "humanSLRootExploreProbWeightful": 0.0,
        "humanSLCpuctExploration": 1.0,
        "humanSLCpuctPermanent": 0.0,
    }
    assert "not further down" in dialogue.refuse("kata-set-param humanSLPlaExploreProbWeightless 0.5")
    of_people, of_the_search = dialogue.ask("kata-raw-human-nn 0"), dialogue.ask("kata-raw-nn 0")
    assert of_people != of_the_search
    assert [line.split()[0] for line in of_people.splitlines()[4:6]] == ["whiteScore", "whiteScoreSq"]
    dialogue.refuse("kata-raw-human-nn 0 0.5")
    assert dialogue.ask("genmove b") in likeliest(of_people, 9)
    dialogue.ask("kata-set-param humanSLProfile rank_9d_20k")
    assert dialogue.ask("kata-get-param humanSLProfile") == "rank_9d_20k"
    dialogue.ask("undo")
    assert dialogue.ask("kata-raw-nn 0") == of_the_search
    assert dialogue.ask("kata-raw-human-nn 0") != of_people
    dialogue.ask("kata-set-param humanSLRootExploreProbWeightless 0.5")
    of_others = likeliest(dialogue.ask("kata-raw-human-nn 0"), 9)
    assert dialogue.ask("genmove b") in of_others
    models = json.loads(dialogue.ask("kata-get-models"))
    assert [model["usesHumanSLProfile"] for model in models] == [False, True]
    made.close()


def test_a_human_network_that_imitates_nobody_in_particular(
    human: Path, plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for net, profile in ((plain, ""), (human, "rank_1d")):
        made = make_player(configured(plain, f"human_net={net}"))
        dialogue = Dialogue(made)  # type: ignore[arg-type]
        assert dialogue.ask("kata-get-param humanSLProfile") == profile
        assert ("imitates rank_1d until" in capsys.readouterr().err) == bool(profile)
        made.close()


def test_other_networks_know_no_profile(plain: Path) -> None:
    player = make_player(configured(plain))
    dialogue = Dialogue(player)  # type: ignore[arg-type]
    assert dialogue.ask("kata-get-param humanSLProfile") == ""
    dialogue.ask("kata-set-param humanSLProfile")
    assert "no HumanSL" in dialogue.refuse("kata-set-param humanSLProfile rank_5k")
    (model,) = json.loads(dialogue.ask("kata-get-models"))
    assert set(model) == {"name", "internalName", "maxBatchSize", "usesHumanSLProfile", "usingFP16", "version"}
    assert model["usesHumanSLProfile"] is False
    assert "imitates people" in dialogue.refuse("kata-raw-human-nn 0")
    player.close()


def refusal(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    code = command_line.run(["gtp", *options])
    out, err = capsys.readouterr()
    assert code in (command_line.EXIT_FAILURE, command_line.EXIT_USAGE)
    assert out == ""
    assert len(err.splitlines()) == 1
    return err


def test_mistakes_get_one_line(human: Path, plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = ("--human-profile", "rank_5k")
    assert f"{human}: this network imitates people" in refusal(capsys, "--net", str(human))
    assert f"{plain}: a human profile is only for" in refusal(capsys, "--net", str(plain), *profile)
    assert "needs a HumanSL network" in refusal(capsys, *profile)
    assert "needs a HumanSL network" in refusal(capsys, "--net", str(human), *profile, "--player", "uct")
    assert "proyear_1800 to proyear_2023" in refusal(capsys, "--net", str(human), "--human-profile", "5k")
    beside = ("--net", str(plain), "--human-net")
    missing = human.with_name("missing.bin.gz")
    assert f"{missing}: No such file" in refusal(capsys, *beside, str(missing))
    assert f"{plain}: a human profile is only for" in refusal(capsys, *beside, str(plain), *profile)
    assert "for the player nobi alone" in refusal(capsys, *beside, str(human), "--player", "policy")
    assert "human_prop means nothing without" in refusal(capsys, "--set", "human_prop=1")
