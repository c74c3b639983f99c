"""`nobi tune`: try settings, and write those that suit this machine and network best to the user's file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.edit import write_values
from gtp_engine.configuration.options import Number, config_options, parameter_options
from gtp_engine.configuration.sources import load, user_file
from gtp_engine.errors import UserError
from gtp_engine.players import chosen_player, open_evaluator
from gtp_engine.tools.benchmark import new_trial, variations
from gtp_engine.tools.benchmark_report import progress_bar, surroundings
from gtp_engine.tools.benchmark_trials import Trial, best_of
from nets.evaluator import EvaluatorError
from search.toml import toml_value

if TYPE_CHECKING:
    from nets.evaluator import Evaluator


@click.command()
@parameter_options("tune")
@click.option("--seconds", type=Number(5, 3600), default=60.0, show_default=True, help="How long to try, about.")
@click.option("--dry-run", is_flag=True, help="Say what suits best and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@config_options
def tune(
    config_file: Path | None,
    settings: tuple[str, ...],
    seconds: float,
    dry_run: bool,
    as_json: bool,
    **options: object,
) -> None:
    """Find the best workers, batch and precision for this machine and write them to the configuration file.

    Speed decides; a precision that loses too much, as measured when the network is first used, is not tried. Of the
    settings nearly as fast as the fastest the one with the fewest positions evaluated at a time is taken, since those
    are chosen without knowing each other's results. The user's configuration file is changed, or the one --config
    names: only these three parameters, everything else in it stays as it is.
    """
    configuration = load(config_file, settings, options)
    if chosen_player(configuration) != "network":
        raise UserError("only the player network, which needs a network (--net FILE), can be tuned")
    path = config_file or user_file()
    with progress_bar(seconds) as tick:
        evaluators = _evaluators(configuration)
        opened = evaluators.get(configuration.engine.precision) or open_evaluator(configuration)
        present = new_trial(configuration, opened)
        others = [
            trial
            for evaluator in evaluators.values()
            for trial in variations(evaluator, present.parameters, present.width, present.height)
            if not _is_same(trial, present)
        ]
        trials = [present, *others]
        best = best_of(trials, seconds, tick, favourite=present)
    names = {evaluator.attributes.precision: name for name, evaluator in evaluators.items()}
    precision = names.get(best.recorder.attributes.precision, configuration.engine.precision)
    found = {"precision": precision, "workers": best.workers, "batch": best.parameters.batch}
    if not dry_run:
        write_values(path, found)
    if as_json:
        _print_json(found, best, present, trials, None if dry_run else path)
    else:
        _print(found, best, present, len(trials), path, dry_run)


def _evaluators(configuration: Configuration) -> dict[str, Evaluator]:
    """The network in the precisions worth trying, by name. `auto` knows which are fit for use, and stays right when the
    network is exchanged for another."""
    found = {"auto": open_evaluator(_with(configuration, "auto"))}
    if found["auto"].attributes.precision != "fp32":
        with contextlib.suppress(EvaluatorError):  # an ONNX file gives no choice
            found["fp32"] = open_evaluator(_with(configuration, "fp32"))
    return found


def _is_same(trial: Trial, other: Trial) -> bool:
    setting, present = (
        (each.recorder.attributes.precision, each.parameters.batch, each.workers) for each in (trial, other)
    )
    return setting == present


def _with(configuration: Configuration, precision: str) -> Configuration:
    return Configuration({**configuration.values, "precision": precision})


def _print(found: dict[str, object], best: Trial, present: Trial, tried: int, path: Path, is_dry: bool) -> None:
    network, before = best.recorder.attributes, present.recorder.attributes
    click.echo(f"network   {network.name}, {network.provider}, board {best.width}x{best.height}")
    click.echo(
        f"so far    {before.precision}, {present.workers} workers, batch {present.parameters.batch}:"
        f" {present.evals_per_second:,.0f} evaluations/s"
    )
    click.echo(
        f"best      {network.precision}, {best.workers} workers, batch {best.parameters.batch}:"
        f" {best.evals_per_second:,.0f} evaluations/s ({tried} settings tried)"
    )
    lines = ", ".join(f"{name} = {toml_value(value)}" for name, value in found.items())
    click.echo(f"{'would write' if is_dry else 'wrote'} {lines} to {path}")


def _print_json(found: dict[str, object], best: Trial, present: Trial, trials: list[Trial], path: Path | None) -> None:
    import msgspec

    network = best.recorder.attributes
    report = {
        "network": network.name,
        "provider": network.provider,
        "size": f"{best.width}x{best.height}",
        "best": {**found, "evals_per_second": round(best.evals_per_second, 1)},
        "present": present.outline(),
        "tried": [trial.outline() for trial in trials],
        "written": None if path is None else str(path),
        **surroundings(),
    }
    click.echo(msgspec.json.encode(report).decode())
