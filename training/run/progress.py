"""What a run tells while it goes: a line on the terminal, and a log from which curves are drawn."""

from __future__ import annotations

import json
import math
import sys
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from training.run.yardstick import Measure

LINE_SECONDS = 15.0
"""Between lines where output is not a terminal."""


class Reporter:
    """Collects what steps report; writes log entries, lines and plots into the run's folder."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "progress.jsonl"
        self._plots = folder / "plots"
        self._sums: dict[str, float] = defaultdict(float)
        self._counts: dict[str, int] = defaultdict(int)
        self._is_terminal = sys.stderr.isatty()
        self._last_line = 0.0

    def add(self, source: str, losses: dict[str, float]) -> None:
        """The mean losses of some steps on one source."""
        for part, value in losses.items():
            for name in (part, f"{source}/{part}"):
                self._sums[name] += value
                self._counts[name] += 1

    def line(self, text: str, final: bool = False) -> None:
        """Show the state: on a terminal in place, elsewhere now and then."""
        now = time.monotonic()
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[2K{text}" + ("\n" if final else ""))
        elif final or now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def note(self, text: str) -> None:
        """Something that is worth a line of its own."""
        sys.stderr.write(("\r\x1b[2K" if self._is_terminal else "") + text + "\n")
        sys.stderr.flush()

    def means(self) -> dict[str, float]:
        """Losses since the last log entry."""
        return {name: self._sums[name] / self._counts[name] for name in self._sums}

    def log(self, facts: dict[str, Any], measures: tuple[Measure, Measure] | None = None) -> None:
        """Append an entry and begin the next. What cannot be written is told and left out."""
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
            self.note(f"{self._log}: {error.strerror or error}; training goes on")

    def plot(self) -> None:
        """Draw the curves anew, where matplotlib is installed. What cannot be written is told and left out."""
        from training.run.plots import draw_plots

        try:
            draw_plots(read_log(self._log), self._plots)
        except OSError as error:
            self.note(f"{self._plots}: {error.strerror or error}; training goes on")


def read_log(path: Path) -> list[dict[str, Any]]:
    """All entries; a line cut short by a crash is left out."""
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
