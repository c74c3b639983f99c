"""A series of matches: which game is played when, and how many at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtp_engine.match.conditions import read_conditions
from gtp_engine.match.play import Contest, Series, open_contest
from tests.gtp_engine.match.conftest import stub_command

RESIGNER = stub_command("--moves", "resign")


def contests_of(folder: Path, *engines: list[str], **options: object) -> tuple[list[Contest], Series]:
    """The contests of each two of the engines on 5x5, and a series of so many games in each."""
    games = options.pop("games")
    assert isinstance(games, int)
    conditions = read_conditions(size=(5, 5), opening_set="none", **options)  # type: ignore[arg-type]
    names = [f"engine {number}" for number in range(len(engines))]
    pairs = [(one, other) for one in range(len(engines)) for other in range(one + 1, len(engines))]
    found = [open_contest(folder, pair, engines, names, conditions) for pair in pairs]
    return found, Series(found, conditions, games)


def test_matches_advance_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_engine.match.play.ROUND", 2)
    found, played = contests_of(tmp_path, RESIGNER, RESIGNER, RESIGNER, games=3)
    order: list[tuple[int, int]] = []
    played.run(lambda contest: order.append(contest.sides))
    assert order == [*[(0, 1)] * 2, *[(0, 2)] * 2, *[(1, 2)] * 2, (0, 1), (0, 2), (1, 2)]
    assert [len(contest.record.games) for contest in found] == [3, 3, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["01-02", "01-03", "02-03"]


def test_a_round_that_was_interrupted_is_finished_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_engine.match.play.ROUND", 2)
    _, played = contests_of(tmp_path, RESIGNER, RESIGNER, RESIGNER, games=1)
    played.run(lambda _: None)
    order: list[tuple[int, int]] = []
    _, played = contests_of(tmp_path, RESIGNER, RESIGNER, RESIGNER, games=4)
    played.run(lambda contest: order.append(contest.sides))
    assert order[:6] == [(0, 1), (0, 2), (1, 2), (0, 1), (0, 1), (0, 2)]
    assert len(order) == 9


class Enough(Exception):
    """Raised after a game to end a series."""


def test_a_match_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    """The first engine thinks for ever. What ends the series ends it too, and its game counts for nobody."""
    thinker = stub_command("--bad", "hang@1")
    found, played = contests_of(tmp_path, thinker, RESIGNER, RESIGNER, games=1, parallel=3, hang=20.0)
    first: list[tuple[int, int]] = []

    def after_game(contest: Contest) -> None:
        first.append(contest.sides)
        raise Enough

    with pytest.raises(Enough):
        played.run(after_game)
    assert first == [(1, 2)]
    assert [len(contest.record.games) for contest in found] == [0, 0, 1]
