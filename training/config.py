"""The configuration of a training run: every value with its default, bounds and meaning, and the TOML file it is in.

    nobi train RUN --config training.toml

The declarations below are the documentation: `describe()` writes them out as a commented TOML file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

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


class NetworkConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The student: a 3x3 stem, residual blocks of two 3x3 convolutions, and its heads."""

    blocks: Annotated[int, Meta(ge=1, le=80, description="residual blocks")] = 10
    channels: Annotated[int, Meta(ge=8, le=1024, description="of the trunk")] = 64
    pooling_every: Annotated[int, Meta(ge=0, description="every n-th block pools over the board; 0: none")] = 3
    pooled_channels: Annotated[int, Meta(ge=4, description="of a pooling block's channels, those that are pooled")] = 16
    policy_channels: Annotated[int, Meta(ge=4)] = 32
    value_channels: Annotated[int, Meta(ge=4)] = 32
    value_hidden: Annotated[int, Meta(ge=4, description="units of the value head's hidden layer")] = 64


class OptimiserConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How weights follow gradients, and the schedule: warm-up, stable, decay."""

    kind: Annotated[
        Literal["muon", "adamw"], Meta(description="muon: on the convolutions, adamw on everything else")
    ] = "muon"
    rate: Annotated[float, Meta(gt=0, description="learning rate of the stable phase")] = 0.005
    momentum: Annotated[float, Meta(ge=0, lt=1, description="of muon")] = 0.95
    weight_decay: Annotated[float, Meta(ge=0, description="a step takes rate * this share off every matrix")] = 0.05
    clip: Annotated[float, Meta(gt=0, description="gradients of a larger norm are shortened to it")] = 4.0
    warm_up: Annotated[int, Meta(ge=0, description="a leg's first steps, from zero to the full rate")] = 500
    decay_share: Annotated[
        float, Meta(ge=0, le=1, description="of the budget, the last part, in which the rate falls to zero")
    ] = 0.2
    reset_dormant: Annotated[bool, Meta(description="units that never fire get new weights")] = True
    average: Annotated[float, Meta(ge=0, lt=1, description="decay a step of the weights' moving average")] = 0.999


class LossWeights(Struct, frozen=True, forbid_unknown_fields=True):
    """Loss weights: one for each part of the loss. Points are divided by 20 before their errors are taken."""

    policy: Annotated[float, Meta(ge=0)] = 1.0
    optimistic: Annotated[float, Meta(ge=0, description="the teacher's optimistic policy, if it has one")] = 0.3
    soft: Annotated[float, Meta(ge=0, description="the policy at temperature 4")] = 2.0
    reply: Annotated[float, Meta(ge=0, description="the opponent's next move")] = 0.1
    value: Annotated[float, Meta(ge=0)] = 1.5
    ownership: Annotated[float, Meta(ge=0)] = 1.0
    score: Annotated[float, Meta(ge=0, description="lead, expected score and its deviation")] = 0.6
    errors: Annotated[float, Meta(ge=0, description="short-term errors and the time left")] = 0.1


class RecordsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Positions out of game records."""

    path: Annotated[str, Meta(description="a .npz of games that `nobi records` wrote")] = ""
    skip: Annotated[int, Meta(ge=0, description="games at the start of the file that are kept for validation")] = 0
    deviating: Annotated[float, Meta(ge=0, le=1, description="share with one to three moves replaced at random")] = 0.35
    handicap: Annotated[float, Meta(ge=0, le=1, description="share with two to six black stones before white's")] = 0.05


class PlayConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Positions out of games that the teacher's and the student's bare policies play to the last pass."""

    temperature: Annotated[float, Meta(gt=0, description="of the policy that moves are drawn from")] = 0.8
    random_moves: Annotated[float, Meta(ge=0, le=1, description="share of moves drawn from all legal ones")] = 0.02
    student: Annotated[float, Meta(ge=0, le=1, description="share of games in which the student moves")] = 0.5
    opening: Annotated[float, Meta(ge=0, description="random moves a game starts with, on average")] = 2.0
    every: Annotated[int, Meta(ge=1, description="moves from one position that is learned from to the next")] = 1


class SelfplayConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Games by search, and what is learned from them."""

    visits: Annotated[int, Meta(ge=2, description="of the searches that are learned from")] = 64
    quick_visits: Annotated[int, Meta(ge=1, description="of all others (playout cap randomisation)")] = 16
    full_share: Annotated[float, Meta(gt=0, le=1, description="of the moves that are searched in full")] = 0.25
    temperature: Annotated[float, Meta(ge=0, description="of the moves played, early in a game")] = 0.9
    resign_below: Annotated[float, Meta(ge=0, lt=0.5, description="winning chance at which a side gives up")] = 0.03
    resign_free: Annotated[float, Meta(ge=0, le=1, description="share of games played to the end anyway")] = 0.5
    result_weight: Annotated[
        float, Meta(ge=0, le=1, description="of the game's result in the value label; the rest is the search's value")
    ] = 0.5
    handicap: Annotated[float, Meta(ge=0, le=1, description="share of games with two to four black stones")] = 0.05
    opponent: Annotated[
        float, Meta(ge=0, le=1, description="share of games with a teacher in which its bare policy plays one side")
    ] = 0.0


class DataConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where positions and labels come from, and in which proportion."""

    teacher: Annotated[str, Meta(description="a KataGo network; empty: labels are the records' moves and results")] = ""
    records_share: Annotated[float, Meta(ge=0, description="of the steps on positions from records")] = 0.6
    play_share: Annotated[float, Meta(ge=0, description="of the steps on positions from bare-policy games")] = 0.4
    samples_share: Annotated[float, Meta(ge=0, description="of the steps on sample files")] = 0.0
    samples: Annotated[tuple[str, ...], Meta(description="folders of sample files, searched anew as they grow")] = ()
    fresh_share: Annotated[
        float, Meta(ge=0, description="of the steps on other sample files, however few they are")
    ] = 0.0
    fresh: Annotated[tuple[str, ...], Meta(description="their folders; `nobi learn` adds its self-play")] = ()
    canvas_shares: Annotated[
        dict[str, float], Meta(description="of bare-policy games on boards up to 9, 10 to 13, 14 to 19")
    ] = msgspec.field(default_factory=lambda: {"9": 0.3, "13": 0.3, "19": 0.4})
    own_komi: Annotated[float, Meta(ge=0, le=1, description="share of games with the rule set's customary komi")] = 0.6
    komi_deviation: Annotated[float, Meta(ge=0, description="points by which other komi differ from it")] = 10.0
    balanced_share: Annotated[
        float, Meta(ge=0, le=1, description="of the positions, learned from once more with balanced komi")
    ] = 0.3
    rules: Annotated[dict[str, float], Meta(description="shares of the rule sets")] = msgspec.field(
        default_factory=lambda: dict(RULE_SHARES)
    )
    records: RecordsConfig = RecordsConfig()
    play: PlayConfig = PlayConfig()
    selfplay: SelfplayConfig = SelfplayConfig()


class LearnConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Generations of self-play, training and a match that decides whether the network has become stronger."""

    games: Annotated[int, Meta(ge=1, description="of self-play a generation")] = 500
    samples_share: Annotated[float, Meta(ge=0, le=1, description="of the steps on self-play")] = 0.5
    match_games: Annotated[int, Meta(ge=2, description="at most, of the candidate against the best")] = 200
    match_visits: Annotated[int, Meta(ge=1, description="a move")] = 100
    match_sizes: Annotated[tuple[int, ...], Meta(description="boards; the match is played on each")] = (9, 19)
    match_elo: Annotated[str, Meta(description="what the sequential test decides between")] = "0:40"


class RunConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Sizes and intervals of the run itself."""

    batch: Annotated[int, Meta(ge=1, description="positions a step on 19x19; on smaller boards more")] = 256
    seed: Annotated[int, Meta(ge=0)] = 1
    device: Annotated[Literal["auto", "cpu", "cuda"], Meta(description="auto: cuda where there is one")] = "auto"
    precision: Annotated[Literal["auto", "fp32", "bf16"], Meta(description="auto: bf16 where it is faster")] = "auto"
    teacher_precision: Annotated[
        Literal["auto", "fp32", "bf16", "int16"],
        Meta(description="auto: the engine's int16 on a processor, else as precision"),
    ] = "auto"
    compile: Annotated[bool, Meta(description="torch.compile the networks (on cuda)")] = True
    threads: Annotated[int, Meta(ge=0, description="cores that make positions, and label in int16; 0: all")] = 0
    yardstick: Annotated[str, Meta(description="kata-rows-1024.npz; empty: not measured")] = ""
    measure_every: Annotated[float, Meta(gt=0, description="minutes between yardstick measures and plots")] = 10.0
    save_every: Annotated[float, Meta(gt=0, description="minutes between checkpoints")] = 5.0


class TrainingConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    network: NetworkConfig = NetworkConfig()
    run: RunConfig = RunConfig()
    data: DataConfig = DataConfig()
    loss: LossWeights = LossWeights()
    optimiser: OptimiserConfig = OptimiserConfig()
    learn: LearnConfig = LearnConfig()


def read_config(path: Path) -> TrainingConfig:
    """Read a TOML file. Raises TrainingError, one line."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TrainingError(f"{path}: {error.strerror or error}") from None
    try:
        return msgspec.toml.decode(content, type=TrainingConfig)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TrainingError(f"{path}: {error}") from None
    except ImportError:
        raise TrainingError("reading TOML with Python 3.10 needs the package tomli: pip install tomli") from None


def override(config: TrainingConfig, settings: tuple[str, ...]) -> TrainingConfig:
    """`config` with values replaced by texts like `run.batch=64`. Raises TrainingError."""
    tree = msgspec.to_builtins(config)
    for setting in settings:
        name, equals, text = setting.partition("=")
        *path, last = name.strip().split(".")
        table: Any = tree
        for key in path:
            table = table.get(key) if isinstance(table, dict) else None
        if not equals or not isinstance(table, dict) or last not in table:
            raise TrainingError(f"{setting}: not a setting like run.batch=64")
        table[last] = _value(text.strip())
    try:
        return msgspec.convert(tree, TrainingConfig)
    except msgspec.MsgspecError as error:
        raise TrainingError(str(error)) from None


def describe(config: TrainingConfig | None = None) -> str:
    """A configuration, or the default one, as TOML, every value with its meaning."""
    lines: list[str] = []
    _describe(config or TrainingConfig(), "", lines)
    return "\n".join(lines).strip() + "\n"


def _value(text: str) -> Any:
    """What TOML would read, or the text itself."""
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return text


def _describe(part: Struct, prefix: str, lines: list[str]) -> None:
    hints = get_type_hints(type(part), include_extras=True)
    tables = []
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if isinstance(value, Struct):
            tables.append((name, value))
            continue
        lines.append(f"{name} = {_toml(value)}{_comment(hints[name])}")
    for name, value in tables:
        lines += ["", f"# {(type(value).__doc__ or '').strip()}", f"[{prefix}{name}]"]
        _describe(value, f"{prefix}{name}.", lines)


def _comment(hint: Any) -> str:
    if get_origin(hint) is not Annotated:
        return ""
    kind, *meta = get_args(hint)
    parts = [" | ".join(get_args(kind))] if get_origin(kind) is Literal else []
    parts += [entry.description for entry in meta if isinstance(entry, Meta) and entry.description]
    return f"  # {'; '.join(parts)}" if parts else ""


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {_toml(item)}' for key, item in value.items()) + " }"
    return msgspec.json.encode(value).decode()
