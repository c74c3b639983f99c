"""The log of a run: losses and yardstick figures in progress.jsonl, and the curves that are drawn from it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from training.run.folder import LOG
from training.run.measure import Measure
from training.status_line import StatusLine


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
            with open(self._log, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            self._status.note(f"{self._log}: {error.strerror or error}; training goes on")

    def plot(self) -> None:
        """Draw the curves anew, where matplotlib is installed."""
        from training.run.plots import draw_plots

        try:
            draw_plots(_read_log(self._log), self._plots)
        except OSError as error:
            self._status.note(f"{self._plots}: {error.strerror or error}; training goes on")


def _read_log(path: Path) -> list[dict[str, Any]]:
    """Read all entries. A line that a crash cut short is left out."""
    entries = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def _rounded(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None
