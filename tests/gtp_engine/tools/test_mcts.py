"""`nobi mcts`: a person plays against the reference search, by a pipe as by a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gtp_engine import command_line
from gtp_engine.command_line import nobi


def play(*arguments: str, text: str | bytes = "") -> str:
    done = CliRunner().invoke(nobi, ["mcts", *arguments], input=text)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_game_by_a_pipe() -> None:
    shown = play("-n", "300", "--seed", "1", "--moves", "A1 B2 C3 A3", text="c1\nb1\n")
    assert "O plays C2" in shown
    assert shown.endswith("X wins\n")
    assert "move  visits     wins      %  depth" in shown


def test_the_end_of_the_input_ends_it() -> None:
    assert play("-n", "10", text="B2\n").splitlines()[-1].startswith("X to move")


def test_a_person_can_win() -> None:
    assert play("--moves", "A1 B1 A2 B2", text="a3\n").endswith("X wins\n")
    assert play("--moves", "A1 B1 A2 B2 C3", "--begin", "machine", text="b3\n").endswith("O wins\n")


def test_answers_that_are_no_moves() -> None:
    """Commands are taken in any letter case, and nothing after `quit`."""
    shown = play("-n", "20", text="Undo\n\nHINT\nB2\nundo\nQuit\nB2\n")
    assert "nothing to undo" in shown
    assert "is no move here" not in shown
    assert (shown.count("visits"), shown.count("O plays")) == (2, 1)
    assert shown.rstrip().splitlines()[-1].startswith("X to move")
    assert ". . ." in shown.splitlines()[-3]


@pytest.mark.parametrize("text", [b"\xff\xfe\x00\n", b"\x1b[2J\n", b"A" * 4000 + b"\n", "②\n".encode()])
def test_whatever_is_typed_gets_a_line(text: bytes) -> None:
    shown = play("-n", "10", text=text)
    assert "is no move here: A1" in shown
    assert "\x1b" not in shown
    assert "\x00" not in shown


def test_a_line_that_is_too_long_is_dropped_as_a_whole() -> None:
    shown = play("-n", "10", text=b"hint".rjust(5000) + b"\n")
    assert "that line is too long" in shown
    assert "visits" not in shown


@pytest.mark.parametrize("rule", ["flat", "ucb1", "widening", "rave", "puct", "gumbel"])
def test_every_rule_plays_every_game(rule: str) -> None:
    assert play("tic-tac-toe", "--watch", "-n", "40", "--rule", rule).rstrip().endswith(("a draw", "X wins", "O wins"))
    moves = "4 4 4 4 4 4 1"
    assert "plays" in play("connect-four", "-n", "20", "--rule", rule, "--begin", "machine", "--moves", f"{moves} 7")
    assert "O plays" in play("go", "--size", "3", "-n", "10", "--rule", rule, text="B2\n")


def test_connect_four_is_drawn_with_its_columns() -> None:
    lines = play("connect-four", "--moves", "1 7").splitlines()
    assert lines[1:8] == [". . . . . . ."] * 5 + ["X . . . . . O", "1 2 3 4 5 6 7"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--moves", "Z1"], "Z1 is no move here: A1"),
        (["--moves", "A1 B1 A2 B2 A3 C3"], "--moves: the game is over before C3"),
        (["--tree", "tree.png"], "tree.png: the picture must be a file .svg in a folder that exists"),
        (["--tree", "tree.svg", "--moves", "A1 B1 A2 B2 A3"], "--tree: the game is over"),
        (["--rule", "alphabeta"], "'alphabeta' is not one of 'flat', 'ucb1'"),
        (["-n", "0"], "0 is not in the range"),
        (["go", "--size", "19"], "19 is not in the range 2<=x<=7"),
        (["chess"], "'chess' is not one of"),
    ],
)
def test_errors_are_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    error: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_line.run(["mcts", *arguments]) != 0
    _, err = capsys.readouterr()
    assert error in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_rules_play_against_each_other() -> None:
    arguments = ("tic-tac-toe", "--rule", "ucb1", "--against", "flat", "-n", "60", "--games", "4", "--seed", "1")
    shown = play(*arguments)
    words = shown.split()
    assert (words[:2], words[3:5]) == (["ucb1", "won"], ["flat", "won"])
    assert int(words[2].strip(",")) + int(words[5].strip(",")) + int(words[6]) == 4
    assert play(*arguments) == shown


def test_the_winner_of_a_match_is_the_better_rule() -> None:
    """From here whoever moves wins at once, if it looks: each rule wins the games that it begins."""
    shown = play("--rule", "ucb1", "--against", "puct", "-n", "60", "--games", "4", "--moves", "A1 B1 A2 B2")
    assert shown == "ucb1 won 2, puct won 2, 0 were drawn\n"
