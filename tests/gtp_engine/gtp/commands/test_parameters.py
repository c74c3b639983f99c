"""Parameters that change while the engine runs: by whose names, and what a change leaves alone."""

from __future__ import annotations

import dataclasses
import json

import pytest

from nets.human_profile import HumanProfile, parse_profile
from tests.gtp_engine.fakes import Dialogue, FakePlayer
from tests.search.evaluators import FancifulEvaluator


@pytest.mark.parametrize(
    ("option", "name", "value"),
    [
        ("Visits value 800", "visits", "800"),
        ("PLAYOUTS value 12", "playouts", "12"),
        ("Lagbuffer value 50", "lag", "0.5"),
        ("pondering value TRUE", "ponder", "true"),
        ("Maximum Memory Use (MiB) value 64", "memory", "64"),
    ],
)
def test_leela_zeros_names(option: str, name: str, value: str) -> None:
    dialogue = Dialogue()
    before = json.loads(dialogue.ask("kata-get-params"))
    dialogue.ask(f"lz-setoption name {option}")
    assert dialogue.ask(f"kata-get-param {name}") == value
    after = json.loads(dialogue.ask("kata-get-params"))
    assert sum(before[each] != after[each] for each in before) == 1


@pytest.mark.parametrize("name", ["visits", "playouts"])
def test_leela_zeros_search_without_end_is_refused(name: str) -> None:
    """LizGoban takes an engine that accepts it for Leela Zero, and waits for lines that only that one writes."""
    dialogue = Dialogue()
    dialogue.ask(f"kata-set-param {name} 5")
    for nought in ("0", "00"):
        assert dialogue.refuse(f"lz-setoption name {name} value {nought}").startswith(f"{name} must be 1 to ")
    assert dialogue.ask(f"kata-get-param {name}") == "5"


@pytest.mark.parametrize(
    "line",
    [
        "lz-setoption value visits 7",
        "lz-setoption name visits 7",
        "lz-setoption name visits value",
        "lz-setoption name visits value 7 8",
        "kata-set-param maxVisits 7 8",
        "kata-set-param",
        "kata-get-param maxVisits maxTime",
        "kata-set-rule ko SIMPLE POSITIONAL",
        "kgs-time_settings none 300",
        "kgs-time_settings absolute 300 5",
        "kata-time_settings fischer 300 10 5",
    ],
)
def test_words_that_are_too_many_or_too_few(line: str) -> None:
    dialogue = Dialogue()
    assert dialogue.refuse(line) == "syntax error"
    assert dialogue.ask("kata-get-param maxVisits") == "none"


def test_what_the_engine_says_of_itself_can_be_set() -> None:
    """A GUI keeps the values and sets them later; null stands for no limit."""
    dialogue = Dialogue()
    before = dialogue.ask("kata-get-params")
    dialogue.ask('kata-set-params {"maxVisits":50,"cpuctExploration":2.5,"lagBuffer":1}')
    changed = json.loads(dialogue.ask("kata-get-params"))
    assert (changed["maxVisits"], changed["cpuctExploration"], changed["lagBuffer"]) == (50, 2.5, 1.0)
    dialogue.ask(f"kata-set-params {before}")
    assert dialogue.ask("kata-get-params") == before
    assert set(json.loads(before)) == set(dialogue.ask("kata-list-params").split())


def test_a_change_replaces_what_it_is_for_and_nothing_else() -> None:
    dialogue = Dialogue()
    settings, parameters = dialogue.session.settings, dialogue.player.parameters
    dialogue.ask("kata-set-param maxVisits 50")
    assert dialogue.session.settings.visits == 50
    assert dialogue.player.parameters is parameters
    assert settings.visits is None
    dialogue.ask("kata-set-param cpuctExploration 2.5")
    assert dialogue.player.parameters.cpuct == 2.5
    assert dialogue.session.settings.visits == 50


def test_a_refusal_calls_a_parameter_as_the_user_did() -> None:
    dialogue = Dialogue()
    for name in ("lag", "lagBuffer"):
        assert dialogue.refuse(f"kata-set-param {name} -1").startswith(f"{name} must be 0 to ")
    assert dialogue.refuse('kata-set-params {"lag": 1, "lagBuffer": 1}') == "lagBuffer is given twice"


STATIC, BY_HANDICAP = "playoutDoublingAdvantage", "dynamicPlayoutDoublingAdvantageCapPerOppLead"


@pytest.mark.parametrize("value", ["0", "0.0", "1.5"])
def test_fixed_doublings_take_the_place_of_those_by_handicap(value: str) -> None:
    """Even 0 does, as in KataGo, unless somebody has named the others, too, before or after."""
    dialogue = Dialogue()
    dialogue.ask(f"kata-set-param {STATIC} {value}")
    assert dialogue.player.parameters.handicap_doublings == 0.0
    dialogue.ask(f"kata-set-param {BY_HANDICAP} 0.045")
    for line in (f"kata-set-param {STATIC} {value}", f'kata-set-params {{"{STATIC}":{value},"maxVisits":5}}'):
        dialogue.ask(line)
        assert dialogue.player.parameters.handicap_doublings == 0.045
    together = Dialogue()
    together.ask(f'kata-set-params {{"{BY_HANDICAP}":0.125,"{STATIC}":{value}}}')
    assert together.player.parameters.handicap_doublings == 0.125


def test_what_the_command_line_has_named_stays() -> None:
    before = Dialogue()
    before.session.named.add("handicap_doublings")
    before.ask(f"kata-set-param {STATIC} 0")
    assert before.ask(f"kata-get-param {BY_HANDICAP}") == "0.045"


def test_mirror_go_is_met_in_games_as_in_analysis() -> None:
    """As in KataGo: genmoveAntiMirror where it was named, else antiMirror."""

    def both(dialogue: Dialogue) -> list[str]:
        return [dialogue.ask(f"kata-get-param {name}") for name in ("genmoveAntiMirror", "antiMirror")]

    dialogue = Dialogue()
    assert both(dialogue) == ["true", "false"]
    for value in ("false", "true", "false"):
        dialogue.ask(f"kata-set-param antiMirror {value}")
        assert both(dialogue) == [value, value]
    dialogue.ask("kata-set-param genmoveAntiMirror true")
    assert both(dialogue) == ["true", "false"]
    for value in ("true", "false"):
        dialogue.ask(f"kata-set-param antiMirror {value}")
        assert both(dialogue) == ["true", value]


def test_our_own_names_set_nothing_besides() -> None:
    dialogue = Dialogue()
    dialogue.ask("kata-set-param playout_doublings 0", "kata-set-param analysis_counter_mirror false")
    assert dialogue.player.parameters == FakePlayer().parameters


def test_a_refused_command_names_nothing() -> None:
    dialogue = Dialogue()
    dialogue.refuse('kata-set-params {"genmoveAntiMirror":true,"maxVisits":0}')
    dialogue.ask("kata-set-param antiMirror false")
    assert dialogue.ask("kata-get-param genmoveAntiMirror") == "false"


def test_what_takes_a_new_process_is_no_parameter_here() -> None:
    dialogue = Dialogue()
    names = dialogue.ask("kata-list-params").split()
    for name in ("net", "player", "device", "precision", "size", "log", "human_profile"):
        assert name not in names
        assert dialogue.refuse(f"kata-get-param {name}") == f"unknown parameter: {name}"
        assert dialogue.refuse(f"kata-set-param {name} 9") == f"unknown parameter: {name}"


def test_clearing_the_cache_forgets_searches_and_the_end_of_the_game() -> None:
    dialogue = Dialogue()
    dialogue.ask("gogui-play_sequence b c3 w pass b pass", "final_score")
    searches = len(dialogue.player.searches)
    dialogue.ask("final_score")
    assert len(dialogue.player.searches) == searches
    dialogue.ask("clear_cache")
    assert dialogue.player.cleared == 1
    dialogue.ask("final_score")
    assert len(dialogue.player.searches) == 2 * searches > 0


class Imitator(FancifulEvaluator):
    """A network that imitates people."""

    def __init__(self) -> None:
        super().__init__()
        self.use_profile(parse_profile("rank_9d"))

    def use_profile(self, profile: HumanProfile) -> None:
        self.attributes = dataclasses.replace(FancifulEvaluator.attributes, profile=profile)


def test_whoever_imitates_somebody_else_forgets_what_was_thought() -> None:
    dialogue = Dialogue()
    dialogue.player.evaluator = Imitator()
    dialogue.ask("gogui-play_sequence b c3 w pass b pass", "final_score")
    searches = len(dialogue.player.searches)
    dialogue.ask("kata-set-param maxVisits 7")
    assert dialogue.player.cleared == 0
    dialogue.ask("kata-set-param humanSLProfile rank_5k")
    assert dialogue.ask("kata-get-param human_profile") == "rank_5k"
    assert dialogue.player.cleared == 1
    dialogue.ask("final_score")
    assert len(dialogue.player.searches) == 2 * searches
