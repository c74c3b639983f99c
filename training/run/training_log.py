"""The log of a run: losses and yardstick figures in progress.jsonl, and the curves that are drawn from it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nobi_machine.files import append_regular
from nobi_machine.progress import StatusLine
from training.files import LOG
from training.yardstick import Measure

LOSSES = ("policy", "value", "ownership", "score", "soft", "optimistic", "reply", "errors")
FIGURES = ("policy_cross_entropy", "top1", "value_mse", "lead_mae", "ownership_mse")


class TrainingLog:
    """Collects the losses of steps, and writes their means and plots into the run's folder."""

    def __init__(self, folder: Path, status: StatusLine) -> None:
        """What cannot be written is told on the `status` line, and left out."""
        self._log = folder / LOG
        self._plots = folder / "plots"
        self._status = status
        self._sums: dict[str, float] = defaultdict(float)
        self._counts: dict[str, int] = defaultdict(int)

    def add(self, source: str, losses: dict[str, float]) -> None:
        """Count the losses of one step, whose positions came from `source`."""
        for part, value in losses.items():
            for name in (part, f"{source}/{part}"):
                self._sums[name] += value
                self._counts[name] += 1

    def means(self) -> dict[str, float]:
        """Return the mean losses since the last entry, of all sources together and of each."""
        return {name: self._sums[name] / self._counts[name] for name in self._sums}

    def write(self, facts: dict[str, Any], measures: tuple[Measure, Measure] | None = None) -> None:
        """Append an entry with `facts`, the mean losses and the figures of 19×19 and smaller boards; begin the next."""
        entry = {**facts, "loss": {name: _rounded(value) for name, value in self.means().items()}}
        if measures is not None:
            entry["yardstick"], entry["small"] = (
                {name: _rounded(value) for name, value in asdict(measure).items()} for measure in measures
            )
        self._sums.clear()
        self._counts.clear()
        try:
            append_regular(self._log, json.dumps(entry).encode() + b"\n")
        except OSError as error:
            self._status.note(f"{self._log}: {error.strerror or error}; training goes on")

    def plot(self) -> None:
        """Draw the curves anew, where matplotlib is installed."""
        try:
            draw_plots(_read_log(self._log), self._plots)
        except OSError as error:
            self._status.note(f"{self._plots}: {error.strerror or error}; training goes on")


def _read_log(path: Path) -> list[dict[str, Any]]:
    """Read all entries. A line that a crash cut short is left out."""
    entries = []
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                entries.append(json.loads(line))
    return entries


def _rounded(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None


def draw_plots(entries: list[dict[str, Any]], folder: Path) -> None:
    """Draw losses.png and yardstick.png from the entries of progress.jsonl, if there are any and matplotlib is
    installed. Raises OSError."""
    figure = new_figure(12, 6)
    if not entries or figure is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for axes, part in zip(figure.subplots(2, 4).flat, LOSSES, strict=True):
        sources = sorted({name for entry in entries for name in entry["loss"] if name.endswith(f"/{part}")})
        for source in sources:
            points = [(e["samples"], e["loss"].get(source)) for e in entries if e["loss"].get(source) is not None]
            axes.plot(*zip(*points, strict=True), label=source.removesuffix(f"/{part}"), linewidth=1)
        axes.set_title(part)
        axes.set_xlabel("positions")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=6)
    figure.savefig(folder / "losses.png", dpi=100)

    measured = [entry for entry in entries if "yardstick" in entry]
    if not measured:
        return
    figure = new_figure(15, 4)
    for axes, name in zip(figure.subplots(1, len(FIGURES)), FIGURES, strict=True):
        for key, label in (("yardstick", "19x19"), ("small", "smaller boards")):
            points = [(entry["samples"], entry[key][name]) for entry in measured]
            axes.plot(*zip(*points, strict=True), marker=".", label=label)
        axes.set_title(name.replace("_", " "))
        axes.set_xlabel("positions")
        axes.legend(fontsize=7)
    figure.savefig(folder / "yardstick.png", dpi=100)


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of matplotlib's, its sides in inches, or None where that is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
