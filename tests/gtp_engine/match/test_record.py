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


# Fields of a game that replace its own; those in bytes are none that Python would write.
DAMAGES: list[dict[str, object] | bytes] = [
    {"settled_by": "a hunch"},
    {"reason": "hurrah"},
    {"opening": ["\x1b[2J"]},
    {"opening": ["E5"] * 1001},
    {"detail": "\x1b[2J"},
    {"scores": ["B+R", None]},
    {"scores": ["B+1\n", None]},
    {"result": "B+R\n"},
    {"result": "B+\x1b"},
    {"seconds": [-1.0, 0.0]},
    {"moves": -1},
    {"game": -1},
    {"black": 7},
    {"late": [0, 0, 0]},
    b'{"moves":' + b"9" * 5000 + b"}",
    b'{"detail":' + b"[" * 100_000 + b"}",
    b'{"longest":[1e999,1.0]}',
]


@pytest.mark.parametrize(
    "damage", [*DAMAGES, "twice", "no fields", "no record", "an empty line"], ids=lambda each: str(each)[:30]
)
def test_a_record_that_makes_no_sense_is_refused_and_kept(
    tmp_path: Path, damage: dict[str, object] | bytes | str
) -> None:
    MatchRecord(tmp_path, TERMS).add(game(0, "B+R"), b"(;)")
    path = tmp_path / "record.jsonl"
    terms, line = path.read_bytes().splitlines()
    if isinstance(damage, bytes):  # with the other fields as they were
        line = line[:-1] + b"," + damage[1:]
    elif isinstance(damage, dict):
        line = json.dumps(json.loads(line) | damage).encode()
    lines = {"twice": [terms, line, line], "no fields": [terms, b"{}"], "no record": [b"no record"]}
    lines["an empty line"] = [b""]
    # A last line without its end is one that was being written.
    for end in (b"\n", b"\n{half a line", *[b""] * (damage == "no record")):
        content = b"\n".join(lines.get(str(damage), [terms, line])) + end
        path.write_bytes(content)
        with pytest.raises(UserError, match="not a match record"):
            MatchRecord(tmp_path, TERMS)
        assert path.read_bytes() == content


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
