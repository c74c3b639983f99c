"""Plots of a run: losses and yardstick figures over the number of positions trained on, and the strength of the
generations of `nobi learn`."""

from __future__ import annotations

import math
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
        if axes.get_legend_handles_labels()[0]:
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


def draw_generations(history: list[dict[str, Any]], folder: Path) -> None:
    """Draw generations.png from the entries of learn.json, if there are any and matplotlib is installed: what the
    matches against the best network before it sum up to, and the score against the anchor. Raises OSError."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return
    if not history:
        return
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(10, 4), layout="constrained")
    FigureCanvasAgg(figure)
    chain, anchor = figure.subplots(1, 2)
    for size in sorted({match["size"] for generation in history for match in generation["match"]}):
        label = f"{size}x{size}"
        ratings = chain_ratings(history, size)
        chain.step(range(len(ratings)), ratings, where="post", label=label)
        anchored = [
            (i, match)
            for i, each in enumerate(history, 1)
            for match in each.get("anchor") or ()
            if match["size"] == size
        ]
        if anchored:
            scores = [_score(each) for _, each in anchored]
            below = [score - each["low"] for score, (_, each) in zip(scores, anchored, strict=True)]
            over = [each["high"] - score for score, (_, each) in zip(scores, anchored, strict=True)]
            anchor.errorbar([i for i, _ in anchored], scores, [below, over], marker=".", capsize=2, label=label)
    chain.set(ylabel="Elo", title="best network, by matches against the one before")
    anchor.set(ylabel="score", ylim=(0, 1), title="against the anchor at equal time")
    anchor.axhline(0.5, linestyle=":", linewidth=1, color="grey")
    for axes in (chain, anchor):
        axes.set(xlabel="generation", xlim=(0, len(history) + 0.5))
        axes.xaxis.get_major_locator().set_params(integer=True)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7)
    figure.savefig(folder / "generations.png", dpi=100)


def chain_ratings(history: list[dict[str, Any]], size: int) -> list[float]:
    """Return the Elo of the best network after 0, 1, ... generations on boards of `size`: each network that was kept is
    as much stronger as its match says, with half a game added to either side, so that no match is worth infinitely
    much. A generation without a match on such boards changes nothing.
    """
    ratings = [0.0]
    for generation in history:
        gain = 0.0
        match = next((each for each in generation["match"] if each["size"] == size), None)
        if generation["kept"] and match is not None:
            games = match["wins"] + match["draws"] + match["losses"]
            share = (_score(match) * games + 0.5) / (games + 1)
            gain = 400 * math.log10(share / (1 - share))
        ratings.append(ratings[-1] + gain)
    return ratings


def _score(match: dict[str, Any]) -> float:
    return float((match["wins"] + match["draws"] / 2) / max(1, match["wins"] + match["draws"] + match["losses"]))


def _sources(entries: list[dict[str, Any]], part: str) -> list[str]:
    return sorted({name for entry in entries for name in entry["loss"] if name.endswith(f"/{part}")})
