"""Plots of a run: losses and yardstick figures over the number of positions trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LOSSES = ("policy", "value", "ownership", "score", "soft", "optimistic", "reply", "errors")
FIGURES = ("policy_cross_entropy", "top1", "value_mse", "lead_mae", "ownership_mse")
REFERENCES = {
    "b6c96": (2.783, 0.331, 0.314, 4.63, 0.503),
    "b7c96h3tfrs-test5": (2.162, 0.433, 0.174, 2.09, 0.488),
}
"""Figures of known networks on the 19x19 rows, in the order of FIGURES."""


def draw_plots(entries: list[dict[str, Any]], folder: Path) -> None:
    """Draw losses.png and yardstick.png from the entries of progress.jsonl, if there are any and matplotlib is
    installed. Raises OSError."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return
    if not entries:
        return
    folder.mkdir(parents=True, exist_ok=True)

    figure = Figure(figsize=(12, 6), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, part in zip(figure.subplots(2, 4).flat, LOSSES, strict=True):
        for source in _sources(entries, part):
            points = [(e["samples"], e["loss"].get(source)) for e in entries if e["loss"].get(source) is not None]
            axes.plot(*zip(*points, strict=True), label=source.removesuffix(f"/{part}"), linewidth=1)
        axes.set_title(part)
        axes.set_xlabel("positions")
        axes.legend(fontsize=6)
    figure.savefig(folder / "losses.png", dpi=100)

    measured = [entry for entry in entries if "yardstick" in entry]
    if not measured:
        return
    figure = Figure(figsize=(15, 4), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (i, name) in zip(figure.subplots(1, len(FIGURES)), enumerate(FIGURES), strict=True):
        for key, label in (("yardstick", "19x19"), ("small", "smaller boards")):
            points = [(entry["samples"], entry[key][name]) for entry in measured]
            axes.plot(*zip(*points, strict=True), marker=".", label=label)
        for reference, figures in REFERENCES.items():
            axes.axhline(figures[i], linestyle=":", linewidth=1, color="grey")
            axes.annotate(reference, (points[0][0], figures[i]), fontsize=6, color="grey")
        axes.set_title(name.replace("_", " "))
        axes.set_xlabel("positions")
        axes.legend(fontsize=7)
    figure.savefig(folder / "yardstick.png", dpi=100)


def _sources(entries: list[dict[str, Any]], part: str) -> list[str]:
    return sorted({name for entry in entries for name in entry["loss"] if name.endswith(f"/{part}")})
