"""A review in words: the notes in the SGF file, the tables on the terminal, and JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from go_rules.game import Move
from go_rules.points import BLACK, COLOUR_LETTERS, COLOUR_NAMES, WHITE, opponent, to_vertex
from go_rules.sgf.annotation import Note, Variation
from gtp_engine.match.table import WIDTH_IN_FILES
from gtp_engine.review.judged import BAD, DOUBTFUL, VERY_BAD, Judged, Opinion, Summary, of_black, worst

SIDES = (BLACK, WHITE)
MOST_LISTED = 20
"""Moves in the table of the worst."""
LONGEST_LINE = 20
"""Moves of a variation."""


def note_of(move: Judged, height: int, least: float) -> Note:
    """What is written at a move's node. A move that lost `least` of the winning chance, 0..1, is given the better line
    as a variation."""
    lost, best = move.winrate_lost, to_vertex(move.before.line[0], height)
    if move.rank == 0:
        said = "The first choice."
    else:
        place = "Not looked at" if move.rank is None else f"Choice {move.rank + 1}"
        said = f"{place}; the first is {best}."
    if lost >= DOUBTFUL:
        said += f" Lost {_loss(move)}."
    properties = _values(move.after)
    if lost >= BAD:
        properties["BM"] = "2" if lost >= VERY_BAD else "1"
    elif lost >= DOUBTFUL:
        properties["DO"] = ""
    variations: tuple[Variation, ...] = ()
    if lost >= least and move.rank != 0:
        better = f"Better by {_loss(move)}. {_standing(move.before)}"
        variations = (Variation(_alternating(move.before), better),)
    return Note(f"{said} {_standing(move.after)}", properties, variations)


def note_of_game(summaries: dict[int, Summary], first: Opinion, source: str) -> Note:
    """What is written at the root: who played how, and what the first position that was looked at is worth."""
    lines = [f"Review by {source}."]
    lines += [f"{COLOUR_NAMES[side].capitalize()}: {_said(summaries[side])}." for side in SIDES]
    return Note("\n".join(lines), _values(first))


def as_json(names: dict[int, str], summaries: dict[int, Summary], moves: Sequence[Judged], height: int) -> Any:
    """A review as one object for JSON. Winrates and leads are black's."""
    return {
        "players": {
            COLOUR_NAMES[side]: {
                "name": names[side],
                "moves": summaries[side].moves,
                "first_choices": summaries[side].first_choices,
                "winrate_lost": round(summaries[side].winrate_lost, 4),
                "points_lost": round(summaries[side].points_lost, 3),
                "doubtful": summaries[side].doubtful,
                "bad": summaries[side].bad,
                "very_bad": summaries[side].very_bad,
            }
            for side in SIDES
        },
        "moves": [
            {
                "number": move.number,
                "colour": COLOUR_LETTERS[move.colour],
                "move": to_vertex(move.point, height),
                "best": to_vertex(move.before.line[0], height),
                "line": [to_vertex(point, height) for point in move.before.line[:LONGEST_LINE]],
                "rank": move.rank,
                "winrate_lost": round(move.winrate_lost, 4),
                "points_lost": round(move.points_lost, 2),
                "winrate_before": round(of_black(move.before)[0], 4),
                "winrate": round(of_black(move.after)[0], 4),
                "lead_before": round(of_black(move.before)[1], 2),
                "lead": round(of_black(move.after)[1], 2),
                "visits": move.before.visits,
            }
            for move in moves
        ],
    }


def print_tables(names: dict[int, str], summaries: dict[int, Summary], moves: Sequence[Judged], height: int) -> None:
    """Print on stdout how both sides played, and the moves that lost most."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_IN_FILES)
    players = Table()
    players.add_column("player")
    bounds = (f"{100 * least:.0f} %" for least in (DOUBTFUL, BAD, VERY_BAD))
    for heading in ("moves", "first choice", "lost a move", "points", *(f"lost {bound}" for bound in bounds)):
        players.add_column(heading, justify="right")
    for side in SIDES:
        of_side = summaries[side]
        players.add_row(
            Text(" ".join(filter(None, (COLOUR_NAMES[side].capitalize(), names[side])))),
            str(of_side.moves),
            f"{100 * of_side.first_choices / max(1, of_side.moves):.0f} %",
            f"{100 * of_side.winrate_lost:.1f} %",
            f"{of_side.points_lost:.2f}",
            *(str(count) for count in (of_side.doubtful, of_side.bad, of_side.very_bad)),
        )
    console.print(players)
    listed = worst(moves, MOST_LISTED)
    if not listed:
        return
    table = Table(title=Text("The moves that lost most"), title_justify="left")
    for heading in ("move", "", "played", "better", "lost", "points", "black wins", "lead"):
        table.add_column(heading, justify="left" if heading in ("", "played", "better") else "right")
    for move in listed:
        (before, lead_before), (after, lead) = of_black(move.before), of_black(move.after)
        table.add_row(
            str(move.number),
            COLOUR_LETTERS[move.colour],
            to_vertex(move.point, height),
            "–" if move.rank == 0 else to_vertex(move.before.line[0], height),
            f"{100 * move.winrate_lost:.0f} %",
            f"{move.points_lost:.1f}",
            f"{100 * before:.0f} → {100 * after:.0f} %",
            f"{_lead(lead_before)} → {_lead(lead)}",
        )
    console.print(table)


def _said(summary: Summary) -> str:
    kinds = f"{summary.doubtful} doubtful, {summary.bad} bad, {summary.very_bad} very bad"
    return (
        f"{summary.moves} moves, {summary.first_choices} of them the first choice; a move lost "
        f"{100 * summary.winrate_lost:.1f} % and {summary.points_lost:.2f} points; {kinds}"
    )


def _loss(move: Judged) -> str:
    return f"{100 * move.winrate_lost:.0f} % and {move.points_lost:.1f} points"


def _standing(opinion: Opinion) -> str:
    winrate, lead = of_black(opinion)
    return f"Black wins {100 * winrate:.1f} %, {_lead(lead)} ({opinion.visits} visits)."


def _lead(black: float) -> str:
    """Who leads by how much, as results of games are written."""
    return f"{COLOUR_LETTERS[BLACK if black >= 0 else WHITE]}+{abs(black):.1f}"


def _values(opinion: Opinion) -> dict[str, str]:
    """The properties that Sabaki draws its graphs by."""
    winrate, lead = of_black(opinion)
    return {"SBKV": f"{100 * winrate:.2f}", "SBKS": f"{lead:.2f}"}


def _alternating(opinion: Opinion) -> tuple[Move, ...]:
    moves, colour = [], opinion.colour
    for point in opinion.line[:LONGEST_LINE]:
        moves.append(Move(colour, point))
        colour = opponent(colour)
    return tuple(moves)
