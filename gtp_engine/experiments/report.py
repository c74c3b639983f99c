"""What an experiment found, as tables in Markdown and CSV, and as a picture where matplotlib is installed."""

from __future__ import annotations

import csv
import importlib.util
import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gtp_engine.experiments.catalogue import Experiment, Pairing, Plan
from gtp_engine.match.table import faults_text
from gtp_engine.tournament.results import Results, Standing
from nobi_machine.cache import cache_root
from nobi_machine.files import PUBLIC, write_whole

COLUMNS = (
    "value",
    "games",
    "wins",
    "draws",
    "losses",
    "uncounted",
    "score",
    "elo",
    "elo_low",
    "elo_high",
    "seconds_per_move",
)
MISSING = "no picture: pip install matplotlib, or pipx inject nobi matplotlib; the same command draws it then"


@dataclass(frozen=True)
class Finding:
    """A row of an experiment's table: how the engine with one of its values did."""

    value: str
    standing: Standing
    """The points of all the games of this engine, also of those against its neighbours."""
    elo: float
    """Relative to the row's base, from all games together (tournament/ratings.py)."""
    margin: float
    """Half the width of the 95 % interval; 0 for the base itself."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of COLUMNS."""
        tally, low, high = self.standing.tally, self.elo - self.margin, self.elo + self.margin
        counts = (tally.games, tally.wins, tally.draws, tally.losses, self.standing.uncounted)
        figures = (f"{tally.score:.3f}", *(f"{_whole(x):.0f}" for x in (self.elo, low, high)))
        return (self.value, *map(str, counts), *figures, f"{self.standing.seconds_per_move:.4f}")


def findings(plan: Plan, results: Results) -> list[Finding]:
    """Collect the rows of an experiment's table, in the order of its values."""
    found = []
    for row in plan.rows:
        if row.base is None:
            elo, margin = float(results.ratings.elo[row.engine]), results.ratings.margin(row.engine)
        else:
            elo, margin = results.ratings.difference(row.engine, row.base)
        found.append(Finding(row.value, results.standings[row.engine], elo, margin))
    return found


def baseline(experiment: Experiment, plan: Plan) -> str:
    """Say in words what the Elo of an experiment is relative to."""
    if experiment.pairing is Pairing.ALL:
        return "the mean of all"
    if experiment.pairing is Pairing.RIVAL:
        return f"{experiment.rival} with the same {experiment.option}"
    base = plan.rows[0].base
    return plan.engines[0 if base is None else base].label


def as_csv(found: Sequence[Finding]) -> str:
    """Write the table as CSV with COLUMNS as its head."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *(each.cells for each in found)])
    return text.getvalue()


def as_markdown(experiment: Experiment, plan: Plan, found: Sequence[Finding], games: str) -> str:
    """Write the table as Markdown under a heading. `games` says how many there were, and on which board."""
    lines = [f"## {experiment.question}", "", games, ""]
    lines += [
        f"| {experiment.axis} | games | won–drawn–lost | Elo against {baseline(experiment, plan)} (95 %) | s/move |"
    ]
    lines += ["| --- | --- | --- | --- | --- |"]
    for each in found:
        tally, low, high = each.standing.tally, each.elo - each.margin, each.elo + each.margin
        elo = f"{_whole(each.elo):+.0f} ({_whole(low):+.0f} to {_whole(high):+.0f})" if each.margin else "0"
        counts = f"{tally.games} | {tally.wins}–{tally.draws}–{tally.losses}"
        lines += [f"| {_plain(each.value)} | {counts} | {elo} | {each.standing.seconds_per_move:.3f} |"]
    faults = [f"{_plain(each.value)}: {faults_text(each.standing.faults)}" for each in found if each.standing.faults]
    return "\n".join([*lines, "", "Faults: " + ("; ".join(faults) or "none") + ".", ""])


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(path: Path, experiment: Experiment, plan: Plan, found: Sequence[Finding], games: str) -> None:
    """Draw the Elo of each value with its interval to a file; its suffix, .svg or .png, is the format.

    Raises OSError.
    """
    os.environ.setdefault("MPLCONFIGDIR", str(cache_root() / "matplotlib"))
    import matplotlib as mpl
    from matplotlib.figure import Figure

    values, elos, margins = zip(*((each.value, each.elo, each.margin) for each in found), strict=True)
    places = range(len(values))
    picture = io.BytesIO()
    # Text stays text, and names are not random: the same results make the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "nobi", "font.family": "sans-serif"}):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        axes.axhline(0, color="#bbb", linewidth=0.8)
        connected = experiment.pairing is not Pairing.ALL
        axes.errorbar(
            places, elos, yerr=margins, fmt="o-" if connected else "o", color="#0b7a75", capsize=4, linewidth=1.4
        )
        axes.set_xticks(places, [text.replace("$", r"\$") for text in values])
        axes.set_xlabel(experiment.axis)
        axes.set_ylabel(f"Elo against {baseline(experiment, plan)}".replace("$", r"\$"))
        axes.set_title(experiment.question, loc="left", fontsize=12)
        axes.grid(axis="y", color="#eee")
        axes.set_axisbelow(True)
        figure.supxlabel(games, fontsize=7, color="#666")
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(picture, format=path.suffix[1:], metadata=metadata, dpi=120)
    write_whole(path, picture.getvalue(), PUBLIC)


def _plain(text: str) -> str:
    """A value as a cell of Markdown."""
    return text.replace("|", r"\|")


def _whole(x: float) -> float:
    """The nearest whole number, never -0."""
    return math.floor(x + 0.5) + 0.0
