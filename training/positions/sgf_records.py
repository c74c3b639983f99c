"""Game records out of SGF files, as `nobi records` writes them to the file that the setting data.records.path names.

A record file is a .npz of G games on 19×19, colours alternating:

    moves         uint16, all games end to end: y * 19 + x from the top left, 361 a pass
    offsets       int64 [G + 1], game g is moves[offsets[g] : offsets[g + 1]]
    result        int8 [G], 1 black won, -1 white won, 0 unknown
    komi          float32 [G], nan unknown
    first_player  uint8 [G], 0 black, 1 white
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from go_rules.points import BLACK
from go_rules.rules import clamped_komi
from go_rules.sgf.grammar import MAX_BYTES, SgfError, split_games
from go_rules.sgf.reader import Setup, SgfGame, parse_sgf
from nobi_machine.files import read_regular
from training.errors import TrainingError
from training.files import write_whole
from training.positions.canvas import cell_at

SIZE = 19
SUFFIX = ".sgf"
"""How the names of SGF files in a folder end, in small or capital letters."""
UNREADABLE = "cannot be read, or its moves are illegal"
FEWEST_MOVES = 30
"""A shorter game was hardly played."""


class Record(NamedTuple):
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
    """Write those games of SGF files that can be learned from to `out`. Raises TrainingError where there are none."""
    records: list[Record] = []
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
    write_whole(out, buffer.getvalue())
    return Gathered(len(records), left_out)


class Unsuitable(Exception):
    """Raised for a sound game that records cannot hold. The text is the reason."""


def record_of(game: SgfGame) -> Record:
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
    game.to_game()
    return Record(
        tuple(cell_at(move.point, SIZE) for move in moves),
        {"B": 1, "W": -1}.get(game.result[:1].upper() if game.result[1:2] == "+" else "", 0),
        float("nan") if game.komi is None else clamped_komi(game.komi),
        0 if moves[0].colour == BLACK else 1,
    )
