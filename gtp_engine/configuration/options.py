"""Command-line options made from the declarations of parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gtp_engine.configuration.parameters import ConfigError, Parameter, find_parameter

F = TypeVar("F", bound=Callable[..., Any])

METAVARS = {
    "net": "FILE",
    "player": "NAME",
    "time": "SECONDS",
    "komi": "K",
    "rules": "NAME",
    "log": "FILE",
    "human_profile": "NAME",
    "device": "NAME",
    "gtp_name": "NAME",
}


class ParameterListType(click.ParamType):  # type: ignore[type-arg]
    """Checks an option that may have several values, with commas between."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        self.name = parameter.name

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # A file's name may have commas in it.
        parts = [str(value)] if self.name == "net" else str(value).split(",")
        try:
            return [self.parameter.convert(part) for part in parts]
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class ParameterType(click.ParamType):  # type: ignore[type-arg]
    """Checks an option as its parameter is checked in a file."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        self.name = parameter.name

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parameter.convert(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


def parameter_options(*names: str) -> Callable[[F], F]:
    """A decorator that adds an option for each of these parameters; one that is not given is None."""

    def decorate(function: F) -> F:
        for name in reversed(names):
            function = _option(find_parameter(name))(function)
        return function

    return decorate


def list_options(*names: str) -> Callable[[F], F]:
    """Like `parameter_options`, for parameters that may be given several values: a tuple, empty if there is none."""

    def flattened(_ctx: click.Context, _param: click.Parameter, values: tuple[list[Any], ...]) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(value for each in values for value in each))

    def decorate(function: F) -> F:
        for name in reversed(names):
            parameter = find_parameter(name)
            metavar = METAVARS.get(name, "|".join(parameter.choices) or "N") + ("" if name == "net" else ",...")
            shown = parameter.absent if parameter.default is None else parameter.default
            function = click.option(
                "--" + name.replace("_", "-"),
                name,
                type=ParameterListType(parameter),
                multiple=True,
                callback=flattened,
                metavar=metavar,
                help=f"{parameter.help}  [default: {shown}]",
            )(function)
        return function

    return decorate


def config_options(function: F) -> F:
    """Adds --config and --set."""
    function = click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Any parameter; `nobi config` lists them."
    )(function)
    return click.option(
        "--config", "config_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
        help="Configuration file instead of the user's own.",
    )(function)  # fmt: skip


def _option(parameter: Parameter) -> Callable[[F], F]:
    flag = "--" + parameter.name.replace("_", "-")
    if parameter.kind is bool:
        return click.option(flag, parameter.name, is_flag=True, default=None, help=parameter.help)
    shown = parameter.absent if parameter.default is None else parameter.default
    metavar = "|".join(parameter.choices) if 0 < len(parameter.choices) < 6 else METAVARS.get(parameter.name, "N")
    listed = f" One of {', '.join(parameter.choices)}." if len(parameter.choices) >= 6 else ""
    return click.option(
        flag,
        parameter.name,
        type=ParameterType(parameter),
        metavar=metavar,
        help=f"{parameter.help}{listed}  [default: {shown}]",
    )
