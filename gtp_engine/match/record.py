"""The record of a match on disk: its terms, and one line for each game.

    FOLDER/record.jsonl     the terms in line 1, then a game a line, appended and flushed as games end
    FOLDER/games/0001.sgf   the games
    FOLDER/stderr/A-1.txt   what the engines wrote to stderr, by side and by parallel table

A match that was interrupted goes on from its record; the games it holds are not played again. A folder may come from
anybody: its record is read only if it is a file of a sensible size whose every entry makes sense, nothing is written
through a link, and a record that is refused stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from gtp_engine.errors import UserError
from gtp_engine.match.statistics import Sprt, SprtRun, Tally
from nobi_machine.files import PUBLIC, write_whole
from nobi_machine.terminal import amount
from nobi_machine.units import Lines

FORMAT = 1
MAX_FILE_BYTES = 1 << 28
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
TERMS_REFUSED = "refused the terms"
MOVE_LIMIT = "move limit"
FAULTS = (OVERTIME, HUNG, CRASHED, GARBLED, ILLEGAL, REFUSED, TERMS_REFUSED)
"""The reasons for which an engine loses because it misbehaved."""
REASONS = (WON_BY_SCORE, RESIGNED, MOVE_LIMIT, *FAULTS)

BY_BOARD = "board"
BY_SCORES = "scores"
BY_DEAD_STONES = "dead stones"
BY_PROOF = "unconditional life"
BY_JUDGE = "judge"
BY_ONE_SCORE = "one score"
SETTLEMENTS = (BY_BOARD, BY_SCORES, BY_DEAD_STONES, BY_PROOF, BY_JUDGE, BY_ONE_SCORE)
"""What showed who had won a game that was scored; referee.py has the method."""

Count = Annotated[int, Meta(ge=0, le=1 << 40)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Text = Annotated[str, Meta(max_length=2000)]
Score = Annotated[str, Meta(pattern=r"^(0|[BW]\+[0-9.]{1,9})\Z")]
Counts = Annotated[list[Count], Meta(min_length=2, max_length=2)]
Times = Annotated[list[Seconds], Meta(min_length=2, max_length=2)]


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
    judge: list[str] = []
    """The command of the engine that is asked who has won a disputed game; empty if there is none."""
    openings: str
    """`built-in`, `none`, or the path of a file of them."""
    count_board: bool
    """Whether the board is scored as it stands, and the engines are not asked."""
    handicap: Count = 0
    """How many stones B begins with; it is black in all games then."""
    networks: dict[str, Text] = {}
    """Hashes of the networks that commands of this program name; empty in records of earlier versions."""

    def __str__(self) -> str:
        """The terms that matter for a result, as text for a title."""
        text = f"{self.width}x{self.height}, {self.rules} rules, komi {self.komi:g}"
        if self.handicap:
            text += f", {self.handicap} handicap stones"
        if self.visits:
            text += f", {amount(self.visits, 'visit')}"
        return f"{text}, {self.time}" if self.time else text


class GameRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One game. Lists of two have a value for each engine, A's first."""

    game: Annotated[int, Meta(ge=0, le=10_000_000)]
    """The number of the game, from 0. Games 2k and 2k+1 have the same opening; A is black in 2k where no handicap is
    given."""
    black: Annotated[int, Meta(ge=0, le=1)]
    """The engine that plays black: 0 is A, 1 is B."""
    opening: Annotated[list[Annotated[str, Meta(max_length=4)]], Meta(max_length=1000)]
    moves: Count
    """How many moves were played, with those of the opening and with passes."""
    result: Annotated[str, Meta(pattern=r"^(0|\?|[BW]\+([RTF]|[0-9.]{0,9}))\Z")]
    """The result as in SGF: `B+3.5`, `W+R`, `W+T`, `B+F` (forfeit), `B+` or `0`; `?` counts for nobody."""
    reason: Text
    """WON_BY_SCORE, RESIGNED, MOVE_LIMIT or one of FAULTS."""
    detail: Text = ""
    settled_by: Text = ""
    """One of SETTLEMENTS; empty if the game was not scored, or nothing showed who had won."""
    scores: Annotated[list[Score | None], Meta(min_length=2, max_length=2)]
    """The score that each engine gave; None if it was not asked or gave none."""
    agreed: bool | None = None
    """Whether the scores are equal; None if one is missing."""
    seconds: Times
    """The seconds of all turns: from the opponent's move to the engine's own."""
    longest: Times
    """The seconds of the slowest turn."""
    own_moves: Counts
    late: Counts
    """How many moves were too late by the clock."""
    stderr_lines: Counts
    stray_lines: Counts
    """How many lines on stdout belonged to no reply."""

    def __post_init__(self) -> None:
        """Raises ValueError for a reason that there is not, and for texts that are not printable."""
        if self.reason not in REASONS or self.settled_by not in ("", *SETTLEMENTS):
            raise ValueError(f"unknown reason {self.reason!r}, {self.settled_by!r}")
        if not all(text.isprintable() for text in (self.detail, *self.opening)):
            raise ValueError("control characters")

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


def tally(games: Iterable[GameRecord], side: int = 0) -> Tally:
    """Add up the score of the games that count, as one side sees it: 0 is engine A, 1 is B."""
    winners = [game.winner for game in games if game.counts]
    return Tally(winners.count(side), winners.count(None), winners.count(1 - side))


def sprt_run(test: Sprt, games: Iterable[GameRecord]) -> SprtRun:
    """Run a sequential test through the games of a match, given in any order."""
    run = SprtRun(test)
    for game in games:
        run.add(game.game, tally([game]))
    return run


def faults(games: Iterable[GameRecord], side: int) -> Counter[str]:
    """Count the games that a side lost by each of FAULTS."""
    return Counter(game.reason for game in games if game.reason in FAULTS and game.winner == 1 - side)


def has_faults(games: Iterable[GameRecord]) -> bool:
    """Return whether an engine misbehaved in one of these games, or the engines' scores differed."""
    return any(game.reason in FAULTS or game.agreed is False for game in games)


class MatchRecord:
    """The folder of a match. `games` are the finished games in the order in which they ended."""

    def __init__(self, folder: Path, terms: MatchTerms) -> None:
        """Open or start the record. Raises UserError if the folder holds another match or what is no record."""
        self.folder = folder
        self.terms = terms
        self.games: list[GameRecord] = []
        self._path = folder / "record.jsonl"
        for inner in (folder / "games", folder / "stderr", self._path):
            if inner.is_symlink():
                raise UserError(f"{inner}: is a link; choose another --out")
            if inner is not self._path:
                inner.mkdir(parents=True, exist_ok=True)
        self._file = Lines(self._path, MAX_FILE_BYTES)
        if self._file.lines or self._file.rest:
            self._resume(self._file.lines)
        else:
            write_whole(self._path, msgspec.json.encode(terms) + b"\n", PUBLIC, durable=True)

    def add(self, game: GameRecord, sgf: bytes) -> None:
        """Add a finished game. Its SGF file is written before its line, so that every line has its file."""
        write_whole(self.folder / "games" / f"{game.game + 1:04d}.sgf", sgf, PUBLIC)
        self._file.append(msgspec.json.encode(game))
        self.games.append(game)

    def missing(self, games: range) -> list[int]:
        """List those of these numbers whose games have not been played."""
        played = {game.game for game in self.games}
        return [game for game in games if game not in played]

    def stderr_file(self, side: int, table: int) -> Path:
        """Return the path of the file for what an engine at a table writes to stderr."""
        return self.folder / "stderr" / f"{SIDES[side]}-{table + 1}.txt"

    def _resume(self, lines: list[bytes]) -> None:
        try:
            terms = msgspec.json.decode(lines[0], type=MatchTerms)
            games = [msgspec.json.decode(line, type=GameRecord) for line in lines[1:]]
            if len({game.game for game in games}) < len(games):
                raise ValueError("a game occurs twice")
        except (msgspec.MsgspecError, ValueError, IndexError, RecursionError) as error:
            raise UserError(
                f"{self._path}: not a match record of this version ({error}); choose another --out"
            ) from error
        terms = terms if terms.networks else msgspec.structs.replace(terms, networks=self.terms.networks)
        changed = [f for f in MatchTerms.__struct_fields__ if getattr(terms, f) != getattr(self.terms, f)]
        if changed:
            raise UserError(f"{self._path}: holds another match (different {', '.join(changed)}); choose another --out")
        self.games = games
