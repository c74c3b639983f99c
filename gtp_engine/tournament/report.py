"""What a tournament found, as tables on a terminal, as one page of HTML that needs no other file, and as a picture.

Names and messages are engines' own and may be hostile. They pass `printable` where they come in; the terminal's tables
take them as plain text, and the page gets them escaped.
"""

from __future__ import annotations

import html
import importlib.util
import io
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import msgspec

from gtp_engine.errors import UserError
from gtp_engine.match.play import Contest
from gtp_engine.match.statistics import Sprt
from gtp_engine.match.table import METHOD as METHOD_OF_A_MATCH
from gtp_engine.match.table import faults_text, points, sprt_text, summary, uncounted_text
from gtp_engine.tournament.results import METHOD, Results, as_json, results
from nobi_machine.cache import cache_root
from nobi_machine.files import PUBLIC, write_whole
from nobi_machine.terminal import amount, print_table
from nobi_machine.text import printable

MOST_OF_A_COMMAND = 1000
"""Characters of an engine's command that the page shows."""

COLUMNS = ("", "engine", "Elo", "95 %", "above the next", "points", "games", "score", "s/move", "faults")
MISSING = "no picture: pip install matplotlib, or pipx inject nobi matplotlib; the same command draws it then"
CROSS_TABLE = "Points of the row's engine against the column's"

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
table { border-collapse: collapse; } td, th { padding: .3em .7em; border-bottom: 1px solid #ddd; text-align: right; }
td:nth-child(2), th:nth-child(2) { text-align: left; } code { font-size: .85em; }
#commands td { text-align: left; } .wide { overflow-x: auto; } p.small { color: #555; font-size: .9em; }
"""


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
        write_whole(folder / "results.html", page(texts, found).encode(), PUBLIC)
        write_whole(folder / "results.json", msgspec.json.encode(as_json(found)), PUBLIC)
    except OSError as error:
        raise UserError(f"{printable(str(folder))}: {error.strerror}") from error
    return found


def print_results(found: Results) -> None:
    """Print the table and the cross-table on stdout."""
    print_table(COLUMNS, _rows(found), _title(found), left=("engine",))
    head, *rows = _cross_table(found)
    print_table(head, rows, CROSS_TABLE, left=("engine",))
    for line in (*_remarks(found), METHOD):
        click.echo(line)


def page(commands: Sequence[str], found: Results) -> str:
    """Write the results as a page of HTML. `commands` are the engines' in the order of the command line."""
    title = html.escape(_title(found))
    ranking = found.ranking
    head, *rows = _cross_table(found)
    shades = [["", "", *(_shade(found, engine, other) for other in ranking), ""] for engine in ranking]
    listed = [
        (str(place), found.standings[engine].name, commands[engine]) for place, engine in enumerate(ranking, start=1)
    ]
    parts = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f"<style>{STYLE}</style></head><body>\n<h1>{title}</h1>",
        _html_table("ranking", COLUMNS, _rows(found)),
        f"<h2>{CROSS_TABLE}</h2>",
        _html_table("cross", head, rows, shades),
        "<h2>Commands</h2>",
        _html_table("commands", ("", "engine", "command"), listed),
        *(f"<p>{html.escape(line)}</p>" for line in _remarks(found)),
        *(f'<p class="small">{html.escape(line)}</p>' for line in (METHOD, METHOD_OF_A_MATCH)),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _title(found: Results) -> str:
    return f"{len(found.standings)} engines, {amount(found.games, 'game')}, {found.contests[0].record.terms}"


def _rows(found: Results) -> Iterable[tuple[str, ...]]:
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


def _cross_table(found: Results) -> Iterable[tuple[str, ...]]:
    """The head of the cross-table, and a row for each engine."""
    ranking = found.ranking
    yield ("", "engine", *(str(place + 1) for place in range(len(ranking))), "points")
    for place, engine in enumerate(ranking, start=1):
        cells = []
        for other in ranking:
            scored, games = _score(found, engine, other)
            cells.append(f"{_points(scored)}/{games:.0f}" if games else "")
        yield (str(place), found.standings[engine].name, *cells, _points(float(found.points[engine].sum())))


def _score(found: Results, engine: int, other: int) -> tuple[float, float]:
    """The points of an engine against another one, and the games that count."""
    scored = float(found.points[engine, other])
    return scored, scored + float(found.points[other, engine])


def _points(scored: float) -> str:
    return points(0, round(2 * scored))


def _shade(found: Results, engine: int, other: int) -> str:
    """A cell's colour, from red for 0 to green for all points, pale enough to read black on it; grey for an engine
    against itself."""
    scored, games = _score(found, engine, other)
    return f"hsl({120 * scored / games:.0f} 60% 85%)" if games else "#eee" if engine == other else ""


def _html_table(
    name: str, head: Sequence[str], rows: Iterable[Sequence[str]], shades: Sequence[Sequence[str]] = ()
) -> str:
    """A table of HTML. `shades` has a colour for each cell, or none where it is empty."""
    lines = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    for number, row in enumerate(rows):
        colours = shades[number] if shades else [""] * len(row)
        cells = (
            f'<td style="background: {colour}">{html.escape(cell)}</td>' if colour else f"<td>{html.escape(cell)}</td>"
            for cell, colour in zip(row, colours, strict=True)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table id="{name}">' + "\n".join(lines) + "</table></div>"


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


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(path: Path, found: Results, bases: Sequence[int | None], labels: Sequence[str], title: str, axis: str) -> None:
    """Draw the Elo of the first engines and its 95 % intervals to a file; its suffix, .svg or .png, is the format.

    `bases` has for each of them the engine that its Elo is relative to, None for the mean of all, and `labels` what it
    is called on the axis. Raises OSError.
    """
    os.environ.setdefault("MPLCONFIGDIR", str(cache_root() / "matplotlib"))
    import matplotlib as mpl
    from matplotlib.figure import Figure

    ratings = found.ratings
    relative = [
        (float(ratings.elo[engine]), ratings.margin(engine)) if base is None else ratings.difference(engine, base)
        for engine, base in enumerate(bases)
    ]
    elos, margins = zip(*relative, strict=True)
    others = {found.standings[base].name for base in bases if base is not None}
    against = others.pop() if len(others) == 1 else "the other player" if others else "the mean of all"
    places, picture = range(len(labels)), io.BytesIO()
    # Text stays text, and names are not random: the same results make the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "nobi", "font.family": "sans-serif"}):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        axes.axhline(0, color="#bbb", linewidth=0.8)
        shape = "o-" if any(base is not None for base in bases) else "o"
        axes.errorbar(places, elos, yerr=margins, fmt=shape, color="#0b7a75", capsize=4, linewidth=1.4)
        axes.set_xticks(places, [label.replace("$", r"\$") for label in labels])
        axes.set_xlabel(axis)
        axes.set_ylabel(f"Elo against {against}".replace("$", r"\$"))
        axes.set_title(title, loc="left", fontsize=12)
        axes.grid(axis="y", color="#eee")
        axes.set_axisbelow(True)
        figure.supxlabel(_title(found), fontsize=7, color="#666")
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(picture, format=path.suffix[1:], metadata=metadata, dpi=120)
    write_whole(path, picture.getvalue(), PUBLIC)
