"""Game records: gathered out of SGF files, as `nobi records` does it, and read to make positions of them.

A record file is a .npz of G games on 19×19, colours alternating:

    moves         uint16, all games end to end: y * 19 + x from the top left, 361 a pass
    offsets       int64 [G + 1], game g is moves[offsets[g] : offsets[g + 1]]
    result        int8 [G], 1 black won, -1 white won, 0 unknown
    komi          float32 [G], nan unknown
    first_player  uint8 [G], 0 black, 1 white
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import BLACK
from go_rules.rules import clamped_komi
from go_rules.sgf.grammar import MAX_BYTES, SgfError, split_games
from go_rules.sgf.reader import Setup, SgfGame, parse_sgf
from nobi_machine.files import create_whole, read_regular
from nobi_machine.text import printable_path
from training.config import RecordsConfig
from training.errors import TrainingError
from training.files import named_errors, read_arrays
from training.positions.canvas import Positions, cell_at
from training.positions.game_conditions import GameConditions
from training.positions.replay import Records, draw_samples
from training.positions.workers import ReplayBuffers, WorkerPool

SIZE = 19
ARRAYS = ("moves", "offsets", "result", "komi", "first_player")
"""The arrays of a file of game records."""
SUFFIX = ".sgf"
"""How the names of SGF files in a folder end, in small or capital letters."""
UNREADABLE = "cannot be read, or its moves are illegal"
FEWEST_MOVES = 30
"""A shorter game was hardly played."""


class TrainingGame(NamedTuple):
    """One game as a record file keeps it."""

    moves: tuple[int, ...]
    """y * 19 + x from the top left; 361 is a pass."""
    result: int
    """1 black won, -1 white won, 0 unknown."""
    komi: float
    """nan unknown."""
    first_player: int
    """0 black, 1 white."""


class Gathered(NamedTuple):
    """How many games were taken from SGF files, each of which may hold many, and why others were not."""

    taken: int
    left_out: Counter[str]
    """How many games, and files that hold none, were left out, by the reason."""


def sgf_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files among `paths` as they are, and for folders all SGF files inside, in order."""
    for path in paths:
        if path.is_dir():
            yield from sorted(inside for inside in path.rglob("*") if inside.suffix.lower() == SUFFIX)
        else:
            yield path


def gather(out: Path, files: Iterable[Path]) -> Gathered:
    """Write those games of SGF files that can be learned from to a new file. Raises TrainingError where there are none,
    or where the name is taken."""
    if os.path.lexists(out):
        raise TrainingError(f"{printable_path(out)}: exists already")
    records: list[TrainingGame] = []
    left_out: Counter[str] = Counter()
    for file in files:
        try:
            content = read_regular(file, MAX_BYTES)
        except OSError:
            left_out[UNREADABLE] += 1
            continue
        for text in split_games(content):
            try:
                records.append(record_of(parse_sgf(text)))
            except SgfError:
                left_out[UNREADABLE] += 1
            except Unsuitable as reason:
                left_out[str(reason)] += 1
    if not records:
        reasons = "; ".join(f"{count} {reason}" for reason, count in left_out.most_common()) or "there are no SGF files"
        raise TrainingError(f"no game to learn from: {reasons}")
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        moves=np.concatenate([np.array(record.moves, np.uint16) for record in records]),
        offsets=np.cumsum([0, *(len(record.moves) for record in records)]).astype(np.int64),
        result=np.array([record.result for record in records], np.int8),
        komi=np.array([record.komi for record in records], np.float32),
        first_player=np.array([record.first_player for record in records], np.uint8),
    )
    with named_errors(out):
        create_whole(out, buffer.getvalue())
    return Gathered(len(records), left_out)


class Unsuitable(Exception):
    """Raised for a sound game that records cannot hold. The text is the reason."""


def record_of(game: SgfGame) -> TrainingGame:
    """Convert an SGF game to a record. Raises Unsuitable, and SgfError for illegal moves."""
    if (game.width, game.height) != (SIZE, SIZE):
        raise Unsuitable("not on 19x19")
    if game.handicap > 0 or any(isinstance(step, Setup) for step in game.steps):
        raise Unsuitable("with handicap or stones set up")
    moves = game.moves
    if len(moves) < FEWEST_MOVES:
        raise Unsuitable(f"of fewer than {FEWEST_MOVES} moves")
    if any(one.colour == other.colour for one, other in pairwise(moves)):
        raise Unsuitable("in which a side moves twice")
    if len(game.to_game().moves) < len(moves):
        raise SgfError("a move is on a stone, which samples cannot have")
    return TrainingGame(
        tuple(cell_at(move.point, SIZE) for move in moves),
        {"B": 1, "W": -1}.get(game.result[:1].upper() if game.result[1:2] == "+" else "", 0),
        float("nan") if game.komi is None else clamped_komi(game.komi),
        0 if moves[0].colour == BLACK else 1,
    )


class RecordPositions:
    """An endless stream of positions from records: sample n is the same in every run with the same seed."""

    def __init__(self, config: RecordsConfig, conditions: GameConditions, seed: int, workers: WorkerPool) -> None:
        """Read the records that `config` names. Raises TrainingError."""
        self._records = load_records(config)
        self._conditions, self._seed, self._workers = conditions, seed, workers

    def fill(self, positions: Positions, first: int) -> Positions:
        """Make samples first, first + 1, ... in `positions`, as many as it holds, and return it."""

        def make(begin: int, end: int, buffers: ReplayBuffers) -> None:
            part = positions.part(begin, end)
            draw_samples(self._records, self._conditions, self._seed, first + begin, buffers, *part)

        self._workers.map_parts(make, len(positions.spatial))
        return positions


def load_records(config: RecordsConfig) -> Records:
    """Read the file of game records that `config` names, without the passes that end a game. Raises TrainingError."""
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
