"""What queries are refused, what they warn of, and what their answers mean: perspectives, filters, settings."""

from __future__ import annotations

import codecs
import json
from typing import Any

import pytest

from gtp_engine.json_engine.options import Options
from gtp_engine.json_engine.query import Query, read_query
from gtp_engine.json_engine.records import Replayer
from gtp_engine.json_engine.server import encoded
from tests.gtp_engine.json_engine.spoken import Spoken, asking

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"boardYSize": None}, "boardYSize", "Must provide an integer from 2 to 25"),
    ({"moves": [["B", "A1"]] * 5001}, "moves", "Must be at most 5000 moves"),
    ({"initialStones": [["B", "A1"]] * 1251}, "initialStones", "Must be at most 1250 stones"),
    ({"priorities": [1]}, "priorities", "Can only specify when also specifying analyzeTurns"),
    ({"priorities": [1], "analyzeTurns": [0, 1]}, "priorities", "Must be of matching length to analyzeTurns"),
    ({"priorities": [2**62], "analyzeTurns": [0]}, "priorities", f"Invalid priority: {2**62}"),
    ({"priorities": [1], "analyzeTurns": [0], "priority": 1}, "priority", "Cannot specify both priority and"),
    ({"rules": "koSIMPLEkomi0.3"}, "rules", "Could not parse rules: koSIMPLEkomi0.3"),
    ({"rules": "koSIMPLEkomi--1"}, "rules", "Could not parse rules: koSIMPLEkomi--1"),
    ({"overrideSettings": {"maxTime": 1e30}}, "overrideSettings", "Could not set settings: maxTime must be 0 to"),
    ({"avoidMoves": [], "allowMoves": []}, "allowMoves", "Cannot specify both allowMoves and avoidMoves"),
]
"""What the campaign of odd queries has not: several fields together, and long ones."""


@pytest.mark.parametrize(("fields", "field", "text"), REFUSED)
def test_refused(engine: Spoken, fields: dict[str, Any], field: str, text: str) -> None:
    (answer,) = engine.ask(asking("bad", **fields))
    assert sorted(answer) == ["error", "field", "id"]
    assert (answer["id"], answer["field"]) == ("bad", field)
    assert answer["error"].startswith(text)
    assert engine.replies.empty()


BOMBS = [
    "[" * 100_000,
    '{"id":' + "1" * 100_000 + "}",
    '{"id":"a","komi":NaN}',
    '{"id":"a","komi":1e999}',
    '{"id":"a"',
    "\x00\x01",
    "\ufeff{}x",
]


@pytest.mark.parametrize("line", BOMBS, ids=range(len(BOMBS)))
def test_no_json(engine: Spoken, line: str) -> None:
    (answer,) = engine.ask(line)
    assert list(answer) == ["error"]
    assert "could not parse input line as json request: " in answer["error"]
    assert len(answer["error"]) < 300


def test_a_name_that_occurs_twice(engine: Spoken) -> None:
    (answer,) = engine.ask('{"id":"a","moves":[],"rules":{"ko":"SIMPLE","ko":"SIMPLE"}}')
    assert answer == {"id": "a", "error": "parse error: ko occurs twice in an object"}
    (answer,) = engine.ask('[{"id":1,"id":"a"}]')
    assert answer == {"error": "parse error: id occurs twice in an object"}


def test_a_button_under_territory_scoring_is_left_out(engine: Spoken) -> None:
    rules = {"scoring": "TERRITORY", "hasButton": True, "ko": "SIMPLE"}
    warning, answer = engine.ask(asking("b", rules=rules), count=2)
    assert (warning["id"], warning["field"]) == ("b", "rules")
    assert warning["warning"].startswith("a button needs area scoring")
    assert "rootInfo" in answer


def test_blank_lines_say_nothing(engine: Spoken) -> None:
    engine.say("", "   ", "\t\r", json.dumps({"id": "v", "action": "clear_cache"}))
    assert engine.next() == {"id": "v", "action": "clear_cache"}


def test_bytes_that_are_no_text(engine: Spoken) -> None:
    engine.engine.read(b'{"id": "caf\xe9"}')
    assert engine.next()["error"].startswith("parse error: could not parse input line")


def test_a_byte_order_mark_says_nothing(engine: Spoken) -> None:
    engine.engine.read(codecs.BOM_UTF8 + json.dumps(asking("marked")).encode())
    assert engine.next()["id"] == "marked"


def test_an_id_may_be_any_text(engine: Spoken) -> None:
    for id in ("", 'é\n"', "\ud800", "x" * 10_000):
        (answer,) = engine.ask(asking(id))
        assert answer["id"] == id
        assert json.loads(encoded(answer)) == answer
        assert "\n" not in encoded(answer)


def values(engine: Spoken, perspective: str, **fields: Any) -> dict[str, Any]:
    settings = {"reportAnalysisWinratesAs": perspective, "randomSymmetry": "false", "analysisWideRootNoise": 0}
    return engine.ask(asking(overrideSettings=settings, maxVisits=30, includeOwnership=True, **fields), 1)[0]


def test_a_perspective_turns_every_value(engine: Spoken) -> None:
    black, white, mover = (values(engine, side) for side in ("BLACK", "WHITE", "SIDETOMOVE"))
    assert black["rootInfo"]["currentPlayer"] == "B"
    assert black["moveInfos"] == mover["moveInfos"]
    for mine, theirs in zip(black["moveInfos"], white["moveInfos"], strict=True):
        assert mine["move"] == theirs["move"]
        for name in ("scoreLead", "scoreMean", "scoreSelfplay", "utility", "utilityLcb"):
            assert mine[name] == pytest.approx(-theirs[name])
        for name in ("winrate", "lcb"):
            assert mine[name] == pytest.approx(1.0 - theirs[name])
        for name in ("visits", "prior", "order", "scoreStdev", "pv"):
            assert mine[name] == theirs[name]
    for name in ("rawLead", "scoreLead", "utility"):
        assert black["rootInfo"][name] == pytest.approx(-white["rootInfo"][name])
    assert black["ownership"] == [-value for value in white["ownership"]]


def test_moves_that_may_be_looked_at(engine: Spoken) -> None:
    allowed = [{"player": "B", "moves": ["D4", "pass"], "untilDepth": 1}]
    (answer,) = engine.ask(asking(allowMoves=allowed, maxVisits=40))
    assert {move["move"] for move in answer["moveInfos"]} == {"D4", "pass"}
    everything = [f"{column}{row}" for column in "ABCDEFGHJ" for row in range(1, 10)]
    avoided = [{"player": "B", "moves": [v for v in everything if v != "J9"], "untilDepth": 1}]
    (answer,) = engine.ask(asking(avoidMoves=avoided, maxVisits=40))
    assert {move["move"] for move in answer["moveInfos"]} == {"J9", "pass"}


@pytest.mark.parametrize("moves", [[], ["E5"]])
def test_where_no_legal_move_may_be_looked_at(engine: Spoken, moves: list[str]) -> None:
    """A stone stands on E5. As in KataGo there are no moves then, and the root is what the network says."""
    allowed = [{"player": "W", "moves": moves, "untilDepth": 2}]
    query = asking(moves=[["B", "E5"]], allowMoves=allowed, maxVisits=40, includeOwnership=True)
    (answer,) = engine.ask(query)
    assert answer["moveInfos"] == []
    assert answer["rootInfo"]["winrate"] == pytest.approx(answer["rootInfo"]["rawWinrate"])
    assert len(answer["ownership"]) == 81


def test_the_policy_tells_of_moves_that_may_not_be_looked_at(engine: Spoken) -> None:
    allowed = [{"player": "B", "moves": ["D4", "pass"], "untilDepth": 1}]
    fields: dict[str, Any] = {"maxVisits": 10, "includePolicy": True}
    (answer,) = engine.ask(asking(allowMoves=allowed, **fields))
    (whole,) = engine.ask(asking(**fields))
    assert [share == -1 for share in answer["policy"]] == [share == -1 for share in whole["policy"]]
    assert sum(share for share in answer["policy"] if share > 0) == pytest.approx(1.0, abs=1e-5)


def read(query: dict[str, Any]) -> Query:
    return read_query(query, Options(), lambda _profile: "", lambda _field, _text: None, Replayer())


def test_a_komi_in_the_rules() -> None:
    def komi(**fields: Any) -> float:
        return read(asking(**{"komi": None, **fields})).record.komi

    text, parts = "koSIMPLEscoreAREA", {"ko": "SIMPLE", "scoring": "AREA"}
    assert komi(rules=text) == komi(rules=parts) == 7.5
    assert komi(rules=text + "komi30") == komi(rules={**parts, "komi": 30}) == 30
    assert komi(rules="komi-3.5" + text) == -3.5
    assert komi(rules="new-zealand") == 7
    button = {"hasButton": True, "scoring": "TERRITORY", "komi": 5}
    assert komi(rules="button1scoreTERRITORYkomi5") == komi(rules=button) == 5
    assert komi(rules=text + "komi30", komi=-6) == -6


def test_numbers_of_visits_and_what_overrides_what(engine: Spoken) -> None:
    def visits(**fields: Any) -> int:
        return int(engine.ask(asking(**fields))[0]["rootInfo"]["visits"])

    assert visits(maxVisits=7) == 7
    assert visits(maxVisits=None, overrideSettings={"maxVisits": 9}) == 9
    assert visits(maxVisits=7, overrideSettings={"maxVisits": 9}) == 7
    assert visits(maxVisits=None, overrideSettings={"maxPlayouts": "11"}) == 11
    assert visits(maxVisits=7) == 7, "an earlier tree is not used"
    assert visits(maxVisits=10**9, overrideSettings={"maxTime": 0.05}) < 10**9


def test_who_is_to_move(engine: Spoken) -> None:
    def player(**fields: Any) -> str:
        return str(engine.ask(asking(maxVisits=1, **fields))[0]["rootInfo"]["currentPlayer"])

    assert player(moves=[]) == "B"
    assert player(moves=[], initialPlayer="w") == "W"
    assert player(moves=[], initialStones=[["B", "C3"]]) == "B"
    assert player(moves=[], initialStones=[["B", "C3"], ["B", "G7"]]) == "W"
    assert player(moves=[], initialStones=[["B", "C3"], ["W", "G7"]]) == "B"
    assert player(moves=[], initialStones=[["B", "C3"], ["B", "C3"]]) == "B", "it is one stone"
    assert player(moves=[], initialStones=[["W", "C3"], ["B", "C3"], ["B", "G7"]]) == "W", "white's is replaced"
    assert player(moves=[["W", "C3"]]) == "B"
    assert player(moves=[["W", "C3"], ["W", "C4"]], analyzeTurns=[0]) == "W"


def test_policy_ownership_and_variations(engine: Spoken) -> None:
    fields = dict.fromkeys(("includePolicy", "includeOwnership", "includePVVisits", "includeMovesOwnership"), True)
    (answer,) = engine.ask(asking(boardXSize=5, moves=[["B", "(0,0)"]], maxVisits=40, analysisPVLen=2, **fields))
    policy = answer["policy"]
    assert len(policy) == 46
    assert policy[0] == -1
    assert sum(share for share in policy if share > 0) == pytest.approx(1.0, abs=1e-5)
    assert len(answer["ownership"]) == 45
    for move in answer["moveInfos"]:
        assert len(move["ownership"]) == 45
        assert 1 <= len(move["pv"]) <= 3
        assert len(move["pv"]) == len(move["pvVisits"]) == len(move["pvEdgeVisits"])
        assert move["pv"][0] == move["move"]
    assert max(len(move["pv"]) for move in answer["moveInfos"]) == 3, "as in KataGo the first move is not counted"
    assert [move["order"] for move in answer["moveInfos"]] == list(range(len(answer["moveInfos"])))


def test_the_answer_to_a_finished_game(engine: Spoken) -> None:
    moves = [["B", "E5"], ["W", "pass"], ["B", "pass"]]
    for rules in ("chinese", "japanese"):
        answers = engine.ask(asking(moves=moves, rules=rules, analyzeTurns=[1, 2, 3], maxVisits=20), 3)
        assert [answer["turnNumber"] for answer in answers] == [1, 2, 3]
        for answer in answers:
            for move in answer["moveInfos"]:
                assert "pass pass" not in " ".join(move["pv"][:-2])
