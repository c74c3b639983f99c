"""Self-play: games of a network against itself by search, in several threads, written to sample files.

Most moves are searched quickly, just to play on. A share of them, chosen at random, is searched in full with noise, and
those are learned from: their visits become the policy; the game's result and the search's value become the value
(playout cap randomisation: Wu, "Accelerating Self-Play Learning in Go", 2019).

In a reanalysis a stronger network, the teacher, makes the full searches instead, and its results alone become the
labels; or it evaluates leaves of the player's own searches (training/selfplay/labels.py), which costs much less. It can
also play one side of the games, since a network does not punish its own mistakes.

Game records can be searched in the same way: their moves are played then, and only the full searches are made.
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
from go_rules.points import BLACK, PASS, WHITE, point_at
from go_rules.position import HISTORY_MOVES
from go_rules.rule_names import preset
from go_rules.rules import SCORING_TERRITORY
from nets.evaluator import Evaluator, RecordingEvaluator
from nets.features import scratch_for
from nobi_machine.interruption import interruptible
from search.nobi.parameters import SearchParameters
from search.nobi.player import PolicyPlayer, PuctPlayer
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from training.config import DataConfig
from training.errors import TrainingError
from training.positions.canvas import OFF_BOARD, read_canvas_shares, sizes_on, to_canvas
from training.positions.game_conditions import choose_by_share
from training.positions.records import load_records
from training.positions.replay import Records
from training.positions.sgf_records import SIZE
from training.run.measure import evaluate_function
from training.samples.sample_files import Origin, SampleWriter
from training.samples.samples import Samples, unpack_planes
from training.selfplay.labels import (
    SearchedPosition,
    label_again,
    label_leaves,
    samples_from_game,
    samples_from_searches,
    searched_position,
)
from training.status_line import StatusLine
from training.teacher.hard_examples import HardExampleFilter, disagreement

USUAL_SHARE = 0.5
"""Share of the games that are played on a canvas's own size, 9×9, 13×13 or 19×19, as people do; the others have any of
its sizes."""
MAX_LENGTH = 2.5
"""A game is given up after this many moves for each point of the board."""
SAMPLES_A_FILE = 2048
"""Samples in a file: fewer than labelling writes, since they take minutes to make."""
RESIGN_TURNS = 3
"""A side resigns when this many of its successive searches find the game lost."""


@dataclasses.dataclass(frozen=True)
class Reanalysis:
    """How a teacher labels the positions of self-play games."""

    evaluator: Evaluator
    """The teacher's network."""
    share: float = 1.0
    """The share of the labelled positions to keep: those about which the player disagrees most."""
    leaves: float | None = None
    """The share of the positions evaluated by the player's searches that the teacher evaluates, without a search. None:
    the teacher searches positions of the game."""
    screen: Evaluator | None = None
    """A quicker network that labels leaves first, to judge the disagreement: the teacher labels those that are kept."""


class SelfPlayWorker:
    """Plays games one after another, in one thread."""

    def __init__(
        self,
        evaluator: Evaluator,
        config: DataConfig,
        seed: int,
        reanalysis: Reanalysis | None = None,
        records: Records | None = None,
    ) -> None:
        """Play by `evaluator`. `seed` starts all random numbers. `records` are the games whose moves are played in
        `config.selfplay.records` of those on 19×19 canvases."""
        self._config, self._records = config, records
        self._generator = np.random.default_rng(seed)
        self._evaluator, self._reanalysis = evaluator, reanalysis
        self._recorder: RecordingEvaluator | None = None
        if reanalysis is not None and reanalysis.leaves is not None:
            share, generator = reanalysis.leaves, np.random.default_rng((seed, 1))
            self._recorder = RecordingEvaluator(
                evaluator, chosen=lambda count: np.flatnonzero(generator.random(count) < share)
            )
        quick = SearchParameters(
            workers=1,
            memory=64,
            cache_memory=16,
            seed=seed,
            temperature_early=config.selfplay.temperature,
            temperature=0.2,
            lcb=False,
            handicap_doublings=0.0,
        )
        full = dataclasses.replace(quick, root_noise=reanalysis is None, root_policy_optimism=0.0, policy_optimism=0.0)
        searcher = evaluator if reanalysis is None else reanalysis.evaluator
        self._quick = PuctPlayer(self._recorder or evaluator, quick)
        self._full = PuctPlayer(searcher, full) if self._recorder is None else None
        self._opponent = None
        if reanalysis is not None and config.selfplay.opponent:
            self._opponent = PolicyPlayer(reanalysis.evaluator, quick)
        self._scratch = scratch_for(searcher)

    def play(self, stop: threading.Event) -> Samples | None:
        """Play a game and return its samples, or None where it has none. `stop` ends the game early, undecided."""
        settings = self._config.selfplay
        canvas, game, record = self._new_game()
        may_resign = record is None and self._generator.random() >= settings.resign_free
        opponent = None
        if self._opponent is not None and self._generator.random() < settings.opponent:
            opponent = BLACK if self._generator.random() < 0.5 else WHITE
        positions: list[SearchedPosition] = []
        lost = {BLACK: 0, WHITE: 0}
        loser = None
        limit = MAX_LENGTH * game.width * game.height
        while not game.is_over and len(game.moves) < limit and not stop.is_set():
            if record is not None and len(game.moves) == len(record):
                break
            result = None
            is_full = self._generator.random() < settings.full_share
            if is_full and self._full is not None:
                limits = Limits(visits=settings.visits, may_stop_early=False)
                report = None if self._reanalysis is None else OWNERSHIP_AT_THE_END
                result = self._full.search(SearchRequest(game, game.to_play, limits, report=report))
                turns = self._known_turns()
                positions.append(searched_position(game, result, self._scratch, canvas, turns))
            if record is not None:
                if is_full and self._full is None:
                    limits = Limits(visits=settings.visits, may_stop_early=False)
                    self._quick.search(SearchRequest(game, game.to_play, limits))
                point = record[len(game.moves)]
                if not game.is_legal(game.to_play, point):
                    break
                game.play(game.to_play, point)
                continue
            player = self._opponent if self._opponent is not None and game.to_play == opponent else self._quick
            if result is None or self._reanalysis is not None:
                visits = settings.visits if is_full and self._full is None else settings.quick_visits
                result = player.search(SearchRequest(game, game.to_play, Limits(visits=visits)))
            lost[result.colour] = lost[result.colour] + 1 if result.winrate < settings.resign_below else 0
            if may_resign and lost[result.colour] >= RESIGN_TURNS:
                loser = result.colour
                break
            game.play(result.colour, player.choose(game, result))
        if self._reanalysis is not None and self._recorder is not None:
            leaves = self._recorder.take_positions()
            labels_by = self._reanalysis.screen or self._reanalysis.evaluator
            return label_leaves(leaves, labels_by, canvas) if leaves else None
        if self._reanalysis is not None:
            return samples_from_searches(game, positions, canvas) if positions else None
        is_too_long = len(game.moves) >= limit
        return samples_from_game(game, positions, canvas, loser, settings.result_weight, is_too_long)

    def play_and_pick(self, stop: threading.Event, hard_examples: HardExampleFilter | None) -> Samples | None:
        """Play a game and return those of its samples that are to be kept, all of them without `hard_examples`."""
        samples = self.play(stop)
        if samples is None or hard_examples is None:
            return samples
        samples = samples.chosen(hard_examples.pick(str(samples.canvas), self.disagreements(samples)))
        if self._reanalysis is not None and self._reanalysis.screen is not None and samples.length:
            samples = label_again(samples, self._reanalysis.evaluator)
        return samples

    def disagreements(self, samples: Samples) -> NDArray[np.float32]:
        """Return [N]: how far the player's network, without a search, is from the teacher's labels of one game."""
        canvas = samples.canvas
        planes = unpack_planes(samples.planes, canvas)
        size = int(planes[0, 0, 0].sum())
        boards = np.ascontiguousarray(planes[:, :, :size, :size], np.float32)
        evaluation = evaluate_function(self._evaluator)(boards, samples.global_)
        logits = to_canvas(evaluation.policy, size, canvas, OFF_BOARD)
        return disagreement(logits, evaluation.value, to_canvas(evaluation.ownership, size, canvas), samples)

    def close(self) -> None:
        """Close all players and what they hold."""
        for player in (self._quick, self._full, self._opponent):
            if player is not None:
                player.close()

    def _known_turns(self) -> int:
        """Draw how many of the last moves a position that is learned from shows, as games by policy do."""
        hidden = np.flatnonzero(self._generator.random(HISTORY_MOVES) < self._config.forgotten)
        return int(hidden[0]) if len(hidden) else HISTORY_MOVES

    def _new_game(self) -> tuple[int, Game, list[int] | None]:
        """Begin a game. Return its canvas, the game, and the moves that are to be played where they are a record's."""
        generator, config = self._generator, self._config
        canvas = choose_by_share(read_canvas_shares(config.canvas_shares), generator)
        record = None
        if self._records is not None and canvas == SIZE and generator.random() < config.selfplay.records:
            record = int(generator.integers(len(self._records.result)))
        is_usual = record is not None or generator.random() < USUAL_SHARE
        size = canvas if is_usual else int(generator.choice(sizes_on(canvas)))
        rules, komi = preset(choose_by_share(config.rules, generator))
        if rules.scoring == SCORING_TERRITORY:
            # Nobody is there to say which stones are dead: they are taken off, or they count as alive.
            rules = dataclasses.replace(rules, cleanup=True)
        if generator.random() >= config.own_komi:
            komi = round(2 * (komi + float(generator.normal(0, config.komi_deviation)))) / 2
        game = Game(size, size, rules, komi)
        if record is None and generator.random() < config.selfplay.handicap:
            inner = [point_at(x, y) for y in range(2, size - 2) for x in range(2, size - 2)]
            count = int(generator.integers(2, 5))
            game.place_handicap([int(point) for point in generator.choice(inner, count, replace=False)])
        if self._records is None or record is None:
            return canvas, game, None
        if self._records.first_player[record] == 1:
            game.give_turn(WHITE)
        cells = self._records.moves[self._records.offsets[record] : self._records.offsets[record + 1]].tolist()
        return canvas, game, [PASS if cell == SIZE * SIZE else point_at(cell % SIZE, cell // SIZE) for cell in cells]


def selfplay(
    folder: Path,
    evaluator: Evaluator,
    config: DataConfig,
    games: int,
    threads: int,
    seed: int,
    reanalysis: Reanalysis | None = None,
) -> int:
    """Play `games` games in `threads` threads and write their samples to `folder`. Return the number of samples.

    Raises TrainingError, EvaluatorError, and, once what was played until Ctrl-C is written, KeyboardInterrupt.
    """
    network = (evaluator if reanalysis is None else reanalysis.evaluator).attributes
    screen = None if reanalysis is None else reanalysis.screen
    for other in (evaluator, screen):
        if other is not None and other.attributes.pass_alive_under_suicide != network.pass_alive_under_suicide:
            name = other.attributes.name
            raise TrainingError(f"{network.name} cannot label what {name} saw: pass-alive groups are other features")
    origin = Origin((network.name,), pass_alive_under_suicide=network.pass_alive_under_suicide)
    writer = SampleWriter(folder, origin, SAMPLES_A_FILE)
    status = StatusLine()
    hard_examples = None if reanalysis is None else HardExampleFilter(reanalysis.share)
    records = load_records(config.records) if config.selfplay.records else None
    workers = [
        SelfPlayWorker(evaluator, config, seed * 1009 + number, reanalysis, records) for number in range(threads)
    ]
    started = time.monotonic()
    count = done = 0
    try:
        with interruptible() as stop, ThreadPoolExecutor(threads) as pool:
            begun = min(games, threads)
            waiting = {pool.submit(worker.play_and_pick, stop, hard_examples): worker for worker in workers[:begun]}
            try:
                while waiting:
                    finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in finished:
                        worker, samples = waiting.pop(future), future.result()
                        done += 1
                        if samples is not None and samples.length:
                            count += samples.length
                            writer.add(samples)
                        if begun < games and not stop.is_set():
                            begun += 1
                            waiting[pool.submit(worker.play_and_pick, stop, hard_examples)] = worker
                    speed = done / (time.monotonic() - started) * 60
                    status.show(f"{done} of {games} games, {count:,} samples, {speed:.1f} games a minute")
            except BaseException:
                stop.set()
                raise
    finally:
        writer.close()
        for worker in workers:
            worker.close()
    status.show(f"{done} games, {count:,} samples in {time.monotonic() - started:,.0f} s", final=True)
    if hard_examples is not None:
        status.note(hard_examples.line())
    if stop.is_set():
        raise KeyboardInterrupt
    return count
