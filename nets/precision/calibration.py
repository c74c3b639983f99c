"""Makes positions to calibrate a network with: a network plays games of many kinds against itself.

Games differ in board size, rules and komi, and in how often each side plays a random move instead, so that their
positions are even and lost, tidy and absurd. A network is used on all of these.
"""

from __future__ import annotations

import hashlib
import io
import platform
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.machine.fingerprint import source_fingerprint
from go_rules.points import N_POINTS, PASS, point_at
from go_rules.rule_names import PRESETS
from go_rules.rules import SCORING_AREA
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES, EvaluationRequest, Evaluator
from nets.features import IN_TREE, Scratch, encode, scratch_for
from nets.onnx.runtime import runtime_version

Positions = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Features [N, 22, H, W] and [N, 19] of positions on boards of one size."""

BLUNDERS = (0.0, 0.0, 0.05, 0.3)
"""Shares of random moves; each side of each game draws one."""
TEMPERATURES = (0.5, 1.0)
UNFAIR_KOMI = 0.25
"""Share of games whose komi gives one side a lead, of up to a third of the board."""
TRIES = 8


@dataclass(frozen=True)
class Series:
    """Games played side by side on boards of one size."""

    width: int
    height: int
    games: int
    moves: int
    interval: int
    """A position is kept after every `interval` moves."""


SERIES = (
    Series(19, 19, games=9, moves=220, interval=9),
    Series(13, 13, games=8, moves=110, interval=9),
    Series(9, 9, games=12, moves=66, interval=5),
    Series(7, 11, games=4, moves=50, interval=6),
    Series(15, 15, games=4, moves=60, interval=10),
    Series(5, 5, games=4, moves=20, interval=4),
)
WARM_UP = Series(5, 5, games=1, moves=2, interval=1)
"""A tiny game that is played first, so that all kernels are compiled before time is taken."""


def own_positions(
    evaluator: Evaluator,
    series: tuple[Series, ...] = SERIES,
    seed: int = 1,
    seconds: float = float("inf"),
    progress: Callable[[float], None] = lambda share: None,
) -> list[Positions]:
    """Play all `series` and return the positions kept.

    It takes at most `seconds` of this thread's processor time, compilation not counted: neither a busy machine nor a
    first start may make a worse network. `progress` is told the share done, 0 to 1. Raises EvaluatorError.
    """
    scratch = scratch_for(evaluator)
    random = np.random.default_rng(seed)
    for _ in play(new_games(WARM_UP, random), WARM_UP.moves, evaluator, random, scratch):
        pass
    random = np.random.default_rng(seed)
    total = sum(each.games * each.moves * each.width * each.height for each in series)
    started, done, kept = time.thread_time(), 0.0, []
    for each in series:
        share = each.games * each.moves * each.width * each.height / total
        positions = []
        deadline = started + seconds * (done + share)
        for move, present in enumerate(play(new_games(each, random), each.moves, evaluator, random, scratch)):
            if move % each.interval == each.interval - 1:
                positions.append(present)
            progress(done + share * move / each.moves)
            if time.thread_time() > deadline and positions:
                break
        if not positions:  # a network that passes at once
            positions.append(present)
        done += share
        kept.append(joined(positions))
    return kept


def joined(positions: Sequence[Positions]) -> Positions:
    """Return positions of boards of one size as one batch."""
    return np.concatenate([spatial for spatial, _ in positions]), np.concatenate([global_ for _, global_ in positions])


def pack_positions(positions: list[Positions]) -> bytes:
    """Return positions as the content of a small file."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for number, (spatial, global_) in enumerate(positions):
        height, width = spatial.shape[2:]
        arrays[f"planes{number}_{height}x{width}"] = np.packbits(
            spatial.astype(bool).reshape(*spatial.shape[:2], -1), axis=2
        )
        arrays[f"global{number}"] = global_
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def unpack_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """Read the arrays of an .npz file by their names. Raises ValueError if it is damaged."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(str(error)) from None


def unpack_positions(content: bytes) -> list[Positions]:
    """Read what `pack_positions` wrote. Raises ValueError or KeyError if it is damaged."""
    arrays = unpack_arrays(content)
    positions = []
    for name, packed in arrays.items():
        if name.startswith("planes"):
            number, _, shape = name.removeprefix("planes").partition("_")
            height, width = map(int, shape.split("x"))
            planes = np.unpackbits(packed, axis=2, count=height * width).astype(np.float32)
            positions.append((planes.reshape(*packed.shape[:2], height, width), arrays[f"global{number}"]))
    return positions


def play(
    games: Sequence[Game], moves: int, evaluator: Evaluator, random: np.random.Generator, scratch: Scratch
) -> Iterator[Positions]:
    """Play games on boards of one size side by side, `moves` moves each; yields each turn's positions, those of
    unfinished games."""
    blunders = random.choice(BLUNDERS, (len(games), 2))
    temperatures = random.choice(TEMPERATURES, len(games))
    for _ in range(moves):
        alive = [i for i, game in enumerate(games) if not game.is_over]
        if not alive:
            return
        spatial, global_ = encoded([games[i] for i in alive], scratch)
        yield spatial, global_
        policy = evaluator.evaluate(EvaluationRequest(spatial, global_)).policy
        for row, i in enumerate(alive):
            is_blunder = random.random() < blunders[i, games[i].to_play - 1]
            _move(games[i], np.zeros_like(policy[row]) if is_blunder else policy[row] / temperatures[i], random)


def encoded(games: Sequence[Game], scratch: Scratch) -> Positions:
    """Encode the present positions of games on boards of one size, as a search does."""
    spatial = np.zeros((len(games), SPATIAL_PLANES, games[0].height, games[0].width), np.float32)
    global_ = np.zeros((len(games), GLOBAL_FEATURES), np.float32)
    ban = np.zeros(N_POINTS, np.int8)
    for row, game in enumerate(games):
        last = game.length - 1
        encode(game.stack, last, game.to_play, game.record, 0.0, IN_TREE, ban, scratch, spatial[row], global_[row])
    return spatial, global_


def new_games(series: Series, random: np.random.Generator) -> list[Game]:
    """Return the games of a series at their beginning, with rules and komi drawn for each."""
    return [_new_game(series, random) for _ in range(series.games)]


def _new_game(series: Series, random: np.random.Generator) -> Game:
    rules, komi = list(PRESETS.values())[random.integers(len(PRESETS))]
    if random.random() < UNFAIR_KOMI:
        reach = series.width * series.height / 3
        komi = float(np.round(random.uniform(-reach, reach) * 2) / 2)
    if rules.scoring != SCORING_AREA:
        komi = float(np.round(komi - 0.5) + 0.5)
    return Game(series.width, series.height, rules, komi)


def _move(game: Game, logits: NDArray[np.float32], random: np.random.Generator) -> None:
    """Play a move drawn with the probabilities that the logits give; a pass where several draws were illegal."""
    area = game.width * game.height
    noisy = logits - np.log(random.exponential(size=len(logits)))  # the Gumbel trick: their order is a draw
    for move in np.argsort(-noisy)[:TRIES]:
        point = PASS if move == area else point_at(int(move) % game.width, int(move) // game.width)
        if game.is_legal(game.to_play, point):
            game.play(game.to_play, point)
            return
    game.play(game.to_play, PASS)


def measurement_fingerprint(module: str, more: str = "") -> str:
    """Hash what a measurement by `module` depends on beside the network: sources, processor, onnxruntime, `more`."""
    here = f"{runtime_version()} {platform.machine()} {platform.processor()} {source_fingerprint(module)} {more}"
    return hashlib.sha256(here.encode()).hexdigest()
