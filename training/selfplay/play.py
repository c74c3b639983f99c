"""Games of a network against itself, by search, and the samples they leave.

Most moves are searched quickly, just to play on; a share of them, at random, in full and with noise, and those are
learned from: their visits are the policy, and the game's result and the search's own value the value. (Playout cap
randomisation: Wu, "Accelerating Self-Play Learning in Go", 2019.) Where there is a teacher it makes the full searches,
the labels are its opinion alone, and only what the player disagrees about is kept, if so wanted: its own mistakes.
Instead of searching it can say what it thinks of leaves of the player's own searches (leaves.py), at a small part of
the cost. And it can play against the player: what a network is blind to, two of it do not punish.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, point_at
from go_rules.rules import preset
from nets.evaluator import Evaluator
from nets.features import scratch_for
from search.policy.player import PolicyPlayer
from search.puct.parameters import SearchParameters
from search.puct.player import PuctPlayer
from search.request import Limits, ReportRequest, SearchRequest
from training.config import DataConfig
from training.positions.batch import OFF_BOARD, board_cells, sizes_on
from training.positions.shares import canvas_shares, pick
from training.run.interruption import interruptible
from training.run.progress import Reporter
from training.run.yardstick import evaluate_function
from training.samples.origin import Origin, add_origin
from training.samples.sample_files import Samples, SampleWriter, unpack_planes
from training.selfplay.leaves import Recorder, labelled
from training.selfplay.searched import Searched, samples_of_game, samples_of_searches, searched
from training.teacher.disagreement import Selection, disagreement

MAX_LENGTH = 2.5
"""A game is given up undecided after so many moves a point of the board."""
RESIGN_TURNS = 3
"""Successive searches that must find the game lost."""
SAMPLES_A_FILE = 2048
"""Fewer than labelling writes at a time: here they are worth minutes."""
AT_THE_END = ReportRequest(lambda _result: None, every=1e9, ownership=True)


@dataclasses.dataclass(frozen=True)
class Teacher:
    """Who makes the full searches in the player's place."""

    evaluator: Evaluator
    disagreement: float = 1.0
    """Share of the positions to keep: those that the player disagrees about most."""
    leaves: float | None = None
    """Share of the positions that the player's searches evaluate which the teacher labels, with its bare network; None:
    it searches, and labels the positions of the game."""


class SelfPlayer:
    """Plays games one after another; for one thread."""

    def __init__(self, evaluator: Evaluator, config: DataConfig, seed: int, teacher: Teacher | None = None) -> None:
        self._config = config
        self._generator = np.random.default_rng(seed)
        self._evaluator, self._teacher = evaluator, teacher
        self._recorder: Recorder | None = None
        if teacher is not None and teacher.leaves is not None:
            self._recorder = Recorder(evaluator, teacher.leaves, np.random.default_rng((seed, 1)))
        quick = SearchParameters(
            workers=1,
            memory=64,
            cache_memory=16,
            seed=seed,
            temperature_early=config.selfplay.temperature,
            temperature=0.2,
            lcb=False,
        )
        full = dataclasses.replace(quick, root_noise=teacher is None, root_policy_optimism=0.0, policy_optimism=0.0)
        searcher = evaluator if teacher is None else teacher.evaluator
        self._quick = PuctPlayer(self._recorder or evaluator, quick)
        self._full = PuctPlayer(searcher, full) if self._recorder is None else None
        self._opponent = PolicyPlayer(teacher.evaluator, quick) if teacher and config.selfplay.opponent else None
        self._scratch = scratch_for(searcher)

    def play(self, stop: threading.Event) -> Samples | None:
        """One game's samples, or None where there are none. `stop` ends it early, undecided."""
        settings = self._config.selfplay
        canvas, game = self._new_game()
        may_resign = self._generator.random() >= settings.resign_free
        opponent = None
        if self._opponent is not None and self._generator.random() < settings.opponent:
            opponent = BLACK if self._generator.random() < 0.5 else WHITE
        positions: list[Searched] = []
        lost = {BLACK: 0, WHITE: 0}
        loser = None
        limit = MAX_LENGTH * game.width * game.height
        while not game.is_over and len(game.moves) < limit and not stop.is_set():
            result = None
            is_full = self._generator.random() < settings.full_share
            if is_full and self._full is not None:
                limits = Limits(visits=settings.visits, may_stop_early=False)
                report = None if self._teacher is None else AT_THE_END
                result = self._full.search(SearchRequest(game, game.to_play, limits, report=report))
                positions.append(searched(game, result, self._scratch, canvas))
            player = self._opponent if self._opponent is not None and game.to_play == opponent else self._quick
            if result is None or self._teacher is not None:
                visits = settings.visits if is_full and self._full is None else settings.quick_visits
                result = player.search(SearchRequest(game, game.to_play, Limits(visits=visits)))
            lost[result.colour] = lost[result.colour] + 1 if result.winrate < settings.resign_below else 0
            if may_resign and lost[result.colour] >= RESIGN_TURNS:
                loser = result.colour
                break
            game.play(result.colour, player.choose(game, result))
        if self._teacher is not None and self._recorder is not None:
            leaves = self._recorder.take()
            return labelled(leaves, self._teacher.evaluator, canvas) if leaves else None
        if self._teacher is not None:
            return samples_of_searches(game, positions, canvas) if positions else None
        return samples_of_game(game, positions, canvas, loser, settings.result_weight)

    def disagreements(self, samples: Samples) -> NDArray[np.float32]:
        """[N]: how far the player's bare network is from a teacher's labels of one game's positions."""
        canvas = samples.canvas
        planes = unpack_planes(samples.planes, canvas)
        size = int(planes[0, 0, 0].sum())
        boards = np.ascontiguousarray(planes[:, :, :size, :size], np.float32)
        evaluation = evaluate_function(self._evaluator)(boards, samples.global_)
        points = board_cells(size, canvas)
        logits = np.full((samples.length, canvas * canvas + 1), OFF_BOARD, np.float32)
        logits[:, [*points, canvas * canvas]] = evaluation.policy
        ownership = np.zeros((samples.length, canvas * canvas), np.float32)
        ownership[:, points] = evaluation.ownership
        return disagreement(logits, evaluation.value, ownership, samples)

    def close(self) -> None:
        for player in (self._quick, self._full, self._opponent):
            if player is not None:
                player.close()

    def _new_game(self) -> tuple[int, Game]:
        generator, config = self._generator, self._config
        canvas = pick(canvas_shares(config.canvas_shares), generator)
        size = int(generator.choice(sizes_on(canvas)))
        rules, komi = preset(pick(config.rules, generator))
        if generator.random() >= config.own_komi:
            komi = round(2 * (komi + float(generator.normal(0, config.komi_deviation)))) / 2
        game = Game(size, size, rules, komi)
        if generator.random() < config.selfplay.handicap:
            inner = [point_at(x, y) for y in range(2, size - 2) for x in range(2, size - 2)]
            count = int(generator.integers(2, 5))
            game.place_handicap([int(point) for point in generator.choice(inner, count, replace=False)])
        return canvas, game


def selfplay(
    folder: Path,
    evaluator: Evaluator,
    config: DataConfig,
    games: int,
    threads: int,
    seed: int,
    teacher: Teacher | None = None,
) -> int:
    """Write the samples of `games` games to `folder`, played by so many threads. Returns the number of samples. Raises
    TrainingError, EvaluatorError, and KeyboardInterrupt once what was played until Ctrl-C is written."""
    writer = SampleWriter(folder, SAMPLES_A_FILE)
    searching = evaluator if teacher is None else teacher.evaluator
    under_suicide = getattr(searching, "pass_alive_under_suicide", False)
    add_origin(folder, Origin((searching.name,), pass_alive_under_suicide=under_suicide))
    reporter = Reporter(folder)
    selection = None if teacher is None else Selection(teacher.disagreement)
    players = [SelfPlayer(evaluator, config, seed * 1009 + number, teacher) for number in range(threads)]
    started = time.monotonic()
    count = done = 0
    try:
        with interruptible() as stop, ThreadPoolExecutor(threads) as pool:
            begun = min(games, threads)
            waiting = {pool.submit(player.play, stop): player for player in players[:begun]}
            try:
                while waiting:
                    finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in finished:
                        player, samples = waiting.pop(future), future.result()
                        done += 1
                        if samples is not None:
                            if selection is not None:
                                source = str(samples.canvas)
                                samples = samples.chosen(selection.pick(source, player.disagreements(samples)))
                            count += samples.length
                            writer.add(samples)
                        if begun < games and not stop.is_set():
                            begun += 1
                            waiting[pool.submit(player.play, stop)] = player
                    speed = done / (time.monotonic() - started) * 60
                    reporter.line(f"{done} of {games} games, {count:,} samples, {speed:.1f} games a minute")
            except BaseException:
                stop.set()
                raise
    finally:
        writer.close()
        for player in players:
            player.close()
    reporter.line(f"{done} games, {count:,} samples in {time.monotonic() - started:,.0f} s", final=True)
    if selection is not None:
        reporter.note(selection.line())
    if stop.is_set():
        raise KeyboardInterrupt
    return count
