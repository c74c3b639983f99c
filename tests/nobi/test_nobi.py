"""Nobi as a library: what scripts and notebooks do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import nobi


@pytest.fixture(scope="module")
def engine() -> Iterator[nobi.Engine]:
    with nobi.Engine(visits=10, workers=1, seed=1, ponder=True) as made:
        yield made


def test_a_game(tmp_path: Path) -> None:
    game = nobi.Game(9, rules="japanese")
    assert (game.size, game.komi, game.to_play) == ((9, 9), 6.5, "black")
    for move in ("E5", "c3", "pass"):
        game.play(move)
    game.play("D5", "white")
    assert game.moves == [("black", "E5"), ("white", "C3"), ("black", "pass"), ("white", "D5")]
    assert "D4" in game.legal_moves()
    assert "E5" not in game.legal_moves()
    assert str(game).splitlines()[5] == "  5 . . . O1X . . . ."
    assert game._repr_svg_().startswith("<svg")  # as notebooks ask
    game.save(tmp_path / "game.sgf")
    for source in (tmp_path / "game.sgf", game.sgf().encode()):
        again = nobi.Game.from_sgf(source)
        assert (again.moves, again.komi) == (game.moves, game.komi)
    other = game.copy()
    game.undo(2)
    assert [len(each.moves) for each in (game, other)] == [2, 4]
    game.undo(2)
    game.play("pass")
    game.play("pass")
    assert (game.is_over, game.score()) == (True, 6.5)


def test_an_analysis(engine: nobi.Engine) -> None:
    game = nobi.Game(5, komi=0.5)
    game.play("C3")
    found = engine.analyse(game, 20)
    assert (found.to_play, found.visits, len(found.ownership or ())) == ("white", 20, 25)
    best = found.moves[0]
    assert best.visits <= 20
    assert best.line[0] == best.vertex
    assert 0 <= best.winrate <= 1
    assert sum(found.ownership.values()) < -10, "black has the board, and white is to move"  # type: ignore[union-attr]
    assert best.vertex in str(found)
    assert found._repr_svg_().startswith("<svg")
    reports: list[nobi.Analysis] = []
    engine.analyse(game, seconds=1.0, on_report=reports.append, every=0.05)
    assert reports[-1].visits >= reports[0].visits
    assert [move for _, move in game.moves] == ["C3"], "an analysis plays nothing"


def test_a_game_against_the_engine(engine: nobi.Engine) -> None:
    game = nobi.Game(7)
    game.play("D4")
    answer = engine.play(game)
    assert game.moves[-1] == ("white", answer)
    other = nobi.Game((7, 9))
    assert engine.play(other) == other.moves[0][1]


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        (lambda: nobi.Game(99), "size"),
        (lambda: nobi.Game("x"), "size"),  # type: ignore[arg-type]
        (lambda: nobi.Game((9, 1)), "size"),
        (lambda: nobi.Game(9, komi="many"), "komi must be a number"),  # type: ignore[arg-type]
        (lambda: nobi.Game(5).play(None), "not a vertex: 'None'"),  # type: ignore[arg-type]
        (lambda: nobi.Game(rules="mine"), "unknown rules: mine"),
        (lambda: nobi.Game(5).play("F9"), "vertex 'F9' is outside the 5x5 board"),
        (lambda: nobi.Game(5).play("A1", "red"), 'no colour: \'red\' ("black" or "white")'),
        (lambda: nobi.Game(5).undo(), "there are 0 moves, and not 1"),
        (lambda: nobi.Game.from_sgf(b"(;"), "broken SGF: unexpected end of SGF data"),
        (lambda: nobi.Game.from_sgf("nowhere.sgf"), "nowhere.sgf: No such file or directory"),
        (lambda: nobi.Engine(net="nowhere"), "nowhere: No such file or directory"),
        (lambda: nobi.Engine(boldness=3), "unknown parameter: boldness"),
        (lambda: nobi.Engine(visits=0), "visits must be 1 to"),
        (lambda: nobi.Engine(exploration=1), "uct.exploration"),
        (lambda: nobi.Engine(uct_exploration=9), "uct.exploration must be 0 to 2"),
    ],
)
def test_a_mistake_is_one_line(mistake: Callable[[], object], text: str) -> None:
    with pytest.raises(ValueError) as raised:
        mistake()
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)


def test_limits_are_checked(engine: nobi.Engine) -> None:
    for limits in ({"visits": 0}, {"seconds": -3.0}):
        with pytest.raises(ValueError, match=r"^(visits|seconds) must be "):
            engine.analyse(nobi.Game(5), **limits)  # type: ignore[arg-type]


def test_playouts_alone_limit_an_analysis() -> None:
    with nobi.Engine(player="uct", playouts=20, workers=1) as engine:
        assert engine.analyse(nobi.Game(5)).visits == 20


def test_a_closed_engine_says_so() -> None:
    engine = nobi.Engine(player="random", visits=1)
    engine.close()
    for use in (engine.analyse, engine.play):
        with pytest.raises(ValueError, match=r"^the engine is closed$"):
            use(nobi.Game(5))


def test_an_illegal_move_changes_nothing() -> None:
    game = nobi.Game(5)
    game.play("C3")
    with pytest.raises(ValueError, match=r"^illegal move: C3 \(occupied\)$"):
        game.play("C3")
    assert len(game.moves) == 1
