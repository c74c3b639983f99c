"""The parameters of a run as its user gave them, and the tables of parameters that they fill.

Nothing heavy is imported: `nobi gtp` reads this before it may answer.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gtp_engine.configuration.settings import EngineSettings
from nets.embedded import EMBEDDED, NO_NETWORK, embedded_network
from nobi_machine.cache import expand_home
from nobi_machine.parameters import ParameterError, ParameterTable, declared
from nobi_machine.streams import note

T = TypeVar("T", bound=ParameterTable)

WITH_NETWORK = "nobi"
"""The player that is taken where there is a network; a human network is for it alone."""
SYNONYMS = {"network": WITH_NETWORK}
"""Other names that `--player` takes."""


@dataclass(frozen=True)
class Configuration:
    """The parameters that were given, by whatever source. Those that were not given keep their default."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """Checked values by parameter name."""
    by_hand: frozenset[str] = frozenset()
    """The names of those that come from the command line, not from a file."""
    implied: frozenset[str] = frozenset()
    """The names of those that nobody named: another setting of KataGo's gave them their value."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where those come from that files of the user's gave: the file, as messages say it, by parameter name."""
    complaints: tuple[str, ...] = ()
    """Lines about what such files say and what does not hold, and about departed values."""

    @property
    def named(self) -> frozenset[str]:
        """The names of the parameters that somebody gave a value to."""
        return frozenset(self.values) - self.implied

    @functools.cached_property
    def engine(self) -> EngineSettings:
        """The engine's own parameters."""
        return self.fill(EngineSettings())

    def fill(self, table: T) -> T:
        """Copy a table of parameters, with the values that were given in place of its own.

        Defaults are smaller where the machine has little memory. Raises ParameterError for values that do not go
        together, or for which there is no memory.
        """
        given = {each.field: self.values[each.name] for each in declared(type(table)) if each.name in self.values}
        filled = dataclasses.replace(table.suited(), **given)
        if given:
            filled.check_memory()
        return filled

    def without(self, names: Iterable[str], reason: object) -> Configuration:
        """Copy this configuration, but for the values of these names, which files of the user's gave. `reason` is why,
        for the complaint."""
        by_place: dict[str, list[str]] = {}
        for name in names:
            by_place.setdefault(self.places[name], []).append(name)
        left_out = {name for each in by_place.values() for name in each}
        lines = (f"{place}: {reason}; {' and '.join(each)} ignored" for place, each in by_place.items())
        return dataclasses.replace(
            self,
            values={name: value for name, value in self.values.items() if name not in left_out},
            places={name: place for name, place in self.places.items() if name not in left_out},
            complaints=(*self.complaints, *lines),
        )

    @property
    def net(self) -> Path | None:
        """The path of the network, as `network_path` says."""
        return network_path(self.engine.net)

    @property
    def has_human_net(self) -> bool:
        """Whether a human network is wanted, by a player that has a use for it."""
        named, player = self.engine.human_net, self.engine.player or WITH_NETWORK
        is_wanted = named not in (None, NO_NETWORK) and self.engine.net != NO_NETWORK
        return is_wanted and SYNONYMS.get(player, player) == WITH_NETWORK

    @property
    def human_net(self) -> Path | None:
        """The path of the human network; None without one, and for a player that has no use for it."""
        return network_path(self.engine.human_net) if self.has_human_net else None

    @property
    def has_own_net(self) -> bool:
        """Whether the user named a network that did not come with the engine."""
        return self.engine.net not in (None, NO_NETWORK, EMBEDDED)


def tell(*configurations: Configuration) -> None:
    """Write the complaints about the user's files to stderr, each once."""
    for complaint in dict.fromkeys(complaint for each in configurations for complaint in each.complaints):
        note(complaint)


def network_path(name: str | None) -> Path | None:
    """Return the path of the network that `name` means: the embedded one, also if it is None; one at hand, by its
    name or the beginning of it (nets/at_hand.py); or a file, with `~` expanded.

    Return None if it is `none`, or if the installation lacks the embedded network. A file need not exist. Raises
    ParameterError where several names begin so.
    """
    if name in (None, EMBEDDED):
        return embedded_network()
    if name == NO_NETWORK:
        return None
    from nets.at_hand import AmbiguousName, is_name, network_named

    try:
        found = network_named(name) if is_name(name) else None
    except AmbiguousName as error:
        raise ParameterError(str(error)) from None
    return expand_home(name) if found is None else found.path
