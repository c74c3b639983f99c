"""Where parameters get their values: defaults, the configuration file, --set, options; the later wins.

Light on purpose: `nobi gtp` reads this before it may answer, so nothing here imports numpy, and msgspec only where
there is a file to read.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gtp_engine.configuration.parameters import ConfigError, find_parameter, parse_size
from gtp_engine.configuration.settings import EngineSettings
from nets.embedded import embedded_network
from search.puct.parameters import ParameterError, SearchParameters
from search.uct.parameters import UctParameters

FILE_NAME = "config.toml"
MAX_FILE_BYTES = 1 << 20
NO_NETWORK = "none"
"""As the network's name: play without any."""


@dataclass(frozen=True)
class Configuration:
    """The values a run works with."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """Checked values by parameter name; those left at their default are missing."""

    def __getitem__(self, name: str) -> Any:
        """A parameter's value, default included."""
        return self.values[name] if name in self.values else find_parameter(name).default

    def with_values(self, values: Iterable[tuple[str, object]], source: str = "") -> Configuration:
        """This configuration with further values, by any name of the parameter. Raises ConfigError.

        Nobody may give one parameter two values in one source; between sources the later wins.
        """
        new: dict[str, Any] = {}
        prefix = f"{source}: " if source else ""
        for name, value in values:
            try:
                parameter = find_parameter(name)
                if parameter.name in new:
                    raise ConfigError(f"{parameter.name} is given twice")
                new[parameter.name] = parameter.convert(value)
            except ConfigError as error:
                raise ConfigError(f"{prefix}{error}") from None
        return Configuration({**self.values, **new})

    def engine_settings(self) -> EngineSettings:
        """What the GTP loop is told."""
        width, height = parse_size(self["size"])
        log = self["log"]
        return EngineSettings(
            gtp_name=self["gtp_name"],
            width=width,
            height=height,
            rules=self["rules"],
            komi=self["komi"],
            visits=self["visits"],
            seconds=self["time"],
            ponder=self["ponder"],
            lag=self["lag"],
            analysis_pv=self["analysis_pv"],
            ogs_chat=self["ogs_chat"],
            log=Path(log).expanduser() if log else None,
        )

    def search_parameters(self, base: SearchParameters | None = None) -> SearchParameters:
        """What the search is told; `base` holds other defaults. Raises ConfigError for values that do not go
        together."""
        try:
            return dataclasses.replace(base or SearchParameters(), **self._values_of(SearchParameters))
        except ParameterError as error:
            raise ConfigError(str(error)) from None

    def uct_parameters(self, base: UctParameters | None = None) -> UctParameters:
        """What the playout search is told; `base` holds other defaults."""
        return dataclasses.replace(base or UctParameters(), **self._values_of(UctParameters))

    def _values_of(self, kind: type) -> dict[str, Any]:
        """The values given for the fields of a dataclass."""
        names = {each.name for each in dataclasses.fields(kind)}
        return {name: value for name, value in self.values.items() if name in names}

    @property
    def net(self) -> Path | None:
        """The network's file, `~` expanded: the one that is named, else the embedded one. None for `none`, and where
        the installation lacks its network."""
        if self["net"] is None:
            return embedded_network()
        return None if self["net"] == NO_NETWORK else Path(self["net"]).expanduser()

    @property
    def has_own_net(self) -> bool:
        """Whether the user named a network."""
        return self["net"] not in (None, NO_NETWORK)


def load(path: Path | None, settings: Iterable[str], options: Mapping[str, object]) -> Configuration:
    """The configuration of a run: the file (None: the user's, if there is one), `name=value` settings, options.

    Options that are None were not given. Raises ConfigError.
    """
    file = path or user_file()
    configuration = Configuration()
    if path is not None or file.is_file():
        configuration = configuration.with_values(read_file(file).items(), str(file))
    configuration = configuration.with_values(map(_setting, settings), "--set")
    return configuration.with_values((name, value) for name, value in options.items() if value is not None)


def user_directory() -> Path:
    """Where the user's configuration lies: `$NOBI_CONFIG_DIR`, or the system's place for such things."""
    directory = os.environ.get("NOBI_CONFIG_DIR")
    if directory:
        return Path(directory)
    from platformdirs import user_config_dir

    return Path(user_config_dir("nobi", appauthor=False))


def user_file() -> Path:
    return user_directory() / FILE_NAME


def read_file(path: Path) -> dict[str, Any]:
    """The values in a TOML file, tables flattened: [search] and other headings only group. Raises ConfigError."""
    import msgspec

    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: too large for a configuration file")
        decoded = msgspec.toml.decode(content, type=dict[str, Any])
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    values: dict[str, Any] = {}
    for name, value in decoded.items():
        entries = value if isinstance(value, dict) else {name: value}
        for key, entry in entries.items():
            if key in values:
                raise ConfigError(f"{path}: {key} is given twice")
            values[key] = entry
    return values


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set: {text} is not name=value")
    return name.strip(), value.strip()
