"""Where parameters get their values: defaults, the configuration file, --set, options; the later wins.

What is wrong on the command line is an error. What is wrong in a file of the user's is a complaint, one line on stderr,
and does not hold: a file that an earlier version read must not keep the engine from starting inside a GUI. Nor may a
value that an earlier version took, wherever it is given.

Light on purpose: `nobi gtp` reads this before it may answer, so nothing here imports numpy, and msgspec only where
there is a file to read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.parameters import TABLES, find_parameter, formerly, known_parameter, unknown
from gtp_engine.errors import UserError
from nobi_machine.cache import NOWHERE, config_root
from nobi_machine.parameters import Complaints, Parameter, ParameterError, read_toml
from nobi_machine.text import printable_path, shown

if TYPE_CHECKING:
    from gtp_engine.configuration.katago import Adopted

SECTIONS = frozenset(table.section for table in TABLES)


def load(
    path: Path | None,
    settings: Iterable[str],
    options: Mapping[str, object],
    adopted: Adopted | None = None,
    is_to_be_made: bool = False,
) -> Configuration:
    """Load the configuration of a run from a file, KataGo's settings, settings `name=value` and options; the later win.

    A path of None stands for the user's file, if there is one. Options that are None were not given. `is_to_be_made`:
    whether the file may be missing, for it is to be written. What is wrong in a file becomes a complaint of the
    configuration. Raises ParameterError for what is wrong in settings and options, and for a path where no file is.
    """
    file = path or user_file()
    values, complaints = dict[str, Any](), list[str]()
    must_be_there = path is not None and not is_to_be_made
    try:
        (os.stat if must_be_there else os.lstat)(file)  # a link of the user's to nothing is worth a complaint
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_be_there:
            raise ParameterError(f"{printable_path(file)}: {error.strerror}") from None
    except OSError as error:
        complaints = [f"{printable_path(file)}: {error.strerror}; the file is ignored"]
    else:
        values, complaints = read_file(file)
    places = dict.fromkeys(values, printable_path(file))
    implied: Mapping[str, object] = {}
    if adopted is not None:
        values |= adopted.values
        places = {name: place for name, place in places.items() if name not in adopted.values} | adopted.places
        complaints += adopted.complaints
        implied = adopted.implied
    by_hand = _checked(map(_setting, settings), complaints, "--set: ")
    by_hand |= _checked(((name, value) for name, value in options.items() if value is not None), complaints)
    values |= by_hand
    return Configuration(
        {**implied, **values},
        frozenset(by_hand),
        frozenset(implied) - frozenset(values),
        {name: place for name, place in places.items() if name not in by_hand},
        tuple(complaints),
    )


def _checked(given: Iterable[tuple[str, object]], complaints: list[str], source: str = "") -> dict[str, Any]:
    """The values of one source by the parameters' own names. No parameter may have two. `complaints` get a line for
    each departed value. Raises ParameterError. All texts begin with `source`."""
    values: dict[str, Any] = {}
    for name, value in given:
        try:
            parameter = find_parameter(name)
            if parameter.name in values:
                raise ParameterError(f"{parameter.name} is given twice")
            values[parameter.name] = parameter.convert(value, note=lambda gone: complaints.append(f"{source}{gone}"))
        except ParameterError as error:
            raise ParameterError(f"{source}{error}") from None
    return values


def user_file() -> Path:
    """Return the path of the user's configuration file, which need not exist: in `$NOBI_CONFIG_DIR`, or where the
    system has such files."""
    return config_root() / "config.toml"


def file_to_change(config_file: Path | None) -> Path:
    """Choose the configuration file to write: that of --config, or the user's. Raises UserError if there is neither."""
    path = config_file or user_file()
    if NOWHERE in path.parents:
        raise UserError("no home is known: say with --config FILE, or with NOBI_CONFIG_DIR, where to write")
    return path


def read_file(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Read a TOML file: the checked values by our parameters' names, and complaints about the rest. Headings such as
    [search] only group what is below them, unless they are part of its name."""
    place, values, given = printable_path(path), dict[str, Any](), dict[str, list[str]]()
    try:
        entries = list(_entries(read_toml(path)))
    except ParameterError as error:
        return {}, [f"{error}; the file is ignored"]
    complaints = Complaints(place)
    for name, known, entry in entries:
        parameter = known or formerly(name)
        if parameter is None:
            complaints.add(partial(unknown, name))
            continue
        try:
            values[parameter.name] = parameter.convert(entry)
        except ParameterError as error:
            complaints.add(error)
        else:
            given.setdefault(parameter.name, []).append(f"{shown(name)} = {shown(entry)}")
            if known is None:
                complaints.add(f"{shown(name)} is {parameter.name} now", "taken for that")
    for name, lines in given.items():
        if len(lines) > 1:
            complaints.add(f"{name} is given twice", f"{lines[-1]} holds")
    return values, complaints.lines()


def _entries(content: Mapping[str, object], heading: str = "") -> Iterator[tuple[str, Parameter | None, object]]:
    """The names below all headings, what they mean and their values: `exploration` below [uct] is `uct.exploration`."""
    for name, value in content.items():
        parameter = known_parameter(name, heading)
        if isinstance(value, dict) and (name in SECTIONS or not (heading or parameter)):
            yield from _entries(value, name)
        else:
            yield name, parameter, value


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ParameterError(f"--set: {shown(text)} is not name=value")
    return name.strip(), value.strip()
