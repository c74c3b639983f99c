"""The matches of `nobi learn`: a candidate against the best network so far, and the best one against a fixed engine."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nobi_machine.interruption import interruptible
from nobi_machine.launch import python_command
from nobi_machine.text import printable, split_command
from training.config import LearnConfig
from training.errors import TrainingError
from training.files import make_folder, named_errors, write_whole

OWN_ENGINE = "nobi"
"""What stands for this installation's `nobi gtp` in the commands of `nobi match`."""
COMMAND = "command.json"
"""The file in a match's folder that tells by which command it began: only with the same one does it go on."""
LOOK_EVERY = 0.1
"""Seconds between two looks at whether a running match is to be interrupted."""
OWN_END = 2.0
"""Seconds that an interrupted match has to end by itself: Ctrl-C in a terminal reaches it as well, and a second signal
would disturb its end."""


@dataclass(frozen=True)
class MatchResult:
    """The result of a match on one board size, from the side of the first network."""

    size: int
    wins: int
    draws: int
    losses: int
    low: float
    high: float
    """Ends of the 95 % interval of the score, 0 to 1."""
    is_stronger: bool
    """Decided by the sequential test, or by the score where there was no test or the games ran out first."""


def play_match(candidate: Path, best: Path, size: int, config: LearnConfig, out: Path, threads: int) -> MatchResult:
    """Play a match between two networks at equal visits. Raises TrainingError where it fails."""
    engines = [f"{_engine(network, config)} --visits {config.match_visits}" for network in (candidate, best)]
    names = ("candidate", "best")
    return _match(engines, names, size, config.match_games, out, threads, ["--sprt", config.match_elo])


def play_anchor(best: Path, size: int, config: LearnConfig, out: Path, threads: int) -> MatchResult:
    """Play a match between a network and the engine `config.anchor` at equal time. Raises TrainingError where it
    fails."""
    engines = [_engine(best, config), config.anchor]
    limits = ["--time", str(config.anchor_time)]
    return _match(engines, ("best", "anchor"), size, config.anchor_games, out, threads, limits)


def check_anchor(config: LearnConfig) -> None:
    """Raise TrainingError where the program of the engine `config.anchor`, if one is named, cannot be found."""
    if not config.anchor:
        return
    try:
        words = split_command(config.anchor)
    except ValueError as error:
        raise TrainingError(f"learn.anchor: cannot read the engine's command: {error}") from None
    if not words:
        raise TrainingError("learn.anchor: the engine's command is empty")
    if words[0] != OWN_ENGINE and shutil.which(words[0]) is None:
        raise TrainingError(f"learn.anchor: there is no program {printable(words[0])} that can be started")


def _engine(network: Path, config: LearnConfig) -> str:
    return f'{OWN_ENGINE} --net "{network.resolve()}" --precision {config.precision} --workers 1 --set lag=0'


def _match(
    engines: list[str], names: tuple[str, str], size: int, games: int, out: Path, threads: int, options: list[str]
) -> MatchResult:
    command = python_command("gtp_engine.cli", "match", *engines, *options)
    # A network that knows little does not know which stones are dead, so the board is counted as it stands.
    command += ["--rules", "tromp-taylor", "--size", str(size), "--name-a", names[0], "--name-b", names[1]]
    out = _folder_of(command, out)
    command += ["--games", str(games), "--parallel", str(max(1, threads // 2)), "--out", str(out), "--json"]
    printed, exit_code = _run(command)
    try:
        result = json.loads(printed)
        test = (result.get("sprt") or {}).get("accepted")
        low, high = (float(end) for end in result["score_interval"])
        wins, draws, losses = (int(result[name]) for name in ("wins", "draws", "losses"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise TrainingError(f"the match in {out} failed (exit code {exit_code})") from None
    return MatchResult(size, wins, draws, losses, low, high, wins > losses if test is None else bool(test))


def _folder_of(command: list[str], out: Path) -> Path:
    """Return the folder of the match that `command` describes: `out`, or where that holds another match, because the
    settings were changed after an interruption, `out`-2, `out`-3, ... Raises TrainingError."""
    content = json.dumps(command).encode()
    for number in itertools.count(1):
        folder = out if number == 1 else out.with_name(f"{out.name}-{number}")
        note = folder / COMMAND
        with named_errors(note):
            if note.exists():
                if note.read_bytes() == content:
                    return folder
            elif not (folder / "record.jsonl").exists():
                make_folder(folder)
                write_whole(note, content)
                return folder
    raise AssertionError("there are more numbers than folders")


def _run(command: list[str]) -> tuple[bytes, int]:
    """Run a program; return what it printed and its exit code. Raises KeyboardInterrupt after SIGINT and SIGTERM, once
    the program has ended as well."""
    with interruptible() as interrupted:
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            while not interrupted.is_set():
                with suppress(subprocess.TimeoutExpired):
                    printed, _ = process.communicate(timeout=LOOK_EVERY)
                    return printed, process.returncode
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=OWN_END)
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate()
    raise KeyboardInterrupt
