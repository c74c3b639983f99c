"""What pages may ask for, as JSON objects: their fields, and what these may be."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from go_rules.points import BLACK
from go_rules.rule_names import DEFAULT_PRESET
from gtp_engine.web.game import LIMIT
from gtp_engine.web.levels import FULL

Side = Annotated[int, Meta(ge=2, le=25)]
Colour = Annotated[int, Meta(ge=0, le=2)]
Points = Annotated[float, Meta(ge=-1000, le=1000)]
Loss = Annotated[float, Meta(ge=0, le=1000)]
Seconds = Annotated[float, Meta(ge=0, le=1e6)]
Count = Annotated[int, Meta(ge=0, le=1000)]
Text = Annotated[str, Meta(max_length=100_000)]


class Request(Struct, forbid_unknown_fields=True):
    """Something that a page asks for; one without fields is a request by its name alone."""


class ClockTerms(Request):
    """Main time, and at most one of periods and an increment."""

    main: Seconds = 0.0
    byo_seconds: Seconds = 0.0
    periods: Count = 0
    increment: Seconds = 0.0


class New(Request):
    """A game to begin. `is_free`: whether a person who plays black places the `handicap` stones, move by move."""

    width: Side = 19
    height: Side = 19
    komi: Points | None = None
    rules: str = DEFAULT_PRESET
    handicap: Count = 0
    is_free: bool = False
    person: Colour = BLACK
    level: int = FULL
    teaching: bool = False
    limit: Loss = LIMIT
    clock: ClockTerms | None = None


class Play(Request):
    """A move of the side to move at a node."""

    node: int
    point: int


class At(Request):
    """A node, or where the game stands."""

    node: int | None = None


class Look(Request):
    """The position that a page looks at, and whether the engine is to analyse it. `page` is the page's name in its
    `hello`: when it leaves, its analysis ends."""

    node: int
    analyse: bool = True
    visits: Annotated[int, Meta(ge=1)] | None = None
    ownership: bool = True
    page: str = ""


class Review(Request):
    """The review of the game's main line, with so many visits for each position; `problems`: whether it is searched
    for problems, too."""

    visits: Annotated[int, Meta(ge=1, le=100_000)] = 50
    problems: bool = False


class Problem(Request):
    """The next problem that is due, or the one on the board: once more, or its answer."""

    do: Literal["next", "again", "show"] = "next"


class Marks(Request):
    """The marks of a node: points, and letters by their points."""

    triangle: list[int] = []
    square: list[int] = []
    circle: list[int] = []
    cross: list[int] = []
    labels: dict[int, Annotated[str, Meta(max_length=100)]] = {}


class Stones(Request):
    """Stones to set up, and whose turn it then is."""

    black: list[int] = []
    white: list[int] = []
    empty: list[int] = []
    to_play: Colour = 0


class Edit(Request):
    """A change of a node."""

    node: int
    comment: Text | None = None
    marks: Marks | None = None
    setup: Stones | None = None
    delete: bool = False
    promote: bool = False


class Open(Request):
    """A file that the browser has read."""

    name: Annotated[str, Meta(max_length=300)]
    content: bytes = field(name="bytes")


class Saved(Request):
    """A game in the folder of games."""

    id: str


class Point(Request):
    """A point of the board."""

    point: int


class Network(Request):
    """A network by its name."""

    name: Annotated[str, Meta(max_length=300)]


class PlayOn(At):
    """Where the person goes on against the engine, and its level if that is another one than before."""

    level: int | None = None
