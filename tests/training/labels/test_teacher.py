"""Teachers in the engine's integers against the same networks in PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import PASS
from nets.embedded import network_file
from nets.features import scratch_for
from nets.katago.writer import encode_model
from nets.loss import RecordedGame, positions_of
from nets.native.simd.processor import is_available
from nets.open import open_network
from tests.training.networks import new_student, padded
from tests.training.pytorch import torch
from training.errors import TrainingError
from training.labels.labelling import AT_ONCE, NativeTeacher, open_teacher
from training.network import Network, load_network

CPU = torch.device("cpu")
needs_kernels = pytest.mark.skipif(not is_available(), reason="numba is off, or the processor has no such vectors")


def random_game(size: int, seed: int) -> Game:
    """A game of 36 random moves."""
    random, game = np.random.default_rng(seed), Game(size, size)
    for _ in range(36):
        moves = [point for point in game.legal_moves(game.to_play) if point != PASS]
        game.play(game.to_play, int(random.choice(moves)))
    return game


@needs_kernels
@torch.no_grad()
def test_both_kinds_of_teachers_are_of_one_opinion() -> None:
    path = network_file()
    native, exact = open_teacher(path, CPU, threads=2), load_network(path)
    assert isinstance(native, NativeTeacher)
    for name in ("name", "has_errors", "has_optimistic", "pass_alive_under_suicide"):
        assert getattr(native, name) == getattr(exact, name)
    games = [
        RecordedGame.of(random_game(size, seed), 12)
        for size, seed in ((7, 0), *((9, i) for i in range(AT_ONCE)), (8, 0))
    ]
    boards = positions_of(games, scratch_for(open_network(path, "fp32", "cpu")))
    assert [len(planes) > AT_ONCE for planes, _ in boards] == [False, True, False]
    spatial = torch.cat([padded(torch.from_numpy(planes), 9) for planes, _ in boards])
    global_ = torch.cat([torch.from_numpy(numbers) for _, numbers in boards])
    order = torch.randperm(len(global_), generator=torch.Generator().manual_seed(2))  # sizes in between each other
    spatial, global_ = spatial[order].contiguous(memory_format=torch.channels_last), global_[order]
    given, wanted = native.evaluate(spatial, global_, False), exact.evaluate(spatial, global_, False)
    assert given.optimistic is not None
    assert wanted.optimistic is not None
    for one, other in ((given.policy, wanted.policy), (given.optimistic, wanted.optimistic)):
        assert one.shape == other.shape == (len(order), 82)
        apart = (one.softmax(1) - other.softmax(1)).abs()
        assert apart.max() < 0.05
        assert apart.sum(1).mean() < 0.05
        assert ((one < -1000) == (other < -1000)).all()
    torch.testing.assert_close(given.value, wanted.value, atol=0.05, rtol=0)  # a transformer, partly in 8 bits
    assert (given.value - wanted.value).abs().mean() < 0.005
    torch.testing.assert_close(given.score, wanted.score, atol=0.5, rtol=0.05)
    on_board = spatial[:, 0].flatten(1)
    torch.testing.assert_close(given.ownership * on_board, wanted.ownership * on_board, atol=0.1, rtol=0)
    assert ((given.ownership - wanted.ownership) * on_board).abs().mean() < 0.01


def test_which_kind_opens(tmp_path: Path) -> None:
    tiny = tmp_path / "tiny.bin.gz"
    tiny.write_bytes(encode_model(new_student().to_model("tiny", has_optimistic=True)))
    assert isinstance(open_teacher(tiny, CPU), Network), "the engine itself would not run it in integers"
    assert isinstance(open_teacher(tiny, CPU, "fp32"), Network)
    path = tmp_path / "teacher.bin.gz"
    path.write_bytes(b"hello")
    with pytest.raises(TrainingError, match=r"teacher\.bin\.gz"):
        open_teacher(path, CPU)
