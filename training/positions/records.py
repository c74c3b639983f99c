"""Positions out of a file of game records, made by all threads of a worker pool."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.config import RecordsConfig
from training.errors import TrainingError
from training.files import read_arrays
from training.positions.batch import Positions
from training.positions.game_conditions import GameConditions
from training.positions.replay import Records, draw_samples
from training.positions.sgf_records import SIZE
from training.positions.workers import WorkerBuffers, WorkerPool

ARRAYS = ("moves", "offsets", "result", "komi", "first_player")
"""The arrays of a file of game records."""


class RecordPositions:
    """An endless stream of positions from records: sample n is the same in every run with the same seed."""

    def __init__(self, config: RecordsConfig, conditions: GameConditions, seed: int, workers: WorkerPool) -> None:
        """Read the records that `config` names. Raises TrainingError."""
        self._records = load_records(config)
        self._conditions, self._seed, self._workers = conditions, seed, workers

    def fill(self, positions: Positions, first: int) -> Positions:
        """Make samples first, first + 1, ... in `positions`, as many as it holds, and return it."""

        def make(begin: int, end: int, buffers: WorkerBuffers) -> None:
            part = positions.part(begin, end)
            draw_samples(self._records, self._conditions, self._seed, first + begin, buffers, *part)

        self._workers.map_parts(make, len(positions.spatial))
        return positions


def load_records(config: RecordsConfig) -> Records:
    """Read the file of game records (training/positions/sgf_records.py) that `config` names, without the passes that
    end a game. Raises TrainingError."""
    if not config.path:
        raise TrainingError("data.records.path: no game records are named; set it, or take no positions from records")
    path = Path(config.path)
    moves, offsets, result, komi, first_player = read_arrays(path, ARRAYS, "a file of game records")
    is_sound = moves.dtype == np.uint16 and offsets.dtype == np.int64 and moves.ndim == offsets.ndim == 1
    games = offsets.size - 1
    is_sound = is_sound and games >= 1
    is_sound = is_sound and offsets[0] == 0 and offsets[-1] == len(moves) and bool((np.diff(offsets) >= 0).all())
    is_sound = is_sound and all(array.shape == (games,) for array in (result, komi, first_player))
    is_sound = is_sound and result.dtype.kind in "iu" and komi.dtype.kind in "iuf" and first_player.dtype.kind in "iu"
    if not is_sound or (len(moves) and int(moves.max()) > SIZE**2):
        raise TrainingError(f"{path}: damaged: its game records contradict each other")
    if config.skip >= games:
        raise TrainingError(f"{path}: it has {games} games, data.records.skip leaves none of them")
    first, last = config.skip, games if config.most == 0 else min(games, config.skip + config.most)
    moves, offsets = moves[offsets[first] : offsets[last]], offsets[first : last + 1] - offsets[first]
    moves, offsets = _without_last_passes(moves, offsets)
    return Records(
        moves,
        offsets,
        np.ascontiguousarray(result[first:last], np.int8),
        np.ascontiguousarray(komi[first:last], np.float64),
        np.ascontiguousarray(first_player[first:last], np.uint8),
        np.array([SIZE]),
        np.array([config.deviating]),
        np.array([config.handicap]),
    )


def _without_last_passes(
    moves: NDArray[np.uint16], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Cut each game at the first pass that answers a pass. Return the new moves and offsets."""
    passes = moves == SIZE**2
    answered = np.flatnonzero(passes[1:] & passes[:-1]) + 1
    if len(answered) == 0:
        return np.ascontiguousarray(moves), np.ascontiguousarray(offsets)
    game = np.searchsorted(offsets, answered, side="right") - 1
    inside = answered > offsets[game]
    lengths = np.diff(offsets)
    np.minimum.at(lengths, game[inside], answered[inside] - offsets[game[inside]])
    kept = np.repeat(offsets[:-1] + lengths, np.diff(offsets))
    new_offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.ascontiguousarray(moves[np.arange(len(moves)) < kept]), new_offsets
