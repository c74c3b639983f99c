"""`nobi benchmark`: how fast this machine searches, and how much of the network's speed the search leaves."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from go_rules.game import Game
from gtp_engine.benchmark.choice import choose
from gtp_engine.benchmark.report import advice_of, for_people, progress_bar, surroundings
from gtp_engine.benchmark.trials import MIN_ROUNDS, ROUND_SECONDS, Tick, Trial, measure, position
from gtp_engine.configuration.configuration import WITH_NETWORK, Configuration, tell
from gtp_engine.configuration.parameters import Number, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError, explain
from gtp_engine.networks import keep_rate, open_evaluator, suited_to
from gtp_engine.players import PLAYERS, check_files, chosen_player, make_player
from nets.devices import CPU, device_of
from nobi_machine.memory import usable_cores
from nobi_machine.streams import print_json
from search.nobi.parameters import SearchParameters
from search.request import Limits, SearchRequest

if TYPE_CHECKING:
    from nets.evaluator import Evaluator

TRIAL_SHARE = 0.5
"""The time of all trials for the advice, as a share of the time of the main measurement."""
BATCHES = (1, 2, 4, 8)
ACCELERATOR_WORKERS, ACCELERATOR_BATCHES = (1, 2, 3, 4), (4, 8, 16, 32, 64)
"""Workers and batches to try if the network is not computed by the processor."""
VARIED = ("net", "size", "precision", "workers", "batch")
"""Parameters that may be given several values, the slowest to vary first."""


@click.command()
@parameter_options("benchmark", several=VARIED)
@click.option(
    "--seconds",
    type=Number(1, 3600),
    default=30.0,
    show_default=True,
    help="How long to measure each setting, about.",
)
@click.option("--advice/--no-advice", default=True, show_default=True, help="Try other numbers of workers and batches.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@config_options
def benchmark(
    config_file: Path | None,
    settings: tuple[str, ...],
    seconds: float,
    advice: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure how fast this machine searches.

    With a network: evaluations and visits a second in a real search, and of the same network called in a bare loop by
    as many threads with the same batches. Without one: playouts a second of the net-free player.

    --net may be repeated, and --precision, --size, --workers and --batch take several values with commas between:
    every combination is measured, all in turns, and the result is a table.
    """
    configurations = [check_files(each) for each in _combinations(config_file, settings, options)]
    tell(*configurations)
    configuration = configurations[0]
    name = _measured_player(configurations)
    with_network = PLAYERS[name].needs_network
    is_single = len(configurations) == 1
    total = seconds * (1 + TRIAL_SHARE if advice and is_single and with_network else len(configurations))
    with progress_bar(total) as tick:
        if not with_network:
            report = measure_playouts(configuration, seconds, tick)
        elif is_single:
            report = measure_network(configuration, seconds, advice, tick)
        else:
            report = measure_all(configurations, seconds, tick)
    report = {"player": name, **report, **surroundings()}
    if as_json:
        print_json(report)
    else:
        click.echo(for_people(report))


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


def measure_network(configuration: Configuration, seconds: float, advice: bool, tick: Tick) -> dict[str, Any]:
    """Measure a search with a network under one setting, and return the report."""
    trial = new_trial(configuration, open_evaluator(configuration))
    measure([trial], seconds, tick)
    keep_rate(configuration, trial.evals_per_second)
    report = {**trial.figures(), "net": str(configuration.net), "size": configuration.engine.size, "seconds": seconds}
    if advice:
        report["advice"] = advice_of(choose(trial, variations(trial), seconds * TRIAL_SHARE, tick), TRIAL_SHARE)
    return report


def measure_all(configurations: Sequence[Configuration], seconds: float, tick: Tick) -> dict[str, Any]:
    """Measure many settings in turns, and return the report. Each has its figures, or an error."""
    evaluators: dict[tuple[Any, ...], Evaluator | str] = {}
    trials: dict[int, Trial] = {}
    rows: list[dict[str, Any]] = []
    for number, configuration in enumerate(configurations):
        key = (configuration.engine.net, configuration.engine.precision)
        if key not in evaluators:
            evaluators[key] = _opened(configuration)
        evaluator = evaluators[key]
        row = {
            "network": Path(str(configuration.net)).name,
            "size": configuration.engine.size,
            "net": str(configuration.net),
        }
        if isinstance(evaluator, str):
            row |= {"precision": configuration.engine.precision, "error": evaluator}
        else:
            trials[number] = new_trial(configuration, evaluator)
        rows.append(row)
    measure(list(trials.values()), seconds, tick)
    for number, trial in trials.items():
        rows[number] |= trial.figures()
        keep_rate(configurations[number], trial.evals_per_second)
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for number in trials:
        row = rows[number]
        place = (row["net"], row["size"])
        if place not in best or row["evals_per_second"] > best[place]["evals_per_second"]:
            best[place] = row
    return {"settings": rows, "best": list(best.values()), "seconds": seconds}


def measure_playouts(configuration: Configuration, seconds: float, tick: Tick) -> dict[str, Any]:
    """Measure a player without a network, and return the report."""
    width, height = configuration.engine.board
    player = make_player(configuration)
    player.warm_up(width, height)
    rounds = max(MIN_ROUNDS, round(seconds / ROUND_SECONDS))
    playouts, visits = [], []
    for i in range(rounds):
        game: Game = position(i, width, height)
        player.clear()
        result = player.search(
            SearchRequest(game, game.to_play, Limits(seconds=seconds / rounds, may_stop_early=False))
        )
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


def new_trial(configuration: Configuration, evaluator: Evaluator) -> Trial:
    """Make a trial of the configured search with an opened network. Raises ParameterError."""
    width, height = configuration.engine.board
    parameters = configuration.fill(suited_to(evaluator))
    batch = parameters.batch_for(evaluator, width, height)
    return Trial(evaluator, dataclasses.replace(parameters, batch=batch), width, height)


def variations(present: Trial, evaluator: Evaluator | None = None) -> list[Trial]:
    """Make trials of all other workers and batches that may be good with the same evaluator, or with another one."""
    evaluator = evaluator or present.evaluator
    cores = usable_cores()
    workers: Sequence[int] = sorted({max(1, cores // 2), cores, cores + 1})
    batches: Sequence[int] = BATCHES
    if device_of(evaluator.attributes.provider) is not CPU:
        workers, batches = ACCELERATOR_WORKERS, ACCELERATOR_BATCHES
    is_same = evaluator.attributes.precision == present.evaluator.attributes.precision
    return [
        Trial(
            evaluator,
            dataclasses.replace(present.parameters, workers=each, batch=batch),
            present.width,
            present.height,
        )
        for each in workers
        for batch in batches
        if not (is_same and (each, batch) == (present.workers, present.parameters.batch))
    ]


def _combinations(
    config_file: Path | None, settings: tuple[str, ...], options: dict[str, Any]
) -> Iterator[Configuration]:
    """A configuration for every combination of the values given."""
    varied = {name: options.pop(name) for name in VARIED}
    given = {name: values for name, values in varied.items() if values}
    for values in itertools.product(*given.values()):
        yield load(config_file, settings, {**options, **dict(zip(given, values, strict=True))})


def _opened(configuration: Configuration) -> Evaluator | str:
    """The network, or why it cannot be computed in this way."""
    from nets.evaluator import EvaluatorError

    try:
        return open_evaluator(configuration)
    except EvaluatorError as error:
        return explain(error).removeprefix(f"{configuration.net}: ")
