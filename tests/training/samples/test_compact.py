"""Samples in few bytes: planes come back exactly, whoever made them, and labels within the steps that are stated."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from nets.features import CAUGHT_BEFORE, GLOBAL_CLEANUP_1, GLOBAL_CLEANUP_2, GLOBAL_KOMI, OPPONENT, OWN
from tests.training.samples.test_samples import made_up
from training.config import RULE_SHARES
from training.positions.canvas import sizes_on
from training.positions.game_conditions import new_game_conditions
from training.positions.policy_game_kernels import encode_games, new_games, play_moves, start_games
from training.positions.workers import new_worker_buffers
from training.samples.compact import MAX_SAMPLES, DamagedChunk, decode_chunk, encode_chunk
from training.samples.label_coding import LEVELS, OWNED_STEPS
from training.samples.range_coder import begin, code_bit, code_guessed, code_plain, code_tree, finish, new_coder
from training.samples.samples import (
    HAS_ERRORS,
    HAS_OPTIMISTIC,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Samples,
    concatenate,
    pack_samples,
    unpack_planes,
)

GAMES = 12


WRITE = """
from go_rules.compilation import jit

asked = []
class Recording(jit.KernelCache):
    def load_overload(self, sig, target_context):
        asked.append((self._name, str(sig)))
        return super().load_overload(sig, target_context)
jit.KernelCache = Recording

from tests.training.samples.test_samples import made_up
from training.samples.compact import decode_chunk, encode_chunk, warm_up

warm_up()
assert asked
asked.clear()
for canvas in (9, 19):
    samples, _ = made_up(3, canvas, canvas)
    for each in (samples, samples._replace(optimistic=samples.optimistic[:, :0])):
        for pass_alive in (False, True):
            content = encode_chunk(each, pass_alive)
            decode_chunk(content, canvas, 3, bool(each.optimistic.shape[1]), pass_alive)
print(asked)
"""


@pytest.mark.slow
def test_nothing_is_compiled_or_loaded_after_warm_up() -> None:
    run = subprocess.run([sys.executable, "-c", WRITE], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]"]


def played(canvas: int, moves: int, every: int, pass_alive: bool = False) -> Samples:
    """Positions of games by a policy that likes a few random points and, late, the pass; with labels made up."""
    generator = np.random.default_rng(canvas)
    games = new_games(GAMES, sizes_on(canvas), 3, (1.0, 0.0), 0.1, 4.0)
    conditions = new_game_conditions(RULE_SHARES, 0.5, 10.0, forgotten=0.1)
    buffers = new_worker_buffers(pass_alive)
    start_games(games, conditions, 0, GAMES, 0.3 * canvas * canvas)
    parts = []
    for move in range(moves):
        spatial = np.zeros((GAMES, 22, canvas, canvas), np.uint8)
        global_ = np.zeros((GAMES, 19), np.float32)
        encode_games(games, conditions, 0, buffers, spatial, global_)
        logits = generator.normal(0, 3, (GAMES, canvas * canvas + 1)).astype(np.float32)
        logits[:, -1] += 8.0 * (move % 40 > 30)
        if move % every == 0:
            parts.append(labelled(spatial, global_, logits, generator))
        play_moves(games, conditions, 0, canvas, logits)
    return concatenate(parts)


def labelled(
    spatial: NDArray[np.uint8],
    global_: NDArray[np.float32],
    logits: NDArray[np.float32],
    generator: np.random.Generator,
) -> Samples:
    board = spatial[:, 0].reshape(len(spatial), -1).astype(np.float32)
    policy = np.exp(logits) * np.append(board, np.ones((len(board), 1), np.float32), axis=1)
    policy /= policy.sum(axis=1, keepdims=True)
    value = generator.dirichlet((1.0, 1.0, 0.02), len(board)).astype(np.float32)
    known = np.full(len(board), 255, np.uint8)
    known[::5] = HAS_POLICY | HAS_VALUE
    return pack_samples(
        spatial, global_, policy, value,
        generator.normal(0, 20, (len(board), 6)).astype(np.float32),
        np.tanh(generator.normal(0, 1, board.shape)).astype(np.float32) * board,
        known, policy, generator.integers(-1, board.shape[1] + 1, len(board)).astype(np.int16),
    )  # fmt: skip


def there_and_back(samples: Samples, pass_alive: bool = False) -> tuple[Samples, int]:
    has_optimistic = samples.optimistic.shape[1] > 0
    content = encode_chunk(samples, pass_alive)
    return decode_chunk(content, samples.canvas, samples.length, has_optimistic, pass_alive), len(content)


def has(samples: Samples, bit: int) -> NDArray[np.bool_]:
    return samples.known & bit != 0


def assert_close(given: Samples, back: Samples) -> None:
    """Planes and global features are the same, labels within their steps, and zero where they are not known."""
    np.testing.assert_array_equal(back.planes, given.planes)
    np.testing.assert_array_equal(back.global_, given.global_)
    np.testing.assert_array_equal(back.known, given.known)
    np.testing.assert_array_equal(back.reply, given.reply)
    for one, other, bit in (
        (given.policy, back.policy, HAS_POLICY), (given.optimistic, back.optimistic, HAS_OPTIMISTIC),
    ):  # fmt: skip
        nearest = np.abs(one[..., None].astype(int) - LEVELS.astype(int)).min(axis=-1)
        apart = np.abs(one.astype(int) - other.astype(int))
        assert (apart[has(given, bit)] == nearest[has(given, bit)]).all()
        assert not other[~has(given, bit)].any()
    assert np.abs(back.value - given.value)[has(given, HAS_VALUE)].max() < 1.01 / 2047
    for columns, bit in ((slice(0, 3), HAS_SCORE), (slice(3, 6), HAS_ERRORS)):
        one, other = given.score[has(given, bit), columns], back.score[has(given, bit), columns]
        assert (np.abs(one - other) <= 0.003 + 0.011 * np.abs(one)).all()
    apart = np.abs(back.ownership.astype(int) - given.ownership.astype(int))[has(given, HAS_OWNERSHIP)]
    assert apart.max() <= 127 / OWNED_STEPS / 2 + 0.51


@pytest.mark.parametrize(("canvas", "moves", "pass_alive"), [(9, 260, False), (13, 60, True), (19, 40, False)])
def test_games_come_back(canvas: int, moves: int, pass_alive: bool) -> None:
    samples = played(canvas, moves, 5, pass_alive)
    back, length = there_and_back(samples, pass_alive)
    assert_close(samples, back)
    planes = unpack_planes(samples.planes, canvas)
    if canvas == 9:  # what is rare was there
        assert planes[:, CAUGHT_BEFORE].any()
        assert (samples.global_[:, GLOBAL_CLEANUP_1] == 1).any()
        assert (samples.global_[:, GLOBAL_CLEANUP_2] == 1).any()
        assert (samples.global_[:, :5] == 1).any()
    # Labels of noise cost what they cost; the boards themselves are small.
    board, bare = there_and_back(samples._replace(known=np.zeros_like(samples.known)), pass_alive)
    np.testing.assert_array_equal(board.planes, samples.planes)
    assert bare < length
    assert bare / samples.length < 0.25 * canvas * canvas
    # To pack what was packed loses nothing more.
    again, _ = there_and_back(back, pass_alive)
    for one, other in zip(back, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_any_planes_come_back() -> None:
    """Also such as no game has: stones on stones, several moves at once, numbers of no rules."""
    for size, canvas in ((7, 9), (9, 9), (19, 19)):
        samples, _ = made_up(20, size, canvas)
        assert_close(samples, there_and_back(samples)[0])
    planes = unpack_planes(played(9, 1, 1).planes, 9)
    planes[:, OWN] = planes[:, 0] * (1 - planes[:, OPPONENT])  # no liberties are left
    one = made_up(GAMES, 9, 9)[0]
    full = one._replace(planes=np.packbits(planes.reshape(GAMES, 22, -1), axis=2))
    np.testing.assert_array_equal(there_and_back(full)[0].planes, full.planes)


def test_the_same_board_with_another_komi_costs_little() -> None:
    samples = played(19, 8, 4)
    other = samples._replace(global_=samples.global_.copy())
    other.global_[:, GLOBAL_KOMI] += np.float32(0.5)
    both, twice = there_and_back(concatenate([samples, other]))
    np.testing.assert_array_equal(both.planes[samples.length :], samples.planes)
    alone = there_and_back(samples)[1]
    assert twice < 1.5 * alone


def test_no_optimistic_policy_is_needed() -> None:
    samples = made_up(3, 9, 9)[0]
    samples = samples._replace(optimistic=samples.optimistic[:, :0], known=samples.known & ~np.uint8(HAS_OPTIMISTIC))
    assert there_and_back(samples)[0].optimistic.shape == (3, 0)


def test_what_is_no_chunk_is_refused() -> None:
    content = encode_chunk(made_up(3, 9, 9)[0], False)
    for wrong, count in (
        (b"", 3), (content[:5], 3), (content[:40], 3), (content, 0), (content, MAX_SAMPLES + 1),
        (b"\xff\xff" + content[2:], 3), (b"\x02" + content[1:], 3), (content[:6] + b"xx" + content[8:], 3),
    ):  # fmt: skip
        with pytest.raises(DamagedChunk):
            decode_chunk(wrong, 9, count, True, False)


def test_the_coder_reads_what_it_wrote() -> None:
    """Of any chances, also where carries run through many bytes, and close to the best that is possible."""
    generator = np.random.default_rng(1)
    bits = (generator.random(8_000) < np.repeat([0.001, 0.5, 0.999, 0.1], 2_000)).astype(np.int64)
    numbers = generator.integers(0, 17, 500)
    data, coder = np.zeros(20_000, np.uint8), new_coder()[0]
    ends = []
    for reads in (0, 1):
        begin(coder, data, reads)
        for i, bit in enumerate(bits.tolist()):
            assert code_bit(coder, data, np.int64(i // 2_000), np.int64(bit if reads == 0 else 0)) == bit
        ends.append(int(coder["place"]))
        for number in numbers.tolist():
            given = np.int64(number if reads == 0 else 0)
            assert code_plain(coder, data, np.int64(5), given) == number
            assert code_tree(coder, data, np.int64(64), np.int64(5), given) == number
            assert code_guessed(coder, data, np.int64(128), np.int64(4), np.int64(3), given) == number
        if reads == 0:
            assert finish(coder, data) < len(data)
    entropy = 2_000 * (1 + 2 * 0.0114 + 0.469) / 8
    assert ends[0] < 1.1 * entropy + 30
