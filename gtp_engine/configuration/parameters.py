"""All parameters by name: those of the engine itself, and those of each player.

Nothing heavy is imported: `nobi gtp` reads this before it may answer.
"""

from __future__ import annotations

import functools

from go_rules.machine.printable import shown
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.players import PLAYERS
from search.parameters import Parameter, ParameterError, ParameterTable, declared_by, extended, folded

TABLES: tuple[type[ParameterTable], ...] = tuple(
    dict.fromkeys((EngineSettings, *(table for kind in PLAYERS.values() for table in extended(kind.parameters))))
)
"""Every table that declares parameters, in the order of documents and files."""


@functools.cache
def parameters() -> tuple[Parameter, ...]:
    """List all parameters, table by table."""
    return tuple(parameter for table in TABLES for parameter in declared_by(table))


@functools.cache
def _by_name() -> dict[str, Parameter]:
    own = {folded(parameter.name): parameter for parameter in parameters()}
    return {folded(parameter.kata): parameter for parameter in parameters() if parameter.kata} | own


def find_parameter(name: str) -> Parameter:
    """Find a parameter by our name or KataGo's; case, `-` and `_` are free. Raises ParameterError."""
    try:
        return _by_name()[folded(name)]
    except KeyError:
        raise ParameterError(f"unknown parameter: {shown(name)} (`nobi config` lists them)") from None
