"""What `nobi benchmark` and `nobi tune` show: a progress bar, figures for people, and what the figures depend on."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gtp_engine.benchmark.choice import Choice
from gtp_engine.benchmark.trials import Tick
from gtp_engine.tools.checks import package_versions
from gtp_engine.version import VERSION
from nobi_machine.memory import usable_cores
from nobi_machine.terminal import amount

COLUMNS = {
    "network": "network",
    "size": "board",
    "precision": "precision",
    "provider": "computed by",
    "workers": "workers",
    "batch": "batch",
    "evals_per_second": "evaluations/s",
    "visits_per_second": "visits/s",
    "bare_evals_per_second": "bare loop",
    "ratio": "ratio",
}
"""The columns of the table of settings: keys of the figures, and titles."""
TEXT_COLUMNS = ("network", "size", "precision", "provider")


def surroundings() -> dict[str, Any]:
    """Collect everything that figures depend on, except the engine's settings: versions and the machine."""
    return {
        "version": VERSION,
        "python": platform.python_version(),
        "versions": package_versions(),
        "cores": usable_cores(),
        "machine": processor(),
    }


def processor() -> str:
    """Return the name of the processor, as well as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def for_people(report: dict[str, Any]) -> str:
    """Write a report as text: some lines about one setting, or a table of many."""
    lines = [f"machine    {report['machine']}, {report['cores']} cores; nobi {report['version']}"]
    if "settings" in report:
        return "\n".join([*lines, "", *table(report["settings"]), *_best_lines(report["best"])])
    if report["network"] is None:
        lines += [
            f"player     {report['player']}, {amount(report['workers'], 'worker')}, board {report['size']}",
            f"search     {report['playouts_per_second']:,.0f} playouts/s",
        ]
        return "\n".join(lines)
    lines += [
        f"network    {report['network']}, {report['precision']}, {report['provider']}",
        f"settings   {amount(report['workers'], 'worker')}, batch {report['batch']}, board {report['size']}",
        f"search     {rate_text(report)}, {report['visits_per_second']:,.0f} visits/s",
        f"bare loop  {report['bare_evals_per_second']:,.0f} evaluations/s; in the search {report['ratio']:.1%} of it",
    ]
    if "advice" in report:
        lines.append(f"advice     {_advice_line(report['advice'])}")
    return "\n".join(lines)


def advice_of(choice: Choice, share: float = 1.0) -> dict[str, Any]:
    """Describe what a comparison of settings found, for JSON. `share` is its share of a command's --seconds."""
    return {
        **choice.best.outline(),
        "is_present": choice.best is choice.present,
        "faster": round(choice.ratio, 4),
        "faster_interval": [round(choice.low, 4), round(choice.high, 4)],
        "seconds_needed": math.ceil(choice.needed / share),
        "tried": [trial.outline() for trial in choice.tried],
    }


def _advice_line(advice: dict[str, Any]) -> str:
    if advice["seconds_needed"]:
        return f"none: comparing settings at this speed takes --seconds {advice['seconds_needed']} or more"
    if advice["is_present"]:
        return f"none: of {len(advice['tried'])} settings no other is better for certain"
    low, high = advice["faster_interval"]
    return (
        f"--workers {advice['workers']} --batch {advice['batch']}: {rate_text(advice)}, {advice['faster']:.2f} times as"
        f" many as now (95 %: {low:.2f} to {high:.2f}; {len(advice['tried'])} settings tried)"
    )


def rate_text(figures: dict[str, Any]) -> str:
    """Write the evaluations a second of a setting as text, with half of their 95 % interval if there is one."""
    rate, spread = figures["evals_per_second"], figures["evals_spread"]
    digits = 0 if rate >= 100 else 1
    return f"{rate:,.{digits}f}{'' if spread is None else f' ± {spread:,.{digits}f}'} evaluations/s"


def table(settings: Sequence[dict[str, Any]]) -> list[str]:
    """Write the lines of a table of settings. One that could not be measured has the reason in place of figures."""
    columns = [COLUMNS, *({key: _cell(key, each.get(key, "")) for key in COLUMNS} for each in settings)]
    widths = {key: max(len(row[key]) for row in columns) for key in COLUMNS}
    lines = []
    for row, setting in zip(columns, ({}, *settings), strict=True):
        cells = [row[key].ljust(widths[key]) if key in TEXT_COLUMNS else row[key].rjust(widths[key]) for key in COLUMNS]
        lines.append(f"{'  '.join(cells).rstrip()}{'  ' + setting['error'] if 'error' in setting else ''}")
    return lines


def _cell(key: str, value: object) -> str:
    if key == "ratio" and value != "":
        return f"{value:.1%}"
    return f"{value:,.0f}" if isinstance(value, float) else str(value)


def _best_lines(best: Sequence[dict[str, Any]]) -> list[str]:
    lines = [""] if best else []
    for each in best:
        lines.append(
            f"best for {each['network']} on {each['size']}: --precision {each['precision']} --workers {each['workers']}"
            f" --batch {each['batch']} ({each['evals_per_second']:,.0f} evaluations/s)"
        )
    return lines


@contextmanager
def progress_bar(total: float) -> Iterator[Tick]:
    """Show a bar on stderr, if that is a terminal, for `total` seconds of work. The body calls what it gets with the
    seconds that are done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns, console = (TextColumn("measuring"), BarColumn(), TimeRemainingColumn()), Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, refresh_per_second=2, disable=not console.is_terminal)
    with bar as progress:
        task = progress.add_task("", total=total)
        yield lambda seconds: progress.advance(task, seconds)
