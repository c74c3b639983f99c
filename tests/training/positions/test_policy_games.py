"""Games played by a policy: legal, on every size of the canvas, to the end."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.position import PHASE_OVER
from nets.features import GLOBAL_CLEANUP_1, GLOBAL_CLEANUP_2
from training.config import PlayConfig
from training.positions.canvas import CANVASES, batch_size_on, sizes_on
from training.positions.game_conditions import new_game_conditions
from training.positions.policy_games import GROUPS, PolicyGames, new_games, play_moves, start_games
from training.positions.workers import WorkerPool

CONDITIONS = new_game_conditions({"tromp-taylor": 0.5, "japanese": 0.5}, own_komi=0.5, deviation=10.0)


@pytest.fixture(scope="module")
def workers() -> WorkerPool:
    return WorkerPool(threads=1)


def passing(count: int, canvas: int) -> np.ndarray:
    """Logits by which everyone passes."""
    logits = np.full((count, canvas * canvas + 1), -3.0, np.float32)
    logits[:, -1] = 9.0
    return logits


def test_canvases_share_out_all_sizes() -> None:
    sizes = [size for canvas in CANVASES for size in sizes_on(canvas)]
    assert sizes == list(range(7, 20))
    assert [batch_size_on(canvas, 256) for canvas in CANVASES] == [1144, 544, 256]


def test_games_are_played_to_their_end(workers: WorkerPool) -> None:
    count, canvas = 16, 9
    games = PolicyGames(canvas, count, PlayConfig(random_moves=0.05, opening=2.0), CONDITIONS, 1, workers)
    generator = np.random.default_rng(1)
    sizes, cleanups, stones = set(), np.zeros(2), {}
    for _ in range(GROUPS * 150):
        group, positions = games.take()
        spatial = positions.spatial
        assert (spatial[:, 1] & spatial[:, 2]).sum() == 0
        assert ((spatial[:, 1] | spatial[:, 2]) <= spatial[:, 0]).all()
        assert (positions.labels == (-1, -1, 0)).all()
        sizes |= set(np.sqrt(spatial[:, 0].sum(axis=(1, 2))).astype(int).tolist())
        cleanups += positions.global_[:, [GLOBAL_CLEANUP_1, GLOBAL_CLEANUP_2]].sum(axis=0)
        stones.setdefault(group, []).append(spatial[:, 1:3].sum(axis=(1, 2, 3)))
        # Any point will do; now and then everyone passes.
        logits = generator.random((count, canvas * canvas + 1)).astype(np.float32)
        logits[:, -1] = 9.0 if generator.random() < 0.1 else -3.0
        games.play_on(group, lambda logits=logits: logits)
    games.close()
    assert sizes == {7, 8, 9}
    assert cleanups[0] > cleanups[1] > 0  # a position of the second clean-up phase shows both
    counts = np.array(stones[0])
    assert counts.max() > 25
    assert (np.diff(counts, axis=0) != 0).mean() > 0.7  # nearly every answer puts a stone on nearly every board


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_share_of_the_groups_is_on_the_largest_board(workers: WorkerPool, share: float) -> None:
    count, canvas = 32, 9
    config = PlayConfig(own_size=share, random_moves=1.0, opening=20.0)
    games = PolicyGames(canvas, count, config, CONDITIONS, 5, workers)
    for _ in range(GROUPS * 20):
        group, positions = games.take()
        assert positions.fills_canvas == (group < share * GROUPS)
        games.play_on(group, lambda: passing(count, canvas))
    games.close()


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_a_share_of_the_games_has_handicap_stones(workers: WorkerPool, share: float) -> None:
    count, canvas = 200, 19
    config = PlayConfig(handicap=share, own_size=1.0, opening=0.0)
    conditions = new_game_conditions({"tromp-taylor": 1.0}, own_komi=1.0, deviation=0.0)
    games = PolicyGames(canvas, count, config, conditions, 2, workers)
    black = []
    for turn in range(GROUPS * 45):
        group, positions = games.take()
        opponents = positions.spatial[:, 2].reshape(count, -1)
        begins = (positions.spatial[:, 1].sum(axis=(1, 2)) == 0) & (positions.spatial[:, 9:14].sum(axis=(1, 2, 3)) == 0)
        if turn > GROUPS * 5:  # the very first games have many random moves
            black += list(opponents[begins & (positions.global_[:, :5].sum(axis=1) == 0)])
        games.play_on(group, lambda: passing(count, canvas))
    games.close()
    stones = np.array([board.sum() for board in black])
    assert (stones > 0).mean() == pytest.approx(share, abs=0.1)
    assert set(stones) == ({0} if share == 0.0 else set(range(10)))
    stars = {y * canvas + x for y in (3, 9, 15) for x in (3, 9, 15)}
    on_stars = [set(np.flatnonzero(board)) <= stars for board in black if board.sum() > 1]
    assert share == 0.0 or 0.3 < np.mean(on_stars) < 0.7


def follow(workers: WorkerPool, early_temperature: float) -> tuple[int, int]:
    """Play by a policy with one move in it; return how many moves were that one, whichever way the board was turned for
    the network, and how many there were."""
    count, canvas = 8, 9
    config = PlayConfig(random_moves=0.0, temperature=0.1, early_temperature=early_temperature)
    games = PolicyGames(canvas, count, config, CONDITIONS, 3, workers)
    asked: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    followed = moves = 0
    for turn in range(3 * GROUPS):
        group, positions = games.take()
        after = positions.spatial.copy()
        for before, wanted in [asked[group]] if group in asked else []:
            for game in range(count):
                size = round(before[game, 0].sum() ** 0.5)
                if round(after[game, 0].sum() ** 0.5) != size:
                    continue  # ended, and begun anew on another board
                last = after[game, 9]
                if last.sum() == 1 and size == canvas:
                    y, x = np.argwhere(last)[0]
                    followed += (y, x) in _images(int(wanted[game]), size, canvas)
                    moves += 1
        if turn < 2 * GROUPS:
            empty = (after[:, 0] == 1) & (after[:, 1:3].sum(axis=1) == 0)
            wanted = np.array([np.flatnonzero(cells.ravel())[i % 5] for i, cells in enumerate(empty)])
            logits = np.zeros((count, canvas * canvas + 1), np.float32)
            logits[np.arange(count), wanted] = 50.0
            asked[group] = after, wanted
            games.play_on(group, lambda logits=logits: logits)
    games.close()
    assert moves > count
    return followed, moves


def test_moves_follow_the_policy(workers: WorkerPool) -> None:
    followed, moves = follow(workers, early_temperature=0.0)
    assert followed > 0.8 * moves  # now and then the point is forbidden by ko or suicide, or a new game begins


def test_early_moves_vary(workers: WorkerPool) -> None:
    """The games are at most some 40 moves old: a sixteenth of the early temperature is left, which is large still."""
    followed, moves = follow(workers, early_temperature=1e4)
    assert followed < 0.3 * moves
    followed, moves = follow(workers, early_temperature=0.005)
    assert followed > 0.8 * moves


def test_an_opponent_plays_one_side_of_its_share_of_the_games(workers: WorkerPool) -> None:
    """Of 12 games of a group the student has the first eight, and in the first four of these one side."""
    count, canvas = 12, 9
    config = PlayConfig(student=0.67, opponent=0.5, random_moves=0.0, opening=0.0)
    games = PolicyGames(canvas, count, config, CONDITIONS, 4, workers)
    generator = np.random.default_rng(4)
    turns: list[list[np.ndarray]] = [[] for _ in range(GROUPS)]
    for _ in range(6 * GROUPS):
        group, positions = games.take()
        turns[group].append(games.by_student(group))
        logits = generator.random((count, canvas * canvas + 1)).astype(np.float32)
        logits[:, -1] = -30.0
        games.play_on(group, lambda logits=logits: logits)
        assert len(positions.global_) == count
    games.close()
    moves = np.array(turns)  # [GROUPS, 6, count]
    assert (moves[:, 1:, :4] != moves[:, :-1, :4]).all()  # every other move is the teacher's
    assert (moves[:, :, 0] != moves[:, :, 1]).any()  # black in one game, white in the next
    assert moves[:, :, 4:8].all()
    assert not moves[:, :, 8:].any()


@pytest.mark.parametrize("forgotten", [0.0, 0.25])
def test_games_by_policy_forget_their_history_now_and_then(workers: WorkerPool, forgotten: float) -> None:
    count, canvas = 32, 9
    conditions = new_game_conditions({"tromp-taylor": 1.0}, own_komi=1.0, deviation=0.0, forgotten=forgotten)
    games = PolicyGames(canvas, count, PlayConfig(random_moves=1.0, handicap=0.0), conditions, 6, workers)
    shown = []
    for turn in range(12 * GROUPS):
        group, positions = games.take()
        if turn >= 8 * GROUPS:
            shown += (positions.spatial[:, 9:14].any(axis=(2, 3)) | (positions.global_[:, :5] == 1.0)).tolist()
        games.play_on(group, lambda: np.zeros((count, canvas * canvas + 1), np.float32))
    games.close()
    known = np.array(shown)
    assert known[:, 0].mean() == pytest.approx(1.0 - forgotten, abs=0.06)
    assert known[:, 2].mean() == pytest.approx((1.0 - forgotten) ** 3, abs=0.08)


def test_games_leave_their_line_and_come_back() -> None:
    """An excursion has one to six moves, of which the first is not the game's own; what comes back is the position
    after that one, so no position is shown twice."""
    count, canvas = 40, 9
    games = new_games(count, (7, 8, 9), 7, PlayConfig(excursions=0.3, handicap=0.0))
    start_games(games, CONDITIONS, 0, count, 20.0)
    generator = np.random.default_rng(7)
    began, on_the_line, lengths, ended_away = 0, 0, [], 0
    for _ in range(400):
        before, home, away = games.stack.copy(), games.home.copy(), games.away.copy()
        logits = generator.random((count, canvas * canvas + 1)).astype(np.float32)
        logits[:, -1] = generator.choice([-9.0, 4.0], size=count, p=[0.8, 0.2])
        play_moves(games, CONDITIONS, 0, canvas, logits)
        assert (games.stack["phase"][2::3] != PHASE_OVER).all()
        for game in range(count):
            now, then, its = games.stack[3 * game + 2], before[3 * game + 2], slice(3 * game, 3 * game + 3)
            if away[game] == 0:
                on_the_line += 1
            if away[game] == 0 and games.away[game] > 0:
                began += 1
                lengths.append(int(games.away[game]))
                line = games.home[its]
                assert alike(line[1], then)
                assert alike(games.stack[3 * game + 1], then)
                assert line[2]["move_number"] == now["move_number"] == then["move_number"] + 1
                assert (line[2]["recent"][0], line[2]["phase"]) != (now["recent"][0], now["phase"])
            elif games.away[game] > 0:
                assert games.away[game] == away[game] - 1
                assert now["move_number"] == then["move_number"] + 1
                assert alike(games.stack[3 * game + 1], then)
                assert alike(games.home[its], home[its])
            elif away[game] > 0:
                assert alike(games.stack[its], home[its])
                ended_away += away[game] > 1
    assert games.finished.sum() > count
    assert 0.2 < began / on_the_line < 0.3  # now and then the move drawn is the game's own
    assert ended_away > 0  # by passes
    assert np.bincount(lengths).tolist()[1:] == pytest.approx([began / 6] * 6, rel=0.3)


def alike(positions: np.ndarray, others: np.ndarray) -> bool:
    """Whether they are the same; pytest would take minutes to show how records differ."""
    return bool(np.all(positions == others))


def _images(cell: int, size: int, canvas: int) -> set[tuple[int, int]]:
    """Where a cell may come to lie under the symmetries."""
    y, x = divmod(cell, canvas)
    flipped = {(y, x), (size - 1 - y, x), (y, size - 1 - x), (size - 1 - y, size - 1 - x)}
    return flipped | {(b, a) for a, b in flipped}
