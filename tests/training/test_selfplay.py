"""Games by search, and the samples they leave."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, column_of, point_at, row_of
from go_rules.rule_names import preset
from nets.evaluator import LOSS, SCORE_MEAN, WIN, ConstantEvaluator, Evaluation, EvaluationRequest
from nets.features import CAUGHT, GLOBAL_KOMI, LAST_MOVES
from search.result import SearchResult
from tests.systems import PATIENCE, needs_signals
from tests.training.games import random_games, read_samples, write_records
from training.config import DataConfig, RecordsConfig, SelfplayConfig
from training.labels.samples import (
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Samples,
    concatenate,
    sample_files,
    unpack_planes,
)
from training.selfplay import LeafLabels, SearchedPosition, SelfPlayWorker, samples_from_game, selfplay

SETTINGS = SelfplayConfig(visits=8, quick_visits=2, full_share=0.5, resign_below=0.0)
DATA = DataConfig(canvas_shares={"9": 1.0}, rules={"tromp-taylor": 1.0}, own_komi=1.0, selfplay=SETTINGS)


def searched(turn: int, colour: int) -> SearchedPosition:
    policy = np.zeros(82, np.float32)
    policy[3] = 1
    planes: NDArray[np.uint8] = np.zeros((22, 9, 9), np.uint8)
    result = SearchResult(
        colour, 8, winrate=0.75, utility=0.0, score_mean=3.0, score_stdev=5.0, lead=2.0, weight=8.0, moves=()
    )
    return SearchedPosition(turn, planes, np.zeros(19, np.float32), policy, result)


def wall_game() -> Game:
    """7×7, a black wall in column 3 and a white one in column 4: black has 28 points, white 21."""
    game = Game(7, 7, preset("tromp-taylor")[0], 7.5)
    for y in range(7):
        game.play(BLACK, point_at(3, y))
        game.play(WHITE, point_at(4, y))
    game.play(BLACK, PASS)
    game.play(WHITE, PASS)
    return game


def test_the_outcome_is_each_movers_own() -> None:
    samples = samples_from_game(wall_game(), [searched(0, BLACK), searched(1, WHITE)], 9, None, 1.0)
    assert samples is not None
    assert samples.value[:, WIN].tolist() == [0.0, 1.0]  # 28 - 21 - 7.5: white wins by half a point
    assert samples.value[:, LOSS].tolist() == [1.0, 0.0]
    assert samples.score[:, SCORE_MEAN].tolist() == [-0.5, 0.5]
    black, white = samples.ownership.reshape(2, 9, 9)
    assert (black[:7, :4] == 127).all()
    assert (black[:7, 4:7] == -127).all()
    np.testing.assert_array_equal(white, -black)
    assert not black[7:].any()
    assert samples.reply.tolist() == [4, 9 + 3]  # white's answer, black's next stone: row * canvas + column
    assert (samples.known & HAS_OWNERSHIP).all()


@pytest.mark.parametrize(("loser", "expected"), [(BLACK, [0.0, 1.0]), (WHITE, [1.0, 0.0])])
def test_a_resigned_game_has_a_winner_and_no_owners(loser: int, expected: list[float]) -> None:
    game = Game(9, 9)
    samples = samples_from_game(game, [searched(0, BLACK), searched(1, WHITE)], 9, loser, 1.0)
    assert samples is not None
    assert samples.value[:, WIN].tolist() == expected
    assert samples.score[:, SCORE_MEAN].tolist() == [3.0, 3.0]
    assert not (samples.known & HAS_OWNERSHIP).any()
    assert samples.reply.tolist() == [-1, -1]


def test_a_game_that_is_too_long_is_counted_where_area_counts() -> None:
    for rules, value, known in (("tromp-taylor", 0.0, HAS_OWNERSHIP), ("japanese", 0.75, 0)):
        game = Game(7, 7, preset(rules)[0], 7.5)
        for move in wall_game().moves[:-2]:
            game.play(move.colour, move.point)
        assert not game.is_over
        samples = samples_from_game(game, [searched(0, BLACK)], 9, None, 1.0, is_too_long=True)
        assert samples is not None
        assert samples.value[0, WIN] == value
        assert samples.known[0] & HAS_OWNERSHIP == known


@pytest.mark.parametrize(("game", "weight", "win"), [(Game(9, 9), 1.0, 0.75), (wall_game(), 0.5, 0.375)])
def test_the_value_mixes_result_and_search(game: Game, weight: float, win: float) -> None:
    """An undecided game is worth what the search said, and one without full searches leaves nothing."""
    samples = samples_from_game(game, [searched(0, BLACK)], 9, None, weight)
    assert samples is not None
    assert samples.value[0].tolist() == pytest.approx([win, 1.0 - win, 0.0])
    assert samples_from_game(game, [], 9, None, weight) is None


def written(folder: Path) -> Samples:
    """All samples in a folder: on a busy machine games take so long that each has a file."""
    return concatenate([read_samples(path) for path in sample_files(folder)])


@pytest.mark.slow
def test_games_are_played_and_written(tmp_path: Path) -> None:
    """They are the same in one thread and in two."""
    count = selfplay(tmp_path, ConstantEvaluator(), DATA, games=2, threads=2, seed=1)
    samples = written(tmp_path)
    selfplay(tmp_path / "again", ConstantEvaluator(), DATA, games=2, threads=1, seed=1)
    again = written(tmp_path / "again")
    assert sorted(map(bytes, again.planes)) == sorted(map(bytes, samples.planes))
    assert sorted(map(bytes, again.policy)) == sorted(map(bytes, samples.policy))
    assert samples.length == count > 20
    planes = unpack_planes(samples.planes, 9)
    sizes = np.sqrt(planes[:, 0].sum(axis=(1, 2)))
    assert set(sizes.tolist()) <= {7.0, 8.0, 9.0}
    assert ((planes[:, 1] + planes[:, 2]) <= planes[:, 0]).all()
    assert (samples.known & HAS_POLICY).all()
    # No visit went to a stone.
    stones = (planes[:, 1] | planes[:, 2]).reshape(count, -1)
    assert not samples.policy[:, :-1][stones == 1].any()


@pytest.mark.slow
def test_games_that_are_there_are_not_played_again(tmp_path: Path) -> None:
    count = selfplay(tmp_path / "once", ConstantEvaluator(), DATA, games=2, threads=1, seed=1)
    first = selfplay(tmp_path / "twice", ConstantEvaluator(), DATA, games=1, threads=1, seed=1)
    assert first + selfplay(tmp_path / "twice", ConstantEvaluator(), DATA, games=2, threads=1, seed=1) == count
    assert selfplay(tmp_path / "twice", ConstantEvaluator(), DATA, games=2, threads=1, seed=1) == 0
    assert written(tmp_path / "twice").length == count


@pytest.mark.slow
@needs_signals
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_was_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    original = SelfPlayWorker.play

    def play(player: SelfPlayWorker, stop: threading.Event) -> Samples | None:
        samples = original(player, stop)
        os.kill(os.getpid(), number)
        stop.wait(PATIENCE)
        return samples

    monkeypatch.setattr(SelfPlayWorker, "play", play)
    with pytest.raises(KeyboardInterrupt):
        selfplay(tmp_path, ConstantEvaluator(), DATA, games=50, threads=1, seed=1)
    assert written(tmp_path).length > 5


class ForWhite(ConstantEvaluator):
    """Sure that the side that is given komi wins."""

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        evaluation = super().evaluate(request)
        evaluation.value[:, WIN] = request.global_[:, GLOBAL_KOMI] > 0
        evaluation.value[:, LOSS] = request.global_[:, GLOBAL_KOMI] <= 0
        return evaluation


@pytest.mark.slow
def test_a_teacher_labels_the_leaves_of_searches(tmp_path: Path) -> None:
    leaves = LeafLabels(ForWhite(), 0.5)
    count = selfplay(tmp_path, ConstantEvaluator(), DATA, games=2, threads=1, seed=1, leaves=leaves)
    samples = written(tmp_path)
    assert samples.length == count
    np.testing.assert_array_equal(samples.value[:, WIN], samples.global_[:, GLOBAL_KOMI] > 0)
    assert (samples.known == HAS_POLICY | HAS_VALUE | HAS_SCORE | HAS_OWNERSHIP).all()
    planes = unpack_planes(samples.planes, 9)
    assert not samples.ownership[planes[:, 0].reshape(count, -1) == 0].any()
    stones = (planes[:, 1] + planes[:, 2]).sum(axis=(1, 2))
    assert len(np.unique(stones)) > 20  # from all over the games
    # A tree has positions of either side to move, few of which were played.
    assert 0.3 < (samples.global_[:, GLOBAL_KOMI] > 0).mean() < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("has_leaves", [True, False])
def test_games_of_records_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_leaves: bool) -> None:
    """Their own moves are played, up to one that the rules forbid, and nothing is searched but what is learned from."""
    record = random_games(count=1, length=40, seed=1)[0]
    games: list[Game] = []
    original = Game.play

    def play(game: Game, colour: int, point: int) -> None:
        if not games or games[-1] is not game:
            games.append(game)
        original(game, colour, point)

    monkeypatch.setattr(Game, "play", play)
    path = write_records(tmp_path / "games.npz", [[60], [*record, record[-1], 3]])
    visits = SelfplayConfig(visits=8, quick_visits=100, full_share=0.3, resign_below=0.4, handicap=1.0, records=1.0)
    records = RecordsConfig(path=str(path), skip=1)
    data = dataclasses.replace(DATA, canvas_shares={"19": 1.0}, records=records, selfplay=visits)
    leaves = LeafLabels(ForWhite(), 1.0) if has_leaves else None
    count = selfplay(tmp_path / "out", ConstantEvaluator(), data, games=2, threads=1, seed=1, leaves=leaves)
    cells = [[row_of(move.point) * 19 + column_of(move.point) for move in game.moves] for game in games]
    assert cells == [record, record]
    samples = read_samples(sample_files(tmp_path / "out")[0])
    assert samples.length == count
    searches = 24  # of 80 positions
    assert 0.5 * searches < count / (8 if has_leaves else 1) < 1.5 * searches


def play_once(data: DataConfig, is_stopped: bool = False) -> Samples | None:
    stop = threading.Event()
    if is_stopped:
        stop.set()
    with closing(SelfPlayWorker(ConstantEvaluator(), data, seed=1)) as player:
        return player.play(stop)


@pytest.mark.parametrize("rules", ["japanese", "ancient-territory", "chinese"])
def test_dead_stones_are_taken_off_under_territory_rules(monkeypatch: pytest.MonkeyPatch, rules: str) -> None:
    """Two passes lead to the clean-up phases there, in which disputes are played out; nobody agrees on anything."""
    games: list[Game] = []
    original = Game.play

    def play(game: Game, colour: int, point: int) -> None:
        games.append(game)
        original(game, colour, PASS)

    monkeypatch.setattr(Game, "play", play)
    data = dataclasses.replace(DATA, rules={rules: 1.0})
    play_once(data)
    assert games[-1].is_over
    assert len(games) == (2 if rules == "chinese" else 6)
    assert games[-1].rules.cleanup == (rules != "chinese")


@pytest.mark.slow
@pytest.mark.parametrize("forgotten", [0.0, 1.0])
def test_searched_positions_forget_their_history(forgotten: float) -> None:
    samples = play_once(dataclasses.replace(DATA, forgotten=forgotten))
    assert samples is not None
    moves = unpack_planes(samples.planes, 9)[:, LAST_MOVES:CAUGHT].any(axis=(1, 2, 3))
    assert moves.mean() > 0.8 if forgotten == 0.0 else not moves.any()  # some at the end hide a pass


def test_games_can_be_stopped() -> None:
    with pytest.raises(InterruptedError):
        play_once(DATA, is_stopped=True)
