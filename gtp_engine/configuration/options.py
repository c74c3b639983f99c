"""Options of the command line, made from the declarations of parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import click

from go_rules.machine.printable import shown
from go_rules.machine.texts import parse_integer, parse_number
from gtp_engine.configuration.parameters import parameters
from gtp_engine.stderr import note
from search.parameters import Parameter, ParameterError

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
