"""All parameters by name, those of the engine and those of each player, and options made from their declarations.

Nothing heavy is imported: `nobi gtp` reads this before it may answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import click

from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.players import PLAYERS
from nobi_machine.parameters import Parameter, ParameterError, ParameterTable, declared_by, extended, folded, suggestion
from nobi_machine.streams import note
from nobi_machine.text import parse_integer, parse_number, shown

TABLES: tuple[type[ParameterTable], ...] = tuple(
    dict.fromkeys((EngineSettings, *(table for kind in PLAYERS.values() for table in extended(kind.parameters))))
)
"""Every table that declares parameters, in the order of documents and files."""

DEPARTED = {
    "fill_dame_before_pass": "dame are not filled for their own sake",
    "playout_share": "a network's values stand alone",
    "policy_widening": "write widening",
    **dict.fromkeys(("memory_mb", "tree_memory"), "write memory"),
    **dict.fromkeys(("flight_losses", "virtual_losses"), "write virtual_loss"),
    "turn_leaves": "write random_symmetry",
    "stop_when_decided": "write early_stop",
    "simulations": "write visits",
    **dict.fromkeys(("prior_even", "prior_capture", "prior_self_atari", "prior_pattern"), "write uct.prior_weight"),
    **dict.fromkeys(("prior_near", "prior_edge", "prior_pass"), "write uct.prior_weight"),
    **dict.fromkeys(("capture_rate", "vital_rate", "pattern_rate", "self_atari_rate"), "playouts have one policy"),
    **dict.fromkeys(("tree_depth", "largest_depth", "widening_exponent", "policy_widening_power"), "a constant now"),
    **dict.fromkeys(("settled", "resign_visits", "dirichlet_total", "sampled_temperature"), "a constant now"),
}
"""Parameters that earlier versions had, by our name or KataGo's: what to write instead, or why there is nothing to
write. In a file such a name is one line on stderr, on the command line an error with this reason."""


@functools.cache
def parameters() -> tuple[Parameter, ...]:
    """List all parameters, table by table."""
    return tuple(parameter for table in TABLES for parameter in declared_by(table))


@functools.cache
def _by_name() -> dict[str, Parameter]:
    own = {folded(name): each for each in parameters() for name in (each.name, each.name.replace(".", "_"))}
    return {folded(parameter.kata): parameter for parameter in parameters() if parameter.kata} | own


def known_parameter(name: str, heading: str = "") -> Parameter | None:
    """Find a parameter by our name or KataGo's; case, `-` and `_` are free, and a dot may be one of these, too. Return
    None for an unknown name. `heading`: the one that a file has the name below, which may be its scope."""
    return _by_name().get(folded(f"{heading}.{name}")) or _by_name().get(folded(name))


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


def formerly(name: str) -> Parameter | None:
    """Find the parameter that had this name before its scope became a part of it: that of its field. Return None if
    there is none, or more than one."""
    found = [each for each in parameters() if each.field != each.name and folded(each.field) == folded(name)]
    return found[0] if len(found) == 1 else None


def departed(name: str) -> str:
    """Return what to say of a parameter that there was once; empty for any other name."""
    if (parameter := formerly(name)) is not None:
        return f"gone: write {parameter.name}"
    return next((f"gone: {text}" for each, text in DEPARTED.items() if folded(each) == folded(name)), "")


F = TypeVar("F", bound=Callable[..., Any])

MANY_CHOICES = 6
"""From so many on, choices are listed in the option's help instead of in place of its value."""


class ParameterType(click.ParamType):  # type: ignore[type-arg]
    """Checks an option as its parameter is checked in a file."""

    def __init__(self, parameter: Parameter, several: bool) -> None:
        """`several`: the option takes a list of values with commas between; a file's name may have commas in it."""
        self.parameter = parameter
        self.name = parameter.name
        self.several = several

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            if not self.several:
                return self.parameter.convert(value, note=note)
            parts = [str(value)] if self.name == "net" else str(value).split(",")
            return [self.parameter.convert(part, note=note) for part in parts]
        except ParameterError as error:
            self.fail(str(error), param, ctx)


class Number(click.FloatRange):
    """The type of an option that is a finite number within a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return super().convert(parse_number(str(value).strip()), param, ctx)
        except ValueError:
            self.fail(f"{shown(value)} is not a number", param, ctx)


class Count(click.IntRange):
    """The type of an option that is a whole number within a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return super().convert(parse_integer(str(value).strip()), param, ctx)
        except ValueError:
            self.fail(f"{shown(value)} is not a whole number", param, ctx)


def parameter_options(
    command: str, several: tuple[str, ...] = (), absent: Mapping[str, str] = MappingProxyType({})
) -> Callable[[F], F]:
    """Make a decorator that adds an option for each parameter that this command of `nobi` takes.

    An option that is not given is None. Those named in `several` may be given several values: theirs is a tuple, empty
    if there is none. `absent` says by parameter what this command does without one, where that is its own.
    """

    def decorate(function: F) -> F:
        for parameter in reversed(parameters()):
            if command in parameter.commands:
                function = _option(parameter, parameter.name in several, absent.get(parameter.name))(function)
        return function

    return decorate


def config_options(function: F) -> F:
    """Decorate a command with the options --config and --set."""
    function = click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Any parameter; `nobi config` lists them."
    )(function)
    return click.option(
        "--config", "config_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
        help="Configuration file instead of the user's own.",
    )(function)  # fmt: skip


def _option(parameter: Parameter, several: bool, absent: str | None) -> Callable[[F], F]:
    flag = "--" + parameter.name.replace("_", "-")
    if parameter.kind is bool:
        return click.option(flag, parameter.name, is_flag=True, default=None, help=parameter.help)
    shown = absent or (parameter.absent if parameter.default is None else parameter.default)
    has_many = len(parameter.choices) >= MANY_CHOICES
    listed = f" {parameter.bounds()[0].upper()}{parameter.bounds()[1:]}." if has_many else ""
    metavar = parameter.metavar if has_many or not parameter.choices else "|".join(parameter.choices)
    repeatable: dict[str, Any] = {"multiple": True, "callback": _flattened} if several else {}
    return click.option(
        flag,
        parameter.name,
        type=ParameterType(parameter, several),
        metavar=metavar + (",..." if several and parameter.name != "net" else ""),
        help=f"{parameter.help}{listed}  [default: {shown}]",
        **repeatable,
    )


def _flattened(_ctx: click.Context, _param: click.Parameter, values: tuple[list[Any], ...]) -> tuple[Any, ...]:
    """Each value once, in the order given."""
    return tuple(dict.fromkeys(value for each in values for value in each))
