"""What the searches before and after each move of a game say of it: the notes in its SGF file, tables, and JSON."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

from go_rules.game import Move
from go_rules.points import BLACK, COLOUR_LETTERS, COLOUR_NAMES, WHITE, opponent, to_vertex
from go_rules.sgf.annotation import Note, Variation
from gtp_engine.review.causes import Cause
from nobi_machine.terminal import print_table
from nobi_machine.text import printable
from search.result import SearchResult

DOUBTFUL, BAD, VERY_BAD = 0.04, 0.08, 0.16
"""How much of the winning chance, 0..1, a move loses at least to be called so. Points would not do: in a game that is
decided those of a mistake mean nothing any more."""
SIDES = (BLACK, WHITE)
MOST_LISTED = 20
"""Moves in the table of the worst."""
MOST_OF_A_SIDE = 10
"""Moves that are searched once more, for their causes or for problems."""
LONGEST_LINE = 20
"""Moves of a variation."""
MOST_CANDIDATES, LONGEST_CANDIDATE = 8, 10
"""Moves of an opinion that GUIs can show, and moves of how play goes on after each."""
LONGEST_NAME = 40
"""Characters of a player's name in the tables."""
LONGEST_FILE, LONGEST_RESULT = 60, 20
"""The same of a game's file and of its result."""
PLAYER_COLUMNS = ("player", "moves", "first choice", "mean loss", "points", "doubtful", "bad", "very bad")
INDEX_COLUMNS = ("game", "black", "white", "result", "B loses", "W loses", "worst", "loss")
MOVE_COLUMNS = ("move", "", "played", "better", "loss", "points", "black wins", "lead")
TITLE = "Review by Nobi"
"""How the comment at the root of a reviewed game begins."""


@dataclass(frozen=True)
class Candidate:
    """A move that a search looked at, in the view of its player."""

    line: tuple[int, ...]
    """How the game should go on: this move first."""
    visits: int
    winrate: float
    """0..1."""
    lead: float
    """Points."""
    prior: float
    """The network's first guess, 0..1."""


@dataclass(frozen=True)
class Opinion:
    """What a search thinks of a position in which the best move is played."""

    colour: int
    """The side to move, whose view the next two are."""
    winrate: float
    """0..1, no-result games counted as half."""
    lead: float
    """Points."""
    visits: int
    line: tuple[int, ...]
    """How the game should go on: the best move first."""
    ranks: Mapping[int, int]
    """The moves that were looked at: 0 for the best, and for those that the board's symmetry makes equal to it."""
    candidates: tuple[Candidate, ...] = ()
    """The first MOST_CANDIDATES of them."""

    @classmethod
    def of(cls, result: SearchResult) -> Opinion:
        """Return what a search's result says."""
        best = result.moves[0]
        rank = count()
        ranks = {m.point: next(rank) for m in result.moves if m.symmetry_of is None and (m.visits or m is best)}
        ranks |= {m.point: ranks[m.symmetry_of] for m in result.moves if m.symmetry_of in ranks}
        candidates = tuple(
            Candidate((m.pv or (m.point,))[:LONGEST_CANDIDATE], m.visits, m.winrate, m.lead, m.prior)
            for m in result.moves[:MOST_CANDIDATES]
            if m.visits
        )
        return cls(result.colour, best.winrate, best.lead, result.visits, best.pv or (best.point,), ranks, candidates)

    def seen_by(self, colour: int) -> tuple[float, float]:
        """Return the winrate and the lead in the view of a colour."""
        return (self.winrate, self.lead) if colour == self.colour else (1.0 - self.winrate, -self.lead)

    @property
    def of_black(self) -> tuple[float, float]:
        """The winrate and the lead in black's view."""
        return self.seen_by(BLACK)


@dataclass(frozen=True)
class JudgedMove:
    """One move of a game, and what the searches of the positions before and after it found."""

    number: int
    """1 for the first move of the game."""
    colour: int
    point: int
    before: Opinion
    after: Opinion
    cause: Cause | None = None
    """Where the points went, if that was looked for and found."""

    @property
    def rank(self) -> int | None:
        """0 for the move that the search before would have played; None for one that it did not look at."""
        return self.before.ranks.get(self.point)

    @property
    def winrate_lost(self) -> float:
        """How much of the winning chance, 0..1, the move lost by the judgement of the search after it.

        That is 0 where this search likes the position better than the one before did, and for first choices: nothing
        better is known in their place, and what the searches differ by is noise.
        """
        return self._lost(0)

    @property
    def points_lost(self) -> float:
        """How many points of the lead the move lost, in the same sense."""
        return self._lost(1)

    def _lost(self, index: int) -> float:
        if self.rank == 0:
            return 0.0
        return max(0.0, self.before.seen_by(self.colour)[index] - self.after.seen_by(self.colour)[index])


@dataclass(frozen=True)
class Summary:
    """How one side played."""

    moves: int
    first_choices: int
    """How many of its moves the search would have played too."""
    winrate_lost: float
    """How much of the winning chance, 0..1, a move lost on average."""
    points_lost: float
    """How many points a move lost on average."""
    doubtful: int
    """How many moves lost DOUBTFUL, but less than BAD."""
    bad: int
    """How many moves lost BAD, but less than VERY_BAD."""
    very_bad: int

    @classmethod
    def of(cls, moves: Sequence[JudgedMove]) -> Summary:
        """Return the sum of a side's moves."""
        lost = [move.winrate_lost for move in moves]
        return cls(
            len(moves),
            sum(move.rank == 0 for move in moves),
            sum(lost) / max(1, len(moves)),
            sum(move.points_lost for move in moves) / max(1, len(moves)),
            sum(DOUBTFUL <= each < BAD for each in lost),
            sum(BAD <= each < VERY_BAD for each in lost),
            sum(each >= VERY_BAD for each in lost),
        )


def worst(moves: Sequence[JudgedMove], most: int) -> list[JudgedMove]:
    """Return the moves that lost most of the winning chance, DOUBTFUL at least, in the order of the game."""
    doubtful = [move for move in moves if move.winrate_lost >= DOUBTFUL]
    return sorted(sorted(doubtful, key=lambda move: -move.winrate_lost)[:most], key=lambda move: move.number)


def costliest(moves: Iterable[JudgedMove], least: float) -> list[JudgedMove]:
    """Return the moves of each side that lost most points, `least` each and MOST_OF_A_SIDE at most, the worst first."""
    bad = sorted((move for move in moves if move.points_lost >= least), key=lambda move: -move.points_lost)
    return [move for side in SIDES for move in [each for each in bad if each.colour == side][:MOST_OF_A_SIDE]]


@dataclass(frozen=True)
class Review:
    """A game, or a part of it, that was analysed."""

    moves: Sequence[JudgedMove]
    """At least one."""
    size: tuple[int, int]
    """Columns and rows of the board."""
    names: dict[int, str]
    """Of the players, by their colours."""
    result: str
    """As the record has it: `B+3.5`, `W+Resign`; empty if it has none."""
    net: str
    visits: int
    """Of a position on average."""
    rules: str
    komi: float

    @property
    def height(self) -> int:
        """The rows of the board."""
        return self.size[1]

    @property
    def summaries(self) -> dict[int, Summary]:
        """How both sides played."""
        return {side: Summary.of([move for move in self.moves if move.colour == side]) for side in SIDES}


def notes_of(review: Review, least: float, language: str = "en") -> dict[int, Note]:
    """Return what is written into the game's file, by the number of the move; 0 is the root's. A move that lost `least`
    of the winning chance, 0..1, is given the better line as a variation. `language`: of causes, a key of TEXTS in
    causes.py."""
    lines = [
        f"{TITLE} with {review.net}, {review.visits} visits a position on average; "
        f"{review.rules} rules, komi {review.komi:g}; moves {review.moves[0].number} to {review.moves[-1].number}.",
        *(f"{COLOUR_NAMES[side].capitalize()}: {_said(summary)}." for side, summary in review.summaries.items()),
    ]
    first = review.moves[0]
    root = Note("\n".join(lines), _values(first.before, review.height, is_root=True) if first.number == 1 else {})
    return {0: root, **move_notes(review.moves, review.height, least, language)}


def move_notes(moves: Iterable[JudgedMove], height: int, least: float, language: str = "en") -> dict[int, Note]:
    """Return what is written beside moves on a board of so many rows, by their numbers; `least` as for `notes_of`."""
    return {move.number: _note(move, height, least, language) for move in moves}


def as_json(review: Review) -> dict[str, Any]:
    """Return a review as one object for JSON. Winrates and leads are black's."""
    return {
        "size": review.size,
        "rules": review.rules,
        "komi": review.komi,
        "net": review.net,
        "visits": review.visits,
        "result": review.result,
        "players": {
            COLOUR_NAMES[side]: {"name": review.names[side], **asdict(summary)}
            for side, summary in review.summaries.items()
        },
        "moves": [_move_as_json(move, review.height) for move in review.moves],
    }


def print_tables(review: Review) -> None:
    """Print on stdout how both sides played, and the moves that lost most."""
    rows = [
        (
            f"{COLOUR_NAMES[side].capitalize()} {printable(review.names[side], LONGEST_NAME)}".strip(),
            str(summary.moves),
            f"{100 * summary.first_choices / max(1, summary.moves):.0f} %",
            f"{100 * summary.winrate_lost:.1f} %",
            f"{summary.points_lost:.2f}",
            *(str(count) for count in (summary.doubtful, summary.bad, summary.very_bad)),
        )
        for side, summary in review.summaries.items()
    ]
    print_table(PLAYER_COLUMNS, rows, left=("player",))
    lines = [_line(move, review.height) for move in worst(review.moves, MOST_LISTED)]
    if lines:
        print_table(
            MOVE_COLUMNS, lines, "The moves that lost most of the winning chance", left=("", "played", "better")
        )


def print_index(reviews: Mapping[str, Review]) -> None:
    """Print on stdout a line for each of several games, by their names."""
    rows = []
    for name, review in reviews.items():
        black, white = (review.summaries[side] for side in SIDES)
        most = max(review.moves, key=lambda move: move.winrate_lost)
        rows.append(
            (
                name if len(name) <= LONGEST_FILE else f"...{name[3 - LONGEST_FILE :]}",
                *(printable(review.names[side], LONGEST_NAME) for side in SIDES),
                printable(review.result, LONGEST_RESULT),
                *(f"{100 * side.winrate_lost:.1f} %" for side in (black, white)),
                f"{most.number} {COLOUR_LETTERS[most.colour]} {to_vertex(most.point, review.height)}",
                f"{100 * most.winrate_lost:.0f} %",
            )
        )
    print_table(INDEX_COLUMNS, rows, "Mean loss of a move, and the worst move", left=INDEX_COLUMNS[:4])


def _line(move: JudgedMove, height: int) -> tuple[str, ...]:
    """The cells of MOVE_COLUMNS."""
    (before, lead_before), (after, lead) = move.before.of_black, move.after.of_black
    return (
        str(move.number),
        COLOUR_LETTERS[move.colour],
        to_vertex(move.point, height),
        to_vertex(move.before.line[0], height),
        f"{100 * move.winrate_lost:.0f} %",
        f"{move.points_lost:.1f}",
        f"{100 * before:.0f} -> {100 * after:.0f} %",
        f"{_lead(lead_before)} -> {_lead(lead)}",
    )


def _note(move: JudgedMove, height: int, least: float, language: str) -> Note:
    lost, best = move.winrate_lost, to_vertex(move.before.line[0], height)
    if move.rank == 0:
        said = "The first choice."
    else:
        place = "Not looked at" if move.rank is None else f"Choice {move.rank + 1}"
        said = f"{place}; the first is {best}."
    properties = _values(move.after, height)
    if lost >= DOUBTFUL:
        said += f" Lost {_loss(move)}."
        properties |= {"DO": ""} if lost < BAD else {"BM": "1" if lost < VERY_BAD else "2"}
    variations: tuple[Variation, ...] = ()
    if lost >= least and lost > 0:
        better = f"Better by {_loss(move)}. {_standing(move.before)}"
        variations = (Variation(_alternating(move.before), better),)
    said += f" {_standing(move.after)}"
    if move.cause is not None:
        said += f"\n{move.cause.text(language, height)}"
    return Note(said, properties, variations)


def _move_as_json(move: JudgedMove, height: int) -> dict[str, Any]:
    return {
        "number": move.number,
        "colour": COLOUR_LETTERS[move.colour],
        "move": to_vertex(move.point, height),
        "best": to_vertex(move.before.line[0], height),
        "line": [to_vertex(point, height) for point in move.before.line[:LONGEST_LINE]],
        "rank": move.rank,
        "visits_before": move.before.visits,
        "visits": move.after.visits,
        "winrate_lost": move.winrate_lost,
        "points_lost": move.points_lost,
        "winrate_before": move.before.of_black[0],
        "winrate": move.after.of_black[0],
        "lead_before": move.before.of_black[1],
        "lead": move.after.of_black[1],
        **({} if move.cause is None else {"cause": move.cause.as_json(height)}),
    }


def _said(summary: Summary) -> str:
    kinds = f"{summary.doubtful} doubtful, {summary.bad} bad, {summary.very_bad} very bad"
    return (
        f"{summary.first_choices} of {summary.moves} moves were the first choice; mean loss "
        f"{100 * summary.winrate_lost:.1f} %, {summary.points_lost:.2f} points; {kinds}"
    )


def _loss(move: JudgedMove) -> str:
    return f"{100 * move.winrate_lost:.0f} % and {move.points_lost:.1f} points"


def _standing(opinion: Opinion) -> str:
    winrate, lead = opinion.of_black
    return f"Black wins {100 * winrate:.1f} %, {_lead(lead)}."


def _lead(black: float) -> str:
    """Return who leads by how much, as results of games are written."""
    return f"{COLOUR_LETTERS[BLACK if black >= 0 else WHITE]}+{abs(black):.1f}"


def _values(opinion: Opinion, height: int, is_root: bool = False) -> dict[str, str | tuple[str, ...]]:
    """Return what GUIs reload: Sabaki's winrate and lead, KaTrain's analysis, and Lizzie's, which LizzieYzy has under
    another name at the root."""
    winrate, lead = opinion.of_black
    return {
        "SBKV": f"{100 * winrate:.2f}",
        "SBKS": f"{round(lead, 2) + 0.0:.2f}",
        "KT": _of_katrain(opinion, height),
        "LZOP" if is_root else "LZ": _of_lizzie(opinion, height),
    }


def _of_katrain(opinion: Opinion, height: int) -> tuple[str, ...]:
    """Return three values in base64 of what gzip packs: ownership and policy, both empty, and JSON in black's view."""
    winrate, lead = opinion.of_black
    is_black = opinion.colour == BLACK
    moves = [
        {
            "move": to_vertex(move.line[0], height),
            "order": order,
            "visits": move.visits,
            "winrate": round(move.winrate if is_black else 1.0 - move.winrate, 4),
            "scoreLead": round(move.lead if is_black else -move.lead, 2),
            "prior": round(move.prior, 4),
            "pv": [to_vertex(point, height) for point in move.line],
        }
        for order, move in enumerate(opinion.candidates)
    ]
    root = {"winrate": round(winrate, 4), "scoreLead": round(lead, 2), "visits": opinion.visits}
    analysis = {"moves": {move["move"]: move for move in moves}, "root": root, "completed": True}
    parts = b"", b"", json.dumps(analysis, separators=(",", ":")).encode()
    return tuple(base64.b64encode(gzip.compress(part, mtime=0)).decode() for part in parts)


def _of_lizzie(opinion: Opinion, height: int) -> str:
    """Return the program, the winrate in percent of the side that has moved, the visits and the lead of the side to
    move; then its candidates, with winrates and priors in hundredths of a percent."""
    moves = (
        f"move {to_vertex(move.line[0], height)} visits {move.visits} winrate {10_000 * move.winrate:.0f}"
        f" prior {10_000 * move.prior:.0f} scoreMean {move.lead:.2f}"
        f" pv {' '.join(to_vertex(point, height) for point in move.line)}"
        for move in opinion.candidates
    )
    head = f"Nobi {100 * (1 - opinion.winrate):.1f} {opinion.visits} {opinion.lead:.1f}"
    return f"{head}\n{' info '.join(moves)}"


def _alternating(opinion: Opinion) -> tuple[Move, ...]:
    moves, colour = [], opinion.colour
    for point in opinion.line[:LONGEST_LINE]:
        moves.append(Move(colour, point))
        colour = opponent(colour)
    return tuple(moves)
