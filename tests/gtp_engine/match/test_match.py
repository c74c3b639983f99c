"""Whole matches by `nobi match`: dealing, recording, resuming, reporting."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from go_rules.points import to_vertex
from go_rules.sgf.reader import read_sgf
from gtp_engine import command_line
from gtp_engine.errors import UserError
from gtp_engine.match.conditions import read_conditions
from gtp_engine.match.engines import Engine, Terms, engine_command
from gtp_engine.match.play import Contest, Series
from gtp_engine.match.record import GameRecord, MatchTerms
from gtp_engine.match.table import print_result, summary
from gtp_engine.version import VERSION
from nobi_machine.locks import folder_for_one
from tests.conftest import REPOSITORY
from tests.gtp_engine.match.conftest import STUB, Match, Terminal, stub
from tests.gtp_engine.match.zoo import processes_with
from tests.systems import IS_WINDOWS, PATIENCE, native, needs_signals, no_program

WINNER = stub("--name", "Winner", "--moves", "C3", "--score", "B+24.5")
LOSER = stub("--name", "Loser", "--score", "B+24.5")
RESIGNER = stub("--name", "Loser", "--moves", "resign")
CRASHER = stub("--name", "Crasher", "--bad", "crash@1")


def small(folder: Path, games: int = 4) -> list[object]:
    return ["--size", 5, "--komi", 0.5, "-n", games, "--out", folder]


def test_a_match(tmp_path: Path, match: Match) -> None:
    code, out, err = match(stub("--name", "Winner", "--moves", "C3"), RESIGNER, *small(tmp_path))
    assert code == 0
    assert "Winner 1.0 scores 100.0 %: Elo +inf (95 %: +7 to +inf) against Loser 1.0." in out.replace("\n", " ")
    assert "4 of 4 played; game 4: W+R (resignation, " in err
    lines = (tmp_path / "record.jsonl").read_text().splitlines()
    games = [json.loads(line) for line in lines[1:]]
    assert [game["black"] for game in games] == [0, 1, 0, 1]
    assert [game["result"] for game in games] == ["B+R", "W+R", "B+R", "W+R"]
    sgf = read_sgf(tmp_path / "games" / "0002.sgf")
    assert (sgf.black, sgf.white, sgf.result, sgf.width) == ("Loser 1.0", "Winner 1.0", "W+R", 5)


def test_an_interrupted_match_goes_on(tmp_path: Path, match: Match) -> None:
    assert match(WINNER, LOSER, *small(tmp_path, 2), "--json")[0] == 0
    record = tmp_path / "record.jsonl"
    first = record.read_text()
    record.write_text(first + '{"game":2,"bla')  # killed while writing
    code, out, _ = match(WINNER, LOSER, *small(tmp_path, 6), "--json")
    assert code == 0
    assert json.loads(out)["games"] == 6
    assert record.read_text().startswith(first)
    assert len(record.read_text().splitlines()) == 7


def test_another_match_in_the_same_folder_is_refused(tmp_path: Path, match: Match) -> None:
    match(WINNER, LOSER, *small(tmp_path, 1))
    code, _, err = match(WINNER, LOSER, *small(tmp_path, 1), "--komi", 6.5)
    assert code == 1
    assert "holds another match (different komi)" in err
    (tmp_path / "record.jsonl").write_text("nonsense\n")
    code, _, err = match(WINNER, LOSER, *small(tmp_path, 1))
    assert code == 1
    assert "not a match record" in err
    assert len(err.splitlines()) == 1


def test_a_second_match_at_the_same_time_is_refused(
    tmp_path: Path, match: Match, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two would play every game twice, and their record could not be read again."""
    folder = tmp_path / "match"
    with folder_for_one(folder):
        code, _, err = match(WINNER, LOSER, *small(folder, 1))
        assert (code, err) == (1, f"nobi: {folder}: another process is working in this folder\n")
        assert command_line.run(["tournament", WINNER, LOSER, *map(str, small(folder, 1))]) == 1
        assert "another process is working in this folder" in capsys.readouterr().err
    assert match(WINNER, LOSER, *small(folder, 1))[0] == 0


@pytest.mark.parametrize("size", ["7x5", "5x7"])
def test_engines_that_take_any_shape_and_have_only_squares(tmp_path: Path, match: Match, size: str) -> None:
    """GTP's `boardsize` has one number: GNU Go takes the first of two, and would lose by illegal moves."""
    honest = stub("--name", "Honest", "--bad", "refuse@2", "--score", "0")  # the vertex beyond the board
    assert match(honest, honest, *small(tmp_path / "honest", 2), "--size", size)[0] == 0
    code, _, err = match(honest, stub("--name", "Square"), *small(tmp_path / "square", 2), "--size", size)
    assert code == 1
    assert err.splitlines()[-1] == f"nobi: engine B has no board of {size}, though it took `boardsize`"


def test_faults_show_in_the_exit_code_and_the_table(tmp_path: Path, match: Match) -> None:
    code, out, _ = match(WINNER, CRASHER, *small(tmp_path, 4))
    assert code == 3
    assert "4 crash" in out
    assert "Game 1: B+F, crash: engine B: exited (7) at 'genmove white'" in out


def test_games_at_the_same_time(tmp_path: Path, match: Match) -> None:
    code, out, _ = match(WINNER, LOSER, *small(tmp_path, 8), "--parallel", 2, "--json")
    result = json.loads(out)
    assert (code, result["games"], result["scores_differ"]) == (0, 8, 0)
    assert (tmp_path / "stderr" / "A-2.txt").exists()


def test_a_sequential_test_ends_the_match(tmp_path: Path, match: Match) -> None:
    code, out, _ = match(WINNER, RESIGNER, *small(tmp_path, 100), "--sprt", "0:200", "--json")
    result = json.loads(out)
    assert code == 0
    assert result["sprt"]["accepted"] == 1
    assert 4 <= result["games"] < 30


NASTY_NAME = "\x1b[31mEvil\x1b]0;title\x07\x9b2J\u202e[bold]x[/]"
SHOWN_NAME = r"\x1b[31mEvil\x1b]0;title\x07\x9b2J\u202e[bold]x[/] 1.0"


def test_names_do_not_command_the_terminal(tmp_path: Path, match: Match) -> None:
    evil = stub("--name", NASTY_NAME, "--bad", "refuse@1")
    code, out, err = match(WINNER, evil, *small(tmp_path, 1), "--name-a", "[red]Mine")
    assert code == 3
    assert SHOWN_NAME in out
    assert SHOWN_NAME in err
    assert "[red]Mine" in out
    games = (tmp_path / "record.jsonl").read_text().split("\n", 1)[1]  # line 1 has the command as the user wrote it
    for text in (out, err, games, (tmp_path / "games" / "0001.sgf").read_text()):
        assert all(line.isprintable() for line in text.split("\n"))
    code, out, _ = match(WINNER, evil, *small(tmp_path, 1), "--name-a", "[red]Mine", "--json")
    assert json.loads(out)["engines"] == ["[red]Mine", SHOWN_NAME]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_an_engine_whose_path_is_no_text(tmp_path: Path, match: Match) -> None:
    own = tmp_path / os.fsdecode(b"engine\xff.py")
    own.write_bytes(STUB.read_bytes())
    command = shlex.join([sys.executable, "-I", "-S", str(own), "--moves", "resign"])
    code, _, err = match(command, LOSER, *small(tmp_path / "match", 2))
    assert (code, "2 of 2 played" in err) == (0, True)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_nothing_is_written_through_links(tmp_path: Path, match: Match) -> None:
    target = tmp_path / "precious"
    target.write_text("keep me")
    folder = tmp_path / "match"
    (folder / "games").mkdir(parents=True)
    (folder / "stderr").mkdir()
    (folder / "games" / "0001.sgf").symlink_to(target)
    (folder / "stderr" / "B-1.txt").symlink_to(target)
    assert match(WINNER, CRASHER, *small(folder, 1))[0] == 3
    assert target.read_text() == "keep me"
    for name in ("record.jsonl", "games", "stderr"):
        folder = tmp_path / f"with {name}"
        folder.mkdir()
        (folder / name).symlink_to(target if name == "record.jsonl" else tmp_path)
        code, _, err = match(WINNER, CRASHER, *small(folder, 1))
        assert (code, "is a link; choose another --out" in err) == (1, True)
    assert target.read_text() == "keep me"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no-such-engine", "x"], 1, f"engine A: cannot start no-such-engine: {no_program()}"),
        (["'unfinished", "x"], 1, "cannot read the engine's command"),
        (["", "x"], 1, "an engine's command is empty"),
        (["a", "b", "--size", "1"], 2, "1 is no board size"),
        (["a", "b", "--size", "9x"], 2, "9x is no board size"),
        (["a", "b", "--rules", "chess"], 1, "unknown rules: chess"),
        (["a", "b", "--time", "1", "--clock", "60"], 2, "exclude each other"),
        (["a", "b", "--clock", "soon"], 2, "not a time control: soon"),
        (["a", "b", "--sprt", "5:0"], 2, "5:0 is not ELO0:ELO1"),
        (["a", "b", "--openings", "/no/such/file"], 1, native("/no/such/file: No such file or directory")),
        (["a", "b", "--size", "5", "--handicap", "2"], 2, "a 5x5 board has no fixed handicap"),
        (["a", "b", "--size", "7", "--handicap", "5"], 2, "a 7x7 board has 2 to 4 stones"),
        (["a", "b", "--size", "9", "--handicap", "1"], 2, "1 is not in the range"),
        (
            ["a", "b", "--handicap", "2", "--openings", "x.txt"],
            2,
            "--handicap and a file of --openings exclude each other",
        ),
        (["a"], 2, "Missing argument"),
    ],
)
def test_bad_input_gets_one_line(arguments: list[str], code: int, message: str, match: Match) -> None:
    got, out, err = match(*arguments)
    assert (got, out) == (code, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_judge_that_cannot_start_is_told_first(tmp_path: Path, match: Match) -> None:
    code, _, err = match(WINNER, WINNER, *small(tmp_path), "--judge", "no-such-judge")
    assert (code, err) == (1, f"nobi: judge: cannot start no-such-judge: {no_program()}\n")


def test_an_engine_that_is_not_ready_in_time_is_told_first(
    tmp_path: Path, match: Match, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtp_engine.match.client.QUIT_GRACE", 0.3)
    code, _, err = match(stub("--bad", "hang-name@1"), WINNER, *small(tmp_path), "--start", "1")
    assert code == 1
    assert err.startswith("nobi: engine A: not ready within 1 s: ")


def test_an_engine_that_dies_at_once(tmp_path: Path, match: Match) -> None:
    code, _, err = match(f'"{sys.executable}" -c "exit(1)"', WINNER, *small(tmp_path))
    assert code == 1
    assert err == "nobi: engine A: exited (1) at 'name'\n"
    code, _, err = match("nobi --foo", WINNER, *small(tmp_path))
    assert code == 1
    words = "nobi: No such option '--foo'. (see `nobi gtp --help`)"
    assert err == f"nobi: engine A: exited (2) at 'name'; its last words: {words}\n"


@needs_signals
@pytest.mark.parametrize(
    ("number", "bad", "command"),
    [
        (signal.SIGINT, "hang@1", "genmove"),
        (signal.SIGTERM, "hang@1", "genmove"),
        (signal.SIGINT, "hang-name@1", "name"),
    ],
)
def test_interrupting_leaves_no_engine_behind(tmp_path: Path, number: signal.Signals, bad: str, command: str) -> None:
    log = tmp_path / "log"
    hanging = stub("--bad", bad, "--log", str(log))
    arguments = ["match", WINNER, hanging, "--size", "5", "--out", str(tmp_path / "m")]
    match = subprocess.Popen(
        [sys.executable, "-m", "gtp_engine.cli", *arguments], cwd=REPOSITORY, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not (log.exists() and command in log.read_text()):
        time.sleep(0.05)
    match.send_signal(number)
    _, err = match.communicate(timeout=PATIENCE)
    assert match.returncode == 130
    assert "Traceback" not in err
    assert processes_with(str(log)) == []


def test_an_engine_that_is_interrupted_while_it_prepares_is_not_waited_for(
    tmp_path: Path, match: Match, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be compiling, and answer no `quit`."""
    prepare = Engine.prepare

    def interrupted(engine: Engine, terms: Terms) -> None:
        prepare(engine, terms)
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "prepare", interrupted)
    log = tmp_path / "log"
    code, _, _ = match(stub("--log", str(log)), WINNER, *small(tmp_path / "m"))
    assert code == 130
    assert "komi" in log.read_text()
    assert "quit" not in log.read_text()
    assert processes_with(str(log)) == []


def game(number: int, result: str, **changes: object) -> GameRecord:
    facts: dict[str, object] = {
        "game": number,
        "black": number % 2,
        "opening": [],
        "moves": 100,
        "result": result,
        "reason": "score",
        "scores": [None, None],
        "seconds": [10.0, 20.0],
        "longest": [1.0, 2.0],
        "own_moves": [50, 50],
        "late": [0, 1],
        "stderr_lines": [0, 0],
        "stray_lines": [0, 0],
    }
    return GameRecord(**{**facts, **changes})  # type: ignore[arg-type]


TERMS = MatchTerms(
    commands=[["a"], ["b"]], names=["A", "B"], width=9, height=9, komi=7.0, rules="chinese", time="",
    enforce_clock=False, visits=0, max_moves=0, openings="none", count_board=False,
)  # fmt: skip


def test_a_match_without_a_game_that_counts_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    games = [game(0, "?", agreed=False)]
    result = summary(TERMS, games)
    assert (result["score"], result["elo"], result["uncounted"]) == (None, None, 1)
    print_result(TERMS, games)
    out = capsys.readouterr().out
    assert "No game counts, so nothing is known of A against B." in out
    assert "%" not in out


GNUGO = shutil.which("gnugo") or shutil.which("/usr/games/gnugo")


@pytest.mark.skipif(GNUGO is None or IS_WINDOWS, reason="GNU Go is not installed")
def test_two_real_engines(tmp_path: Path, match: Match) -> None:
    gnugo = f"{GNUGO} --mode gtp --level 0 --chinese-rules --positional-superko"
    nobi, options = "nobi --net none --visits 100 --workers 1 --seed 1", ("--size", 7, "-n", 2, "--json")
    code, out, _ = match(nobi, gnugo, *options, "--out", tmp_path)
    result = json.loads(out)
    assert code in (0, 3)
    assert result["engines"][0] == f"Nobi {VERSION}"  # not the version of KataGo that it answers clients
    assert result["games"] == 2
    assert result["faults"] == [{}, {}]
    assert result["stray_lines"] == [0, 0]
    assert result["seconds_per_move"][0] > 0


def test_a_network_that_changed_ends_the_match_and_is_another_match(tmp_path: Path) -> None:
    """Engines start again and again, and would read the new one."""
    net = tmp_path / "net.bin.gz"
    net.write_bytes(b"old")
    commands = [engine_command(f"nobi --net {net}"), engine_command("nobi")]

    def contest() -> Contest:
        return Contest(tmp_path / "match", (0, 1), commands, ["a", "b"], read_conditions())

    running = contest()
    units = running.units(0, range(2))
    next(units)
    net.write_bytes(b"new")
    with pytest.raises(OSError, match="changed while it was in use"):
        next(units)
    with pytest.raises(UserError, match=r"another match \(different networks\)"):
        contest()
    net.write_bytes(b"old")
    assert contest().record.games == []


# --- Handicaps -----------------------------------------------------------------------------------------------------


def test_with_a_handicap_the_second_engine_has_black_and_its_stones(tmp_path: Path, match: Match) -> None:
    winner = stub("--name", "Winner", "--moves", "E5", "--lists", "set_free_handicap")
    resigner = stub("--name", "Loser", "--moves", "resign", "--lists", "set_free_handicap")
    options = ["--size", 9, "-n", 3, "--out", tmp_path, "--handicap", 3]
    code, out, _ = match(winner, resigner, *options)
    assert code == 0
    assert "3 games, 9x9, chinese rules, komi 0.5, 3 handicap stones" in out
    terms, *games = [json.loads(line) for line in (tmp_path / "record.jsonl").read_text().splitlines()]
    assert (terms["handicap"], terms["komi"], terms["openings"]) == (3, 0.5, "none")
    assert [(game["black"], game["result"], game["moves"]) for game in games] == [(1, "W+R", 1)] * 3
    game = read_sgf(tmp_path / "games" / "0001.sgf").to_game(0)
    assert [to_vertex(point, 9) for point in game.handicap] == ["C3", "G7", "C7"]
    # More games go on in the folder; with another handicap they would be another match.
    assert match(winner, resigner, *options[:-1], 2)[0] == 1


def test_an_engine_that_takes_no_handicap(tmp_path: Path, match: Match) -> None:
    code, _, err = match(stub(), stub(), "--size", 9, "--handicap", 2, "--out", tmp_path)
    assert code == 1
    assert err == "nobi: engine A refuses `set_free_handicap C3 G7`: unknown command\n"


# --- Names, folders, interruption, and the order of what is told ---------------------------------------------------


def test_engines_of_one_name_are_told_apart(tmp_path: Path, match: Match, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = match(RESIGNER, RESIGNER, *small(tmp_path / "one", 1))
    assert err.startswith("match: Loser 1.0 (A) against Loser 1.0 (B); record in ")
    _, _, err = match(RESIGNER, CRASHER, *small(tmp_path / "two", 1))
    assert err.startswith("match: Loser 1.0 against Crasher 1.0; record in ")
    _, _, err = match(RESIGNER, RESIGNER, *small(tmp_path / "three", 1), "--name-a", "me", "--name-b", "you")
    assert err.startswith("match: me against you; record in ")


def test_games_are_told_in_the_order_of_their_numbers(tmp_path: Path, match: Match) -> None:
    """Games at several tables end in any order, and the record has them as they end."""
    match(RESIGNER, CRASHER, *small(tmp_path, 4))
    record = tmp_path / "record.jsonl"
    terms, *games = record.read_text().splitlines()
    record.write_text("\n".join([terms, *reversed(games)]) + "\n")
    _, out, err = match(RESIGNER, CRASHER, *small(tmp_path, 4))
    assert re.findall(r"^Game (\d): W\+F, crash", out, re.MULTILINE) == ["2", "4"]
    assert "played" not in err, "there was nothing left to play"


def test_an_interrupted_match_says_how_it_goes_on(
    tmp_path: Path, match: Match, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where no game has ended: then there is nothing to go on with."""
    play = Series.run

    def interrupted(series: Series, after_game: Callable[..., None]) -> None:
        def after(*ended: object) -> None:
            after_game(*ended)
            signal.raise_signal(signal.SIGINT)

        play(series, after)

    monkeypatch.setattr(Series, "run", interrupted)
    code, out, err = match(RESIGNER, RESIGNER, *small(tmp_path / "some", 3))
    assert (code, out) == (130, "")
    line = f"match: interrupted; go on with the same command and --out {tmp_path / 'some'}"
    assert line in err.splitlines()

    def at_once(_series: Series, _after_game: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Series, "run", at_once)
    code, out, err = match(RESIGNER, RESIGNER, *small(tmp_path / "none", 3))
    assert (code, out) == (130, "")
    assert "interrupted; go on" not in err


def test_without_a_folder_it_makes_one(tmp_path: Path, match: Match, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert match(RESIGNER, RESIGNER, *small(tmp_path, 1)[:-2])[0] == 0
    (folder,) = tmp_path.iterdir()
    assert re.fullmatch("match-[0-9]{8}-[0-9]{6}", folder.name)
    assert (folder / "record.jsonl").exists()


def test_the_line_of_progress_ends_with_the_match(
    tmp_path: Path, match: Match, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    match(RESIGNER, RESIGNER, *small(tmp_path, 2))
    _, first, second = terminal.getvalue().split("\r")
    assert first.startswith("1 of 2 played; game 1: W+R (resignation, 0 moves)  ")
    assert second.startswith("2 of 2 played; game 2: W+R (resignation, 0 moves)  ")
    assert (first[-1] != "\n", second[-1]) == (True, "\n")
