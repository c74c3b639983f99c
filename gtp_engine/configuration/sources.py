"""Where parameters get their values: defaults, the configuration file, --set, options; the later wins.

Light on purpose: `nobi gtp` reads this before it may answer, so nothing here imports numpy, and msgspec only where
there is a file to read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from go_rules.machine.directories import NOWHERE, config_root
from go_rules.machine.printable import printable_path, shown
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.parameters import find_parameter
from gtp_engine.errors import UserError
from search.parameters import ParameterError
from search.toml import read_toml


def load(
    path: Path | None,
    settings: Iterable[str],
    options: Mapping[str, object],
    katago: Mapping[str, object] = MappingProxyType({}),
    is_to_be_made: bool = False,
    implied: Mapping[str, object] = MappingProxyType({}),
) -> Configuration:
    """Load the configuration of a run from a file, KataGo's settings, settings `name=value` and options; the later win.

    A path of None stands for the user's file, if there is one. `katago`: checked values by our parameters' names.
    Options that are None were not given. `is_to_be_made`: whether the file may be missing, for it is to be written.
    `implied`: values, such as `katago`, of parameters that no source names. Raises ParameterError.
    """
    file = path or user_file()
    values = (
        _checked(read_file(file).items(), f"{printable_path(file)}: ")
        if (path is not None and not is_to_be_made) or os.path.exists(file)
        else {}
    )
    values |= katago
    by_hand = _checked(map(_setting, settings), "--set: ")
    by_hand |= _checked((name, value) for name, value in options.items() if value is not None)
    values |= by_hand
    return Configuration({**implied, **values}, frozenset(by_hand), frozenset(implied) - frozenset(values))


def _checked(given: Iterable[tuple[str, object]], source: str = "") -> dict[str, Any]:
    """The values of one source by the parameters' own names. No parameter may have two. Raises ParameterError, whose
    text begins with `source`."""
    values: dict[str, Any] = {}
    for name, value in given:
        try:
            parameter = find_parameter(name)
            if parameter.name in values:
                raise ParameterError(f"{parameter.name} is given twice")
            values[parameter.name] = parameter.convert(value)
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


def read_file(path: Path) -> dict[str, Any]:
    """Read the values in a TOML file by name. Headings such as [search] only group them. Raises ParameterError."""
    values: dict[str, Any] = {}
    for name, value in read_toml(path).items():
        entries = value if isinstance(value, dict) else {name: value}
        for key, entry in entries.items():
            if key in values:
                raise ParameterError(f"{printable_path(path)}: {shown(key)} is given twice")
            values[key] = entry
    return values


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ParameterError(f"--set: {shown(text)} is not name=value")
    return name.strip(), value.strip()
