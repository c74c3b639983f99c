"""The players of the textbook, spoken to by GTP."""

from __future__ import annotations

import json

import pytest

from go_rules.points import from_vertex
from gtp_engine.configuration.settings import EngineSettings
from nets.evaluator import ConstantEvaluator
from search.textbook.parameters import AlphaZeroParameters
from search.textbook.players import TextbookPlayer
from tests.gtp_engine.fakes import Dialogue
from tests.search.evaluators import CountingEvaluator


@pytest.mark.parametrize("name", ["puct", "gumbel", "alphago", "value"])
def test_a_session(name: str) -> None:
    player = TextbookPlayer(name, CountingEvaluator(), workers=1, seed=1)
    dialogue = Dialogue(player, EngineSettings(size="5"))  # type: ignore[arg-type]
    assert dialogue.ask("kata-set-param maxVisits 40") == ""
    for _ in range(3):
        assert from_vertex(dialogue.ask("genmove b"), 5, 5) >= 0
        assert from_vertex(dialogue.ask("genmove w"), 5, 5) >= 0
    assert dialogue.ask("undo") == ""
    assert "info move" in dialogue.ask("kata-genmove_analyze w")
    assert dialogue.ask("kata-search_analyze b ownership true").count("info move") > 1
    assert name in dialogue.ask("gomill-describe_engine")
    assert json.loads(dialogue.ask("kata-get-models"))[0]["maxBatchSize"] == AlphaZeroParameters().leaves_in_flight
    assert "symmetry 0" in dialogue.ask("kata-raw-nn 0")
    dialogue.ask("clear_board")
    for move in ("b C1", "b C2", "b C3", "b C4", "b C5", "w A1", "b pass", "w pass"):
        dialogue.ask(f"play {move}")
    assert dialogue.ask("final_score")
    dialogue.ask("final_status_list alive")
    player.close()


def test_parameters_change_while_it_runs() -> None:
    player = TextbookPlayer("puct", ConstantEvaluator(), workers=1, seed=1)
    dialogue = Dialogue(player, EngineSettings(size="5"))  # type: ignore[arg-type]
    dialogue.ask('kata-set-params {"puct.c_init": 3.5, "dirichlet_noise": true, "puct.first_play": "LOSS"}')
    assert dialogue.ask("kata-get-param puct.c_init") == "3.5"
    assert dialogue.ask("kata-get-param puct.first_play") == "loss"
    assert player.parameters.dirichlet_noise
    dialogue.ask("genmove b")
    assert "puct.c_init must be 0 to 100" in dialogue.refuse("kata-set-param puct.c_init 1000")
    assert dialogue.refuse("kata-set-param cpuct 1") == "unknown parameter: cpuct"
    assert "memory must be at most" in dialogue.refuse("kata-set-param memory 1048576")
    player.close()
