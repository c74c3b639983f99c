"""`nobi play`: whole games by a pipe, what a person may say, and the file in which the game is kept."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from go_rules.game import Game
from go_rules.points import BLACK, COLOUR_LETTERS, WHITE, from_vertex, to_vertex
from go_rules.sgf.reader import parse_sgf
from gtp_engine import cli
from gtp_engine.command_line import nobi
from gtp_engine.play.board import board_text
from tests.conftest import REPOSITORY

QUICK = ("--visits", "50", "--set", "workers=1", "--seed", "1")
ANYTHING = ("--net", "none", "--player", "random", "--seed", "1", "--size", "7")
FINISHED = "(;SZ[5]KM[7.5]RU[Japanese]AB[bc][ab][ca][cb][cc][cd][ce]AW[da][db][dc][dd][de][ba]PL[B])"
"""The white stone at B5 is dead. White wins by 5 + 7.5 - 9 points."""
WHITE_WINS = "result: W+3.5"


def play(*arguments: str | Path, text: str | bytes = "") -> str:
    done = CliRunner().invoke(nobi, ["play", *map(str, arguments)], input=text)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments: str | Path, text: str = "") -> str:
    """Run the command in a process of its own, and return the one line that it says on stderr."""
    command = [sys.executable, "-P" if sys.version_info >= (3, 11) else "-s", "-m", "gtp_engine.cli", "play"]
    done = subprocess.run(
        [*command, *map(str, arguments)], cwd=REPOSITORY, input=text, capture_output=True, encoding="utf-8", check=False
    )
    lines = [line for line in done.stderr.splitlines() if "preparing for this computer" not in line]
    assert done.returncode in (1, 2)
    assert len(lines) == 1, done.stderr
    return lines[0]


def moves(path: Path) -> list[str]:
    """The moves of a kept game: `B E5`."""
    game = parse_sgf(path.read_bytes()).to_game()
    return [f"{COLOUR_LETTERS[move.colour]} {to_vertex(move.point, game.height)}" for move in game.moves]


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    path = tmp_path / "finished.sgf"
    path.write_text(FINISHED)
    return path


def test_the_board_is_drawn_with_names_handicap_points_and_the_last_move() -> None:
    game = Game(9, 7)
    for colour, vertex in ((BLACK, "A1"), (WHITE, "B1"), (BLACK, "J7")):
        game.play(colour, from_vertex(vertex, 9, 7))
    assert board_text(game, dead=(from_vertex("A1", 9, 7),)).plain.splitlines() == [
        "    A B C D E F G H J",
        " 7  . . . . . . . .(X) 7",
        " 6  . . . . . . . . .  6",
        " 5  . . + . . . + . .  5",
        " 4  . . . . . . . . .  4",
        " 3  . . + . . . + . .  3",
        " 2  . . . . . . . . .  2",
        " 1  x O . . . . . . .  1",
        "    A B C D E F G H J",
    ]


def test_two_brackets_do_not_meet_on_the_first_column() -> None:
    game = Game(2, 2)
    game.play(BLACK, from_vertex("A2", 2, 2))
    assert board_text(game).plain.splitlines()[1] == " 2 (X).  2"


def test_a_person_and_nobi_play_in_turns(tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    shown = play(*QUICK, "--size", "9", kept, text="E5\nc3\n")
    assert shown.count("Nobi (white, O): ") == 2
    assert [move[0] for move in moves(kept)] == ["B", "W", "B", "W"]
    assert moves(kept)[0::2] == ["B E5", "B C3"]
    game = parse_sgf(kept.read_bytes())
    assert (game.black, game.white, game.result) == ("Person", "Nobi", "")


def test_nobi_begins_against_white_and_with_handicap(tmp_path: Path) -> None:
    assert play(*ANYTHING, "--colour", "white").splitlines()[10].startswith("Nobi (black, X): ")
    kept = tmp_path / "game.sgf"
    assert "Nobi (white, O): " in play(*QUICK, "--size", "9", "--handicap", "4", kept)
    game = parse_sgf(kept.read_bytes())
    assert (game.handicap, game.komi) == (4, 0.5)
    assert play(*ANYTHING, "--komi", "3", "--handicap", "2", tmp_path / "other.sgf")
    assert parse_sgf((tmp_path / "other.sgf").read_bytes()).komi == 3


def test_a_finished_game_is_counted_without_dead_stones(finished: Path, tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    shown = play(
        *QUICK, "--from", finished, "--colour", "black", kept, text="pass\nundo\npass\nC3\nhint\nresign\nquit\n"
    )
    assert shown.count(WHITE_WINS) == 2
    assert shown.count("small letters are dead") == 2
    assert " 4  X . X O .  4" in shown
    assert "the game is over; undo takes the last move back" in shown
    assert shown.count("\nthe game is over (undo, save FILE.sgf, quit): ") >= 1
    assert parse_sgf(kept.read_bytes()).result == "W+3.5"


def test_a_kept_game_goes_on(finished: Path, tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    play(*ANYTHING, "--colour", "white", kept, text="d4\n")
    before = moves(kept)
    shown = play(*ANYTHING[:-2], kept, text="undo\nc3\n")
    assert "you (white, O): " in shown
    assert moves(kept)[:1] == before[:1]
    assert moves(kept)[1] == "W C3"
    over = tmp_path / "over.sgf"
    play(*QUICK, "--from", finished, "--colour", "black", over, text="pass\n")
    content = over.read_bytes()
    assert play(*QUICK, over).splitlines()[-1].startswith("the game is over")
    assert over.read_bytes() == content


def test_resigning_and_thinking_better_of_it(tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    shown = play(*ANYTHING, kept, text="resign\n")
    assert "result: W+R" in shown
    assert parse_sgf(kept.read_bytes()).result == "W+R"
    play(*ANYTHING[:-2], kept, text="undo\nD4\n")
    assert parse_sgf(kept.read_bytes()).result == ""
    assert moves(kept)[0] == "B D4"


def test_nobi_resigns(tmp_path: Path) -> None:
    lost = tmp_path / "lost.sgf"
    lost.write_text("(;SZ[9]KM[7.5]" + "AW" + "".join(f"[{x}{y}]" for x in "abcdefghi" for y in "bdfh") + "PL[B])")
    settings = ("--set", "resign=true", "--set", "resign_turns=1", "--set", "resign_min_moves=0")
    shown = play(*QUICK, *settings, "--from", lost, "--colour", "white", text="undo\n")
    assert "result: W+R" in shown
    assert "there is no move of yours to take back" in shown


def test_hint_and_score() -> None:
    shown = play(*QUICK, "--size", "9", text="hint\nscore\nboard\nhelp\n")
    assert shown.count(" points ") >= 3
    assert "wins " in shown
    assert shown.count("captured by black: 0, by white: 0") == 2
    assert "save FILE.sgf" in shown


def test_save_writes_a_new_file_and_no_other(tmp_path: Path) -> None:
    target, other = tmp_path / "saved game.sgf", tmp_path / "other.txt"
    shown = play(*ANYTHING, text=f"save {target}\nsave {target}\nsave {other}\nsave\nsave {tmp_path}/none/game.sgf\n")
    assert parse_sgf(target.read_bytes()).width == 7
    assert shown.count("written") == 1
    assert "File exists" in shown
    assert shown.count("save needs the name of a file .sgf") == 2
    assert "No such file" in shown
    assert not other.exists()


@pytest.mark.parametrize(
    "text", [b"\xff\xfe\x00\n", b"\x1b[2J\n", b"A" * 5000 + b"\n", "②\n".encode(), b"Z9\n", b"D44\n"]
)
def test_whatever_is_typed_gets_a_line(text: bytes) -> None:
    shown = play(*ANYTHING, text=text)
    assert "is neither a move nor a command" in shown
    assert "\x1b" not in shown
    assert "\x00" not in shown


def test_moves_against_the_rules_are_refused(finished: Path) -> None:
    shown = play(*QUICK, "--from", finished, "--colour", "black", text="C3\n\nundo\nquit\n")
    assert "C3 is not allowed: occupied" in shown
    assert "there is no move of yours to take back" in shown


def test_what_cannot_be_begun(finished: Path, tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    play(*ANYTHING, kept)
    assert refused(kept, "--size", "9") == "nobi: --size is for a new game, and this one has begun"
    assert refused(kept, "--from", finished) == "nobi: --from is for a new game, and this one has begun"
    assert "not kept by `nobi play`" in refused(*QUICK, finished)
    assert finished.read_text() == FINISHED
    assert refused("--from", finished, "--handicap", "3").startswith("nobi: --handicap is for a game that begins")
    assert refused("--from", finished, "--move", "1").endswith("the game has 0 moves, not 1")
    assert refused("--move", "1") == "nobi: --move needs --from"
    assert refused(tmp_path / "game.txt").endswith("the game must be kept in a file .sgf")
    assert "a 5x5 board has no fixed handicap" in refused(*QUICK, "--size", "5", "--handicap", "3")
    assert "No such file" in refused(*QUICK, tmp_path / "none" / "game.sgf")
    assert "No such file" in refused("--net", tmp_path / "none.bin.gz")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a single process")
def test_ctrl_c_ends_it_and_the_game_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    command = [sys.executable, cli.__file__, "play", *ANYTHING, str(kept)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("D4\n")
        process.stdin.flush()
        while "Nobi (white, O): " not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert moves(kept)[0] == "B D4"
