"""`nobi experiment`: the experiments that tutorials on Monte Carlo tree search describe, each a tournament of its own.

Players of this program that differ in one option play each other. EXPERIMENTS says who plays, and what is varied;
nothing else depends on which experiments there are.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import click

from gtp_engine.configuration.parameters import Count, Number, find_parameter
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.match.command import EXIT_FAULTS
from gtp_engine.match.conditions import BoardSize, read_conditions
from gtp_engine.players import check
from gtp_engine.tournament.command import play_pairs
from gtp_engine.tournament.report import MISSING, can_draw, draw, print_results
from nobi_machine.launch import python_command
from nobi_machine.locks import folder_for_one
from nobi_machine.parameters import ParameterError
from nobi_machine.text import printable, shown

PLAYER, VISITS, TIME, _ = OPTIONS = ("player", "visits", "time", "workers")
"""What every engine of an experiment is told by an option of its own, unless it is what is varied."""
MOST_VALUES = 40


class Pairing(enum.Enum):
    """Who plays whom in an experiment."""

    LADDER = "each value against the one before"
    BASE = "each value against one of them"
    RIVAL = "each value against another player with the same"
    ALL = "each against each"


@dataclass(frozen=True)
class Experiment:
    """An experiment: what is compared, and how. Its numbers are defaults, which the command's options replace."""

    question: str
    """What it answers, as the title of its picture."""
    player: str
    """The player that is varied."""
    option: str
    """What is varied: PLAYER, or a parameter by our name."""
    values: tuple[str, ...]
    axis: str
    """The label of the values in the picture."""
    pairing: Pairing = Pairing.BASE
    base: str = ""
    """The value that the others play against in Pairing.BASE; the first one if it is not among them."""
    rival: str = ""
    """The other player of Pairing.RIVAL."""
    visits: int = 400
    """Visits a move, where they are not what is varied."""
    visits_of: Mapping[str, int] = field(default_factory=dict)
    """Other visits for some players: what a visit costs differs by much."""
    workers: int = 1
    """Threads of each engine's search."""
    games: int = 40
    """Games of each pair."""


# fmt: off
EXPERIMENTS = {
    "simulations": Experiment(
        "Strength against the number of simulations",
        "uct", VISITS, ("50", "100", "200", "400", "800", "1600"), "simulations a move", Pairing.LADDER,
    ),
    "exploration": Experiment(
        "The exploration constant of UCB1",
        "uct", "uct.exploration", ("0", "0.1", "0.25", "0.5", "1", "2"), "exploration constant C", base="0.5",
    ),
    "rave": Experiment(
        "How far all-moves-as-first values are trusted",
        "rave", "uct.rave_equivalence", ("0", "100", "300", "1000", "3000", "10000"), "RAVE equivalence, visits",
    ),
    "lambda": Experiment(
        "Values of leaves: network or rollouts",
        "alphago", "alphago.rollout_share", ("0", "0.25", "0.5", "0.75", "1"), "share λ of the rollouts", visits=100,
    ),
    "virtual-loss": Experiment(
        "Virtual loss in a search of eight threads",
        "uct", "virtual_loss", ("0", "1", "2", "4", "8"), "virtual losses", workers=8,
    ),
    "widening": Experiment(
        "Progressive widening: how many moves a node considers",
        "uct", "widening", ("0", "1", "2", "4", "8"), "widening factor (0: all moves)",
    ),
    "gumbel": Experiment(
        "Gumbel against PUCT with few visits",
        "gumbel", VISITS, ("8", "16", "32", "64"), "visits a move", Pairing.RIVAL, rival="puct",
    ),
    "players": Experiment(
        "Players against each other",
        "", PLAYER, ("random", "mc", "uct", "rave", "policy", "value", "alphago", "puct", "gumbel", "nobi"), "player",
        Pairing.ALL, visits=100, visits_of={"mc": 1000, "uct": 1000, "rave": 1000}, games=10,
    ),
}
# fmt: on
"""The experiments by the name that `nobi experiment` takes."""


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
    help="Folder for the records, the results and the picture; an experiment found there goes on.  "
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

    Players of this program that differ in one option play each other. The tables, results.html and results.json are
    as those of `nobi tournament`, and a picture (NAME.svg, with the extra `review`) shows the Elo of each value. It can
    be interrupted at any time, and the same command goes on. The exit code is 0, or 3 if an engine misbehaved.
    """
    chosen = _chosen(name, games, player, option, values, visits)
    folder = out or Path(f"experiment-{name}")
    picture = picture or folder / f"{name}.svg"
    if picture.suffix not in (".svg", ".png"):
        raise UserError(f"{printable(str(picture))}: the picture must be a file .svg or .png")
    conditions = read_conditions(size=size, rules=rules, komi=komi, parallel=parallel)
    planned = plan(chosen, seconds)
    for engine in planned.engines:
        _check(engine)
    labels = [printable(engine.label) for engine in planned.engines]
    commands = [python_command("gtp_engine.cli", "gtp", *engine.arguments) for engine in planned.engines]
    with folder_for_one(folder):
        found = play_pairs("experiment", name, planned.pairs, commands, labels, conditions, chosen.games, folder)
        print_results(found)
        if can_draw():
            picture.parent.mkdir(parents=True, exist_ok=True)
            draw(picture, found, planned.bases, chosen.values, chosen.question, chosen.axis)
        else:
            click.echo(f"experiment: {MISSING}", err=True)
    return EXIT_FAULTS if found.has_faults else 0


def _chosen(
    name: str, games: int | None, player: str | None, option: str | None, values: str | None, visits: int | None
) -> Experiment:
    """The experiment with what the options change. Raises UserError."""
    if name not in EXPERIMENTS:
        raise UserError(f"unknown experiment {shown(name)} (known: {', '.join(EXPERIMENTS)})")
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


class PlannedEngine(NamedTuple):
    """One of the players that an experiment compares."""

    label: str
    arguments: tuple[str, ...]
    """The words after `nobi gtp`: options and their values."""


class Plan(NamedTuple):
    """The engines of an experiment, the first of them those of its values, and which of them play each other."""

    engines: list[PlannedEngine]
    pairs: list[tuple[int, int]]
    bases: list[int | None]
    """For each value the engine that its Elo is relative to in the picture; None: to the mean of all."""


def plan(chosen: Experiment, seconds: float | None) -> Plan:
    """Plan who plays whom. With `seconds` each move has that time, without it the experiment's visits; where time or
    visits are what is varied, they alone limit a move."""
    engines = [_engine(chosen, chosen.player, value, seconds) for value in chosen.values]
    count = len(engines)
    numbers = range(count)
    base = chosen.values.index(chosen.base) if chosen.base in chosen.values else 0
    if chosen.pairing is Pairing.ALL:
        return Plan(engines, list(itertools.combinations(numbers, 2)), [None] * count)
    if chosen.pairing is Pairing.RIVAL:
        engines += [_engine(chosen, chosen.rival, value, seconds) for value in chosen.values]
        return Plan(engines, [(each, count + each) for each in numbers], [count + each for each in numbers])
    if chosen.pairing is Pairing.LADDER:
        return Plan(engines, [(each, each - 1) for each in numbers[1:]], [base] * count)
    return Plan(engines, [(each, base) for each in numbers if each != base], [base] * count)


def _engine(chosen: Experiment, player: str, value: str, seconds: float | None) -> PlannedEngine:
    option = chosen.option
    label = f"{player} {option.rpartition('.')[2]}={value}"
    if option == PLAYER:
        player = label = value
    elif option == VISITS:
        label = f"{player} {value}"
    words = {"--player": player, "--workers": str(chosen.workers)}
    if option not in (VISITS, TIME):
        visits = chosen.visits_of.get(player, chosen.visits)
        words |= {"--visits": str(visits)} if seconds is None else {"--time": f"{seconds:g}"}
    words |= {f"--{option}": value} if option in OPTIONS else {"--set": f"{option}={value}"}
    return PlannedEngine(label, tuple(itertools.chain(*words.items())))


def _check(engine: PlannedEngine) -> None:
    """Find out in this process what an engine would complain of at its start. Raises UserError."""
    given = dict(zip(engine.arguments[::2], engine.arguments[1::2], strict=True))
    settings = [given.pop("--set")] if "--set" in given else []
    try:
        check(load(None, settings, {option[2:]: value for option, value in given.items()}))
    except ParameterError as error:
        raise UserError(f"{printable(engine.label)}: {error}") from None
