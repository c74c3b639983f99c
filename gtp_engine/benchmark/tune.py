"""`nobi tune`: find the network and the settings that are best on this machine, and write them to the user's file."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtp_engine.benchmark.command import rate_text, surroundings
from gtp_engine.benchmark.trials import Choice, Trial, choose, new_trial, variations
from gtp_engine.configuration.configuration import Configuration, tell
from gtp_engine.configuration.edit import write_values
from gtp_engine.configuration.parameters import Number, config_options, parameter_options
from gtp_engine.configuration.settings import DEFAULT_SECONDS
from gtp_engine.configuration.sources import file_to_change, load, user_file
from gtp_engine.errors import UserError
from gtp_engine.networks import open_evaluator, with_network
from gtp_engine.players import check_files, chosen_player
from nets.at_hand import RANKED, at_hand, strongest
from nets.evaluator import EvaluatorError
from nobi_machine.parameters import toml_value
from nobi_machine.progress import ProgressBar
from nobi_machine.streams import print_json
from nobi_machine.terminal import amount
from nobi_machine.text import printable_path

if TYPE_CHECKING:
    from nets.evaluator import Evaluator


RATE_SECONDS = 3.0
"""How long the search lasts that measures a network's speed."""


@click.command()
@parameter_options("tune")
@click.option("--seconds", type=Number(5, 3600), default=60.0, show_default=True, help="How long to try, about.")
@click.option("--dry-run", is_flag=True, help="Say what suits best and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@config_options
def tune(
    config_file: Path | None, settings: tuple[str, ...], seconds: float, dry_run: bool, as_json: bool, **options: object
) -> None:
    """Find the network, workers, batch and precision that are best on this machine and write them to the configuration
    file.

    Of the networks at hand that were compared by games the strongest is taken, by how many evaluations it makes here
    in --time on a board of --size; with --net, or where the configuration names any other network, that one stays.

    For the rest speed decides; a precision that loses too much, as measured when the network is first used, is not
    tried. The present setting stays unless another one is better for certain: by the 95 % interval of the ratio of
    their speeds. One with more positions evaluated at a time has to be 5 % faster, since those are chosen without
    knowing each other's results. Of those that are nearly as fast as the best, the one that changes least is taken. A
    slow network needs more --seconds, and the command says how many.

    The user's configuration file is changed or made, or the one --config names: it gets those of these four parameters
    that are better otherwise, and what the command line gave of the last three; everything else in it stays as it is.
    """
    configuration = check_files(load(config_file, settings, options, is_to_be_made=not dry_run))
    tell(configuration)
    if chosen_player(configuration) != "nobi":
        raise UserError("only the player nobi, which needs a network (--net FILE), can be tuned")
    path = (config_file or user_file()) if dry_run else file_to_change(config_file)
    rates = {} if "net" in configuration.by_hand else _rates(configuration)
    before, configuration = configuration, _with_strongest(configuration, rates)
    with ProgressBar("measuring", seconds) as bar:
        evaluators = _evaluators(configuration)
        opened = evaluators.get(configuration.engine.precision) or open_evaluator(configuration)
        present = new_trial(configuration, opened)
        others = [trial for evaluator in evaluators.values() for trial in variations(present, evaluator)]
        choice = choose(present, others, seconds, bar.advance)
    best = choice.best
    names = {evaluator.attributes.precision: name for name, evaluator in evaluators.items()}
    # Without values of its own a setting has what suits the evaluator that it gets.
    so_far = {"precision": configuration.engine.precision, **_threads(new_trial(configuration, best.evaluator))}
    precision = so_far["precision"]
    if best.evaluator.attributes.precision != choice.present.evaluator.attributes.precision:
        precision = names[best.evaluator.attributes.precision]
    found = {"precision": precision, **_threads(best)}
    changes = {name: value for name, value in found.items() if value != so_far[name] or name in configuration.by_hand}
    if configuration is not before:
        changes = {"net": configuration.values["net"], **changes}
    if choice.needed:
        changes = {name: value for name, value in changes.items() if name == "net"}
    writes = bool(changes) and not dry_run
    if writes:
        write_values(path, changes)
    if as_json:
        _print_json({"net": str(configuration.net), **found}, rates, choice, path if writes else None)
    else:
        _print(changes, rates, choice, path, dry_run)


def _rates(configuration: Configuration) -> dict[str, float]:
    """The evaluations a second of the networks at hand that were compared with each other, by name; none where the
    configured network is not one of them."""
    known = {each.name for each in RANKED}
    networks = [each for each in at_hand() if each.name in known and each.is_whole]
    if configuration.net is None or not any(each.path.samefile(configuration.net) for each in networks):
        return {}
    rates = {}
    for each in networks:
        with contextlib.suppress(EvaluatorError):  # a damaged file, which is not what is asked for
            trial = new_trial(with_network(configuration, each), open_evaluator(with_network(configuration, each)))
            rates[each.name] = trial.search(0, RATE_SECONDS)
    return rates


def _with_strongest(configuration: Configuration, rates: dict[str, float]) -> Configuration:
    """The configuration with the strongest network for its time and its board; itself where that is configured."""
    best = strongest(rates, configuration.engine.time or DEFAULT_SECONDS, math.prod(configuration.engine.board))
    found = next((each for each in at_hand() if each.name == best), None)
    if found is None or configuration.net is None or found.path.samefile(configuration.net):
        return configuration
    return with_network(configuration, found)


def _threads(trial: Trial) -> dict[str, object]:
    return {"workers": trial.workers, "batch": trial.parameters.batch}


def _evaluators(configuration: Configuration) -> dict[str, Evaluator]:
    """The network in the precisions worth trying, by name. `auto` knows which are fit for use, and stays right when the
    network is exchanged for another."""
    found = {"auto": open_evaluator(_with(configuration, "auto"))}
    if found["auto"].attributes.precision != "fp32":
        with contextlib.suppress(EvaluatorError):  # an ONNX file gives no choice
            found["fp32"] = open_evaluator(_with(configuration, "fp32"))
    return found


def _with(configuration: Configuration, precision: str) -> Configuration:
    return Configuration({**configuration.values, "precision": precision})


def _print(changes: dict[str, object], rates: dict[str, float], choice: Choice, path: Path, is_dry: bool) -> None:
    best = choice.best
    if rates:
        click.echo(f"compared  {', '.join(f'{name} ({rate:.0f} evaluations/s)' for name, rate in rates.items())}")
    is_new = ", stronger than the one so far" if "net" in changes else ""
    click.echo(f"network   {best.evaluator.attributes.name}, {best.evaluator.attributes.provider}{is_new}")
    click.echo(f"board     {best.width}x{best.height}")
    click.echo(f"so far    {_setting(choice.present)}")
    tried = f"{len(choice.tried)} settings tried"
    if choice.needed:
        click.echo(
            f"best      unknown: comparing settings at this speed takes --seconds {math.ceil(choice.needed)} or more"
        )
        if not changes:
            return
    elif best is choice.present:
        click.echo(f"best      the same: no other is better for certain ({tried})")
    else:
        gain = f"{choice.ratio:.2f} times as many, 95 %: {choice.low:.2f} to {choice.high:.2f}"
        click.echo(f"best      {_setting(best)} ({gain}; {tried})")
    lines = ", ".join(f"{name} = {toml_value(value)}" for name, value in changes.items())
    click.echo(f"{'would write' if is_dry else 'wrote'} {lines or 'nothing'} to {printable_path(path)}")


def _setting(trial: Trial) -> str:
    outline = trial.outline()
    workers = amount(trial.workers, "worker")
    return f"{outline['precision']}, {workers}, batch {trial.parameters.batch}: {rate_text(outline)}"


def _print_json(found: dict[str, object], rates: dict[str, float], choice: Choice, path: Path | None) -> None:
    best, outline = choice.best, choice.best.outline()
    report = {
        "network": best.evaluator.attributes.name,
        "provider": best.evaluator.attributes.provider,
        "size": f"{best.width}x{best.height}",
        "compared": {name: round(rate, 1) for name, rate in rates.items()},
        "best": {**found, **{name: outline[name] for name in ("evals_per_second", "evals_spread")}},
        "present": choice.present.outline(),
        "faster": round(choice.ratio, 4),
        "faster_interval": [round(choice.low, 4), round(choice.high, 4)],
        "seconds_needed": math.ceil(choice.needed),
        "tried": [trial.outline() for trial in choice.tried],
        "written": None if path is None else printable_path(path),
        **surroundings(),
    }
    print_json(report)
