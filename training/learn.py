"""Past the teacher: generations of self-play, training on it, and a match that the result must win to be kept.

RUN/best.bin.gz     the strongest network so far: it plays the games
RUN/selfplay/       their samples
RUN/matches/        each candidate's match against the best
RUN/learn.json      generations done and how each candidate fared
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nets.open import open_network
from training.checkpoint import is_within_leg
from training.config import LearnConfig, TrainingConfig
from training.errors import TrainingError
from training.files import make_folder, write_whole
from training.loop import CHECKPOINT, STUDENT, Stint, open_run
from training.progress import Reporter
from training.selfplay import selfplay

BEST, SELFPLAY, MATCHES, STATE = "best.bin.gz", "selfplay", "matches", "learn.json"


@dataclass(frozen=True)
class Verdict:
    """A candidate's match on one board size."""

    size: int
    wins: int
    draws: int
    losses: int
    is_stronger: bool
    """By the sequential test, or by score where the games ran out first."""


def learn(folder: Path, config: TrainingConfig, generations: int, budget: float, threads: int) -> int:
    """Go through so many generations, each with `budget` seconds of training, in a run's folder that has a student.
    Returns how many candidates were kept. Raises TrainingError, EvaluatorError."""
    best = folder / BEST
    if not best.exists():
        if not (folder / STUDENT).exists():
            raise TrainingError(f"{folder}: no network to begin with; `nobi train {folder}` makes one")
        shutil.copyfile(folder / STUDENT, best)
    make_folder(folder / MATCHES)
    history = _read_history(folder)
    reporter = Reporter(folder)
    kept = 0
    for _ in range(generations):
        number = len(history) + 1
        if not is_within_leg(folder / CHECKPOINT):
            reporter.note(f"generation {number}: self-play")
            selfplay(folder / SELFPLAY, open_network(best), config.data, config.learn.games, threads, seed=number)
        reporter.note(f"generation {number}: training")
        progress = open_run(folder, with_selfplay(config, folder / SELFPLAY)).train(Stint(budget))
        if progress.spent < 1.0:
            return kept  # interrupted: the same command goes on with this leg
        reporter.note(f"generation {number}: match")
        verdicts = [
            play_match(folder / STUDENT, best, size, config.learn, folder / MATCHES / f"{number}-{size}", threads)
            for size in config.learn.match_sizes
        ]
        is_kept = all(verdict.is_stronger for verdict in verdicts)
        if is_kept:
            shutil.copyfile(folder / STUDENT, best)
            kept += 1
        history.append({"kept": is_kept, "match": [vars(verdict) for verdict in verdicts]})
        write_whole(folder / STATE, json.dumps(history, indent=1).encode())
        scores = ", ".join(f"{v.wins}-{v.losses} on {v.size}x{v.size}" for v in verdicts)
        reporter.note(f"generation {number}: {scores}: {'kept' if is_kept else 'not kept'}")
    return kept


def with_selfplay(config: TrainingConfig, samples: Path) -> TrainingConfig:
    """The configuration with its share of steps on self-play samples, the other sources sharing the rest as before."""
    data, share = config.data, config.learn.samples_share
    others = data.records_share + data.play_share + data.samples_share
    scale = (1.0 - share) / others if others else 0.0
    total = share + data.samples_share * scale
    return msgspec.structs.replace(
        config,
        data=msgspec.structs.replace(
            data,
            records_share=data.records_share * scale,
            play_share=data.play_share * scale,
            samples_share=total,
            samples=(*data.samples, str(samples)),
        ),
    )


def play_match(candidate: Path, best: Path, size: int, config: LearnConfig, out: Path, threads: int) -> Verdict:
    """`nobi match` between two networks at equal visits. Raises TrainingError where it cannot be played."""
    options = f"--visits {config.match_visits} --workers 1"
    engines = [f'nobi --net "{network.resolve()}" {options}' for network in (candidate, best)]
    command = [sys.executable, "-m", "gtp_engine.cli", "match", *engines]
    command += ["--games", str(config.match_games), "--size", str(size), "--sprt", config.match_elo]
    command += ["--parallel", str(max(1, threads // 2)), "--name-a", "candidate", "--name-b", "best"]
    command += ["--out", str(out), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ.copy(), check=False)
    try:
        result = json.loads(done.stdout)
        test = result["sprt"]["accepted"]
        wins, draws, losses = (int(result[name]) for name in ("wins", "draws", "losses"))
    except (ValueError, KeyError, TypeError):
        raise TrainingError(f"the match in {out} failed (exit code {done.returncode})") from None
    return Verdict(size, wins, draws, losses, wins > losses if test is None else bool(test))


def _read_history(folder: Path) -> list[dict[str, object]]:
    try:
        history = json.loads((folder / STATE).read_text())
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        raise TrainingError(f"{folder / STATE}: damaged; remove it to begin counting generations anew") from None
    return history if isinstance(history, list) else []
