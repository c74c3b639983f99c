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
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gtp_engine.errors import UserError
from gtp_engine.match.command import play_all
from gtp_engine.match.conditions import Conditions, read_conditions
from gtp_engine.match.engines import engine_command
from gtp_engine.match.play import Contest
from gtp_engine.match.record import sprt_run, tally
from gtp_engine.match.statistics import score_interval
from gtp_engine.match.table import status
from nets.open import NetworkFile, open_network
from nobi_machine.progress import StatusLine
from nobi_machine.text import printable
from training.config import LearnConfig, TrainingConfig
from training.errors import TrainingError
from training.files import CHECKPOINT, STUDENT, card_beside, make_folder, write_whole
from training.labels.samples import sample_files
from training.run.checkpoint import is_within_leg
from training.run.loop import open_run
from training.run.trained_network import start_of
from training.run.training_log import new_figure
from training.selfplay import selfplay

BEST, CANDIDATE = "best.bin.gz", "candidate.bin.gz"
SELFPLAY, MATCHES, GENERATIONS = "selfplay", "matches", "learn.json"
GAMES = 1_000_003
"""More files of self-play than any run has, so that the games of each generation get different random numbers."""

ENTRY = {"kept", "match"}
"""What every generation in learn.json has."""


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


def learn(folder: Path, config: TrainingConfig, generations: int, budget: float, threads: int) -> int:
    """Go through generations, each with `budget` seconds of training, in a run's folder.

    Return how many candidates were kept. Raises TrainingError, EvaluatorError, and UserError from a match."""
    check_anchor(config.learn)  # now, and not after hours
    status = StatusLine()
    history = _read_history(folder)
    if not (folder / BEST).exists():
        if not (folder / STUDENT).exists():
            if start_of(folder) is None:
                status.note(f"{folder} has no network: learning begins with random weights")
            open_run(folder, config).write_network()
        _copy(folder, STUDENT, BEST)
    make_folder(folder / MATCHES)
    kept = 0
    for _ in range(generations):
        number = len(history) + 1
        if not _has_unfinished_match(folder, history):
            if not _train_candidate(folder, config, number, budget, threads, status):
                return kept  # interrupted: the same command goes on with this leg
            _copy(folder, STUDENT, CANDIDATE)
        status.note(f"generation {number}: match")
        networks = folder / CANDIDATE, folder / BEST
        results = [
            play_match(*networks, size, config.learn, folder / MATCHES / f"{number}-{size}", threads)
            for size in config.learn.match_sizes
        ]
        is_kept = all(result.is_stronger for result in results)
        candidate = NetworkFile(folder / CANDIDATE).sha256
        if is_kept:
            _copy(folder, CANDIDATE, BEST)
            kept += 1
        _copy(folder, BEST, STUDENT)
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
        try:
            draw_generations(history, folder / "plots")
        except OSError as error:
            status.note(f"{folder / 'plots'}: {error.strerror or error}; learning goes on")
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
    return open_run(folder, with_selfplay(config, window)).train(budget).spent >= 1.0


def _has_unfinished_match(folder: Path, history: list[dict[str, Any]]) -> bool:
    """Return whether there is a candidate whose match was not finished."""
    candidate = folder / CANDIDATE
    return candidate.exists() and not (history and history[-1].get("candidate") == NetworkFile(candidate).sha256)


def _copy(folder: Path, source: str, target: str) -> None:
    """Copy a network and its card, where it has one, each whole or not at all."""
    network = folder / source
    for found, name in ((network, target), (card_beside(network), card_beside(folder / target).name)):
        if found.exists():
            write_whole(folder / name, found.read_bytes())


def with_selfplay(config: TrainingConfig, folders: list[Path]) -> TrainingConfig:
    """Give the self-play samples in `folders` their share of the steps; records and games by policy keep their
    proportions in the rest."""
    data, share = config.data, config.learn.samples_share
    others = data.records_share + data.play_share
    scale = (1.0 - share) / others if others else 0.0
    data = replace(
        data,
        records_share=data.records_share * scale,
        play_share=data.play_share * scale,
        samples_share=share,
        samples=tuple(str(folder) for folder in folders if folder.is_dir()),
    )
    return replace(config, data=data)


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


def play_match(candidate: Path, best: Path, size: int, config: LearnConfig, out: Path, threads: int) -> MatchResult:
    """Play a match between two networks at equal visits. Raises UserError, and KeyboardInterrupt, after which the same
    call goes on."""
    engines = [f"{_engine(network, config)} --visits {config.match_visits}" for network in (candidate, best)]
    names = ("candidate", "best")
    return _match(engines, names, size, config.match_games, out, threads, sprt=config.match_elo)


def play_anchor(best: Path, size: int, config: LearnConfig, out: Path, threads: int) -> MatchResult:
    """Play a match between a network and the engine `config.anchor` at equal time. Raises what `play_match` raises."""
    engines, seconds = [_engine(best, config), config.anchor], config.anchor_time
    return _match(engines, ("best", "anchor"), size, config.anchor_games, out, threads, seconds=seconds)


def check_anchor(config: LearnConfig) -> None:
    """Raise TrainingError where the program of the engine `config.anchor`, if one is named, cannot be found."""
    if not config.anchor:
        return
    try:
        program = engine_command(config.anchor)[0]
    except UserError as error:
        raise TrainingError(f"learn.anchor: {error}") from None
    if shutil.which(program) is None:
        raise TrainingError(f"learn.anchor: there is no program {printable(program)} that can be started")


def _engine(network: Path, config: LearnConfig) -> str:
    return f'nobi --net "{network.resolve()}" --precision {config.precision} --workers 1 --set lag=0'


def _match(
    engines: Sequence[str], names: tuple[str, str], size: int, games: int, out: Path, threads: int, **options: Any
) -> MatchResult:
    # A network that knows little does not know which stones are dead, so the board is counted as it stands.
    options |= {"size": (size, size), "rules": "tromp-taylor"}
    conditions = read_conditions(**options, parallel=max(1, threads // 2))
    commands = [engine_command(engine) for engine in engines]
    conditions.names(commands, names, names)
    contest = _opened(out, commands, names, conditions)
    what, folder = f"{names[0]} against {names[1]}; record", contest.record.folder
    play_all("learn", what, [contest], conditions, games, folder, status(names, games))
    score, test = tally(contest.record.games), None
    if conditions.sprt is not None:
        test = sprt_run(conditions.sprt, contest.record.games).decision
    is_stronger = score.wins > score.losses if test is None else bool(test)
    return MatchResult(size, score.wins, score.draws, score.losses, *score_interval(score), is_stronger)


def _opened(out: Path, commands: Sequence[list[str]], names: Sequence[str], conditions: Conditions) -> Contest:
    """The match in one of the folders `out`-NN, or a new one, also where settings were changed meanwhile."""
    others = sorted(out.parent.glob(f"{out.name}-[0-9a-f][0-9a-f]*"))
    for folder in others:
        with suppress(UserError):
            return Contest(folder, (0, 1), commands, names, conditions)
    return Contest(out.with_name(f"{out.name}-{len(others) + 1:02d}"), (0, 1), commands, names, conditions)
