"""A conversation with a player that does as it is told: what is answered, and what is counted at the end."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, point_at
from go_rules.rule_names import preset
from gtp_engine.session.records import GameFiles
from tests.go_rules.diagrams import game_from, play_all
from tests.go_rules.kos import SIMPLE, TRIPLE_KO, TRIPLE_KO_CYCLE
from tests.gtp_engine.fakes import FakePlayer
from tests.gtp_engine.play.table import FINISHED, PASSED, converse, game_of, moves, only_words, read
from tests.systems import PATIENCE

DEAD = " 5  . o X O .  5"
ALIVE = " 5  . O X O .  5"
WHITE_WINS = "white wins by 3.5 points"
SAVED = "this game was not kept; `nobi play game.sgf` keeps the next one, or save FILE.sgf before quit"


def test_the_beginning_says_what_is_played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    game = Game(9, 7, preset("japanese")[0], 0.5)
    game.place_handicap([point_at(2, 2), point_at(6, 4)])
    shown = converse(monkeypatch, game=game, person=WHITE)
    assert shown.splitlines()[:2] == [
        "9x7, Japanese rules, komi 0.5, 2 handicap stones; you are white, O",
        "Nobi is the player fake without a network, at most 5 seconds a move; the game is not kept in a file",
    ]
    kept = tmp_path / "game.sgf"
    shown = converse(monkeypatch, files=GameFiles(kept))
    assert "komi 7.5, no handicap; you are black, X" in shown
    assert f"; the game is kept in {kept}\n" in shown


def test_undo_takes_moves_back_one_by_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    steps = ("d4", "d5", "d6", "undo 2", "undo", "undo", "e1", "undo", "undo", "undo")
    shown = converse(monkeypatch, *steps, files=GameFiles(kept))
    assert "undo is said alone" in shown
    assert shown.count("there is no move of yours to take back") == 1
    assert moves(kept) == []
    converse(monkeypatch, "d4", "d5", "undo", "e1", files=GameFiles(kept, kept.read_bytes()))
    assert moves(kept)[::2] == ["B D4", "B E1"]


def test_undo_counts_a_resignation_as_a_move(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    shown = converse(monkeypatch, "d4", "d5", "resign", "undo", "resign", "undo", "undo", files=GameFiles(kept))
    assert shown.count("Nobi wins by resignation") == 2
    assert shown.count("the game goes on") == 2
    assert [move[:4] for move in moves(kept)] == ["B D4", "W A7"]
    assert read(kept).result == ""


def test_nobi_resigns(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = converse(monkeypatch, "d4", "score", "d5", "undo", player=FakePlayer(["resign"]))
    assert "Nobi (white, O): resign\nyou win by resignation\n" in shown
    assert shown.count("you win by resignation") == 2
    assert shown.count("the game is over; undo takes the last move back") == 1
    assert "the game goes on" in shown


def test_the_end_is_counted_without_dead_stones(monkeypatch: pytest.MonkeyPatch) -> None:
    player = FakePlayer(["pass"] * 2, dead=["B5"])
    shown = converse(
        monkeypatch, "pass", "score", "c3", "hint", "resign", "undo", "pass", player=player, game=game_of(FINISHED)
    )
    assert shown.count(WHITE_WINS) == 3
    assert shown.count(DEAD) == 3
    assert shown.count("the game is over; undo takes the last move back") == 3
    assert "ahead" not in shown  # nothing is estimated that was counted


def test_a_finished_game_says_who_won_when_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    resumed = converse(monkeypatch, player=FakePlayer(dead=["B5"]), game=game_of(PASSED), result="W+3.5")
    assert DEAD in resumed
    assert WHITE_WINS in resumed
    assert "if you do not agree, undo and play on" in resumed
    other = converse(monkeypatch, player=FakePlayer(dead=["B5"]), game=game_of(PASSED), result="B+0.5")
    assert ALIVE in other  # with this stone dead the result would be another one
    assert "black wins by 0.5 points" in other
    assert "Nobi wins by resignation" in converse(monkeypatch, game=game_of(FINISHED), result="W+R")


def test_no_stone_is_dead_where_players_do_not_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is any time spent to find out."""
    player, record = FakePlayer(["pass"], dead=["B5"]), FINISHED.replace("Japanese", "tromp-taylor")
    shown = converse(monkeypatch, "score", "pass", "score", player=player, game=game_of(record))
    assert "small letters" not in shown
    assert DEAD not in shown
    assert shown.count("white wins by 6.5 points") == 2
    assert len(player.searches) == 3  # two for the first score, one for the move


def test_a_button_lets_three_passes_end_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    record = PASSED.replace("Japanese", "aga-button").replace("KM[7.5]", "KM[7]")
    assert "wins by" not in converse(monkeypatch, "board", game=game_of(record))
    assert "white wins by" in converse(monkeypatch, "pass", player=FakePlayer(dead=["B5"]), game=game_of(record))


def test_a_long_cycle_has_no_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    game, kept = game_from(TRIPLE_KO, BLACK, SIMPLE), tmp_path / "game.sgf"
    play_all(game, TRIPLE_KO_CYCLE)
    play_all(game, " ".join(TRIPLE_KO_CYCLE.split()[:-2]))
    last = TRIPLE_KO_CYCLE.split()[-1]
    person = BLACK if TRIPLE_KO_CYCLE.split()[-2] == "B" else WHITE
    shown = converse(monkeypatch, last, game=game, person=person, files=GameFiles(kept))
    assert "no result: the board was the same three times" in shown
    assert read(kept).result == "Void"


def test_who_leaves_is_told_that_the_game_is_lost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = tmp_path / "saved.sgf"
    assert only_words(converse(monkeypatch, "d4", "quit"))[-1] == SAVED
    assert only_words(converse(monkeypatch, "d4", f"save {target}", "d5"))[-1] == SAVED
    assert SAVED not in converse(monkeypatch, "quit")
    assert SAVED not in converse(monkeypatch, game=game_of(FINISHED))
    assert SAVED not in converse(monkeypatch, "d4", f"save {target.with_name('other.sgf')}", "q")
    assert SAVED not in converse(monkeypatch, "d4", "exit", files=GameFiles(tmp_path / "kept.sgf"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals for one thread")
@pytest.mark.parametrize(("line", "answer"), [("d4", "Nobi (white, O): G6"), ("hint", "wins"), ("score", "ahead")])
def test_an_interrupt_ends_the_thinking_and_not_the_game(
    monkeypatch: pytest.MonkeyPatch, line: str, answer: str
) -> None:
    player = FakePlayer(["G6"], thinks=100 * PATIENCE)

    def interrupt() -> None:
        player.searching.wait(PATIENCE)
        time.sleep(0.1)
        while player.searching.is_set():  # a signal just before a wait begins does not end it, but the next one does
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            until = time.monotonic() + 5.0
            while player.searching.is_set() and time.monotonic() < until:
                time.sleep(0.01)

    thread = threading.Thread(target=interrupt)
    thread.start()
    shown = converse(monkeypatch, line, "board", "quit", player=player)
    thread.join()
    assert answer in shown
    assert shown.count("captured by black") >= 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals for one thread")
def test_an_interrupt_does_not_cut_the_counting_short(monkeypatch: pytest.MonkeyPatch) -> None:
    player = FakePlayer(thinks=0.1, dead=["B5"])

    def interrupted(*_arguments: object) -> None:
        signal.raise_signal(signal.SIGINT)

    search = player.search
    monkeypatch.setattr(player, "search", lambda request: (interrupted(), search(request))[1])
    shown = converse(monkeypatch, player=player, game=game_of(PASSED))
    assert WHITE_WINS in shown
    assert not any(request.stop is not None and request.stop.is_set() for request in player.searches)
