"""An analysis query: the JSON object read into what the search is asked for. Nothing here does I/O.

The fields are read in KataGo's order, so a query with several faults gets the error that KataGo would send.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta, ValidationError, convert

from go_rules.points import BLACK, COLOURS, MAX_SIZE, PASS, WHITE, VertexError, from_vertex, point_at
from go_rules.rule_names import rules_and_komi, rules_to_sgf
from go_rules.rules import ButtonError, Rules, RulesError
from gtp_engine.configuration.katago import Settings
from gtp_engine.configuration.settings import MOST_VISITS
from gtp_engine.json_engine.options import Options
from gtp_engine.json_engine.records import IllegalMoveError, QueriedGame, Replayer, move_codes, resolved
from nets.human_profile import HumanProfile
from nobi_machine.parameters import ParameterError
from nobi_machine.text import shown
from search.request import MoveFilter

FLAGS = (
    "includeMovesOwnership",
    "includeMovesOwnershipStdev",
    "includeOwnership",
    "includeOwnershipStdev",
    "includePolicy",
    "includePVVisits",
    "includeNoResultValue",
)
KNOWN = frozenset(
    {
        *FLAGS,
        *("id", "action", "terminateId", "turnNumbers", "boardXSize", "boardYSize", "initialStones", "moves"),
        *("initialPlayer", "analyzeTurns", "priorities", "rules", "komi", "whiteHandicapBonus", "overrideSettings"),
        *("maxVisits", "analysisPVLen", "rootFpuReductionMax", "rootPolicyTemperature", "reportDuringSearchEvery"),
        *("firstReportDuringSearchAfter", "priority", "allowMoves", "avoidMoves"),
    }
)
"""Every field that means something."""

Side = Annotated[int, Meta(ge=2, le=MAX_SIZE)]
Seconds = Annotated[float, Meta(ge=0.001, le=1e6)]
Komi = Annotated[float, Meta(ge=-400.0, le=400.0)]
Priority = Annotated[int, Meta(gt=-(1 << 62), lt=1 << 62)]

SIZE = f"Must provide an integer from 2 to {MAX_SIZE}"
KOMI = "Must be a integer or half-integer from -400.0 to 400.0"
RULES = (
    'Must specify rules string, such as "chinese" or "tromp-taylor", or a JSON object with detailed rules parameters.'
)
SECONDS = "Must be number of seconds from 0.001 to 1000000.0"
FILTER = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"


def _bounded(kind: type, low: float, high: float, highest: str = "") -> tuple[Any, str]:
    """The type of a bounded number, and what any other value is answered."""
    what = "an integer" if kind is int else "a number"
    return Annotated[kind, Meta(ge=low, le=high)], f"Must be {what} from {low} to {highest or high}"


PARAMETERS = {
    "maxVisits": ("visits", *_bounded(int, 1, MOST_VISITS, "2^50")),
    "analysisPVLen": ("analysis_pv", *_bounded(int, 1, 1000)),
    "rootFpuReductionMax": ("root_fpu_reduction", *_bounded(float, 0.0, 2.0)),
    "rootPolicyTemperature": ("root_policy_temperature", *_bounded(float, 0.01, 100.0)),
}
"""Fields that give a parameter of ours its value: its name, the type of the value, and what any other is answered."""
MOST_MOVES = 5000
"""Of a game. Each has to be tried before the query is accepted, and meanwhile no other query is read."""
MOST_STONES = 2 * MAX_SIZE * MAX_SIZE
"""Initial stones, of which later ones may replace earlier ones."""


@dataclass(frozen=True)
class Query:
    """An analysis query that was read and checked: which positions to search, and what to report."""

    id: str
    record: QueriedGame
    turns: tuple[tuple[int, int], ...]
    """(turn, priority) of each position to analyse, by turn."""
    options: Options
    filter: MoveFilter | None = None
    flags: frozenset[str] = field(default_factory=frozenset)
    """The members of FLAGS that are true, in small letters and without `include`."""
    every: float = math.inf
    """Seconds between reports while the search runs."""
    first: float | None = None
    """Seconds until the first of them; None: as long as between two."""


Warn = Callable[[str, str], None]
"""Receives a field and what is to be said about it, where the query goes on all the same."""


def read_query(
    query: Object, defaults: Options, check_profile: Callable[[HumanProfile], str], warn: Warn, replayer: Replayer
) -> Query:
    """Read an analysis query with its `id` already checked. Raises FieldError.

    `check_profile` says why a human profile cannot be used, or nothing. `replayer` tries whether the moves are legal.
    """
    for side in ("boardXSize", "boardYSize"):
        if side not in query:
            raise FieldError(side, SIZE)
    width, height = (read(query, side, Side, SIZE) for side in ("boardXSize", "boardYSize"))
    stones = read_moves(query, "initialStones", width, height, may_pass=False) if "initialStones" in query else []
    if len(stones) > MOST_STONES:
        raise FieldError("initialStones", f"Must be at most {MOST_STONES} stones")
    if "moves" not in query:
        raise FieldError("moves", "Must specify an array of [player,location] pairs")
    moves = read_moves(query, "moves", width, height, may_pass=True)
    if len(moves) > MOST_MOVES:
        raise FieldError("moves", f"Must be at most {MOST_MOVES} moves")
    first = (
        read_colour(query, "initialPlayer")
        if "initialPlayer" in query
        else _first(resolved(stones, width, height), moves)
    )
    turns, priorities = _turns(query, len(moves))
    rules, komi = _rules(query, warn)
    options = _options(query, defaults, check_profile, warn)
    wanted = (name for name in FLAGS if name in query and read(query, name, bool, "Must be a boolean"))
    flags = frozenset(name.removeprefix("include").lower() for name in wanted)
    every, first_after = _report_times(query)
    priority = _priority(query)
    filter = _filter(query, width, height)
    if options.warn_unused:
        for name in sorted(set(query) - KNOWN):
            warn(name, UNUSED)
    record = QueriedGame(width, height, rules, komi, tuple(stones), first, move_codes(moves))
    try:
        replayer.game(record)
    except IllegalMoveError as error:
        raise FieldError("moves", str(error)) from None
    places = tuple((turn, priorities.get(turn, priority)) for turn in turns)
    return Query(query["id"], record, places, options, filter, flags, every, first_after)


UNUSED = (
    "Unexpected or unused field, do you have a typo? (set warnUnusedFields=false in the config to disable this warning)"
)


def _first(stones: Iterable[tuple[int, int]], moves: list[tuple[int, int]]) -> int:
    """Who is to move first where the query does not say: who does, or white after two or more handicap stones.
    `stones` are those that stand."""
    if moves:
        return moves[0][0]
    colours = [colour for colour, _ in stones]
    return WHITE if len(colours) > 1 and WHITE not in colours else BLACK


def _turns(query: Object, moves: int) -> tuple[list[int], dict[int, int]]:
    """The turns to analyse in ascending order, and the priorities that are given by turn."""
    turns = None
    if "analyzeTurns" in query:
        turns = read_integers(query, "analyzeTurns", "Must specify an array of integers indicating turns to analyze")
        for turn in turns:
            if not 0 <= turn <= moves:
                raise FieldError("analyzeTurns", f"Invalid turn number: {turn}")
    wanted = [moves] if turns is None else sorted(set(turns))
    if "priorities" not in query:
        return wanted, {}
    priorities = read_integers(query, "priorities", "Must specify an array of integers indicating priorities")
    if turns is None:
        raise FieldError("priorities", "Can only specify when also specifying analyzeTurns")
    if len(priorities) != len(turns):
        raise FieldError("priorities", "Must be of matching length to analyzeTurns")
    for priority in priorities:
        if abs(priority) >= 1 << 62:
            raise FieldError("priorities", f"Invalid priority: {priority}")
    return wanted, dict(zip(turns, priorities, strict=True))


def _rules(query: Object, warn: Warn) -> tuple[Rules, float]:
    given = query.get("rules")
    if not isinstance(given, (str, dict)):
        raise FieldError("rules", RULES)
    rules, komi = _rules_and_komi(given, warn)
    if "komi" in query:
        komi = _komi(query, "komi", KOMI)
    if "whiteHandicapBonus" in query:
        bonus = read(query, "whiteHandicapBonus", str, "Must be a string")
        try:
            rules = rules.with_value("whiteHandicapBonus", bonus)
        except RulesError as error:
            raise FieldError("whiteHandicapBonus", str(error)) from None
    return rules, komi


def _rules_and_komi(given: str | Object, warn: Warn) -> tuple[Rules, float]:
    """The rules that a name or an object says, and the komi that it says or that goes with them. Raises FieldError."""
    text = _text(given)
    refused = f"Could not parse rules: {text[:LONGEST_ECHO]}"
    try:
        rules, komi = rules_and_komi(text.strip())
    except ButtonError as error:
        warn("rules", f"{error}, which these have not: using {rules_to_sgf(error.without)} instead")
        without = re.sub(r"button\s*1", "", given) if isinstance(given, str) else {**given, "hasButton": False}
        return _rules_and_komi(without, warn)
    except RulesError:
        raise FieldError("rules", refused) from None
    return rules, _komi({"rules": komi}, "rules", refused)


def _komi(query: Object, name: str, text: str) -> float:
    """A field that must be a komi. Raises FieldError with `text`."""
    komi: float = read(query, name, Komi, text)
    if (2 * komi) % 1 != 0:
        raise FieldError(name, text)
    return komi


def _options(query: Object, defaults: Options, check_profile: Callable[[HumanProfile], str], warn: Warn) -> Options:
    """The options of the query: `overrideSettings` and the fields that do the same for one of them."""
    options = defaults
    settings = query.get("overrideSettings", {})
    if not isinstance(settings, Mapping):
        raise FieldError("overrideSettings", "Must be an object")
    if settings:
        try:
            texts = {name: _text(value) for name, value in settings.items()}
            options, adopted = defaults.with_settings(Settings(texts, {}, []))
        except ParameterError as error:
            raise FieldError("overrideSettings", f"Could not set settings: {error}") from None
        if adopted.unused:
            warn("overrideSettings", f"Unknown config params: {','.join(sorted(map(shown, adopted.unused)))}")
        for reason in adopted.reasons:
            warn("overrideSettings", reason)
        reason = check_profile(options.profile) if options.profile is not None else ""
        if reason:
            raise FieldError("overrideSettings", f"Could not set settings: {reason}")
    values = {ours: read(query, name, kind, text) for name, (ours, kind, text) in PARAMETERS.items() if name in query}
    return options.with_values(values)


def _text(value: object) -> str:
    """A setting's value as a configuration file would have it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _report_times(query: Object) -> tuple[float, float | None]:
    names = ("reportDuringSearchEvery", "firstReportDuringSearchAfter")
    every, first = (read(query, name, Seconds, SECONDS) if name in query else None for name in names)
    return math.inf if every is None else every, first


def _priority(query: Object) -> int:
    if "priority" not in query:
        return 0
    if "priorities" in query:
        raise FieldError("priority", "Cannot specify both priority and priorities")
    priority: int = read(query, "priority", Priority, "Must be a number between -2^62 and 2^62")
    return priority


def _filter(query: Object, width: int, height: int) -> MoveFilter | None:
    """The moves that the search must not look at, or may look at alone."""
    if "allowMoves" in query and "avoidMoves" in query:
        raise FieldError("allowMoves", "Cannot specify both allowMoves and avoidMoves")
    name = "allowMoves" if "allowMoves" in query else "avoidMoves"
    if name not in query:
        return None
    entries = read(query, name, list[Any], FILTER)
    if name == "allowMoves" and len(entries) > 2:
        raise FieldError(name, "Currently allowMoves only allows at most one entry per player")
    found: dict[int, list[tuple[frozenset[int], int]]] = {}
    for entry in entries:
        if not isinstance(entry, Mapping) or not {"player", "moves", "untilDepth"} <= set(entry):
            raise FieldError(name, FILTER)
        colour = read_colour(entry, "player")
        points = read_points(entry, "moves", width, height)
        depth = read(entry, "untilDepth", Annotated[int, Meta(ge=1, le=10**9)], "Must be a positive integer")
        if name == "allowMoves" and colour in found:
            raise FieldError(name, "Cannot specify allowMoves more than once for the same player")
        found.setdefault(colour, []).append((points, depth))
    if name == "avoidMoves":
        return MoveFilter(avoid={colour: tuple(each) for colour, each in found.items()})
    return MoveFilter(allow={colour: each for colour, (each,) in found.items()})


Object = Mapping[str, Any]
"""An object as JSON has it."""

_COORDINATES = re.compile(r"\(([0-9]{1,2}),([0-9]{1,2})\)")

MOVES_FORM = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
VERTICES_FORM = "Must be an array of GTP board vertices"
LONGEST_ECHO = 200
"""Characters of a query's own text that an error repeats."""


class FieldError(Exception):
    """A field of a query cannot be used, and so the query cannot."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field
        self.text = text


def read(query: Object, name: str, kind: Any, text: str) -> Any:
    """Read a field whose value must be of a type as msgspec converts it. Raises FieldError with `text`."""
    try:
        return convert(query.get(name), kind)
    except (ValidationError, UnicodeEncodeError):  # half of a character, such as "\ud800"
        raise FieldError(name, text) from None


def read_integers(query: Object, name: str, text: str) -> list[int]:
    """Read a field that must be a list of whole numbers, as `1` or as `1.0`. Raises FieldError with `text`."""
    values: list[int | float] = read(query, name, list[int | float], text)
    if not all(value == int(value) for value in values):
        raise FieldError(name, text)
    return list(map(int, values))


def read_colour(query: Object, name: str) -> int:
    """Read a field that must name BLACK or WHITE. Raises FieldError."""
    colour = colour_of(query.get(name))
    if colour is None:
        raise FieldError(name, 'Must be "b" or "w"')
    return colour


def read_moves(query: Object, name: str, width: int, height: int, *, may_pass: bool) -> list[tuple[int, int]]:
    """Read a field that must be a list of moves, (colour, point) each, which `may_pass` or not. Raises FieldError."""
    moves = []
    for player, vertex in read(query, name, list[tuple[str, str]], MOVES_FORM):
        colour, point = colour_of(player), point_of(vertex, width, height)
        if colour is None:
            raise FieldError(name, f"Could not parse player: {player[:LONGEST_ECHO]}")
        if point is None or (point == PASS and not may_pass):
            raise FieldError(name, f"Could not parse board location: {vertex[:LONGEST_ECHO]}")
        moves.append((colour, point))
    return moves


def read_points(query: Object, name: str, width: int, height: int) -> frozenset[int]:
    """Read a field that must be a list of points; PASS may be among them. Raises FieldError."""
    points = set()
    for text in read(query, name, list[str], VERTICES_FORM):
        point = point_of(text, width, height)
        if point is None:
            raise FieldError(name, f"Could not parse board location: {text[:LONGEST_ECHO]}")
        points.add(point)
    return frozenset(points)


def colour_of(text: object) -> int | None:
    """Return the colour that a text names, in any letter case; None if it names none."""
    return COLOURS.get(text.strip().lower()) if isinstance(text, str) else None


def point_of(text: str, width: int, height: int) -> int | None:
    """Return the point of a vertex, of `pass`, or of KataGo's `(column,row)`, which count from 0 at the top left.

    Return None for any other text, and for what is not on the board.
    """
    coordinates = _COORDINATES.fullmatch(text.strip().replace(" ", ""))
    if coordinates is not None:
        x, y = int(coordinates[1]), int(coordinates[2])
        return point_at(x, y) if x < width and y < height else None
    try:
        return from_vertex(text, width, height)
    except VertexError:
        return None
