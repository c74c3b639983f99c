"""Dialogues that a test records, interrupted at moments that nobody chose, and `nobi replay` of their logs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from gtp_engine import command_line
from gtp_engine.session.log import without_folders
from nobi_machine.launch import python_command
from tests.conftest import REPOSITORY, SMALL_NETWORK
from tests.systems import PATIENCE

ALIKE = "commands, and every reply as in the log"
OF_THE_MOMENT = -6
"""The replies from here on tell the time, but for the last three: `name`, `quit`, and nothing."""
PAUSE = 0.25
"""Seconds between two parts of a dialogue: about as long as a search."""

DIALOGUE = (
    "boardsize 9\n1 play b e5\nkata-set-param seed -1\nkgs-chat game a\tb\x1b\n",
    "genmove w\n",  # and pondering, which the next part ends
    "lz-analyze 5\n",
    "\ngenmove b\nkata-time_settings byoyomi 2 0.4 3\ntime_left w 1 0\n",
    "genmove w\ngomill-explain_last_move\n",
    "kata-genmove_analyze b 5 ownership true\n",
    "# interrupt\nundo\nkata-set-param visits 30\nkata-search_analyze_cancellable w 3\n",
    "showboard\nkata-analyze 4 maxmoves 2\n",
    "final_score\ngenmove_debug w\nkgs-genmove_cleanup b\n",
    "loadsgf {folder}/a game.sgf 3\nloadsgf {folder}/none.sgf\nshowboard\nundo\nreg_genmove w\nkata-raw-nn 0\n",
    "nonsense\nclear_cache\ngenmove b\nprintsgf\nprintsgf {folder}/written.sgf\n",
    "cgos-genmove_analyze w\nkata-debug-print-tc\ncputime\nkata-benchmark 9\n",
)
SGF = "(;GM[1]FF[4]SZ[9]KM[5.5]C[na\\]\u00efve];B[ee];W[cc];B[gg];W[gc])"


def record(folder: Path, *options: str, parts: Sequence[str] = DIALOGUE) -> tuple[Path, bytes]:
    """The log and the stdout of a session."""
    log = folder / "folder of mine" / "nobi.log"
    log.parent.mkdir(exist_ok=True)
    (log.parent / "a game.sgf").write_text(SGF, encoding="latin-1")
    command = python_command("gtp_engine.cli", "gtp", "--set", f"log={log}", *options)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, cwd=REPOSITORY
    ) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        engine.stdin.write(b"boardsize 9\n")
        output = engine.stdout.read(4)
        for part in parts:
            engine.stdin.write(part.replace("{folder}", str(log.parent)).encode())
            time.sleep(PAUSE)
        engine.stdin.write(b"99 name\n")
        while not output.endswith(b"=99 Nobi\n"):
            output += engine.stdout.readline()
        engine.stdin.write(b"quit\n")
        return log, output + engine.stdout.read()


def replay(log: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    command = python_command("gtp_engine.cli", "replay", str(log), *options)
    return subprocess.run(command, capture_output=True, timeout=PATIENCE, cwd=REPOSITORY)


def last_note(done: subprocess.CompletedProcess[bytes]) -> str:
    assert b"Traceback" not in done.stderr
    return done.stderr.decode().splitlines()[-1]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    return record(tmp_path_factory.mktemp("one"), "--time", "0.2", "--ponder", "--set", "workers=1")


def test_the_same_bytes(recorded: tuple[Path, bytes]) -> None:
    log, output = recorded
    done = replay(log)
    assert (done.returncode, last_note(done)) == (0, f"nobi: 39 {ALIKE}")
    expected, came = (each.split(b"\n\n") for each in (output, done.stdout))
    assert came[:OF_THE_MOMENT] == expected[:OF_THE_MOMENT]
    assert came[-3:] == expected[-3:]


def test_a_log_names_no_folders(recorded: tuple[Path, bytes]) -> None:
    text = recorded[0].read_text(encoding="utf-8")
    assert "<< loadsgf a game.sgf 3" in text
    assert "<< printsgf written.sgf" in text
    assert "folder of mine" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nobi: /home/a b/x.sgf: no", "nobi: a b/x.sgf: no"),  # `shorten` is for names that have spaces
        ('  File "/opt/nobi/search/player.py", line 3', '  File "player.py", line 3'),
        ("(~/nets/b6.bin.gz)", "(b6.bin.gz)"),
        (r"C:\Users\me\x.sgf D:/y/z", "x.sgf z"),
        ("../up/x ./y ~me/z", "x y z"),
        ("20.5 visits/s 1/2 gfx/A b/c https://a.org/b/c W / B \\x1b[0m", None),
    ],
)
def test_paths_become_their_last_part(text: str, expected: str | None) -> None:
    assert without_folders(text) == (text if expected is None else expected)


def changed(recorded: tuple[Path, bytes], tmp_path: Path, before: str, after: str) -> Path:
    """Another log with another text in place of the last such one."""
    text, log = recorded[0].read_text(encoding="utf-8"), tmp_path / "nobi.log"
    assert before in text
    log.write_text(after.join(text.rsplit(before, 1)), encoding="utf-8")
    return log


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("<< nonsense\n", "<< nonsense\n     1.0 <<\n", "is damaged, or this is no log"),
        (':: file {"name": "a game.sgf"', ":: file {", "is damaged, or this is no log"),
        ('"sha256": "', '"sha256": "0', "is not at hand: --net FILE (SHA-256 0"),
        ('"others": {', '"others": {"nonsense": 1, ', "there is no parameter nonsense here"),
        ('"networks": {', '"networks": 3, "gone": {', "what it says of the player is damaged"),
        (":: player {", ":: gone {", "ended before its player was loaded"),
        (":: nobi {", ":: gone {", "no log of `nobi gtp`"),
    ],
)
def test_what_is_wrong_with_a_log_is_one_line(
    recorded: tuple[Path, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, says: str
) -> None:
    assert command_line.run(["replay", str(changed(recorded, tmp_path, before, after))]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_one_other_letter_is_found(recorded: tuple[Path, bytes], tmp_path: Path) -> None:
    log = changed(recorded, tmp_path, ">> Black stones captured: 0\n", ">> Black stones captured: 1\n")
    number = log.read_text(encoding="utf-8").partition("captured: 1")[0].count("\n") + 1
    done = replay(log)
    assert done.returncode == 1
    shown = "expected ...ck stones captured: 1, came ...ck stones captured: 0"
    assert last_note(done) == f"nobi: line {number}: {shown}"


def test_what_may_make_a_difference_is_said(recorded: tuple[Path, bytes], tmp_path: Path) -> None:
    """Another version, other kernels, and the end of a log that was cut off."""
    log = changed(recorded, tmp_path, '{"version": "', '{"version": "0.')
    log = changed((log, b""), tmp_path, '"kernels": "', '"kernels": "other-')
    log.write_bytes(log.read_bytes().rpartition(b"=99 Nobi")[0])
    done = replay(log)
    assert done.returncode == 0, last_note(done)
    for line in ("the last line was cut off", "the log is of version 0.", "the kernels of the log are for other-"):
        assert line.encode() in done.stderr


def test_several_workers_and_another_network(tmp_path: Path) -> None:
    """The moves are the log's, whatever the search finds now; figures are not compared."""
    options = ("--net", str(SMALL_NETWORK), "--set", "workers=2", "--time", "0.1", "--ponder")
    log, output = record(tmp_path, *options, parts=DIALOGUE[:7])
    assert "is not at hand" in last_note(replay(log))
    done = replay(log, "--net", str(SMALL_NETWORK))
    assert (done.returncode, last_note(done)) == (0, f"nobi: 19 {ALIKE}")
    assert done.stdout.count(b"\n\n") == output.count(b"\n\n")


def test_a_player_without_a_network(tmp_path: Path) -> None:
    log, output = record(tmp_path, "--player", "rave", "--set", "workers=1", "--time", "0.1", parts=DIALOGUE[:7])
    done = replay(log)
    assert (done.returncode, done.stdout) == (0, output), last_note(done)
