"""The configuration of a training run: every value with its default, bounds and meaning.

    nobi train RUN --config training.toml

`nobi train --defaults` prints the tables below as a TOML file to edit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nobi_machine.parameters import (
    Complaints,
    ParameterError,
    ParameterTable,
    declared,
    from_values,
    parameter,
    read_toml,
    suggestion,
    toml_value,
)
from nobi_machine.text import parse_json, printable_path, shown
from training.errors import TrainingError

RULE_SHARES = {
    "chinese-ogs": 0.3,
    "tromp-taylor": 0.2,
    "chinese": 0.1,
    "japanese": 0.2,
    "aga": 0.05,
    "new-zealand": 0.05,
    "aga-button": 0.03,
    "stone-scoring": 0.04,
    "ancient-territory": 0.03,
}


@dataclass(frozen=True)
class NetworkConfig(ParameterTable, section="network"):
    """The shape of a student that begins with random weights; one that begins with a network (--from) has its shape."""

    kind: str = parameter(
        "residual",
        "blocks of the trunk. residual: two 3x3 convolutions; transformer: attention and a feed-forward block; nested: "
        "two of each in a bottleneck of half as many channels",
        choices=("residual", "transformer", "nested"),
    )
    blocks: int = parameter(10, "blocks of the trunk", low=1, high=80)
    channels: int = parameter(64, "channels of the trunk", low=8, high=1024)
    attention_heads: int = parameter(4, "heads of the attention blocks", low=1, high=1024)
    policy_channels: int = parameter(32, "channels of the policy head", low=4, high=1024)
    value_channels: int = parameter(32, "channels of the value head", low=4, high=1024)
    value_hidden: int = parameter(64, "units of the value head's hidden layer", low=4, high=4096)


DEFAULT_NETWORK = NetworkConfig()


@dataclass(frozen=True)
class RunConfig(ParameterTable, section="run"):
    """Sizes and intervals of the run itself."""

    batch: int = parameter(256, "positions a step on 19x19; on smaller boards more", low=1, high=65536)
    seed: int = parameter(1, "seed of all random numbers", low=0)
    device: str = parameter("auto", "auto: cuda where there is one", choices=("auto", "cpu", "cuda"))
    precision: str = parameter("auto", "auto: bf16 where it is faster", choices=("auto", "fp32", "bf16"))
    threads: int = parameter(0, "threads that make positions and label; 0: one for each core", low=0, high=256)
    yardstick: str = parameter("", "a file of KataGo's training rows to measure with: kata-rows-1024.npz; empty: none")
    measure_every: float = parameter(10.0, "minutes between yardstick measures and plots", above=0)
    save_every: float = parameter(5.0, "minutes between checkpoints", above=0)


@dataclass(frozen=True)
class RecordsConfig(ParameterTable, section="data.records"):
    """Positions out of game records."""

    path: str = parameter("", "a .npz of games that `nobi records` wrote")
    skip: int = parameter(0, "games at the start of the file that are kept for validation", low=0)
    most: int = parameter(0, "the most games that are taken of those after them; 0: all", low=0)
    deviating: float = parameter(0.35, "share with one to three moves replaced at random", low=0, high=1)
    handicap: float = parameter(0.05, "share with two to six black stones before white's first move", low=0, high=1)


@dataclass(frozen=True)
class PlayConfig(ParameterTable, section="data.play"):
    """Positions out of games that the teacher and the student play by their policies, without a search."""

    temperature: float = parameter(0.8, "temperature of the policy that moves are drawn from", above=0)
    early_temperature: float = parameter(0.0, "added to it at first; halves every N moves on boards of N lines", low=0)
    random_moves: float = parameter(0.02, "share of the moves that are drawn from all legal ones", low=0, high=1)
    student: float = parameter(0.5, "share of the games that the student's policy plays", low=0, high=1)
    opponent: float = parameter(0.0, "share of those in which the teacher's policy plays one side", low=0, high=1)
    handicap: float = parameter(0.1, "share of the games with black stones at first, nine at most", low=0, high=1)
    opening: float = parameter(2.0, "random moves that a game starts with, on average", low=0)
    excursions: float = parameter(
        0.0, "chance, at each move, of one to six moves that are learned from and taken back", low=0, high=1
    )
    excursion_temperature: float = parameter(1.0, "temperature of the policy in excursions", above=0)
    own_size: float = parameter(0.5, "share, in quarters, of the batches on 9x9, 13x13 or 19x19 only", low=0, high=1)


@dataclass(frozen=True)
class SelfplayConfig(ParameterTable, section="data.selfplay"):
    """Games by search, and what is learned from them."""

    visits: int = parameter(64, "visits of the searches that are learned from", low=2)
    quick_visits: int = parameter(16, "visits of all other searches (playout cap randomisation)", low=1)
    full_share: float = parameter(0.25, "share of the moves that are learned from", above=0, high=1)
    resign_below: float = parameter(0.03, "winning chance at which a side gives up", low=0, below=0.5)
    result_weight: float = parameter(
        0.5, "weight of the game's result in the value label; the rest is the search's value", low=0, high=1
    )
    handicap: float = parameter(0.05, "share of the games with two to four black stones", low=0, high=1)
    records: float = parameter(0.0, "share of the games on 19x19 whose moves are those of a record", low=0, high=1)


@dataclass(frozen=True)
class DataConfig(ParameterTable, section="data"):
    """Where positions and labels come from. Each source has a share of the steps."""

    teacher: str = parameter("", "a KataGo network; empty: labels are the records' moves and results")
    records_share: float = parameter(0.6, "steps on positions from records", low=0)
    play_share: float = parameter(0.4, "steps on positions from games by policy", low=0)
    samples_share: float = parameter(0.0, "steps on sample files", low=0)
    samples: tuple[str, ...] = parameter((), "sample files and folders of them; in `nobi learn`, its own games instead")
    canvas_shares: dict[str, float] = parameter(
        {"9": 0.3, "13": 0.3, "19": 0.4}, "shares of games on boards up to 9, 10 to 13, 14 to 19"
    )
    own_komi: float = parameter(0.6, "share of the games with the rule set's customary komi", low=0, high=1)
    komi_deviation: float = parameter(10.0, "standard deviation, in points, of other komi from it", low=0, high=1000)
    balanced_share: float = parameter(
        0.3, "share of the positions that are learned from once more with balanced komi", low=0, high=1
    )
    balanced_most: float = parameter(30.0, "leads beyond so many points, counted as on 19x19, are not balanced", low=0)
    doublings_share: float = parameter(0.0, "share of those in which one side has playout doublings", low=0, high=1)
    forgotten: float = parameter(
        0.02, "chance of each last move to be hidden with all before it, as in a set-up position", low=0, high=1
    )
    repeats: int = parameter(1, "steps on each batch that a teacher labels, later ones turned round", low=1, high=8)
    rules: dict[str, float] = parameter(RULE_SHARES, "shares of the rule sets")
    records: RecordsConfig = RecordsConfig()
    play: PlayConfig = PlayConfig()
    selfplay: SelfplayConfig = SelfplayConfig()


@dataclass(frozen=True)
class LossWeights(ParameterTable, section="loss"):
    """Loss weights, one for each part of the loss, in which points are divided by 20."""

    policy: float = parameter(1.0, "the next move", low=0)
    optimistic: float = parameter(0.3, "the teacher's optimistic policy, if it has one", low=0)
    soft: float = parameter(2.0, "the policy at temperature 4", low=0)
    reply: float = parameter(0.1, "the opponent's next move", low=0)
    value: float = parameter(1.5, "winning, losing, no result", low=0)
    ownership: float = parameter(1.0, "the owner of each point", low=0)
    score: float = parameter(0.6, "lead, expected score and its deviation", low=0)
    errors: float = parameter(0.1, "how wrong its own value and score are soon after, and the time left", low=0)


@dataclass(frozen=True)
class OptimiserConfig(ParameterTable, section="optimiser"):
    """How weights follow gradients (Muon and AdamW), and the learning rate of a leg: warm-up, full rate, decay."""

    rate: float = parameter(0.005, "the full learning rate", above=0)
    momentum: float = parameter(0.95, "momentum of muon", low=0, below=1)
    weight_decay: float = parameter(0.05, "a step takes rate * this share off every matrix", low=0)
    clip: float = parameter(4.0, "gradients of a larger norm are shortened to it", above=0)
    warm_up: int = parameter(60, "a leg's first steps, from zero to the full rate", low=0)
    decay_share: float = parameter(0.2, "last share of the budget, in which the rate falls to zero", low=0, high=1)
    average: float = parameter(0.999, "decay, in a step, of the moving average of the weights", low=0, below=1)


@dataclass(frozen=True)
class LearnConfig(ParameterTable, section="learn"):
    """Generations of self-play, training and a match that decides whether the network has become stronger."""

    games: int = parameter(500, "self-play games of a generation", low=1)
    window: int = parameter(20, "generations whose games are learned from, the newest ones", low=1)
    samples_share: float = parameter(0.5, "share of the steps on self-play", low=0, high=1)
    match_games: int = parameter(200, "the most games that a candidate plays against the best network", low=2)
    match_visits: int = parameter(100, "visits of a move in the match", low=1)
    match_sizes: tuple[int, ...] = parameter((9, 19), "boards; the match is played on each")
    match_elo: str = parameter("0:40", "LOW:HIGH, the Elo differences between which the sequential test decides")
    precision: str = parameter("auto", "of games and matches; auto: int16 or fp32", choices=("auto", "int16", "fp32"))
    anchor: str = parameter("", "a GTP engine that the best network is measured against; empty: none")
    anchor_every: int = parameter(5, "generations from one such match to the next", low=1)
    anchor_games: int = parameter(20, "games against it on each board", low=2)
    anchor_time: float = parameter(0.2, "seconds of a move in them, for both sides", above=0)


@dataclass(frozen=True)
class TrainingConfig(ParameterTable):
    """All that a training configuration file can say, a table for each field."""

    network: NetworkConfig = DEFAULT_NETWORK
    run: RunConfig = RunConfig()
    data: DataConfig = DataConfig()
    loss: LossWeights = LossWeights()
    optimiser: OptimiserConfig = OptimiserConfig()
    learn: LearnConfig = LearnConfig()


def read_config(path: Path, network: NetworkConfig = DEFAULT_NETWORK) -> TrainingConfig:
    """Read a TOML file. `network` has the values that its table `[network]` leaves out.

    What else is wrong in it than its form is said on stderr, once, and does not hold, so that a run goes on with the
    file of an earlier version. Raises TrainingError where there is no TOML to read.
    """
    try:
        content = read_toml(path)
    except ParameterError as error:
        raise TrainingError(str(error)) from None
    complaints = Complaints(printable_path(path))
    config = from_values(TrainingConfig(network=network), content, complaints=complaints, hint=_hint)
    for line in complaints.lines():
        _say(line)
    return config


@functools.cache
def _say(line: str) -> None:
    """Write a line to stderr, once: a command may read a file for several purposes."""
    sys.stderr.write(f"nobi: {line}\n")


def _hint(name: str) -> str:
    """What to write in place of an unknown name, as far as it is known."""
    names = list(_names(TrainingConfig()))
    table, _, last = name.rpartition(".")
    if elsewhere := [each for each in names if each.rpartition(".")[2] == last]:
        return f"did you mean {' or '.join(elsewhere)}?"
    beside = {each.rpartition(".")[2]: each for each in names if each.rpartition(".")[0] == table}
    return suggestion(name, beside.values()) if suggestion(last, beside) else ""


def _names(table: ParameterTable, place: str = "") -> Iterator[str]:
    """The full names of all values and tables."""
    yield from (f"{place}{each.name}" for each in declared(type(table)))
    for name, part in vars(table).items():
        if isinstance(part, ParameterTable):
            yield f"{place}{name}"
            yield from _names(part, f"{place}{name}.")


def override(config: TrainingConfig, settings: tuple[str, ...]) -> TrainingConfig:
    """Return a configuration with values replaced by texts like `run.batch=64`. Raises TrainingError."""
    tree = dataclasses.asdict(config)
    for setting in settings:
        name, equals, text = setting.partition("=")
        *path, last = name.strip().split(".")
        table: Any = tree
        for key in path:
            table = table.get(key) if isinstance(table, dict) else None
        if not equals or not isinstance(table, dict) or last not in table:
            hint = _hint(name.strip()) if equals else ""
            raise TrainingError(f"{shown(setting)}: not a setting like run.batch=64" + (f" ({hint})" if hint else ""))
        table[last] = _value(text.strip())
    try:
        return from_values(TrainingConfig(), tree)
    except ParameterError as error:
        raise TrainingError(str(error)) from None


def describe(config: TrainingConfig | None = None) -> str:
    """Return a configuration, or the default one, as a TOML file that explains every value."""
    return "\n".join(_lines(config or TrainingConfig())).strip() + "\n"


def _value(text: str) -> object:
    """Return what TOML or JSON would read, or the text itself."""
    import msgspec

    with contextlib.suppress(ValueError):
        return parse_json(text)
    with contextlib.suppress(ValueError, RecursionError, msgspec.DecodeError):
        return msgspec.toml.decode(f"value = {text}")["value"]
    return text


def _lines(table: ParameterTable) -> Iterator[str]:
    for each in declared(type(table)):
        comment = "; ".join(part for part in (" | ".join(each.choices), each.help) if part)
        yield f"{each.name} = {toml_value(getattr(table, each.name))}  # {comment}"
    for field in dataclasses.fields(table):
        inner = getattr(table, field.name)
        if isinstance(inner, ParameterTable):
            yield from ("", f"# {inner.__doc__}", f"[{inner.section}]")
            yield from _lines(inner)
