"""The record of a match on disk: its terms, and one line for each game.

    FOLDER/record.jsonl     the terms in line 1, then a game a line, appended and flushed as games end
    FOLDER/games/0001.sgf   the games
    FOLDER/stderr/A-1.txt   what the engines wrote to stderr, by side and by parallel table

A match that was interrupted goes on from its record; the games it holds are not played again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from go_rules.machine.files import PUBLIC, append_regular, read_regular, write_whole
from gtp_engine.errors import UserError
from gtp_engine.match.statistics import Tally

FORMAT = 1
MAX_FILE_BYTES = 1 << 30
"""Of a record: some 300 bytes for each game."""
SIDES = ("A", "B")
"""The names of the two engines in files: A is the first one on the command line."""

WON_BY_SCORE = "score"
RESIGNED = "resignation"
OVERTIME = "time"
HUNG = "hung"
CRASHED = "crash"
GARBLED = "garbled output"
ILLEGAL = "illegal move"
REFUSED = "refused a legal move"
MOVE_LIMIT = "move limit"
FAULTS = (OVERTIME, HUNG, CRASHED, GARBLED, ILLEGAL, REFUSED)
"""The reasons for which an engine loses because it misbehaved."""


class MatchTerms(msgspec.Struct, frozen=True, kw_only=True):
    """Line 1 of the record: everything that must be the same for all games of a match."""

    format: int = FORMAT
    commands: list[list[str]]
    names: list[str]
    width: int
    height: int
    komi: float
    rules: str
    time: str
    """The command that announces the time control, or empty."""
    enforce_clock: bool
    visits: int
    """The visits that `kata-set-param maxVisits` sets; 0 sets none."""
    max_moves: int
    openings: str
    """`built-in`, `none`, or the path of a file of them."""
    count_board: bool
    """Whether the board is scored as it stands, and the engines are not asked."""


class GameRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One game. Lists of two have a value for each engine, A's first."""

    game: int
    """The number of the game, from 0. Games 2k and 2k+1 have the same opening; A is black in 2k."""
    black: int
    """The engine that plays black: 0 is A, 1 is B."""
    opening: list[str]
    moves: int
    """How many moves were played, with those of the opening and with passes."""
    result: str
    """The result as in SGF: `B+3.5`, `W+R`, `W+T`, `B+F` (forfeit), `B+` or `0`; `?` counts for nobody."""
    reason: str
    """WON_BY_SCORE, RESIGNED, MOVE_LIMIT or one of FAULTS."""
    detail: str = ""
    scores: list[str | None]
    """The score that each engine gave; None if it was not asked or gave none."""
    agreed: bool | None = None
    """Whether the scores are equal; None if one is missing."""
    seconds: list[float]
    """The seconds of all genmoves."""
    longest: list[float]
    """The seconds of the slowest move."""
    own_moves: list[int]
    late: list[int]
    """How many moves were too late by the clock."""
    stderr_lines: list[int]
    stray_lines: list[int]
    """How many lines on stdout belonged to no reply."""

    @property
    def winner(self) -> int | None:
        """The engine that won: 0 or 1; None for a draw or a game that counts for nobody."""
        if self.result[:2] == "B+":
            return self.black
        return 1 - self.black if self.result[:2] == "W+" else None

    @property
    def counts(self) -> bool:
        """Whether the game counts for the score."""
        return self.result != "?"


def tally(games: Iterable[GameRecord]) -> Tally:
    """The score of the games that count, from engine A's side."""
    winners = [game.winner for game in games if game.counts]
    return Tally(winners.count(0), winners.count(None), winners.count(1))


class MatchRecord:
    """The folder of a match. `games` are the finished games in the order in which they ended."""

    def __init__(self, folder: Path, terms: MatchTerms) -> None:
        """Open or start the record. Raises UserError if the folder holds another match."""
        self.folder = folder
        self.terms = terms
        self.games: list[GameRecord] = []
        self._path = folder / "record.jsonl"
        (folder / "games").mkdir(parents=True, exist_ok=True)
        (folder / "stderr").mkdir(exist_ok=True)
        if self._path.exists() and self._path.stat().st_size > 0:
            self._resume()
        else:
            self._append(terms)

    def add(self, game: GameRecord, sgf: bytes) -> None:
        """Add a finished game. Its SGF file is written before its line, so that every line has its file."""
        write_whole(self.folder / "games" / f"{game.game + 1:04d}.sgf", sgf, PUBLIC)
        self._append(game)
        self.games.append(game)

    def missing(self, count: int) -> list[int]:
        """The numbers of the games among the first `count` that have not been played."""
        played = {game.game for game in self.games}
        return [game for game in range(count) if game not in played]

    def stderr_file(self, side: int, table: int) -> Path:
        """The file for what an engine at a table writes to stderr."""
        return self.folder / "stderr" / f"{SIDES[side]}-{table + 1}.txt"

    def _append(self, entry: msgspec.Struct) -> None:
        append_regular(self._path, msgspec.json.encode(entry) + b"\n", durable=True)

    def _resume(self) -> None:
        content = read_regular(self._path, MAX_FILE_BYTES)
        complete = content[: content.rfind(b"\n") + 1]
        if len(complete) < len(content):  # we were stopped in the middle of a line
            os.truncate(self._path, len(complete))
        lines = complete.splitlines()
        try:
            terms = msgspec.json.decode(lines[0], type=MatchTerms)
            self.games = [msgspec.json.decode(line, type=GameRecord) for line in lines[1:]]
        except (msgspec.MsgspecError, IndexError, RecursionError) as error:
            raise UserError(
                f"{self._path}: not a match record of this version ({error}); choose another --out"
            ) from error
        changed = [f for f in MatchTerms.__struct_fields__ if getattr(terms, f) != getattr(self.terms, f)]
        if changed:
            raise UserError(f"{self._path}: holds another match (different {', '.join(changed)}); choose another --out")
