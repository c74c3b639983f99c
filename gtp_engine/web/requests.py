"""What pages may ask for: JSON objects, whose fields are the parameters of the functions that carry them out (table.py,
contest.py), and what these may be."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta, Struct

Side = Annotated[int, Meta(ge=2, le=25)]
Colour = Annotated[int, Meta(ge=0, le=2)]
Points = Annotated[float, Meta(ge=-1000, le=1000)]
Loss = Annotated[float, Meta(ge=0, le=1000)]
Seconds = Annotated[float, Meta(ge=0, le=1e6)]
Count = Annotated[int, Meta(ge=0, le=1000)]
Visits = Annotated[int, Meta(ge=1)]
ReviewVisits = Annotated[int, Meta(ge=1, le=100_000)]
Name = Annotated[str, Meta(max_length=300)]
Text = Annotated[str, Meta(max_length=100_000)]


class ClockTerms(Struct, forbid_unknown_fields=True):
    """Main time, and at most one of periods and an increment."""

    main: Seconds = 0.0
    byo_seconds: Seconds = 0.0
    periods: Count = 0
    increment: Seconds = 0.0


class Marks(Struct, forbid_unknown_fields=True):
    """The marks of a node: points, and letters by their points."""

    triangle: list[int] = []
    square: list[int] = []
    circle: list[int] = []
    cross: list[int] = []
    labels: dict[int, Annotated[str, Meta(max_length=100)]] = {}


class Stones(Struct, forbid_unknown_fields=True):
    """Stones to set up, and whose turn it then is."""

    black: list[int] = []
    white: list[int] = []
    empty: list[int] = []
    to_play: Colour = 0


def kind_of(carry_out: Callable[..., Any]) -> type[Struct]:
    """Return what a request has to be that a function carries out: an object with a field for each parameter."""
    hints = get_type_hints(carry_out, include_extras=True)
    fields: list[Any] = [
        (each.name, hints[each.name], *([] if each.default is each.empty else [each.default]))
        for each in inspect.signature(carry_out).parameters.values()
    ]
    return msgspec.defstruct("Request", fields, forbid_unknown_fields=True)
