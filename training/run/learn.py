"""Learning without a teacher: generations of self-play, training on it, and a match that the new network must win.

RUN/best.bin.gz       the strongest network so far: it plays the games, and RUN/student.bin.gz is the same
RUN/candidate.bin.gz  the network that the match decides about
RUN/selfplay/         samples of the games, a folder for each generation
RUN/matches/          each candidate's match against the best, and the best ones' against the anchor
RUN/learn.json        generations done and how each candidate fared; plots/generations.png draws them

A folder without a network begins with random weights.

What was interrupted goes on: a match with the same candidate, a leg where it stopped.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from nets.open import NetworkFile, open_network
from training.config import TrainingConfig
from training.errors import TrainingError
from training.files import make_folder, write_whole
from training.run.checkpoint import is_within_leg
from training.run.folder import (
    BEST,
    BEST_CARD,
    CANDIDATE,
    CANDIDATE_CARD,
    CARD,
    CHECKPOINT,
    GENERATIONS,
    MATCHES,
    SELFPLAY,
    STUDENT,
)
from training.run.loop import TrainingTime, open_run
from training.run.matches import check_anchor, play_anchor, play_match
from training.run.trained_network import start_of
from training.run.training_log import new_figure
from training.samples.sample_files import sample_files
from training.selfplay.play import selfplay
from training.status_line import StatusLine

GAMES = 1_000_003
"""More files of self-play than any run has, so that the games of each generation get different random numbers."""

ENTRY = {"kept", "match"}
"""What every generation in learn.json has."""


def learn(folder: Path, config: TrainingConfig, generations: int, budget: float, threads: int) -> int:
    """Go through generations, each with `budget` seconds of training, in a run's folder.

    Return how many candidates were kept. Raises TrainingError, EvaluatorError."""
    check_anchor(config.learn)  # now, and not after hours
    status = StatusLine()
    history = _read_history(folder)
    if not (folder / BEST).exists():
        if not (folder / STUDENT).exists():
            if start_of(folder) is None:
                status.note(f"{folder} has no network: learning begins with random weights")
            open_run(folder, config).write_network()
        _copy(folder, (STUDENT, CARD), (BEST, BEST_CARD))
    make_folder(folder / MATCHES)
    kept = 0
    for _ in range(generations):
        number = len(history) + 1
        if not _has_unfinished_match(folder, history):
            if not _train_candidate(folder, config, number, budget, threads, status):
                return kept  # interrupted: the same command goes on with this leg
            _copy(folder, (STUDENT, CARD), (CANDIDATE, CANDIDATE_CARD))
        status.note(f"generation {number}: match")
        networks = folder / CANDIDATE, folder / BEST
        results = [
            play_match(*networks, size, config.learn, folder / MATCHES / f"{number}-{size}", threads)
            for size in config.learn.match_sizes
        ]
        is_kept = all(result.is_stronger for result in results)
        candidate = NetworkFile(folder / CANDIDATE).sha256
        if is_kept:
            _copy(folder, (CANDIDATE, CANDIDATE_CARD), (BEST, BEST_CARD))
            kept += 1
        _copy(folder, (BEST, BEST_CARD), (STUDENT, CARD))
        anchored = []
        if config.learn.anchor and number % config.learn.anchor_every == 0:
            anchored = [
                play_anchor(folder / BEST, size, config.learn, folder / MATCHES / f"{number}-{size}-anchor", threads)
                for size in config.learn.match_sizes
            ]
        generation = {"candidate": candidate, "kept": is_kept}
        generation["match"], generation["anchor"] = ([vars(each) for each in those] for those in (results, anchored))
        history.append(generation)
        write_whole(folder / GENERATIONS, json.dumps(history, indent=1).encode())
        _draw(folder, history, status)
        scores = ", ".join(f"{v.wins}-{v.losses} on {v.size}x{v.size}" for v in results)
        status.note(f"generation {number}: {scores}: {'kept' if is_kept else 'not kept'}")
    return kept


def _train_candidate(
    folder: Path, config: TrainingConfig, number: int, budget: float, threads: int, status: StatusLine
) -> bool:
    """Play games, unless a leg on them was interrupted, and train a leg. Return whether the leg has ended."""
    games = folder / SELFPLAY / str(number)
    files = len(sample_files(games))
    if files == 0 or not is_within_leg(folder / CHECKPOINT):
        status.note(f"generation {number}: self-play")
        evaluator = open_network(folder / BEST, config.learn.precision)
        selfplay(games, evaluator, config.data, config.learn.games, threads, number * GAMES + files)
    status.note(f"generation {number}: training")
    first = max(1, number + 1 - config.learn.window)
    window = [folder / SELFPLAY / str(each) for each in range(first, number + 1)]
    return open_run(folder, with_selfplay(config, window)).train(TrainingTime(budget)).spent >= 1.0


def _has_unfinished_match(folder: Path, history: list[dict[str, Any]]) -> bool:
    """Return whether there is a candidate whose match was not finished."""
    candidate = folder / CANDIDATE
    return candidate.exists() and not (history and history[-1].get("candidate") == NetworkFile(candidate).sha256)


def _copy(folder: Path, sources: tuple[str, str], targets: tuple[str, str]) -> None:
    """Copy a network and its card, where it has one, each whole or not at all."""
    for source, target in zip(sources, targets, strict=True):
        if (folder / source).exists():
            write_whole(folder / target, (folder / source).read_bytes())


def with_selfplay(config: TrainingConfig, folders: list[Path]) -> TrainingConfig:
    """Give the self-play samples in `folders` their share of the steps; the other sources keep their proportions in the
    rest."""
    data, share = config.data, config.learn.samples_share
    others = data.records_share + data.play_share + data.samples_share
    scale = (1.0 - share) / others if others else 0.0
    return replace(
        config,
        data=replace(
            data,
            records_share=data.records_share * scale,
            play_share=data.play_share * scale,
            samples_share=data.samples_share * scale,
            fresh_share=share,
            fresh=tuple(str(folder) for folder in folders if folder.is_dir()),
        ),
    )


def draw_generations(history: list[dict[str, Any]], folder: Path) -> None:
    """Draw generations.png from the entries of learn.json, if there are any and matplotlib is installed: what the
    matches against the best network before it sum up to, and the score against the anchor. Raises OSError."""
    figure = new_figure(10, 4)
    if not history or figure is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    chain, anchor = figure.subplots(1, 2)
    for size in sorted({match["size"] for generation in history for match in generation["match"]}):
        label = f"{size}x{size}"
        ratings = chain_ratings(history, size)
        chain.step(range(len(ratings)), ratings, where="post", label=label)
        anchored = [
            (i, match)
            for i, each in enumerate(history, 1)
            for match in each.get("anchor") or ()
            if match["size"] == size
        ]
        if anchored:
            scores = [_score(each) for _, each in anchored]
            below = [score - each["low"] for score, (_, each) in zip(scores, anchored, strict=True)]
            over = [each["high"] - score for score, (_, each) in zip(scores, anchored, strict=True)]
            anchor.errorbar([i for i, _ in anchored], scores, [below, over], marker=".", capsize=2, label=label)
    chain.set(ylabel="Elo", title="best network, by matches against the one before")
    anchor.set(ylabel="score", ylim=(0, 1), title="against the anchor at equal time")
    anchor.axhline(0.5, linestyle=":", linewidth=1, color="grey")
    for axes in (chain, anchor):
        axes.set(xlabel="generation", xlim=(0, len(history) + 0.5))
        axes.xaxis.get_major_locator().set_params(integer=True)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7)
    figure.savefig(folder / "generations.png", dpi=100)


def chain_ratings(history: list[dict[str, Any]], size: int) -> list[float]:
    """Return the Elo of the best network after 0, 1, ... generations on boards of `size`: each network that was kept is
    as much stronger as its match says, with half a game added to either side, so that no match is worth infinitely
    much. A generation without a match on such boards changes nothing.
    """
    ratings = [0.0]
    for generation in history:
        gain = 0.0
        match = next((each for each in generation["match"] if each["size"] == size), None)
        if generation["kept"] and match is not None:
            games = match["wins"] + match["draws"] + match["losses"]
            share = (_score(match) * games + 0.5) / (games + 1)
            gain = 400 * math.log10(share / (1 - share))
        ratings.append(ratings[-1] + gain)
    return ratings


def _score(match: dict[str, Any]) -> float:
    return float((match["wins"] + match["draws"] / 2) / max(1, match["wins"] + match["draws"] + match["losses"]))


def _draw(folder: Path, history: list[dict[str, Any]], status: StatusLine) -> None:
    try:
        draw_generations(history, folder / "plots")
    except OSError as error:
        status.note(f"{folder / 'plots'}: {error.strerror or error}; learning goes on")


def _read_history(folder: Path) -> list[dict[str, Any]]:
    try:
        history = json.loads((folder / GENERATIONS).read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        history = None
    is_sound = isinstance(history, list) and all(isinstance(each, dict) and each.keys() >= ENTRY for each in history)
    if not is_sound:
        raise TrainingError(f"{folder / GENERATIONS}: damaged; remove it to begin counting generations anew")
    return list(history)
