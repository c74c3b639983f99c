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

from gtp_engine.match.table import faults_text
from gtp_engine.tournament.results import Standing
from nobi_machine.cache import cache_root
from nobi_machine.files import PUBLIC, write_whole

COUNTS = ("games", "wins", "draws", "losses", "uncounted")
COLUMNS = ("value", *COUNTS, "score", "elo", "elo_low", "elo_high", "seconds_per_move")
MISSING = "no picture: pip install matplotlib, or pipx inject nobi matplotlib; the same command draws it then"


@dataclass(frozen=True)
class Row:
    """How the engine with one of an experiment's values did."""

    value: str
    standing: Standing
    """The points of all the games of this engine, also of those against its neighbours."""
    elo: float
    """Relative to the row's base, from all games together (results.py)."""
    margin: float
    """Half the width of the 95 % interval; 0 for the base itself."""

    @property
    def elos(self) -> tuple[int, int, int]:
        """The Elo, and the lower and the upper end of its interval, rounded."""
        low, high = self.elo - self.margin, self.elo + self.margin
        return math.floor(self.elo + 0.5), math.floor(low + 0.5), math.floor(high + 0.5)


@dataclass(frozen=True)
class Findings:
    """What an experiment found, in the order of its values."""

    question: str
    axis: str
    """What the values are."""
    baseline: str
    """What the Elo is relative to."""
    played: str
    """How many games there were, on which board, and how long the engines thought."""
    rows: Sequence[Row]
    is_curve: bool
    """Whether the values have an order."""

    def as_csv(self) -> str:
        """Write the table as CSV with COLUMNS as its head."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in self.rows:
            tally = row.standing.tally
            counts = (tally.games, tally.wins, tally.draws, tally.losses, row.standing.uncounted)
            seconds = f"{row.standing.seconds_per_move:.4f}"
            writer.writerow((row.value, *counts, f"{tally.score:.3f}", *row.elos, seconds))
        return text.getvalue()

    def as_markdown(self) -> str:
        """Write the table as Markdown under a heading."""
        lines = [
            f"## {self.question}",
            "",
            self.played,
            "",
            f"| {self.axis} | games | won–drawn–lost | Elo against {self.baseline} (95 %) | s/move |",
            "| --- | --- | --- | --- | --- |",
        ]
        for row in self.rows:
            tally, (elo, low, high) = row.standing.tally, row.elos
            shown = f"{elo:+} ({low:+} to {high:+})" if row.margin else "0"
            counts = f"{tally.games} | {tally.wins}–{tally.draws}–{tally.losses}"
            lines.append(f"| {_plain(row.value)} | {counts} | {shown} | {row.standing.seconds_per_move:.3f} |")
        faults = [
            f"{_plain(row.value)}: {faults_text(row.standing.faults)}" for row in self.rows if row.standing.faults
        ]
        return "\n".join([*lines, "", "Faults: " + ("; ".join(faults) or "none") + ".", ""])

    def draw(self, path: Path) -> None:
        """Draw the Elo of each value with its interval to a file; its suffix, .svg or .png, is the format.

        Raises OSError.
        """
        os.environ.setdefault("MPLCONFIGDIR", str(cache_root() / "matplotlib"))
        import matplotlib as mpl
        from matplotlib.figure import Figure

        places, picture = range(len(self.rows)), io.BytesIO()
        elos, margins = [row.elo for row in self.rows], [row.margin for row in self.rows]
        # Text stays text, and names are not random: the same results make the same file.
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "nobi", "font.family": "sans-serif"}):
            figure = Figure(figsize=(7, 4), layout="constrained")
            axes = figure.subplots()
            axes.axhline(0, color="#bbb", linewidth=0.8)
            line = "o-" if self.is_curve else "o"
            axes.errorbar(places, elos, yerr=margins, fmt=line, color="#0b7a75", capsize=4, linewidth=1.4)
            axes.set_xticks(places, [row.value.replace("$", r"\$") for row in self.rows])
            axes.set_xlabel(self.axis)
            axes.set_ylabel(f"Elo against {self.baseline}".replace("$", r"\$"))
            axes.set_title(self.question, loc="left", fontsize=12)
            axes.grid(axis="y", color="#eee")
            axes.set_axisbelow(True)
            figure.supxlabel(self.played, fontsize=7, color="#666")
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(picture, format=path.suffix[1:], metadata=metadata, dpi=120)
        write_whole(path, picture.getvalue(), PUBLIC)


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def _plain(text: str) -> str:
    """A value as a cell of Markdown."""
    return text.replace("|", r"\|")
