"""What a tournament found, as tables on a terminal and as one page of HTML that needs no other file.

Names and messages are engines' own and may be hostile. They pass `printable` where they come in; here rich gets them as
plain text and the page gets them escaped.
"""

from __future__ import annotations

import html
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gtp_engine.errors import UserError
from gtp_engine.match.record import MatchTerms
from gtp_engine.match.statistics import Sprt
from gtp_engine.match.table import METHOD as METHOD_OF_A_MATCH
from gtp_engine.match.table import faults_text, points, sprt_text, summary, uncounted_text
from gtp_engine.tournament.results import METHOD, Results, as_json, results
from gtp_engine.tournament.series import Contest
from nobi_machine.files import PUBLIC, write_whole
from nobi_machine.terminal import amount, tables_console
from nobi_machine.text import printable

MOST_OF_A_COMMAND = 1000
"""Characters of an engine's command that the page shows."""

COLUMNS = ("", "engine", "Elo", "95 %", "above the next", "points", "games", "score", "s/move", "faults")

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
table { border-collapse: collapse; } td, th { padding: .3em .7em; border-bottom: 1px solid #ddd; text-align: right; }
td:nth-child(2), th:nth-child(2) { text-align: left; } .none { background: #eee; } code { font-size: .85em; }
.wide { overflow-x: auto; } p.small { color: #555; font-size: .9em; }
"""


def print_results(terms: MatchTerms, found: Results) -> None:
    """Print the table and the cross-table on stdout."""
    from rich.table import Table
    from rich.text import Text

    console = tables_console()
    table = Table(title=Text(_title(terms, found)), title_justify="left")
    for heading in COLUMNS:
        table.add_column(heading, justify="left" if heading == "engine" else "right")
    for row in _rows(found):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    cross = Table(title=Text("Points of the row's engine against the column's"), title_justify="left")
    cross.add_column("")
    cross.add_column("engine")
    for place in range(len(found.standings)):
        cross.add_column(str(place + 1), justify="right")
    for place, (name, cells) in enumerate(_cross(found)):
        texts = [cell.text if cell else "" for cell in cells]
        cross.add_row(str(place + 1), Text(name), *(Text(text) for text in texts))
    console.print(cross)
    for line in _remarks(found):
        console.print(line, markup=False)
    console.print(METHOD, markup=False)


def _remarks(found: Results) -> list[str]:
    """Lines for each match in whose games the engines did not agree on the score or the winner, and one for each
    sequential test."""
    lines = []
    for contest in found.contests:
        first, second = contest.record.terms.names
        facts = summary(contest.record.terms, contest.record.games, found.sprt)
        if facts["scores_differ"]:
            lines.append(
                f"{first} and {second} gave different final scores in {facts['scores_differ']} of their games."
            )
        if facts["uncounted"]:
            lines.append(f"{first} against {second}: {uncounted_text(facts['uncounted'])}")
        if "sprt" in facts:
            lines.append(f"{first} against {second}: {sprt_text(facts['sprt'])}")
    return lines


def page(terms: MatchTerms, commands: list[str], found: Results) -> str:
    """Write the results as a page of HTML. `commands` are the engines' in the order of the command line."""
    title = _title(terms, found)
    ranking = found.ranking
    head = _html_row(COLUMNS, "th")
    rows = "".join(_html_row(row, "td") for row in _rows(found))
    places = "".join(f"<th>{place + 1}</th>" for place in range(len(ranking)))
    cross = "".join(
        f"<tr><td>{place + 1}</td><td>{html.escape(name)}</td>{''.join(map(_html_cell, cells))}"
        f"<td>{points_text(sum(cell.points for cell in cells if cell))}</td></tr>\n"
        for place, (name, cells) in enumerate(_cross(found))
    )
    listed = "".join(
        f"<tr><td>{place + 1}</td><td>{html.escape(found.standings[engine].name)}</td>"
        f'<td style="text-align: left"><code>{html.escape(commands[engine])}</code></td></tr>\n'
        for place, engine in enumerate(ranking)
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>\n<h1>{html.escape(title)}</h1>\n"
        f'<div class="wide"><table id="ranking">{head}{rows}</table></div>\n'
        f"<h2>Points of the row's engine against the column's</h2>\n"
        f'<div class="wide"><table id="cross"><tr><th></th><th>engine</th>{places}<th>points</th></tr>\n'
        f"{cross}</table></div>\n"
        f'<h2>Commands</h2>\n<div class="wide"><table id="commands">{listed}</table></div>\n'
        f"{''.join(f'<p>{html.escape(line)}</p>' for line in _remarks(found))}"
        f'<p class="small">{html.escape(METHOD)}</p>\n<p class="small">{html.escape(METHOD_OF_A_MATCH)}</p>\n'
        "</body></html>\n"
    )


def write_results(
    folder: Path,
    names: Sequence[str],
    commands: Sequence[list[str]],
    contests: Sequence[Contest],
    sprt: Sprt | None = None,
) -> Results:
    """Write results.html and results.json beside the records of the contests, and return what they say.

    `names` and `commands` have an entry for each engine; `sprt` is the test that each match ends with. Raises
    UserError.
    """
    found = results(names, contests, sprt)
    texts = [printable(shlex.join(command), MOST_OF_A_COMMAND) for command in commands]
    try:
        write_whole(folder / "results.html", page(contests[0].record.terms, texts, found).encode(), PUBLIC)
        write_whole(folder / "results.json", msgspec.json.encode(as_json(found)), PUBLIC)
    except OSError as error:
        raise UserError(f"{printable(str(folder))}: {error.strerror}") from error
    return found


@dataclass(frozen=True)
class Cell:
    """A cell of the cross-table."""

    points: float
    games: int

    @property
    def text(self) -> str:
        """Points and games: `12½/20`."""
        return f"{points_text(self.points)}/{self.games}" if self.games else ""

    @property
    def colour(self) -> str:
        """From red for 0 to green for all points, pale enough to read black on it."""
        return f"hsl({120 * self.points / self.games:.0f} 60% 85%)" if self.games else "#fff"


def points_text(scored: float) -> str:
    """Write points as text: `12`, `12½` or `½`."""
    return points(0, round(2 * scored))


def _cross(found: Results) -> Iterator[tuple[str, list[Cell | None]]]:
    """The rows of the cross-table: the engine's name, and its cells; None where it would play itself."""
    ranking = found.ranking
    for engine in ranking:
        cells = [
            None
            if other == engine
            else Cell(
                float(found.points[engine, other]), round(found.points[engine, other] + found.points[other, engine])
            )
            for other in ranking
        ]
        yield found.standings[engine].name, cells


def _rows(found: Results) -> Iterator[tuple[str, ...]]:
    """The cells of COLUMNS, the best engine first."""
    for rank, engine in enumerate(found.ranking):
        standing, elo, margin = found.standings[engine], found.ratings.elo[engine], found.ratings.margin(engine)
        lead = found.lead(rank)
        tally = standing.tally
        yield (
            str(rank + 1),
            standing.name,
            f"{elo:+.0f}",
            f"{elo - margin:+.0f} to {elo + margin:+.0f}",
            f"{lead[0]:.0f} ± {lead[1]:.0f}" if lead else "",
            points(tally.wins, tally.draws),
            str(tally.games),
            f"{100 * tally.score:.1f} %" if tally.games else "",
            f"{standing.seconds_per_move:.3f}",
            faults_text(standing.faults) or "0",
        )


def _title(terms: MatchTerms, found: Results) -> str:
    return f"{len(found.standings)} engines, {amount(found.games, 'game')}, {terms}"


def _html_row(cells: tuple[str, ...], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>\n"


def _html_cell(cell: Cell | None) -> str:
    if cell is None:
        return '<td class="none"></td>'
    return f'<td style="background: {cell.colour}">{cell.text}</td>'
