"""The record of a match on disk: what its entries mean, and that it can be read again."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from gtp_engine.errors import UserError
from gtp_engine.match.record import GameRecord, MatchRecord, faults, has_faults, tally
from tests.gtp_engine.match.test_match import TERMS, game

ALL_FAULTS = ("time", "hung", "crash", "garbled output", "illegal move", "refused a legal move", "refused the terms")


def test_a_record_that_was_cut_off_can_be_read_again_and_again(tmp_path: Path) -> None:
    games = [game(0, "B+R"), game(1, "W+R"), game(2, "0")]
    record = MatchRecord(tmp_path, TERMS)
    record.add(games[0], b"(;)")
    with (tmp_path / "record.jsonl").open("ab") as file:
        file.write(b'{"game":1,"bla')
    record = MatchRecord(tmp_path, TERMS)
    assert record.games == games[:1]
    assert record.missing(range(3)) == [1, 2]
    for each in games[1:]:
        record.add(each, b"(;)")
    assert MatchRecord(tmp_path, TERMS).games == games
    assert MatchRecord(tmp_path, TERMS).missing(range(3)) == []


def test_a_record_before_there_were_handicaps_and_judges(tmp_path: Path) -> None:
    MatchRecord(tmp_path, TERMS)
    path = tmp_path / "record.jsonl"
    terms = json.loads(path.read_text())
    assert (terms.pop("handicap"), terms.pop("judge")) == (0, [])
    path.write_text(json.dumps(terms) + "\n")
    assert MatchRecord(tmp_path, TERMS).games == []


def test_a_file_of_an_empty_line_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "record.jsonl").write_bytes(b"\n")
    with pytest.raises(UserError, match="not a match record"):
        MatchRecord(tmp_path, TERMS)
    assert (tmp_path / "record.jsonl").read_bytes() == b"\n"


@pytest.mark.parametrize(
    "damage",
    [
        {"settled_by": "a hunch"},
        {"opening": ["\x1b[2J"]},
        {"opening": ["E5"] * 1001},
        {"scores": ["B+R", None]},
        {"scores": ["B+1\n", None]},
        {"result": "B+R\n"},
        {"seconds": [-1.0, 0.0]},
        {"moves": -1},
    ],
)
def test_a_game_that_cannot_be_is_refused(damage: dict[str, object]) -> None:
    facts = msgspec.json.decode(msgspec.json.encode(game(0, "B+R")))
    assert msgspec.json.decode(json.dumps(facts).encode(), type=GameRecord) == game(0, "B+R")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(facts | damage).encode(), type=GameRecord)


def test_long_openings_and_wide_scores_can_be() -> None:
    long = game(0, "W+1234.5", opening=["Z25"] * 625, scores=["W+1234.5", "B+361.25"])
    assert msgspec.json.decode(msgspec.json.encode(long), type=GameRecord) == long


@pytest.mark.parametrize(
    ("result", "black", "winner"),
    [("B+R", 0, 0), ("B+3.5", 1, 1), ("W+", 0, 1), ("W+T", 1, 0), ("0", 0, None), ("?", 1, None)],
)
def test_who_has_won(result: str, black: int, winner: int | None) -> None:
    played = game(0, result, black=black)
    assert played.winner == winner
    assert played.counts is (result != "?")
    scores = [tally([played], side) for side in (0, 1)]
    assert [score.wins for score in scores] == [int(winner == side) for side in (0, 1)]
    assert [score.losses for score in scores] == [int(winner == 1 - side) for side in (0, 1)]
    assert [score.draws for score in scores] == [int(result == "0")] * 2


@pytest.mark.parametrize("reason", ALL_FAULTS)
def test_a_fault_is_the_losers(reason: str) -> None:
    played = [game(0, "B+F", reason=reason), game(2, "B+R", reason="resignation")]
    assert has_faults(played)
    assert [dict(faults(played, side)) for side in (0, 1)] == [{}, {reason: 1}]


def test_what_is_no_fault() -> None:
    assert not has_faults([game(0, "B+R", reason="resignation"), game(1, "?"), game(2, "B+1", agreed=True)])
    assert has_faults([game(0, "B+1", agreed=False)])
