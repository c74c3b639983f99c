"""Game records out of SGF files, and positions out of records, against a replay through `Game`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, N_POINTS, PASS, point_at
from go_rules.rule_names import preset
from gtp_engine import command_line
from nets.features import CAUGHT, CAUGHT_BEFORE, IN_TREE, LAST_MOVES, encode, new_scratch
from nets.symmetry import symmetry_permutations
from nobi_machine.text import printable_path
from tests.training.games import SIZE, random_games, write_records
from training.config import RecordsConfig
from training.errors import TrainingError
from training.positions.canvas import MOVE, OUTCOME, REPLY, Positions, new_positions
from training.positions.game_conditions import new_game_conditions
from training.positions.records import RecordPositions, load_records
from training.positions.replay import Records
from training.positions.workers import WorkerPool

GAMES = random_games(count=3, length=40, seed=5)


@pytest.fixture(scope="module")
def workers() -> WorkerPool:
    return WorkerPool(threads=2)


def drawn(
    path: Path, workers: WorkerPool, count: int, first: int = 0, seed: int = 1, forgotten: float = 0.0, **config: float
) -> Positions:
    """Samples first to first + count - 1."""
    conditions = new_game_conditions({"chinese": 1.0}, own_komi=1.0, deviation=0.0, forgotten=forgotten)
    settings = {"deviating": 0.0, "handicap": 0.0, **config}
    records = RecordPositions(RecordsConfig(path=str(path), skip=0, **settings), conditions, seed, workers)
    return records.fill(new_positions(count, SIZE), first)


def games_of(records: Records) -> list[list[int]]:
    """The moves of each game."""
    return [game.tolist() for game in np.split(records.moves, records.offsets[1:-1])]


def replayed(cells: list[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The slow truth: network input after these moves, by the game's own history."""
    rules, komi = preset("chinese")
    game = Game(SIZE, SIZE, rules, komi)
    for cell in cells:
        game.play(game.to_play, PASS if cell == SIZE * SIZE else point_at(cell % SIZE, cell // SIZE))
    spatial, global_ = np.zeros((22, SIZE, SIZE), np.float32), np.zeros(19, np.float32)
    ban = np.zeros(N_POINTS, np.int8)
    encode(game.stack, game.length - 1, game.to_play, game.record, 0.0, IN_TREE, ban, new_scratch(), spatial, global_)
    return spatial, global_


def test_samples_are_positions_of_the_games(tmp_path: Path, workers: WorkerPool) -> None:
    positions = drawn(write_records(tmp_path / "games.npz", GAMES, [1, -1, 0]), workers, 24, first=100)
    permutations = symmetry_permutations(SIZE, SIZE)
    known = {}
    for number, game in enumerate(GAMES):
        for turns in range(len(game) + 1):
            spatial, global_ = replayed(game[:turns])
            for permutation in permutations:
                turned = np.empty((22, SIZE * SIZE), np.float32)
                turned[:, permutation[:-1]] = spatial.reshape(22, -1)
                known.setdefault(turned.astype(np.uint8).tobytes(), (number, turns, permutation, global_))
    for spatial, global_, labels in zip(*positions, strict=True):
        number, turns, permutation, expected = known[spatial.tobytes()]
        np.testing.assert_allclose(global_, expected, atol=1e-6)
        game = GAMES[number]
        if turns >= 2:  # an earlier position looks the same under several symmetries
            for column, ahead in ((MOVE, 0), (REPLY, 1)):
                inside = turns + ahead < len(game)
                assert labels[column] == (permutation[game[turns + ahead]] if inside else -1)
        sign = 1 if turns % 2 == 0 else -1
        assert labels[OUTCOME] == (1, -1, 0)[number] * sign


def test_a_sample_is_the_same_whoever_makes_it(tmp_path: Path, workers: WorkerPool) -> None:
    path = write_records(tmp_path / "games.npz", GAMES)
    whole = drawn(path, workers, 60, deviating=0.5, handicap=0.3)
    part = drawn(path, WorkerPool(threads=1), 20, first=30, deviating=0.5, handicap=0.3)
    for one, other in zip(whole.part(30, 50), part, strict=True):
        np.testing.assert_array_equal(one, other)
    other_seed = drawn(path, workers, 60, seed=2, deviating=0.5, handicap=0.3)
    assert (whole.spatial != other_seed.spatial).any()


def test_last_moves_are_forgotten_now_and_then(tmp_path: Path, workers: WorkerPool) -> None:
    """What is shown of them is what the encoder shows of a game that remembers no more moves."""
    games = random_games(count=3, length=200, seed=5)
    path = write_records(tmp_path / "games.npz", games)
    whole, cut, again = (drawn(path, workers, 400, forgotten=share) for share in (0.0, 0.3, 0.3))
    for one, other in zip(cut, again, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(cut.labels, whole.labels)
    is_late = whole.spatial[:, LAST_MOVES:CAUGHT].any(axis=(2, 3)).all(axis=1)
    shown = cut.spatial[:, LAST_MOVES:CAUGHT].any(axis=(2, 3)).sum(axis=1)
    shares = np.bincount(shown[is_late], minlength=6) / is_late.sum()
    np.testing.assert_allclose(shares, [0.3, 0.21, 0.147, 0.103, 0.072, 0.168], atol=0.08)
    for i in np.flatnonzero(is_late):
        expected, turns = whole.spatial[i].copy(), shown[i]
        expected[LAST_MOVES + turns : CAUGHT] = 0
        for ago in range(turns + 1, 3):
            expected[CAUGHT + ago] = whole.spatial[i, CAUGHT + turns]
        np.testing.assert_array_equal(cut.spatial[i], expected)
    assert (cut.spatial[:, CAUGHT_BEFORE] != whole.spatial[:, CAUGHT_BEFORE]).any()


def test_a_forgotten_pass_is_not_shown(tmp_path: Path, workers: WorkerPool) -> None:
    path = write_records(tmp_path / "games.npz", [[60, 361, 61, 361, 62, 361, 63]])
    for forgotten in (0.0, 1.0):
        positions = drawn(path, workers, 30, forgotten=forgotten)
        assert positions.global_[:, :5].any() == (forgotten == 0.0)
        assert positions.spatial[:, LAST_MOVES:CAUGHT].any() == (forgotten == 0.0)


def test_a_result_holds_under_its_own_komi_alone(tmp_path: Path, workers: WorkerPool) -> None:
    for komi, is_known in ((7.5, True), (6.5, True), (5.5, False), (float("nan"), False)):
        path = write_records(tmp_path / "games.npz", GAMES, komi=komi)
        outcomes = drawn(path, workers, 20).labels[:, OUTCOME]
        assert bool((outcomes != 0).all()) == is_known
        assert is_known or not outcomes.any()


def test_deviating_and_handicap_samples_have_no_record_to_follow(tmp_path: Path, workers: WorkerPool) -> None:
    path = write_records(tmp_path / "games.npz", GAMES)
    for config in ({"deviating": 1.0}, {"handicap": 1.0}):
        positions = drawn(path, workers, 50, **config)
        stones = positions.spatial[:, 1:3].sum(axis=(1, 2, 3))
        is_late = stones > 8
        assert (positions.labels[is_late] == (-1, -1, 0)).all()
        assert is_late.sum() > 25
        # Own and opponent's stones never share a point.
        assert (positions.spatial[:, 1] & positions.spatial[:, 2]).sum() == 0


def test_handicap_games_begin_with_black_stones(tmp_path: Path, workers: WorkerPool) -> None:
    path = write_records(tmp_path / "games.npz", [game[:13] for game in GAMES])
    positions = drawn(path, workers, 40, handicap=1.0)
    difference = positions.spatial[:, 1].sum(axis=(1, 2)).astype(int) - positions.spatial[:, 2].sum(axis=(1, 2))
    assert np.abs(difference).max() >= 4


def test_passes_at_the_end_are_left_out(tmp_path: Path) -> None:
    path = write_records(tmp_path / "games.npz", [[3, 4, 361, 361, 5], [361, 7], [8, 361]])
    records = load_records(RecordsConfig(path=str(path)))
    assert games_of(records) == [[3, 4, 361], [361, 7], [8, 361]]


def test_the_first_games_can_be_kept_for_validation(tmp_path: Path) -> None:
    path = write_records(tmp_path / "games.npz", [[1, 2], [3], [4, 5, 6]], [1, -1, 0])
    records = load_records(RecordsConfig(path=str(path), skip=2))
    assert (records.moves.tolist(), records.offsets.tolist(), records.result.tolist()) == ([4, 5, 6], [0, 3], [0])
    records = load_records(RecordsConfig(path=str(path), skip=1, most=1))
    assert (records.moves.tolist(), records.offsets.tolist(), records.result.tolist()) == ([3], [0, 1], [-1])
    assert load_records(RecordsConfig(path=str(path), most=7)).offsets.tolist() == [0, 2, 3, 6]
    with pytest.raises(TrainingError, match="leaves none"):
        load_records(RecordsConfig(path=str(path), skip=3))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\x93NUMPY"])
def test_files_that_are_no_records_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "games.npz"
    path.write_bytes(content)
    with pytest.raises(TrainingError, match=r"games\.npz"):
        load_records(RecordsConfig(path=str(path)))


def test_records_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "games.npz"
    sound = {"moves": np.zeros(3, np.uint16), "offsets": np.array([0, 3]), "result": np.zeros(1, np.int8)}
    sound |= {"first_player": np.zeros(1, np.uint8), "komi": np.zeros(1, np.float32)}
    for name, damaged in (
        ("moves", np.full(3, 362, np.uint16)),
        ("moves", np.zeros((3, 1), np.uint16)),
        ("offsets", np.array([0, 4])),
        ("offsets", np.array(3)),
        ("result", np.zeros(2, np.int8)),
        ("result", np.array(["B+R"])),
        ("komi", np.array(["7.5"])),
        ("first_player", np.array(["black"])),
    ):
        np.savez(path, **{**sound, name: damaged})
        with pytest.raises(TrainingError, match="damaged"):
            load_records(RecordsConfig(path=str(path)))


def test_black_moves_first_without_handicap(tmp_path: Path, workers: WorkerPool) -> None:
    positions = drawn(write_records(tmp_path / "games.npz", [[60]]), workers, 8)
    turns = positions.spatial[:, 1:3].sum(axis=(1, 2, 3))
    komi = preset("chinese")[1]
    for turn, global_ in zip(turns, positions.global_, strict=True):
        assert global_[5] == pytest.approx((-komi if turn == 0 else komi) / 20)  # BLACK sees komi as a debt
    assert BLACK == 1


def sgf(cells: list[int], first: str = "B", **properties: str) -> str:
    """A game of these cells (y * 19 + x, 361 a pass)."""
    root = "".join(f"{name}[{value}]" for name, value in {"SZ": "19", **properties}.items())
    colours = "BW" if first == "B" else "WB"
    moves = (
        f";{colours[i % 2]}[{'' if cell == 361 else chr(97 + cell % 19) + chr(97 + cell // 19)}]"
        for i, cell in enumerate(cells)
    )
    return f"(;GM[1]FF[4]{root}{''.join(moves)})"


GAME, OTHER = random_games(count=2, length=40, seed=3)


def test_games_are_gathered_from_files_and_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "games" / "2024"
    folder.mkdir(parents=True)
    (tmp_path / "one.sgf").write_text(sgf([*GAME, 361], RE="B+R", KM="6.5"))
    (folder / "two.SGF").write_text(sgf(OTHER, first="W", RE="W+2.5", KM="7.5"))
    (folder / "three.sgf").write_text(sgf(GAME, RE="0"))
    left_out = {
        "small.sgf": sgf(GAME, SZ="9"),
        "handicap.sgf": sgf(OTHER, first="W", HA="2", AB="dd][pp"),
        "short.sgf": sgf(GAME[:5]),
        "twice.sgf": sgf(GAME).replace(";W", ";B", 1),
        "illegal.sgf": sgf([*GAME[:-1], GAME[0]]),
        "empty.sgf": "",
    }
    for name, content in left_out.items():
        (folder / name).write_text(content)
    (folder / "notes.txt").write_text("no game")
    out = tmp_path / "games.npz"
    assert command_line.run(["records", str(out), str(tmp_path / "one.sgf"), str(tmp_path / "games")]) == 0
    said = capsys.readouterr().err
    assert f"3 games in {out}" in said
    one = tmp_path / "one.npz"
    assert command_line.run(["records", str(one), str(tmp_path / "one.sgf")]) == 0
    assert capsys.readouterr().err == f"1 game in {one}\n"
    assert "3 left out: cannot be read, or its moves are illegal" in said  # an empty one, and 9x9 with points off it
    for reason in ("with handicap", "of fewer than 30 moves", "a side moves twice"):
        assert f"1 left out: {reason}" in said.replace("in which ", "").replace("or stones set up", "")

    records = load_records(RecordsConfig(path=str(out)))
    assert games_of(records) == [[*GAME, 361], GAME, OTHER]
    assert records.result.tolist() == [1, 0, -1]
    assert records.first_player.tolist() == [0, 0, 1]
    assert records.komi[[0, 2]].tolist() == [6.5, 7.5]
    assert records.komi[1] != records.komi[1]  # unknown


def test_all_games_of_a_collection_are_gathered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A game that cannot be read does not take the following ones with it; one without an end is the last."""
    games = [sgf(GAME, C="(;"), sgf(GAME[:3]), sgf(OTHER, SZ="0"), sgf(OTHER), sgf(GAME)[:-1]]
    (tmp_path / "collection.Sgf").write_text("Two players\n" + "\n".join(games) + "\n")
    out = tmp_path / "games.npz"
    assert command_line.run(["records", str(out), str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "2 left out: cannot be read" in said
    assert "1 left out: of fewer than 30 moves" in said
    records = load_records(RecordsConfig(path=str(out)))
    assert games_of(records) == [GAME, OTHER]
    content = out.read_bytes()
    assert command_line.run(["records", str(out), str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"nobi: {printable_path(out)}: exists already\n"
    assert out.read_bytes() == content


def test_nothing_to_gather_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "short.sgf").write_text(sgf(GAME[:3]))
    out = tmp_path / "games.npz"
    assert command_line.run(["records", str(out), str(tmp_path)]) == 1
    assert "no game to learn from: 1 of fewer than 30 moves" in capsys.readouterr().err
    assert not out.exists()
    assert command_line.run(["records", str(tmp_path / "games.txt"), str(tmp_path)]) == 1
    assert "ends in .npz" in capsys.readouterr().err
