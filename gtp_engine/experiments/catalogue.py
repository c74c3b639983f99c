"""The experiments that tutorials on Monte Carlo tree search describe, as a table: who plays, and what is varied.

An experiment is a series of matches between players of this program that differ in one option. `plan` makes the
engines' commands and the pairs of an experiment; nothing else depends on which experiments there are.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

PLAYER, VISITS, TIME, WORKERS = "player", "visits", "time", "workers"
"""What every engine of an experiment is told by an option of its own, unless it is what is varied."""


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


EXPERIMENTS = {
    "simulations": Experiment(
        "Strength against the number of simulations",
        "uct",
        VISITS,
        ("50", "100", "200", "400", "800", "1600"),
        "simulations a move",
        Pairing.LADDER,
    ),
    "exploration": Experiment(
        "The exploration constant of UCB1",
        "uct",
        "exploration",
        ("0", "0.1", "0.25", "0.5", "1", "2"),
        "exploration constant C",
        base="0.5",
    ),
    "rave": Experiment(
        "How far all-moves-as-first values are trusted",
        "rave",
        "rave_equivalence",
        ("0", "100", "300", "1000", "3000", "10000"),
        "RAVE equivalence, visits",
    ),
    "lambda": Experiment(
        "Values of leaves: network or rollouts",
        "alphago",
        "rollout_share",
        ("0", "0.25", "0.5", "0.75", "1"),
        "share λ of the rollouts",
        visits=100,
    ),
    "virtual-loss": Experiment(
        "Virtual loss in a search of eight threads",
        "uct",
        "virtual_loss",
        ("0", "1", "2", "4", "8"),
        "virtual losses",
        workers=8,
    ),
    "widening": Experiment(
        "Progressive widening: how many moves a node considers",
        "uct",
        "widening",
        ("0", "1", "2", "4", "8"),
        "widening factor (0: all moves)",
    ),
    "gumbel": Experiment(
        "Gumbel against PUCT with few visits",
        "gumbel",
        VISITS,
        ("8", "16", "32", "64"),
        "visits a move",
        Pairing.RIVAL,
        rival="puct",
    ),
    "players": Experiment(
        "Players against each other",
        "",
        PLAYER,
        ("random", "mc", "uct", "rave", "policy", "value", "alphago", "puct", "gumbel", "nobi"),
        "player",
        Pairing.ALL,
        visits=100,
        visits_of={"mc": 1000, "uct": 1000, "rave": 1000},
        games=10,
    ),
}
"""The experiments by the name that `nobi experiment` takes."""


@dataclass(frozen=True)
class Engine:
    """One of the players that an experiment compares."""

    label: str
    arguments: tuple[str, ...]
    """The words after `nobi gtp`."""


@dataclass(frozen=True)
class Row:
    """A line of an experiment's table: an engine, and the one that its Elo is relative to."""

    value: str
    engine: int
    base: int | None
    """None: relative to the mean of all."""


@dataclass(frozen=True)
class Plan:
    """The engines of an experiment, which of them play each other, and what the table shows."""

    engines: list[Engine]
    pairs: list[tuple[int, int]]
    rows: list[Row]


def plan(experiment: Experiment, seconds: float | None) -> Plan:
    """Plan who plays whom. With `seconds` each move has that time, without it the experiment's visits; where time or
    visits are what is varied, they alone limit a move."""
    values = experiment.values
    engines = [_engine(experiment, experiment.player, value, seconds) for value in values]
    count = len(engines)
    base = values.index(experiment.base) if experiment.base in values else 0
    bases: list[int | None] = [base] * count
    if experiment.pairing is Pairing.LADDER:
        pairs = [(number, number - 1) for number in range(1, count)]
    elif experiment.pairing is Pairing.BASE:
        pairs = [(number, base) for number in range(count) if number != base]
    elif experiment.pairing is Pairing.ALL:
        pairs, bases = list(itertools.combinations(range(count), 2)), [None] * count
    else:
        engines += [_engine(experiment, experiment.rival, value, seconds) for value in values]
        pairs = [(number, count + number) for number in range(count)]
        bases = [count + number for number in range(count)]
    rows = [Row(value, number, bases[number]) for number, value in enumerate(values)]
    return Plan(engines, pairs, rows)


def _engine(experiment: Experiment, player: str, value: str, seconds: float | None) -> Engine:
    option = experiment.option
    label = f"{player} {option}={value}"
    if option == PLAYER:
        player = label = value
    elif option == VISITS:
        label = f"{player} {value}"
    words = {"--player": player, "--workers": str(experiment.workers)}
    if option in (VISITS, TIME):
        words[f"--{option}"] = value
    elif seconds is None:
        words["--visits"] = str(experiment.visits_of.get(player, experiment.visits))
    else:
        words["--time"] = f"{seconds:g}"
    if option == WORKERS:
        words["--workers"] = value
    elif option not in (PLAYER, VISITS, TIME):
        words["--set"] = f"{option}={value}"
    return Engine(label, tuple(word for pair in words.items() for word in pair))
