"""The training commands of `nobi`: making positions to learn from, training a network, and what is done with it.

PyTorch is imported only when a command that needs it runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import sys
import time
from pathlib import Path

import click

from gtp_engine.cluster.options import cluster_option, opened_cluster
from nobi_machine.inputs import Inputs
from nobi_machine.locks import folder_for_one
from nobi_machine.memory import usable_cores
from nobi_machine.streams import note
from nobi_machine.text import parse_number, printable_path, shown
from training.config import NetworkConfig, TrainingConfig, describe, override, read_config
from training.errors import TrainingError

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
DEFAULT_COUNT = 100_000
"""How many positions `nobi label` labels where nothing else ends it."""
LOWEST = 19
"""The priority of processes that get what time the others leave, on systems where `nice` sets it."""
IDLE_PRIORITY_CLASS = 0x40
"""The same on Windows."""

existing = click.Path(exists=True, dir_okay=False, path_type=Path)
folder = click.Path(file_okay=False, path_type=Path)


class NetworkFileType(click.ParamType):  # type: ignore[type-arg]
    """The type of options that name a network: an existing file, or the embedded network, `strong`."""

    name = "file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Convert the text of an option to the path of a network's file."""
        from nets.embedded import EMBEDDED, embedded_network

        if value != EMBEDDED:
            return existing.convert(value, param, ctx)  # type: ignore[arg-type]
        path = embedded_network()
        if path is None:
            self.fail(f"this installation lacks the network {value}", param, ctx)
        return path


class Duration(click.ParamType):  # type: ignore[type-arg]
    """The type of options like `90s`, `25m` or `8h`; a number without a unit is seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert the text of an option to seconds."""
        text = str(value).strip().lower()
        number, unit = (text[:-1], text[-1:]) if text[-1:] in UNITS else (text, "s")
        try:
            seconds = parse_number(number) * UNITS[unit]
        except ValueError:
            seconds = 0.0
        if not 0.0 < seconds < 1e9:
            self.fail(f"{shown(value)} is no duration like 90s, 25m or 8h", param, ctx)
        return seconds


def _give_way(_context: click.Context, _parameter: click.Parameter, is_asked: bool) -> None:
    """Let all other processes go first, from now on and until this one ends; so do those that it starts later."""
    if not is_asked:
        return
    if sys.platform == "win32":
        this_process = ctypes.c_void_p(-1)
        ctypes.windll.kernel32.SetPriorityClass(this_process, IDLE_PRIORITY_CLASS)
    else:
        os.nice(LOWEST)


existing_network = NetworkFileType()
config_option = click.option("--config", "-c", "config_file", type=existing, help="A TOML file; --defaults shows one.")
set_option = click.option(
    "--set", "-s", "settings", multiple=True, metavar="NAME=VALUE", help="As in the file: run.batch=64."
)
threads_option = click.option(
    "--threads", type=click.IntRange(1, 256), help="Games at the same time.  [default: one for each core]"
)
precision_option = click.option(
    "--precision", type=click.Choice(["auto", "int16", "fp32"]), default="auto", show_default=True
)
nice_option = click.option(
    "--nice", is_flag=True, expose_value=False, callback=_give_way,
    help="Give way to all other work on the machine: the lowest priority.",
)  # fmt: skip


def read_settings(file: Path | None, settings: tuple[str, ...], network: NetworkConfig | None = None) -> TrainingConfig:
    """Return the configuration of a file, or the default one, with `settings` in place of its values. `network` is the
    shape where neither says anything of it. Raises TrainingError."""
    network = network or NetworkConfig()
    config = read_config(file, network) if file is not None else TrainingConfig(network=network)
    return override(config, settings)


def _settings_of_run(
    run: Path, config_file: Path | None, settings: tuple[str, ...], source: Path | None = None
) -> TrainingConfig:
    """Return the configuration of a run, whose own file counts where no other is named. `source` is a network that it
    is to begin with. Raises TrainingError."""
    from training.files import CONFIG
    from training.run.trained_network import start_of

    shaping = [setting for setting in settings if setting.strip().startswith("network.")]
    if shaping and (source or start_of(run)):
        raise TrainingError(f"{shaping[0]}: the student has the shape of the network that it begins with")
    own = run / CONFIG if (run / CONFIG).exists() else None
    return read_settings(config_file or own, settings, read_config(own).network if own else None)


def _require_torch() -> None:
    """Raise TrainingError where PyTorch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise TrainingError("training needs PyTorch: pip install torch, or pipx inject nobi torch") from None


@click.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("sgf", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
def records(out: Path, sgf: tuple[Path, ...]) -> None:
    """Gather the 19x19 games of SGF files, and of folders of such files, in OUT (.npz) for data.records.path."""
    from training.positions.records import gather, sgf_files

    if out.suffix != ".npz":
        raise TrainingError(f"{out}: a file of game records ends in .npz")
    taken, left_out = gather(out, sgf_files(sgf))
    for reason, count in left_out.most_common():
        click.echo(f"{count:,} left out: {reason}", err=True)
    click.echo(f"{taken:,} {'game' if taken == 1 else 'games'} in {out}", err=True)


@click.command()
@click.argument("out", type=folder)
@config_option
@set_option
@click.option(
    "--count",
    type=click.IntRange(1),
    help="Positions that OUT is to have in the end, about.  [default: 100,000 without --time]",
)
@click.option("--time", "seconds", type=Duration(), help="Begin nothing more after this time.")
@click.option("--student", type=existing_network, help="A network that moves in data.play.student of the games.")
@cluster_option
@nice_option
def label(
    out: Path,
    config_file: Path | None,
    settings: tuple[str, ...],
    count: int | None,
    seconds: float | None,
    student: Path | None,
    cluster: str | None,
) -> None:
    """Write positions and the teacher's evaluation of them to sample files in OUT, to learn from them many times.

    The same command goes on where it was killed; a larger --count goes on from there.
    """
    _require_torch()
    from training.labels.in_advance import label as run

    if count is None and seconds is None:
        count = DEFAULT_COUNT
    elsewhere = contextlib.nullcontext() if cluster is None else opened_cluster(cluster)
    with elsewhere as connected, folder_for_one(out):
        run(out, read_settings(config_file, settings), count, seconds, student, connected)


@click.command()
@click.argument("out", type=folder)
@click.option(
    "--net", type=existing_network, required=True,
    help="The network that plays: a KataGo file, .onnx, or an embedded one such as strong.",
)  # fmt: skip
@config_option
@set_option
@click.option("--games", type=click.IntRange(1), default=100, show_default=True, help="How many to play.")
@threads_option
@precision_option
@click.option(
    "--seed", type=click.IntRange(0),
    help="Of all random choices. The same command goes on with it, where it was killed.  [default: new each time]",
)  # fmt: skip
@click.option("--teacher", type=existing_network, help="A network that labels --leaves: these are learned from then.")
@click.option(
    "--leaves", type=click.FloatRange(0, 1, min_open=True),
    help="The share of all positions that the player's searches look at which the teacher labels.",
)  # fmt: skip
@cluster_option
@nice_option
def selfplay(
    out: Path,
    net: Path,
    config_file: Path | None,
    settings: tuple[str, ...],
    games: int,
    threads: int | None,
    precision: str,
    seed: int | None,
    teacher: Path | None,
    leaves: float | None,
    cluster: str | None,
) -> None:
    """Let a network play against itself, and write what its searches found out, or how a teacher evaluates leaves of
    them, to sample files in OUT."""
    from nets.open import open_network
    from training.selfplay import LeafLabels, Players
    from training.selfplay import selfplay as run

    if (teacher is None) != (leaves is None):
        raise click.UsageError("--teacher and --leaves need each other: who labels, and how much")
    data = read_settings(config_file, settings).data
    files = {"net": net, "teacher": teacher}
    files |= {"records": Path(data.records.path)} if data.selfplay.records and data.records.path else {}
    inputs = Inputs({name: path for name, path in files.items() if path is not None})
    evaluator = open_network(net, precision)
    labels = None if teacher is None or leaves is None else LeafLabels(open_network(teacher, precision), leaves)
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    inputs.check()
    players = Players(networks=inputs.hashes, precision=precision, leaves=leaves, config=data)
    if cluster is None:
        run(out, evaluator, data, games, threads or usable_cores(), seed, labels, players)
        return
    with opened_cluster(cluster) as connected, folder_for_one(out):
        note(f"seed {seed}: the same command with --seed {seed} goes on where this one ends")
        run(out, evaluator, data, games, 0, seed, labels, players, (connected, inputs))


@click.command()
@click.argument("run", type=folder, required=False)
@config_option
@set_option
@click.option("--budget", type=Duration(), default="25m", show_default=True, help="Wall-clock time of a new leg.")
@click.option(
    "--from", "source", type=existing_network,
    help="Begin with a network: a student.bin.gz, another KataGo file, or an embedded one such as strong.",
)  # fmt: skip
@click.option(
    "--without", default="", metavar="6,7,8", help="Leave these blocks of that network's trunk out, counted from 0."
)
@click.option("--pause-after", type=Duration(), help="Save and end after this time, in the middle of a leg.")
@nice_option
@click.option("--defaults", is_flag=True, help="Print a configuration file with every value explained, and end.")
def train(
    run: Path | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    budget: float,
    source: Path | None,
    without: str,
    pause_after: float | None,
    defaults: bool,
) -> None:
    """Train a network in the folder RUN, or go on with it.

    A leg lasts as long as --budget says, the command's start included, and ends with the learning rate's decay; the
    network it leaves is RUN/student.bin.gz. What was interrupted goes on where it stopped, with the budget it has; a
    finished run begins another leg.
    """
    began = time.monotonic()
    if defaults:
        click.echo(describe(), nl=False)
        return
    if run is None:
        raise click.UsageError("Missing argument 'RUN'.")
    if without and source is None:
        raise TrainingError("--without needs --from")
    _require_torch()
    from training.files import CHECKPOINT
    from training.run.loop import open_run
    from training.student.beginning import read_student

    with folder_for_one(run):
        if source is not None and (run / CHECKPOINT).exists():
            click.echo(f"nobi: {run} has begun already; it goes on, --from has no effect", err=True)
            source = None
        begun = None if source is None else (read_student(source, without), source)
        config = _settings_of_run(run, config_file, settings, source)
        open_run(run, config, None if settings else config_file, begun).train(budget, pause_after, began)


@click.command()
@click.argument("run", type=folder)
@config_option
@set_option
@click.option("--generations", type=click.IntRange(1), default=1, show_default=True)
@click.option("--budget", type=Duration(), default="25m", show_default=True, help="Training time of a generation.")
@threads_option
@nice_option
def learn(
    run: Path,
    config_file: Path | None,
    settings: tuple[str, ...],
    generations: int,
    budget: float,
    threads: int | None,
) -> None:
    """Let the network in RUN play itself and learn from that; keep what wins a match against the best so far."""
    _require_torch()
    from training.run.learn import learn as run_generations

    with folder_for_one(run):
        config = _settings_of_run(run, config_file, settings)
        run_generations(run, config, generations, budget, threads or usable_cores())


@click.command()
@click.argument("runs", type=folder, nargs=-1, metavar="RUN...")
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path), required=False, metavar="OUT")
def export(runs: tuple[Path, ...], out: Path | None) -> None:
    """Write the average of RUN's weights, as they are now, or the mean of those of several runs, to OUT: .bin.gz,
    KataGo's format, with a .json beside it that says where the network comes from, or .onnx."""
    if out is None or not runs:
        raise click.UsageError(f"Missing argument '{'RUN' if out is None else 'OUT'}'.")
    if len(set(map(os.path.realpath, runs))) < len(runs):
        raise TrainingError("a run is named twice: its part in the mean, and its steps, would count twice")
    _require_torch()
    from nets.katago.writer import encode_model
    from training.files import card_beside, write_whole
    from training.run.trained_network import read_trained_network

    if not out.name.endswith((".bin.gz", ".onnx")):
        raise TrainingError(f"{out}: a network's file name ends in .bin.gz or .onnx")
    model, facts = read_trained_network(*runs)
    content = encode_model(model)
    if out.name.endswith(".onnx"):
        from nets.graph.convert import to_onnx
        from nets.graph.prepare import prepared

        content = to_onnx(prepared(model), hashlib.sha256(content).hexdigest(), facts=facts).SerializeToString()
    else:
        write_whole(card_beside(out), json.dumps(facts, indent=1).encode() + b"\n")
    write_whole(out, content)


@click.command()
@click.argument("network", type=existing_network)
@click.argument("rows", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@precision_option
def yardstick(network: Path, rows: tuple[Path, ...], precision: str) -> None:
    """Measure NETWORK (a KataGo file, .onnx, or an embedded one such as strong) on each of ROWS: a file of KataGo's
    training rows that nothing is trained on, a sample file, or a folder of such files."""
    from nets.open import open_network
    from training.labels.samples import SUFFIX
    from training.yardstick import evaluate_function, load_yardstick, measure_rows, rows_of_samples

    evaluate = evaluate_function(open_network(network, precision=precision))
    for source in rows:
        if source.is_dir() or source.suffix == SUFFIX:
            measures = tuple(measure_rows(rows_of_samples(source, full), evaluate) for full in (True, False))
        else:
            measures = load_yardstick(source).measure(evaluate)
        if len(rows) > 1:
            click.echo(f"{printable_path(source)}:")
        for name, measure in zip(("19x19", "small"), measures, strict=True):
            if measure.rows:
                click.echo(f"{name}  {measure.line()}")
