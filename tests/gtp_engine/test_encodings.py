"""Every command prints to every terminal: what an encoding does not have is written out, and nothing fails for it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from gtp_engine import cli, command_line
from tests.conftest import REPOSITORY
from tests.gtp_engine.match.conftest import stub
from tests.systems import IS_WINDOWS

pytestmark = pytest.mark.skipif(IS_WINDOWS, reason="Nobi writes UTF-8 there, and file names are Unicode")

UTF_8 = "utf-8"
ENCODINGS = ("ascii", "cp1252", "cp936")
NAME, OTHER, COMMENT = "王星昊", "Müller ☺", "复盘 → ½"
RECORD = f"(;GM[1]FF[4]CA[UTF-8]SZ[7]KM[7]PB[{NAME}]PW[{OTHER}]C[{COMMENT}];B[ee];W[cc];B[ec];W[ce])"

RANDOM = ("--player", "random", "--set", "seed=1", "--size", "7")
RAVE = ("--player", "rave", "--visits", "2", "--set", "seed=1", "--set", "workers=1")
GAMES = ("--size", "5", "--komi", "0.5", "--score", "board", "--games", "1", "--openings", "none")
COMMANDS: dict[str, tuple[str, ...]] = {
    "alone": (),
    "unknown": (NAME,),
    "unknown option": ("gtp", f"--{NAME}"),
    "version": ("version",),
    "players": ("players",),
    "config": ("config", "--set", f"net={NAME}.onnx"),
    "config as JSON": ("config", "--json", "--set", f"net={NAME}.onnx"),
    "config as document": ("config", "--markdown"),
    "config, a broken file": ("config", "--config", f"{NAME}.toml"),
    "gtp, no such network": ("gtp", "--net", f"{NAME}.onnx"),
    "analysis, no such file": ("analysis", "-config", f"{NAME}.cfg"),
    "review": ("review", f"{NAME}.sgf", "--out", f"{NAME}-2.sgf", *RAVE),
    "review as JSON": ("review", f"{NAME}.sgf", "--out", f"{NAME}-2.sgf", *RAVE, "--json"),
    "review of itself": ("review", f"{NAME}.sgf", "--out", f"{NAME}.sgf"),
    "picture": ("picture", f"{NAME}.svg", f"{NAME}.sgf", *RAVE),
    "picture of nothing": ("picture", f"{NAME}.txt", f"{NAME}.sgf"),
    "play": ("play", f"{NAME}-3.sgf", *RANDOM),
    "mcts": ("mcts", "--watch", "-n", "5", "--seed", "1"),
    "mcts with an answer": ("mcts", "-n", "5", "--seed", "1"),
    "mcts and its tree": ("mcts", "-n", "20", "--seed", "1", "--tree", f"{NAME}-tree.svg"),
    "match": ("match", "SOUTH", "NORTH", *GAMES, "--name-a", NAME, "--name-b", OTHER, "--out", NAME),
    "match as JSON": ("match", "SOUTH", "NORTH", *GAMES, "--name-a", NAME, "--json", "--out", NAME),
    "tournament": ("tournament", f"{NAME}=SOUTH", "Müller=NORTH", *GAMES, "--out", NAME),
    "tournament as JSON": ("tournament", f"{NAME}=SOUTH", "Müller=NORTH", *GAMES, "--json", "--out", NAME),
    "experiment": ("experiment", NAME),
    "benchmark": ("benchmark", "--player", "rave", "--size", "5", "--seconds", "1"),
    "benchmark, no such network": ("benchmark", "--net", f"{NAME}.onnx"),
    "tune, no such network": ("tune", "--net", f"{NAME}.onnx", "--dry-run"),
    "networks": ("networks",),
    "networks, no such network": ("networks", "use", NAME),
    "convert": ("convert", f"{NAME}.bin.gz", f"{NAME}.onnx"),
    "records": ("records", f"{NAME}.npz", f"{NAME}.sgf"),
    "export": ("export", NAME, f"{NAME}.onnx"),
    "average": ("average", NAME, f"{NAME}.bin.gz"),
    "train": ("train", NAME, "--config", f"{NAME}.toml"),
    "label": ("label", NAME, "--config", f"{NAME}.toml"),
    "selfplay": ("selfplay", f"{NAME}.npz", "--net", f"{NAME}.onnx"),
    "learn": ("learn", NAME, "--config", f"{NAME}.toml"),
    "yardstick": ("yardstick", f"{NAME}.onnx", f"{NAME}.npz"),
}
"""What each prints under these conditions is cheap: tables, boards, names, and errors that name a file."""
SLOW = (("match",), ("tournament",), ("benchmark",))
"""They take a second, and are tried with one encoding."""
ENGINES = {"SOUTH": stub("--name", "South", "--moves", "C3"), "NORTH": stub("--name", "North", "--moves", "C2")}
NO_TEXT = os.fsdecode(b"caf\xe9")
"""A name of a file in another encoding."""
ANSWERS = f"{NAME}\nsave {NAME}-4.sgf\nsave {NO_TEXT}-5.sgf\nquit\n"


@dataclass(frozen=True)
class Done:
    """The exit code of a command, and what a terminal shows: all that was written has to be in its encoding."""

    code: int
    out: str
    err: str


def run(words: tuple[str, ...], encoding: str, folder: Path) -> Done:
    """Run a command in this process, in a new folder with a record in it, at a terminal of this encoding."""
    folder.mkdir()
    (folder / f"{NAME}.sgf").write_text(RECORD, encoding=UTF_8)
    (folder / f"{NAME}.toml").write_text(f"cpuct = {NAME}\n", encoding=UTF_8)
    for engine, command in ENGINES.items():
        words = tuple(word.replace(engine, command) for word in words)
    raw = [io.BytesIO(os.fsencode(ANSWERS)), io.BytesIO(), io.BytesIO()]
    streams = [io.TextIOWrapper(each, encoding=encoding) for each in raw]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        code = command_line.run([*words])
        for stream in streams[1:]:
            stream.flush()
    out, err = (each.getvalue().decode(encoding) for each in raw[1:])
    return Done(code, out, err)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_help_page(encoding: str, tmp_path: Path) -> None:
    for name in command_line.SUBCOMMANDS:
        done = run((name, "--help"), encoding, tmp_path / name)
        assert (done.code, done.err) == (0, ""), done
        assert f"Usage: nobi {name}" in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_kind_of_output(name: str, tmp_path: Path) -> None:
    plain = run(COMMANDS[name], UTF_8, tmp_path / UTF_8)
    assert "internal error" not in plain.err
    for encoding in ENCODINGS[:1] if COMMANDS[name][:1] in SLOW else ENCODINGS:
        done = run(COMMANDS[name], encoding, tmp_path / encoding)
        assert done.code == plain.code, done
        assert "internal error" not in done.err, done
        shown = NAME.encode(encoding, "backslashreplace").decode(encoding)
        if "--json" in COMMANDS[name]:
            assert json.loads(done.out).keys() == json.loads(plain.out).keys()
            assert done.out.isascii()
        else:
            assert (shown in done.out) == (NAME in plain.out), done
        assert (shown in done.err) == (NAME in plain.err), done


def test_every_subcommand_is_tried() -> None:
    """The doctor's checks take long; what it prints is `click.echo`'s, as with `players`. `replay` prints what a log
    has, `web` a link, as `board` into a log; `worker` waits for a cluster."""
    tried = {words[0] for words in COMMANDS.values() if words}
    assert set(command_line.SUBCOMMANDS) - tried == {"board", "doctor", "replay", "web", "worker"}


@pytest.mark.parametrize("encoding", ["ascii", "cp936"])
def test_a_process_at_such_a_terminal(encoding: str, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.sgf").write_text(RECORD, encoding=UTF_8)
    done = process(["review", f"{NAME}.sgf", "--out", "out.sgf", *RAVE], encoding, tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    for name in (NAME, OTHER):
        assert name.encode(encoding, "backslashreplace") in done.stdout
    done.stdout.decode(encoding)


def test_clients_get_utf_8(tmp_path: Path) -> None:
    """What GTP and the JSON protocol say does not depend on any terminal."""
    done = process(["gtp", *RANDOM], "ascii", tmp_path, f"kata-set-rules {NAME}\nquit\n")
    assert f"? unknown rules: {NAME} " in done.stdout.decode(), done.stderr
    done = process(["analysis"], "ascii", tmp_path, f'{{"id": "{NAME}"}}\n')
    assert json.loads(done.stdout)["id"] == NAME


def process(words: list[str], encoding: str, folder: Path, text: str = "") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": encoding}
    command = [sys.executable, cli.__file__, *words]
    return subprocess.run(
        command, cwd=folder, env=environment, input=text.encode(), capture_output=True, timeout=120, check=False
    )


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode elsewhere")
def test_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    asked = (("picture", f"{NO_TEXT}.svg", f"{NAME}.sgf"), ("review", f"{NAME}.sgf", "--out", f"{NO_TEXT}-2.sgf"))
    for number, words in enumerate(asked):
        folder = tmp_path / str(number)
        done = run((*words, *RAVE), UTF_8, folder)
        assert (done.code, done.err) == (0, "")
        assert any((folder / word).exists() for word in words if NO_TEXT in word)
    done = run(("review", f"{NO_TEXT}.sgf"), UTF_8, tmp_path / "refused")
    assert done.err == "nobi: caf\\udce9.sgf: No such file or directory\n"
    done = run(("play", *RANDOM), UTF_8, tmp_path / "play")
    assert "written to caf\\udce9-5.sgf\n" in done.out
    assert (tmp_path / "play" / f"{NO_TEXT}-5.sgf").exists()
