"""Where parameters get their values: defaults, the configuration file, --set, options; the later wins.

Light on purpose: `nobi gtp` reads this before it may answer, so nothing here imports numpy, and msgspec only where
there is a file to read.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gtp_engine.configuration.parameters import find_parameter
from gtp_engine.configuration.settings import EngineSettings
from nets.embedded import embedded_network
from search.parameters import ParameterError, ParameterTable, declared
from search.toml import read_toml

T = TypeVar("T", bound=ParameterTable)

NO_NETWORK = "none"
"""The value of `net` for playing without a network."""


@dataclass(frozen=True)
class Configuration:
    """The parameters that were given, by whatever source. Those that were not given keep their default."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """Checked values by parameter name."""

    def __getitem__(self, name: str) -> Any:
        """The value of a parameter, which is its default if it was not given."""
        return self.values[name] if name in self.values else find_parameter(name).default

    def with_values(self, values: Iterable[tuple[str, object]], source: str = "") -> Configuration:
        """This configuration with further values, by any name of the parameter. Raises ParameterError.

        Nobody may give one parameter two values in one source; between sources the later wins.
        """
        new: dict[str, Any] = {}
        prefix = f"{source}: " if source else ""
        for name, value in values:
            try:
                parameter = find_parameter(name)
                if parameter.name in new:
                    raise ParameterError(f"{parameter.name} is given twice")
                new[parameter.name] = parameter.convert(value)
            except ParameterError as error:
                raise ParameterError(f"{prefix}{error}") from None
        return Configuration({**self.values, **new})

    @functools.cached_property
    def engine(self) -> EngineSettings:
        """The engine's own parameters."""
        return self.fill(EngineSettings())

    def fill(self, table: T) -> T:
        """A copy of a table of parameters with the values that were given in place of its own.

        Raises ParameterError for values that do not go together.
        """
        given = {each.name: self.values[each.name] for each in declared(type(table)) if each.name in self.values}
        return dataclasses.replace(table, **given)

    @property
    def net(self) -> Path | None:
        """The path of the network: the one that is named, with `~` expanded, else the embedded one.

        None if `none` is named, or if the installation lacks its network.
        """
        if self.engine.net is None:
            return embedded_network()
        return None if self.engine.net == NO_NETWORK else Path(self.engine.net).expanduser()

    @property
    def has_own_net(self) -> bool:
        """Whether the user named a network."""
        return self.engine.net not in (None, NO_NETWORK)


def load(path: Path | None, settings: Iterable[str], options: Mapping[str, object]) -> Configuration:
    """The configuration of a run, from a file, from settings `name=value` and from options; the later ones win.

    A path of None stands for the user's file, if there is one. Options that are None were not given. Raises
    ParameterError.
    """
    file = path or user_file()
    configuration = Configuration()
    if path is not None or file.is_file():
        configuration = configuration.with_values(read_file(file).items(), str(file))
    configuration = configuration.with_values(map(_setting, settings), "--set")
    return configuration.with_values((name, value) for name, value in options.items() if value is not None)


def user_file() -> Path:
    """The user's configuration file, which need not exist, in `$NOBI_CONFIG_DIR` or where the system has such files."""
    directory = os.environ.get("NOBI_CONFIG_DIR")
    if not directory:
        from platformdirs import user_config_dir

        directory = user_config_dir("nobi", appauthor=False)
    return Path(directory) / "config.toml"


def read_file(path: Path) -> dict[str, Any]:
    """The values in a TOML file by name. Headings such as [search] only group them. Raises ParameterError."""
    values: dict[str, Any] = {}
    for name, value in read_toml(path).items():
        entries = value if isinstance(value, dict) else {name: value}
        for key, entry in entries.items():
            if key in values:
                raise ParameterError(f"{path}: {key} is given twice")
            values[key] = entry
    return values


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ParameterError(f"--set: {text} is not name=value")
    return name.strip(), value.strip()
