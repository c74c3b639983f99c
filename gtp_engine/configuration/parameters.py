"""All parameters by name: those of the engine itself, and those of each player.

Nothing heavy is imported: `nobi gtp` reads this before it may answer.
"""

from __future__ import annotations

import functools

from go_rules.machine.printable import shown
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.players import PLAYERS
from search.parameters import Parameter, ParameterError, ParameterTable, declared_by, extended, folded, suggestion

TABLES: tuple[type[ParameterTable], ...] = tuple(
    dict.fromkeys((EngineSettings, *(table for kind in PLAYERS.values() for table in extended(kind.parameters))))
)
"""Every table that declares parameters, in the order of documents and files."""

DEPARTED = {
    "fill_dame_before_pass": "dame are not filled for their own sake",
    "playout_share": "a network's values stand alone",
    "policy_widening": "write widening",
    "policy_widening_power": "write widening_exponent",
    "flight_losses": "write virtual_losses",
    "tree_depth": "write largest_depth",
    "stop_when_decided": "write early_stop",
    "memory_mb": "write tree_memory",
}
"""Parameters that earlier versions had, by our name or KataGo's: what to write instead, or why there is nothing to
write. In a file such a name is one line on stderr, on the command line an error with this reason."""


@functools.cache
def parameters() -> tuple[Parameter, ...]:
    """List all parameters, table by table."""
    return tuple(parameter for table in TABLES for parameter in declared_by(table))


@functools.cache
def _by_name() -> dict[str, Parameter]:
    own = {folded(parameter.name): parameter for parameter in parameters()}
    return {folded(parameter.kata): parameter for parameter in parameters() if parameter.kata} | own


def known_parameter(name: str) -> Parameter | None:
    """Find a parameter by our name or KataGo's; case, `-` and `_` are free. Return None for an unknown name."""
    return _by_name().get(folded(name))


def find_parameter(name: str) -> Parameter:
    """Find a parameter as `known_parameter` does. Raises ParameterError."""
    parameter = known_parameter(name)
    if parameter is None:
        raise ParameterError(unknown(name))
    return parameter


def unknown(name: str) -> str:
    """Say that there is no such parameter and, as far as can be known, what to write instead."""
    names = [known for each in parameters() for known in (each.name, each.kata) if known]
    hint = departed(name) or suggestion(name, names) or "`nobi config` lists them"
    return f"unknown parameter: {shown(name)} ({hint})"


def departed(name: str) -> str:
    """Return what to say of a parameter that there was once; empty for any other name."""
    return next((f"gone: {text}" for each, text in DEPARTED.items() if folded(each) == folded(name)), "")
