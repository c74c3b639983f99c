"""`nobi benchmark`: how fast this machine searches, and how much of the network's speed the search leaves."""

from __future__ import annotations

import itertools
import platform
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from gtp_engine.benchmark.trials import MIN_ROUNDS, ROUND_SECONDS, Tick, Trial, measure, new_trial, position
from gtp_engine.configuration.configuration import WITH_NETWORK, Configuration, tell
from gtp_engine.configuration.parameters import Number, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError, explain
from gtp_engine.networks import keep_rate, open_evaluator
from gtp_engine.players import PLAYERS, check_files, chosen_player, make_player
from gtp_engine.tools.doctor import package_versions
from gtp_engine.version import VERSION
from nets.evaluator import Evaluator, EvaluatorError
from nobi_machine.memory import usable_cores
from nobi_machine.progress import ProgressBar
from nobi_machine.streams import print_json
from nobi_machine.terminal import amount, print_table
from search.nobi.parameters import SearchParameters
from search.request import Limits, SearchRequest

VARIED = ("net", "size", "precision", "workers", "batch")
"""Parameters that may be given several values, the slowest to vary first."""
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
    "error": "",
}
"""The columns of the table of settings: keys of the figures, and titles."""
TEXT_COLUMNS = ("network", "board", "precision", "computed by", "")


@click.command()
@parameter_options("benchmark", several=VARIED)
@click.option(
    "--seconds", type=Number(1, 3600), default=30.0, show_default=True, help="How long to measure each setting, about."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@config_options
def benchmark(
    config_file: Path | None, settings: tuple[str, ...], seconds: float, as_json: bool, **options: Any
) -> None:
    """Measure how fast this machine searches.

    With a network: evaluations and visits a second in a real search, and of the same network called in a bare loop by
    as many threads with the same batches. Without one: playouts a second of the net-free player.

    --net may be repeated, and --precision, --size, --workers and --batch take several values with commas between:
    every combination is measured, all in turns, and the result is a table. `nobi tune` looks for the best by itself.
    """
    configurations = [check_files(each) for each in _combinations(config_file, settings, options)]
    tell(*configurations)
    name = _measured_player(configurations)
    with ProgressBar("measuring", seconds * len(configurations)) as bar:
        if PLAYERS[name].needs_network:
            report = measure_networks(configurations, seconds, bar.advance)
        else:
            report = measure_playouts(configurations[0], seconds, bar.advance)
    report = {"player": name, **report, **surroundings()}
    if as_json:
        print_json(report)
    else:
        print_report(report)


def _measured_player(configurations: Sequence[Configuration]) -> str:
    """Return the name of the player to measure, with a network always the full search. Raises UserError and
    ParameterError."""
    names = [chosen_player(configuration) for configuration in configurations]
    if any(PLAYERS[name].needs_network for name in names):
        if configurations[0].engine.player is not None and names[0] != WITH_NETWORK:
            raise UserError(f"with a network only the search of {WITH_NETWORK} can be measured")
        names = [WITH_NETWORK if PLAYERS[name].needs_network else name for name in names]
    if names[0] == "random":
        raise UserError("the player random has no search to measure")
    if len(names) > 1 and set(names) != {WITH_NETWORK}:
        raise UserError("several settings can be compared only with a network")
    return names[0]


def measure_networks(configurations: Sequence[Configuration], seconds: float, tick: Tick) -> dict[str, Any]:
    """Measure a search with a network under one or many settings, and return the report.

    Many are measured in turns, and each has its figures, or why it has none. Raises EvaluatorError for a single one
    that cannot be computed.
    """
    evaluators: dict[tuple[Any, ...], Evaluator | EvaluatorError] = {}
    rows: list[dict[str, Any]] = []
    trials: dict[int, Trial] = {}
    for number, configuration in enumerate(configurations):
        key = (configuration.engine.net, configuration.engine.precision)
        if key not in evaluators:
            try:
                evaluators[key] = open_evaluator(configuration)
            except EvaluatorError as error:
                evaluators[key] = error
        evaluator, net = evaluators[key], str(configuration.net)
        rows.append({"network": Path(net).name, "size": configuration.engine.size, "net": net})
        if not isinstance(evaluator, EvaluatorError):
            trials[number] = new_trial(configuration, evaluator)
        elif len(configurations) == 1:
            raise evaluator
        else:
            reason = explain(evaluator).removeprefix(f"{net}: ")
            rows[-1] |= {"precision": configuration.engine.precision, "error": reason}
    measure(list(trials.values()), seconds, tick)
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for number, trial in trials.items():
        row = rows[number]
        row |= trial.figures()
        keep_rate(configurations[number], trial.evals_per_second)
        fastest = best.setdefault((row["net"], row["size"]), row)
        if row["evals_per_second"] > fastest["evals_per_second"]:
            best[row["net"], row["size"]] = row
    if len(rows) > 1:
        return {"settings": rows, "best": list(best.values()), "seconds": seconds}
    return {**rows[0], "seconds": seconds}


def measure_playouts(configuration: Configuration, seconds: float, tick: Tick) -> dict[str, Any]:
    """Measure a player without a network, and return the report."""
    width, height = configuration.engine.board
    player = make_player(configuration)
    player.warm_up(width, height)
    rounds = max(MIN_ROUNDS, round(seconds / ROUND_SECONDS))
    limits = Limits(seconds=seconds / rounds, may_stop_early=False)
    playouts, visits = [], []
    for number in range(rounds):
        game = position(number, width, height)
        player.clear()
        result = player.search(SearchRequest(game, game.to_play, limits))
        playouts.append(result.evaluations / result.seconds)
        visits.append(result.new_visits / result.seconds)
        tick(seconds / rounds)
    player.close()
    return {
        "network": None,
        "size": configuration.engine.size,
        "workers": configuration.fill(SearchParameters()).workers or usable_cores(),
        "playouts_per_second": round(statistics.median(playouts), 1),
        "visits_per_second": round(statistics.median(visits), 1),
        "rounds": rounds,
        "seconds": seconds,
    }


def _combinations(
    config_file: Path | None, settings: tuple[str, ...], options: dict[str, Any]
) -> Iterator[Configuration]:
    """A configuration for every combination of the values given."""
    varied = {name: options.pop(name) for name in VARIED}
    given = {name: values for name, values in varied.items() if values}
    for values in itertools.product(*given.values()):
        yield load(config_file, settings, {**options, **dict(zip(given, values, strict=True))})


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


def print_report(report: dict[str, Any]) -> None:
    """Print a report for people: some lines about one setting, or a table of many."""
    click.echo(f"machine    {report['machine']}, {report['cores']} cores; nobi {report['version']}")
    if "settings" in report:
        columns = {key: title for key, title in COLUMNS.items() if any(key in each for each in report["settings"])}
        rows = [[_cell(key, each.get(key, "")) for key in columns] for each in report["settings"]]
        print_table(list(columns.values()), rows, left=TEXT_COLUMNS)
        for each in report["best"]:
            click.echo(
                f"best for {each['network']} on {each['size']}: --precision {each['precision']} --workers "
                f"{each['workers']} --batch {each['batch']} ({each['evals_per_second']:,.0f} evaluations/s)"
            )
        return
    workers = amount(report["workers"], "worker")
    if report["network"] is None:
        click.echo(f"player     {report['player']}, {workers}, board {report['size']}")
        click.echo(f"search     {report['playouts_per_second']:,.0f} playouts/s")
        return
    bare, ratio = report["bare_evals_per_second"], report["ratio"]
    click.echo(f"network    {report['network']}, {report['precision']}, {report['provider']}")
    click.echo(f"settings   {workers}, batch {report['batch']}, board {report['size']}")
    click.echo(f"search     {rate_text(report)}, {report['visits_per_second']:,.0f} visits/s")
    click.echo(f"bare loop  {bare:,.0f} evaluations/s; in the search {ratio:.1%} of it")


def rate_text(figures: dict[str, Any]) -> str:
    """Write the evaluations a second of a setting as text, with half of their 95 % interval if there is one."""
    rate, spread = figures["evals_per_second"], figures["evals_spread"]
    digits = 0 if rate >= 100 else 1
    return f"{rate:,.{digits}f}{'' if spread is None else f' ± {spread:,.{digits}f}'} evaluations/s"


def _cell(key: str, value: object) -> str:
    if key == "ratio" and value != "":
        return f"{value:.1%}"
    return f"{value:,.0f}" if isinstance(value, float) else str(value)
