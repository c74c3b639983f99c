"""Who has won: what counting, agreement, unconditional life and a judge decide, whoever lies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex, point_at
from go_rules.rule_names import preset
from gtp_engine.match import record
from gtp_engine.match.engines import Engine, EngineLimits, parse_score
from gtp_engine.match.referee import Conduct, Referee, counted, final_range, settle
from tests.gtp_engine.match.conftest import stub_command, terms

PATIENCE = EngineLimits(60, 60, 60)

# Black's stones have two eyes and live for certain. White's wall is alive or dead, as the players agree.
DISPUTED = """
    . . . . .
    . . . . .
    O O O O O
    X X X X X
    . X . X .
"""
# Black owns every point for certain, and white's stone is dead.
ALIVE = """
    . X . X .
    X X X X X
    . O . . .
    X X X X X
    . X . X .
"""
# Ten points are black's for certain.
PROVEN = """
    . . X . X
    X X X X X
    . O . . O
    . . O . .
    . . . . .
"""


def position(diagram: str, rules: str = "chinese", komi: float = 0.5) -> Game:
    rows = [row.split() for row in diagram.strip().splitlines()]
    game = Game(len(rows[0]), len(rows), preset(rules)[0], komi)
    colours = {"X": BLACK, "O": WHITE}
    game.set_position(
        [
            (colours[content], point_at(x, y))
            for y, row in enumerate(rows)
            for x, content in enumerate(row)
            if content != "."
        ],
        BLACK,
    )
    return game


def points(*vertices: str) -> frozenset[int]:
    return frozenset(from_vertex(vertex, 5, 5) for vertex in vertices)


def settled(game: Game, scores: Iterable[str | None], dead: Iterable[frozenset[int] | None]) -> tuple[str, str]:
    outcome = settle(game, record.WON_BY_SCORE, list(scores), list(dead), final_range(game))
    return outcome.result, outcome.settled_by


def test_the_range_of_scores() -> None:
    assert final_range(position(ALIVE)) == (-24.5, -24.5), "all is black's"
    low, high = final_range(position(DISPUTED))
    assert (low, high) == (-24.5, 5.5), "ten points are black's for certain"
    assert final_range(position(DISPUTED, "japanese")) == (-math.inf, math.inf)
    assert final_range(Game(5, 5, preset("chinese")[0], 0.5)) == (-24.5, 25.5)


@pytest.mark.parametrize(
    ("scores", "dead", "result", "settled_by"),
    [
        (("W+5.5", "W+5.5"), (None, None), "W+5.5", record.BY_SCORES),
        (("W+5.5", "W+3.5"), (None, None), "W+", record.BY_SCORES),
        # A loser that lies about the score only, about both, or about the stones only.
        (("W+5.5", "B+24.5"), (points(), points()), "W+5.5", record.BY_DEAD_STONES),
        (("W+5.5", "B+24.5"), (points(), points("B3")), "?", ""),
        (("W+5.5", "W+5.5"), (points(), points("B3")), "W+5.5", record.BY_SCORES),
        # Lists of empty points, or of stones that live for certain, are none.
        (("W+5.5", "B+24.5"), (points("C1"), points("C1")), "?", ""),
        (("W+5.5", "B+24.5"), (points("A2"), points("A2")), "?", ""),
        # More than there is on the board is no score, and so is none at all.
        (("W+30", "B+24.5"), (None, None), "B+24.5", record.BY_ONE_SCORE),
        ((None, "B+24.5"), (points(), None), "B+24.5", record.BY_ONE_SCORE),
        (("W+30", None), (None, None), "?", ""),
        ((None, None), (None, None), "?", ""),
        ((None, None), (points(), points()), "W+5.5", record.BY_DEAD_STONES),
    ],
)
def test_a_dispute(
    scores: tuple[str | None, str | None],
    dead: tuple[frozenset[int] | None, frozenset[int] | None],
    result: str,
    settled_by: str,
) -> None:
    game = position(DISPUTED)
    assert counted(game) == "W+5.5"
    assert settled(game, scores, dead) == (result, settled_by)
    assert settled(game, scores[::-1], dead[::-1]) == (result, settled_by)


def test_unconditional_life_is_proof() -> None:
    game = position(ALIVE)
    assert settled(game, ["B+24.5", "W+30"], [None, None]) == ("B+24.5", record.BY_PROOF)
    assert settled(game, [None, "W+9.5"], [points(), points("A5")]) == ("B+24.5", record.BY_PROOF)
    proven = position(PROVEN, komi=-20.0)
    assert final_range(proven)[1] < 0
    assert settled(proven, ["B+21", "B+30"], [None, None]) == ("B+", record.BY_SCORES)
    assert settled(proven, [None, "W+9.5"], [None, None]) == ("B+", record.BY_PROOF)


@pytest.mark.parametrize(
    ("possible", "result"), [((0.5, 9.5), "W+"), ((-9.5, -0.5), "B+"), ((-0.5, 0.5), "?"), ((0.0, 9.0), "?")]
)
def test_half_a_point_for_certain_is_enough(possible: tuple[float, float], result: str) -> None:
    outcome = settle(position(DISPUTED), record.WON_BY_SCORE, [None, None], [None, None], possible)
    assert outcome.result == result
    assert outcome.is_disputed is (result == "?")


@pytest.mark.parametrize(
    ("scores", "detail"),
    [
        ([None, None], "neither engine gave a score"),
        (["W+99", None], "no engine gave a possible score"),
        (["W+99", "W+99"], "no engine gave a possible score"),
        (["W+99", "B+99"], "winners differ"),
        (["W+98", "W+99"], "scores differ"),
    ],
)
def test_why_there_is_no_result(scores: list[str | None], detail: str) -> None:
    outcome = settle(position(DISPUTED), record.WON_BY_SCORE, scores, [None, None], (-9.0, 9.0))
    assert (outcome.result, outcome.detail) == ("?", detail)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("B+3.5", "B+3.5"),
        ("w+12.0", "W+12"),
        ("W+4.5 (upper bound: -4.5)", "W+4.5"),
        ("0", "0"),
        ("B+0.0", "0"),
        ("Draw", "0"),
        ("jigo", "0"),
        ("W+1234.5", "W+1234.5"),
        ("W+1.5x", None),
        ("W+12345", None),
        ("B+nan", None),
        ("B+inf", None),
        ("B+1e9", None),
        ("B+-3", None),
        ("W+1_0", None),
        ("W+٣", None),
        ("W+" + "9" * 5000, None),
        ("B+R", None),
        ("", None),
    ],
)
def test_scores_of_engines(text: str, score: str | None) -> None:
    assert parse_score(text) == score


def judged_game(judge: list[str], *scores: str) -> tuple[str, str, str]:
    moves = ["--moves", "C3"], []
    players = [
        Engine(stub_command(*play, "--score", score), "x", limits=PATIENCE)
        for play, score in zip(moves, scores, strict=True)
    ]
    third = Engine(judge, "judge", limits=PATIENCE)
    try:
        game = Referee(0, (players[0], players[1]), 0, terms(), Conduct(), (), third).play()
    finally:
        for engine in (*players, third):
            engine.discard()
    return game.result, game.settled_by, game.detail


def test_a_judge_decides_what_nothing_else_does(tmp_path: Path) -> None:
    log = tmp_path / "log"
    judge = stub_command("--score", "B+7.5", "--log", str(log))
    assert judged_game(judge, "B+24.5", "W+9.5") == ("B+7.5", record.BY_JUDGE, "winners differ")
    assert [line for line in log.read_text().splitlines() if line.startswith("play")] == [
        "play black C3",
        "play white pass",
        "play black pass",
    ]
    log.unlink()
    assert judged_game(judge, "B+24.5", "B+24.5")[1] == record.BY_SCORES
    assert not log.exists(), "nobody asks the judge without need"


@pytest.mark.parametrize("judge", [["false"], stub_command("--score", "W+99"), stub_command("--bad", "refuse@1")])
def test_a_judge_that_fails_changes_nothing(judge: list[str]) -> None:
    result, settled_by, detail = judged_game(judge, "B+24.5", "W+9.5")
    assert (result, settled_by) == ("?", "")
    assert detail.startswith("winners differ; judge: ")
