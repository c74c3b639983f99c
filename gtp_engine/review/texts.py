"""A review in words: the notes in the SGF file, the tables on the terminal, and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from go_rules.game import Move
from go_rules.machine.printable import printable
from go_rules.points import BLACK, COLOUR_LETTERS, COLOUR_NAMES, WHITE, opponent, to_vertex
from go_rules.sgf.annotation import Note, Variation
from gtp_engine.review.judged import BAD, DOUBTFUL, VERY_BAD, JudgedMove, Opinion, Summary, worst
from gtp_engine.terminal import tables_console

SIDES = (BLACK, WHITE)
MOST_LISTED = 20
"""Moves in the table of the worst."""
LONGEST_LINE = 20
"""Moves of a variation."""
LONGEST_NAME = 40
"""Characters of a player's name in the tables."""
TITLE = "Review by Nobi"
"""How the comment at the root of a reviewed game begins."""


@dataclass(frozen=True)
class Review:
    """A game, or a part of it, that was analysed."""

    moves: Sequence[JudgedMove]
    """At least one."""
    size: tuple[int, int]
    """Columns and rows of the board."""
    names: dict[int, str]
    """Of the players, by their colours."""
    net: str
    visits: int
    """Of each position."""
    rules: str
    komi: float
    is_interrupted: bool
    """Whether it is only of what was analysed until an interruption."""

    @property
    def height(self) -> int:
        """The rows of the board."""
        return self.size[1]

    @property
    def summaries(self) -> dict[int, Summary]:
        """How both sides played."""
        return {side: Summary.of([move for move in self.moves if move.colour == side]) for side in SIDES}


def notes_of(review: Review, least: float) -> dict[int, Note]:
    """Return what is written into the game's file, by the number of the move; 0 is the root's. A move that lost `least`
    of the winning chance, 0..1, is given the better line as a variation."""
    lines = [
        f"{TITLE} with {review.net}, {review.visits} visits a position; {review.rules} rules, komi {review.komi:g}; "
        f"moves {review.moves[0].number} to {review.moves[-1].number}.",
        *(f"{COLOUR_NAMES[side].capitalize()}: {_said(summary)}." for side, summary in review.summaries.items()),
    ]
    root = Note("\n".join(lines), _values(review.moves[0].before))
    return {0: root, **{move.number: _note(move, review.height, least) for move in review.moves}}


def as_json(review: Review) -> dict[str, Any]:
    """Return a review as one object for JSON. Winrates and leads are black's."""
    return {
        "size": review.size,
        "rules": review.rules,
        "komi": review.komi,
        "net": review.net,
        "visits": review.visits,
        "interrupted": review.is_interrupted,
        "players": {
            COLOUR_NAMES[side]: {"name": review.names[side], **asdict(summary)}
            for side, summary in review.summaries.items()
        },
        "moves": [_move_as_json(move, review.height) for move in review.moves],
    }


def print_tables(review: Review) -> None:
    """Print on stdout how both sides played, and the moves that lost most."""
    from rich.table import Table
    from rich.text import Text

    console = tables_console()
    players = Table()
    players.add_column("player")
    for heading in ("moves", "first choice", "mean loss", "points", "doubtful", "bad", "very bad"):
        players.add_column(heading, justify="right")
    for side, summary in review.summaries.items():
        name = printable(review.names[side], LONGEST_NAME)
        players.add_row(
            Text(f"{COLOUR_NAMES[side].capitalize()} {name}".strip()),
            str(summary.moves),
            f"{100 * summary.first_choices / max(1, summary.moves):.0f} %",
            f"{100 * summary.winrate_lost:.1f} %",
            f"{summary.points_lost:.2f}",
            *(str(count) for count in (summary.doubtful, summary.bad, summary.very_bad)),
        )
    console.print(players)
    if not (listed := worst(review.moves, MOST_LISTED)):
        return
    table = Table(title="The moves that lost most of the winning chance", title_justify="left")
    for heading in ("move", "", "played", "better", "loss", "points", "black wins", "lead"):
        table.add_column(heading, justify="left" if heading in ("", "played", "better") else "right")
    for move in listed:
        (before, lead_before), (after, lead) = move.before.of_black, move.after.of_black
        table.add_row(
            str(move.number),
            COLOUR_LETTERS[move.colour],
            to_vertex(move.point, review.height),
            to_vertex(move.before.line[0], review.height),
            f"{100 * move.winrate_lost:.0f} %",
            f"{move.points_lost:.1f}",
            f"{100 * before:.0f} -> {100 * after:.0f} %",
            f"{_lead(lead_before)} -> {_lead(lead)}",
        )
    console.print(table)


def _note(move: JudgedMove, height: int, least: float) -> Note:
    lost, best = move.winrate_lost, to_vertex(move.before.line[0], height)
    if move.rank == 0:
        said = "The first choice."
    else:
        place = "Not looked at" if move.rank is None else f"Choice {move.rank + 1}"
        said = f"{place}; the first is {best}."
    properties = _values(move.after)
    if lost >= DOUBTFUL:
        said += f" Lost {_loss(move)}."
        properties |= {"DO": ""} if lost < BAD else {"BM": "1" if lost < VERY_BAD else "2"}
    variations: tuple[Variation, ...] = ()
    if lost >= least and lost > 0:
        better = f"Better by {_loss(move)}. {_standing(move.before)}"
        variations = (Variation(_alternating(move.before), better),)
    return Note(f"{said} {_standing(move.after)}", properties, variations)


def _move_as_json(move: JudgedMove, height: int) -> dict[str, Any]:
    return {
        "number": move.number,
        "colour": COLOUR_LETTERS[move.colour],
        "move": to_vertex(move.point, height),
        "best": to_vertex(move.before.line[0], height),
        "line": [to_vertex(point, height) for point in move.before.line[:LONGEST_LINE]],
        "rank": move.rank,
        "winrate_lost": move.winrate_lost,
        "points_lost": move.points_lost,
        "winrate_before": move.before.of_black[0],
        "winrate": move.after.of_black[0],
        "lead_before": move.before.of_black[1],
        "lead": move.after.of_black[1],
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


def _values(opinion: Opinion) -> dict[str, str]:
    """Return the properties by which Sabaki draws its graphs."""
    winrate, lead = opinion.of_black
    return {"SBKV": f"{100 * winrate:.2f}", "SBKS": f"{round(lead, 2) + 0.0:.2f}"}


def _alternating(opinion: Opinion) -> tuple[Move, ...]:
    moves, colour = [], opinion.colour
    for point in opinion.line[:LONGEST_LINE]:
        moves.append(Move(colour, point))
        colour = opponent(colour)
    return tuple(moves)
