"""`nobi experiment`: one of the experiments of catalogue.py, played, tabled and drawn."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from gtp_engine.configuration.parameters import Count, Number, find_parameter
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.experiments.catalogue import EXPERIMENTS, PLAYER, TIME, VISITS, Experiment, Plan, plan
from gtp_engine.experiments.report import MISSING, as_csv, as_markdown, can_draw, draw, findings
from gtp_engine.match.command import EXIT_FAULTS
from gtp_engine.match.conditions import BoardSize, Conditions, read_conditions
from gtp_engine.players import check
from gtp_engine.tournament.progress import play_series
from gtp_engine.tournament.report import write_results
from gtp_engine.tournament.results import Results
from gtp_engine.tournament.series import open_contest
from nobi_machine.files import PUBLIC, write_whole
from nobi_machine.launch import python_command
from nobi_machine.locks import folder_for_one
from nobi_machine.parameters import ParameterError
from nobi_machine.terminal import amount
from nobi_machine.text import printable, shown

NAMES = ", ".join(EXPERIMENTS)
MOST_VALUES = 40


@click.command(epilog="\b\n" + "\n".join(f"{name:14}{each.question}" for name, each in EXPERIMENTS.items()))
@click.argument("name", metavar="NAME")
@click.option("--games", "-n", type=Count(1), help="How many each pair plays.  [default: the experiment's]")
@click.option("--size", type=BoardSize(), default="9", show_default=True, help="Board: N, or WIDTHxHEIGHT.")
@click.option("--rules", default="chinese", show_default=True, help="A rule set by name; `nobi gtp --help` lists them.")
@click.option("--komi", type=Number(-1000, 1000), help="Points for white.  [default: customary with the rules]")
@click.option("--player", help="Another player than the experiment's, or for `players` a list with commas between.")
@click.option("--option", help="Another parameter than the experiment's.")
@click.option("--values", help="Other values than the experiment's, with commas between.")
@click.option("--visits", type=Count(1, 10**12), help="Visits a move, where they are not what is varied.")
@click.option("--time", "seconds", type=Number(0, 1e7, min_open=True), metavar="SECONDS", help="... or seconds a move.")
@click.option("--parallel", type=Count(1, 256), default=1, show_default=True, help="Games at the same time.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the records, the tables and the picture; an experiment found there goes on.  "
    "[default: experiment-NAME]",
)
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The picture, .svg or .png.  [default: NAME.svg in that folder]",
)
def experiment(
    name: str,
    games: int | None,
    size: tuple[int, int],
    rules: str,
    komi: float | None,
    player: str | None,
    option: str | None,
    values: str | None,
    visits: int | None,
    seconds: float | None,
    parallel: int,
    out: Path | None,
    picture: Path | None,
) -> int:
    """Play one of the experiments that tutorials on tree search describe.

    Players of this program that differ in one option play each other; a table (NAME.md, NAME.csv) and a picture
    (NAME.svg, with the extra `review`) show their Elo; results.html and results.json are as those of `nobi tournament`.
    It can be interrupted at any time, and the same command goes on.
    The exit code is 0, or 3 if an engine misbehaved.
    """
    chosen = _chosen(name, games, player, option, values, visits)
    path = picture or (out or Path(f"experiment-{name}")) / f"{name}.svg"
    if path.suffix not in (".svg", ".png"):
        raise UserError(f"{printable(str(path))}: the picture must be a file .svg or .png")
    conditions = read_conditions(size=size, rules=rules, komi=komi, parallel=parallel)
    planned = plan(chosen, seconds)
    folder = out or Path(f"experiment-{name}")
    with folder_for_one(folder):
        found = _play(name, chosen, planned, conditions, folder)
        played = f"{amount(found.games, 'game')} on {size[0]}x{size[1]}, komi {conditions.terms.komi:g}, "
        _publish(name, chosen, planned, found, played + limit_text(chosen, seconds), folder, path)
    return EXIT_FAULTS if found.has_faults else 0


def _publish(
    name: str, chosen: Experiment, planned: Plan, found: Results, played: str, folder: Path, picture: Path
) -> None:
    """Write the tables and the picture, and show the table on stdout. `played` says what was, for the caption."""
    rows = findings(planned, found)
    markdown = as_markdown(chosen, planned, rows, played)
    write_whole(folder / f"{name}.md", markdown.encode(), PUBLIC)
    write_whole(folder / f"{name}.csv", as_csv(rows).encode(), PUBLIC)
    click.echo(markdown, nl=False)
    if can_draw():
        picture.parent.mkdir(parents=True, exist_ok=True)
        draw(picture, chosen, planned, rows, played)
    else:
        click.echo(f"experiment: {MISSING}", err=True)


def _chosen(
    name: str, games: int | None, player: str | None, option: str | None, values: str | None, visits: int | None
) -> Experiment:
    """The experiment with what the options change. Raises UserError."""
    if name not in EXPERIMENTS:
        raise UserError(f"unknown experiment {shown(name)} (known: {NAMES})")
    chosen = EXPERIMENTS[name]
    if chosen.option == PLAYER:
        values, player = values or player, None
    listed = [value.strip() for value in values.split(",")] if values else list(chosen.values)
    if len(set(listed)) < len(listed) or not 2 <= len(listed) <= MOST_VALUES:
        raise UserError(f"an experiment has 2 to {MOST_VALUES} values, no two of them equal")
    return dataclasses.replace(
        chosen,
        player=player or chosen.player,
        option=_own_name(option) if option else chosen.option,
        values=tuple(listed),
        visits=visits or chosen.visits,
        visits_of={} if visits else chosen.visits_of,
        games=games or chosen.games,
    )


def _own_name(option: str) -> str:
    """Our name of a parameter, which may be written in KataGo's way; PLAYER and what is no parameter stay."""
    try:
        return find_parameter(option).name
    except ParameterError:
        return option


def _play(name: str, chosen: Experiment, planned: Plan, conditions: Conditions, folder: Path) -> Results:
    """Play what the folder's records do not have yet. Raises UserError, and KeyboardInterrupt."""
    for engine in planned.engines:
        _check(engine.label, engine.arguments)
    labels = [printable(engine.label) for engine in planned.engines]
    commands = [python_command("gtp_engine.cli", "gtp", *engine.arguments) for engine in planned.engines]
    contests = [open_contest(folder, pair, commands, labels, conditions) for pair in planned.pairs]
    play_series("experiment", name, contests, conditions, chosen.games, folder)
    return write_results(folder, labels, commands, contests)


def _check(label: str, arguments: tuple[str, ...]) -> None:
    """Find out in this process what an engine would complain of at its start. Raises UserError."""
    words = iter(arguments)
    given = list(zip(words, words, strict=True))
    settings = [value for option, value in given if option == "--set"]
    options = {option[2:]: value for option, value in given if option != "--set"}
    try:
        check(load(None, settings, options))
    except ParameterError as error:
        raise UserError(f"{printable(label)}: {error}") from None


def limit_text(chosen: Experiment, seconds: float | None) -> str:
    """Say how long the engines thought, for the caption: `seconds` a move, or the visits of the experiment."""
    if chosen.option == VISITS:
        return "visits as they say"
    if chosen.option == TIME:
        return "seconds a move as they say"
    if seconds is not None:
        return f"{seconds:g} s a move"
    others = "".join(f", {player} {visits}" for player, visits in chosen.visits_of.items())
    return f"{amount(chosen.visits, 'visit')} a move{others}"
