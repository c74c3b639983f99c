"""Self-play: games of a network against itself by search, in several threads, written to sample files.

Most moves are searched quickly, just to play on. A share of them, chosen at random, is searched in full with noise, and
those are learned from: their visits become the policy; the game's result and the search's value become the value
(playout cap randomisation: Wu, "Accelerating Self-Play Learning in Go", 2019).

A stronger network, the teacher, can label leaves of these searches instead. A search goes where its network is too
hopeful, so its leaves show the network's errors more often than the positions of the game do. They cost nothing to
find: the searches evaluate them anyway. Game records can be searched in the same way: their moves are played then, and
only the full searches are made.
"""

from __future__ import annotations

import dataclasses
import hashlib
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, PASS, WHITE, board_points, point_at
from go_rules.position import HISTORY_MOVES
from go_rules.rule_names import preset
from go_rules.rules import SCORING_AREA, SCORING_TERRITORY
from go_rules.scoring import final_owners
from gtp_engine.cluster.tasks import Here
from gtp_engine.version import VERSION
from nets.bare_evaluation import superko_bans
from nets.evaluator import (
    LEAD,
    LOSS,
    SCORE_COLUMNS,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    WIN,
    Evaluator,
    RecordedPosition,
    RecordingEvaluator,
    softmax,
)
from nets.features import AT_ROOT, Scratch, encode, scratch_for
from nets.open import open_network
from nobi_machine.inputs import Inputs
from nobi_machine.interruption import interruptible
from nobi_machine.progress import StatusLine
from nobi_machine.units import Batch, Pool, Unit
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import Limits, SearchRequest
from search.result import SearchResult
from training.config import DataConfig
from training.errors import TrainingError
from training.labels.samples import (
    HAS_ERRORS,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Origin,
    Samples,
    SampleWriter,
    decode_samples,
    encode_samples,
    pack_samples,
    units_in,
)
from training.positions.canvas import cell_at, read_canvas_shares, sizes_on, to_canvas
from training.positions.encoding import forget
from training.positions.game_conditions import choose_by_share
from training.positions.records import SIZE, load_records
from training.positions.replay import Records
from training.yardstick import evaluate_function

if TYPE_CHECKING:
    from gtp_engine.cluster.client import Cluster, ClusterPool

USUAL_SHARE = 0.5
"""Share of the games that are played on a canvas's own size, 9×9, 13×13 or 19×19, as people do; the others have any of
its sizes."""
MAX_LENGTH = 2.5
"""A game is given up after this many moves for each point of the board."""
RESIGN_TURNS = 3
"""A side resigns when this many of its successive searches find the game lost."""
RESIGN_FREE = 0.5
"""Share of the games that are played to the end, whoever is ahead: else no game shows that resigning was wrong."""
TEMPERATURE = 0.9
"""Temperature of the moves played, early in a game."""
AT_ONCE = 8
"""How many positions one call of the teacher evaluates."""
FEWEST_VISITS = 2
"""Moves with fewer visits, which noise alone may explain, are not part of the policy that is learned."""


class SearchedPosition(NamedTuple):
    """A position as network input, and the result of its search."""

    turn: int
    """The number of moves before the position."""
    spatial: NDArray[np.uint8]
    """[22, S, S]"""
    global_: NDArray[np.float32]
    """[19]"""
    policy: NDArray[np.float32]
    """[S*S + 1] shares of the visits"""
    result: SearchResult


def searched_position(
    game: Game, result: SearchResult, scratch: Scratch, canvas: int, turns: int = HISTORY_MOVES
) -> SearchedPosition:
    """Combine the game's present position with the result of its search. At most the last `turns` moves are shown."""
    spatial, global_ = encode_game(game, scratch, canvas)
    forget(turns, spatial, global_)
    policy = np.zeros(canvas * canvas + 1, np.float32)
    for move in result.moves:
        if move.visits >= FEWEST_VISITS:
            policy[cell_at(move.point, canvas)] = move.visits
    if policy.sum() == 0:
        policy[cell_at(result.moves[0].point, canvas)] = 1
    return SearchedPosition(len(game.moves), spatial, global_, policy / policy.sum(), result)


def encode_game(game: Game, scratch: Scratch, canvas: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the network input of the game's present position on a canvas: planes uint8[22, S, S] and global features
    float32[19], with superko bans."""
    size, now = game.width, game.length - 1
    planes, global_ = np.zeros((22, size, size), np.float32), np.zeros(19, np.float32)
    ban = superko_bans(game, game.to_play)
    encode(game.stack, now, game.to_play, game.record, 0.0, AT_ROOT, ban, scratch, planes, global_)
    spatial = np.zeros((22, canvas, canvas), np.uint8)
    spatial[:, :size, :size] = planes
    return spatial, global_


def samples_from_game(
    game: Game,
    positions: list[SearchedPosition],
    canvas: int,
    loser: int | None,
    result_weight: float,
    is_too_long: bool = False,
) -> Samples | None:
    """Make samples of a game's positions whose labels are the searches' results and the game's outcome.

    The outcome has the weight `result_weight` in the value. `loser` is the side that resigned. None means that the game
    was played to its end, or given up. A game that was given up because it `is_too_long` is counted as it stands where
    the rules count area: networks that have learned nothing do not know when to pass. The labels of other games that
    were given up are the searches' results alone. Return None where there are no positions.
    """
    if not positions:
        return None
    is_ended = game.is_over or (is_too_long and game.rules.scoring == SCORING_AREA)
    is_counted = loser is None and is_ended and not game.is_no_result
    is_decided = loser is not None or is_counted
    white = 0.0
    if is_decided:
        white = game.score() if loser is None else (1.0 if loser == BLACK else -1.0)
    owners = final_owners(game.position, game.record)
    count, cells = len(positions), canvas * canvas
    value, score = np.zeros((count, 3), np.float32), np.zeros((count, SCORE_COLUMNS), np.float32)
    ownership, reply = np.zeros((count, cells), np.float32), np.full(count, -1, np.int16)
    for i, position in enumerate(positions):
        found = position.result
        won = white if found.colour == WHITE else -white
        chance = found.winrate
        if is_decided:
            result = 1.0 if won > 0 else 0.5 if won == 0 else 0.0
            chance = result_weight * result + (1.0 - result_weight) * chance
        value[i, [WIN, LOSS]] = chance, 1.0 - chance
        score[i, [SCORE_MEAN, SCORE_STDEV, LEAD]] = found.score_mean, found.score_stdev, found.lead
        if position.turn + 1 < len(game.moves):
            reply[i] = cell_at(game.moves[position.turn + 1].point, canvas)
        if is_counted:
            score[i, SCORE_MEAN] = won
            for point in board_points(game.width, game.height):
                if owners[point] != EMPTY:
                    ownership[i, cell_at(point, canvas)] = 1.0 if owners[point] == found.colour else -1.0
    known = HAS_POLICY | HAS_VALUE | HAS_SCORE | (HAS_OWNERSHIP if is_counted else 0)
    return pack_samples(
        np.stack([position.spatial for position in positions]),
        np.stack([position.global_ for position in positions]),
        np.stack([position.policy for position in positions]),
        value,
        score,
        ownership,
        np.full(count, known, np.uint8),
        reply=reply,
    )


def label_leaves(leaves: list[RecordedPosition], teacher: Evaluator, canvas: int) -> Samples:
    """Make samples of leaves on boards of one size, at least one; their labels are the teacher's evaluations. Raises
    EvaluatorError."""
    boards, global_ = np.stack([leaf.spatial for leaf in leaves]), np.stack([leaf.global_ for leaf in leaves])
    count, size = len(boards), boards.shape[2]
    ask = evaluate_function(teacher)
    answers = [
        ask(boards[first : first + AT_ONCE].astype(np.float32), global_[first : first + AT_ONCE])
        for first in range(0, count, AT_ONCE)
    ]
    policy, value, score, ownership = (np.concatenate(parts) for parts in zip(*answers, strict=True))
    planes = np.zeros((count, boards.shape[1], canvas, canvas), np.uint8)
    planes[:, :, :size, :size] = boards
    known = np.full(count, HAS_POLICY | HAS_VALUE | HAS_SCORE | HAS_OWNERSHIP, np.uint8)
    known[score[:, SHORTTERM_SCORE_ERROR] >= 0] |= HAS_ERRORS
    chances, owners = to_canvas(softmax(policy), size, canvas), to_canvas(ownership, size, canvas)
    return pack_samples(planes, global_, chances, value, score, owners, known)


class LeafLabels(NamedTuple):
    """What a teacher labels."""

    teacher: Evaluator
    share: float
    """The share of all positions evaluated by the player's searches that it labels, without a search."""


class SelfPlayWorker:
    """Plays games one after another, in one thread. The first one depends on its seed alone."""

    def __init__(
        self,
        evaluator: Evaluator,
        config: DataConfig,
        seed: int,
        leaves: LeafLabels | None = None,
        records: Records | None = None,
    ) -> None:
        """Play by `evaluator`. `seed` starts all random numbers. With `leaves` these are learned from, else the
        positions of the games. `records` are the games whose moves are played in `config.selfplay.records` of those on
        19×19 canvases."""
        self._config, self._records, self._leaves = config, records, leaves
        self._generator = np.random.default_rng(seed)
        quick = SearchParameters(
            workers=1,
            memory=64,
            cache_memory=16,
            seed=seed,
            temperature_early=TEMPERATURE,
            temperature=0.2,
            lcb=False,
            handicap_doublings=0.0,
        )
        full = dataclasses.replace(quick, root_noise=True, root_policy_optimism=0.0, policy_optimism=0.0)
        self._recorder: RecordingEvaluator | None = None
        if leaves is not None:
            share, generator = leaves.share, np.random.default_rng((seed, 1))
            self._recorder = RecordingEvaluator(
                evaluator, chosen=lambda count: np.flatnonzero(generator.random(count) < share)
            )
        self._quick = PuctPlayer(self._recorder or evaluator, quick)
        self._full = self._quick if leaves is not None else PuctPlayer(evaluator, full)
        self._scratch = scratch_for(evaluator)

    def play(self, stop: threading.Event) -> Samples | None:
        """Play a game and return its samples, or None where it has none. Raises InterruptedError once `stop` is set."""
        settings = self._config.selfplay
        canvas, game, record = self._new_game()
        may_resign = record is None and self._generator.random() >= RESIGN_FREE
        positions: list[SearchedPosition] = []
        lost = {BLACK: 0, WHITE: 0}
        loser = None
        limit = MAX_LENGTH * game.width * game.height
        while not game.is_over and len(game.moves) < limit:
            if stop.is_set():
                raise InterruptedError
            if record is not None and len(game.moves) == len(record):
                break
            result = None
            is_full = self._generator.random() < settings.full_share
            if is_full:
                limits = Limits(visits=settings.visits, may_stop_early=False)
                result = self._full.search(SearchRequest(game, game.to_play, limits))
                if self._leaves is None:
                    positions.append(searched_position(game, result, self._scratch, canvas, self._known_turns()))
            if record is not None:
                point = record[len(game.moves)]
                if not game.is_legal(game.to_play, point):
                    break
                game.play(game.to_play, point)
                continue
            if result is None:
                result = self._quick.search(SearchRequest(game, game.to_play, Limits(visits=settings.quick_visits)))
            lost[result.colour] = lost[result.colour] + 1 if result.winrate < settings.resign_below else 0
            if may_resign and lost[result.colour] >= RESIGN_TURNS:
                loser = result.colour
                break
            game.play(result.colour, self._quick.choose(game, result))
        if self._leaves is not None and self._recorder is not None:
            leaves = self._recorder.take_positions()
            return label_leaves(leaves, self._leaves.teacher, canvas) if leaves else None
        is_too_long = len(game.moves) >= limit
        return samples_from_game(game, positions, canvas, loser, settings.result_weight, is_too_long)

    def close(self) -> None:
        """Close the players and what they hold."""
        for player in {self._quick, self._full}:
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


class Players(msgspec.Struct, frozen=True, kw_only=True):
    """All that a game of self-play depends on, besides its seed and its number."""

    version: str = VERSION
    networks: dict[str, str]
    """The hashes of files: of the network `net`, which plays, of `teacher`, which labels, and of `records`."""
    precision: str
    leaves: float | None
    """As LeafLabels.share; None without a teacher."""
    config: DataConfig


class Games:
    """Plays games of self-play, each a unit of work."""

    def __init__(
        self, evaluator: Evaluator, config: DataConfig, leaves: LeafLabels | None, stop: threading.Event
    ) -> None:
        """Play by `evaluator` until `stop` is set. Raises TrainingError, also for networks that do not go together."""
        player = evaluator.attributes
        network = player if leaves is None else leaves.teacher.attributes
        if player.pass_alive_under_suicide != network.pass_alive_under_suicide:
            raise TrainingError(
                f"{network.name} cannot label what {player.name} saw: pass-alive groups are other features"
            )
        self.origin = Origin((network.name,), pass_alive_under_suicide=network.pass_alive_under_suicide)
        self._evaluator, self._config, self._leaves, self._stop = evaluator, config, leaves, stop
        self._records = load_records(config.records) if config.selfplay.records else None

    def do(self, unit: Unit, _place: int = 0) -> bytes | None:
        """Play a game. Return its samples, encoded; nothing where it has none; None where it was stopped."""
        worker = SelfPlayWorker(self._evaluator, self._config, unit.seed, self._leaves, self._records)
        try:
            samples = worker.play(self._stop)
        except InterruptedError:
            return None
        finally:
            worker.close()
        return b"" if samples is None else encode_samples(samples, self.origin)

    def close(self) -> None:
        """Free nothing: what there is goes with the object."""


def open_job(settings: bytes, files: Mapping[str, Path], here: Here) -> Games:
    """Open what games of self-play need on a worker of a cluster. Raises TrainingError and EvaluatorError."""
    players = msgspec.json.decode(settings, type=Players)
    config, device = players.config, here.configuration.engine.device
    if "records" in files:
        config = dataclasses.replace(config, records=dataclasses.replace(config.records, path=str(files["records"])))
    networks = {name: open_network(files[name], players.precision, device) for name in files if name != "records"}
    leaves = None if players.leaves is None else LeafLabels(networks["teacher"], players.leaves)
    return Games(networks["net"], config, leaves, here.stop)


def selfplay(
    folder: Path,
    evaluator: Evaluator,
    config: DataConfig,
    games: int,
    threads: int,
    seed: int,
    leaves: LeafLabels | None = None,
    players: Players | None = None,
    cluster: tuple[Cluster, Inputs] | None = None,
) -> int:
    """Play `games` games in `threads` threads, or on a `cluster`, which gets the files of `players.networks`, and write
    their samples to `folder`. Return the number of samples. A game depends on the `seed`, its number and the `players`,
    not on the threads; one whose samples are in the folder is not played again.

    Raises TrainingError, EvaluatorError, for a cluster UserError and OSError, and, once what was played until Ctrl-C is
    written, KeyboardInterrupt.
    """
    described = b"" if players is None else msgspec.json.encode(players)
    depends = hashlib.sha256(described).hexdigest() if described else ""
    status = StatusLine()
    started = time.monotonic()
    count = done = 0
    with interruptible() as stop:
        table = Games(evaluator, config, leaves, stop)
        writer = SampleWriter(folder, table.origin)
        known = units_in(folder)
        pool: Pool | ClusterPool = Pool(threads, table.do, stop=stop)
        if cluster is not None:
            pool = cluster[0].pool(cluster[0].job("selfplay", described, cluster[1]), stop)

        def missing() -> Iterator[Unit]:
            nonlocal done
            for number in range(games):
                unit = Unit(f"game {number + 1}", "selfplay", f"{seed} {number} {depends}".encode())
                if unit.key in known:
                    done += 1
                else:
                    yield unit

        def keep(unit: Unit, result: bytes) -> None:
            nonlocal count, done
            done += 1
            if result:
                samples = decode_samples(result)
                count += samples.length
                writer.add(samples, unit.key)
            speed = done / (time.monotonic() - started) * 60
            words = "" if cluster is None else f", {cluster[0].words()}"
            status.show(f"{done} of {games} games, {count:,} samples, {speed:.1f} games a minute{words}")

        try:
            pool.run([Batch("", missing())], keep)
        finally:
            writer.close()
    status.show(f"{done} games, {count:,} samples in {time.monotonic() - started:,.0f} s", final=True)
    if stop.is_set():
        raise KeyboardInterrupt
    return count
