"""Games of a network against itself, by search, and the samples they leave.

Most moves are searched quickly, just to play on; a share of them, at random, in full and with noise, and those are
learned from: their visits are the policy, and the game's result and the search's own value the value. (Playout cap
randomisation: Wu, "Accelerating Self-Play Learning in Go", 2019.)
"""

from __future__ import annotations

import dataclasses
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules import board
from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, N_POINTS, PASS, WHITE, board_points, column_of, point_at, row_of
from go_rules.rules import preset
from go_rules.scoring import final_owners
from nets.evaluator import LEAD, LOSS, NO_RESULT, SCORE_COLUMNS, SCORE_MEAN, SCORE_STDEV, WIN, Evaluator
from nets.features import AT_ROOT, Scratch, encode, scratch_for
from search.limits import Limits
from search.network_player import NetworkPlayer
from search.parameters import SearchParameters
from search.result import SearchResult
from training.batch import sizes_on
from training.config import DataConfig, SelfplayConfig
from training.progress import Reporter
from training.samples import (
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Samples,
    SampleWriter,
    pack_planes,
    pack_probabilities,
)
from training.shares import canvas_shares, pick

MAX_LENGTH = 2.5
"""A game is given up undecided after so many moves a point of the board."""
RESIGN_TURNS = 3
"""Successive searches that must find the game lost."""
FEWEST_VISITS = 2
"""Moves that noise alone brought to fewer visits are no part of the policy learned."""


class Searched(NamedTuple):
    """A position that was searched in full."""

    turn: int
    colour: int
    spatial: NDArray[np.uint8]
    """[22, S, S]"""
    global_: NDArray[np.float32]
    policy: NDArray[np.float32]
    """[S*S + 1] shares of the visits"""
    winrate: float
    lead: float
    score: float
    """Expected final score, the mover's view; the next two also in points"""
    score_stdev: float


class SelfPlayer:
    """Plays games with one search tree; for one thread."""

    def __init__(self, evaluator: Evaluator, config: DataConfig, seed: int) -> None:
        self._config = config
        self._generator = np.random.default_rng(seed)
        quick = SearchParameters(
            workers=1,
            memory=64,
            cache_memory=16,
            seed=seed,
            temperature_early=config.selfplay.temperature,
            temperature=0.2,
            lcb=False,
        )
        self._quick = NetworkPlayer(evaluator, quick)
        self._full = NetworkPlayer(
            evaluator, dataclasses.replace(quick, root_noise=True, root_policy_optimism=0.0, policy_optimism=0.0)
        )
        self._scratch = scratch_for(evaluator)

    def play(self, stop: threading.Event) -> Samples | None:
        """One game's samples, or None where there are none. `stop` ends it early, undecided."""
        settings = self._config.selfplay
        canvas, game = self._new_game()
        may_resign = self._generator.random() >= settings.resign_free
        searched: list[Searched] = []
        lost = {BLACK: 0, WHITE: 0}
        loser = None
        limit = MAX_LENGTH * game.width * game.height
        while not game.is_over and len(game.moves) < limit and not stop.is_set():
            is_full = self._generator.random() < settings.full_share
            player, visits = (self._full, settings.visits) if is_full else (self._quick, settings.quick_visits)
            result = player.search(game, game.to_play, Limits(visits=visits, may_stop_early=not is_full))
            if is_full:
                searched.append(self._searched(game, result, canvas))
            lost[result.colour] = lost[result.colour] + 1 if result.winrate < settings.resign_below else 0
            if may_resign and lost[result.colour] >= RESIGN_TURNS:
                loser = result.colour
                break
            game.play(result.colour, self._quick.choose(game, result))
        return samples_of_game(game, searched, canvas, loser, settings)

    def close(self) -> None:
        for player in (self._quick, self._full):
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

    def _searched(self, game: Game, result: SearchResult, canvas: int) -> Searched:
        spatial, global_ = encode_game(game, self._scratch, canvas)
        policy = np.zeros(canvas * canvas + 1, np.float32)
        for move in result.moves:
            if move.visits >= FEWEST_VISITS:
                policy[_cell(move.point, canvas)] = move.visits
        if policy.sum() == 0:
            policy[_cell(result.moves[0].point, canvas)] = 1
        return Searched(
            len(game.moves),
            result.colour,
            spatial,
            global_,
            policy / policy.sum(),
            result.winrate,
            result.lead,
            result.score_mean,
            result.score_stdev,
        )


def selfplay(folder: Path, evaluator: Evaluator, config: DataConfig, games: int, threads: int, seed: int) -> int:
    """Write the samples of `games` games to `folder`, played by so many threads. Ctrl-C keeps what was played. Returns
    the number of samples. Raises TrainingError, EvaluatorError."""
    writer = SampleWriter(folder)
    reporter = Reporter(folder)
    stop = threading.Event()
    players = [SelfPlayer(evaluator, config, seed * 1009 + number) for number in range(threads)]
    started = time.monotonic()
    count = done = 0
    try:
        with ThreadPoolExecutor(threads) as pool:
            begun = min(games, threads)
            waiting = {pool.submit(player.play, stop): player for player in players[:begun]}
            try:
                while waiting:
                    finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in finished:
                        player, samples = waiting.pop(future), future.result()
                        done += 1
                        if samples is not None:
                            count += samples.length
                            writer.add(samples)
                        if begun < games:
                            begun += 1
                            waiting[pool.submit(player.play, stop)] = player
                    speed = done / (time.monotonic() - started) * 60
                    reporter.line(f"{done} of {games} games, {count:,} samples, {speed:.1f} games a minute")
            finally:
                stop.set()
    finally:
        writer.close()
        for player in players:
            player.close()
    reporter.line(f"{done} games, {count:,} samples in {time.monotonic() - started:,.0f} s", final=True)
    return count


def encode_game(game: Game, scratch: Scratch, canvas: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The network's input for the present position, superko bans included, in the corner of a canvas."""
    size, now = game.width, game.length - 1
    planes, global_ = np.zeros((22, size, size), np.float32), np.zeros(19, np.float32)
    legal = np.zeros(N_POINTS, np.int16)
    count = board.legal_points(game.position, game.to_play, game.record, legal)
    ban = np.zeros(N_POINTS, np.int8)
    ban[legal[:count]] = 1
    ban[[point for point in game.legal_moves(game.to_play) if point != PASS]] = 0
    encode(game.stack, now, game.to_play, game.record, 0.0, AT_ROOT, ban, scratch, planes, global_)
    spatial = np.zeros((22, canvas, canvas), np.uint8)
    spatial[:, :size, :size] = planes
    return spatial, global_


def samples_of_game(
    game: Game, searched: list[Searched], canvas: int, loser: int | None, settings: SelfplayConfig
) -> Samples | None:
    """What was searched, with the game's outcome. `loser` resigned; None: the game was played to its end, or given
    up, and then the search's value stands alone."""
    if not searched:
        return None
    is_decided = loser is not None or (game.is_over and not game.is_no_result)
    is_counted = is_decided and loser is None
    white = (game.score() if is_counted else 0.0) if loser is None else (1.0 if loser == BLACK else -1.0)
    owners = final_owners(game.position, game.record) if is_counted else None
    cells = canvas * canvas
    count = len(searched)
    value = np.zeros((count, 3), np.float32)
    score = np.zeros((count, SCORE_COLUMNS), np.float32)
    ownership = np.zeros((count, cells), np.int8)
    reply = np.full(count, -1, np.int16)
    for i, position in enumerate(searched):
        won = white if position.colour == WHITE else -white
        share = settings.result_weight if is_decided else 0.0
        result = 1.0 if won > 0 else 0.5 if won == 0 else 0.0
        chance = share * result + (1.0 - share) * position.winrate
        value[i, [WIN, LOSS, NO_RESULT]] = chance, 1.0 - chance, 0.0
        score[i, SCORE_MEAN] = won if is_counted else position.score
        score[i, SCORE_STDEV], score[i, LEAD] = position.score_stdev, position.lead
        if owners is not None:
            for point in board_points(game.width, game.height):
                if owners[point] != EMPTY:
                    ownership[i, _cell(point, canvas)] = 127 if owners[point] == position.colour else -127
        if position.turn + 1 < len(game.moves):
            reply[i] = _cell(game.moves[position.turn + 1].point, canvas)
    known = HAS_POLICY | HAS_VALUE | HAS_SCORE | (HAS_OWNERSHIP if owners is not None else 0)
    return Samples(
        planes=pack_planes(np.stack([position.spatial for position in searched])),
        global_=np.stack([position.global_ for position in searched]),
        policy=pack_probabilities(np.stack([position.policy for position in searched])),
        optimistic=np.zeros((count, cells + 1), np.uint8),
        reply=reply,
        value=value,
        score=score,
        ownership=ownership,
        known=np.full(count, known, np.uint8),
    )


def _cell(point: int, canvas: int) -> int:
    return canvas * canvas if point == PASS else row_of(point) * canvas + column_of(point)
