"""Reads SGF files (FF[4], https://www.red-bean.com/sgf/): the main line of the first game. writer.py writes them.

grammar.py parses the text; this module interprets the properties, on boards that need not be square.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, islice
from pathlib import Path

from go_rules.game import Game, Move, RuleViolation, captured_before
from go_rules.handicap import fixed_handicap, max_fixed_handicap
from go_rules.points import (
    BLACK,
    COLOUR_NAMES,
    EMPTY,
    MAX_SIZE,
    PASS,
    WHITE,
    VertexError,
    board_points,
    column_of,
    from_vertex,
    point_at,
    row_of,
    to_vertex,
)
from go_rules.rule_names import DEFAULT_KOMI, DEFAULT_RULES, rules_from_sgf, rules_to_sgf
from go_rules.rules import SCORING_TERRITORY, Rules
from go_rules.sgf.encodings import encoding_of
from go_rules.sgf.grammar import MAX_BYTES, SgfError, parse_game
from go_rules.sgf.komi import read_komi
from nobi_machine.files import read_regular
from nobi_machine.text import printable, printable_path

MAX_MOVES = 10_000
MAX_SETUPS = 300
"""The most nodes of the main line that set stones up."""
CAPTURED = "CAPTURED"
"""A property of our own in the root: `CAPTURED[black:white]`."""


@dataclass(frozen=True)
class Setup:
    """Stones put on the board or taken off it by other means than a move."""

    stones: tuple[Move, ...] = ()
    cleared: tuple[int, ...] = ()
    to_play: int | None = None
    """The colour to move afterwards, if the file says so."""

    @property
    def is_turn_alone(self) -> bool:
        """Whether the board stays as it is: the file says no more than who moves next."""
        return not self.stones and not self.cleared


@dataclass(frozen=True)
class SgfGame:
    """What an SGF file says of its first game, before it is played on a board."""

    width: int
    height: int
    steps: tuple[Move | Setup, ...] = ()
    """The main line in order."""
    komi: float | None = None
    usual_komi: float | None = None
    """Where the file says no komi that we know: what is usual with the rules that it names, if we know them."""
    rules: Rules | None = None
    """The rules that the RU property names, if we know them."""
    handicap: int = 0
    has_turned_handicap: bool = False
    """Whether stones that HA alone means stand where columns and rows are exchanged, as in Foxwq's files until 2017."""
    captured: tuple[int, int] = (0, 0)
    """How many black and how many white stones were captured before the game's first position."""
    black: str = ""
    white: str = ""
    result: str = ""
    """The RE property: `B+3.5`, `W+Resign`, `0`, ..."""
    ignored: tuple[str, ...] = ()
    """Properties of the root that say rules or a komi in words that we do not know: `KM[much]`."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """The comments by the number of moves played before: 0 is the root's. Those of nodes without a move follow, each
    after a blank line."""

    @property
    def komi_to_play(self) -> float | None:
        """The komi that the file says, else the usual one; None if neither is known."""
        return self.usual_komi if self.komi is None else self.komi

    def complaint(self, rules: Rules, komi: float) -> str:
        """Return what is to be said of `ignored`, empty if nothing: `rules` and `komi` are used where the file names
        none."""
        if not self.ignored:
            return ""
        own_komi = self.komi_to_play
        terms = f"{rules_to_sgf(self.rules or rules)} rules, komi {komi if own_komi is None else own_komi:g}"
        return f"{' and '.join(self.ignored)} not understood: {terms}"

    @property
    def moves(self) -> list[Move]:
        """The moves of the main line, without setups."""
        return [step for step in self.steps if isinstance(step, Move)]

    def to_game(self, before_move: int | None = None, rules: Rules = DEFAULT_RULES, komi: float = DEFAULT_KOMI) -> Game:
        """Play the game up to the position before move `before_move`, where 1 is the first; None plays all moves.

        `rules` and `komi` are used if the file names none; rules that it names without a komi bring their usual one.
        A move on a stone takes its place, as FF[4] has it. Raises SgfError for other moves that Game.play_lenient
        refuses, and for impossible setups.
        """
        reached = (game for game, step in self.positions(rules, komi) if not isinstance(step, Setup))
        return deque(islice(reached, None if before_move is None else max(1, before_move)), maxlen=1).pop()

    def positions(
        self, rules: Rules = DEFAULT_RULES, komi: float = DEFAULT_KOMI
    ) -> Iterator[tuple[Game, Move | Setup | None]]:
        """Play the game as `to_game` does. Yield it before each step, with the step, and at its end, with None.

        It is the same game each time, which goes on when the next step is asked for.
        """
        steps = self._steps_with_handicap()
        if steps is not self.steps:
            played = self._playable(steps, rules, komi) - 1  # the handicap is a step, too
            # It is wrong if more can be played without it: the file's own moves are where those stones would be.
            if played < len(self.steps) and self._playable(self.steps, rules, komi) > played:
                steps = self.steps
        return self._play(steps, rules, komi)

    def _playable(self, steps: Sequence[Move | Setup], rules: Rules, komi: float) -> int:
        """How many of these steps can be played, up to the first impossible one."""
        played = -1
        with contextlib.suppress(SgfError):
            for _ in self._play(steps, rules, komi, takes_places=False):
                played += 1
        return played

    def _play(
        self, steps: Sequence[Move | Setup], rules: Rules, komi: float, takes_places: bool = True
    ) -> Iterator[tuple[Game, Move | Setup | None]]:
        """What `positions` yields, played by these steps, up to a move on a stone unless it `takes_places`."""
        own_komi = self.komi_to_play
        game = Game(self.width, self.height, self.rules or rules, komi if own_komi is None else own_komi)
        game.set_position((), BLACK, self.captured)
        played = replaced = 0
        for index, step in enumerate(steps):
            yield game, step
            if isinstance(step, Setup):
                following = (later.colour for later in steps[index + 1 :] if isinstance(later, Move))
                set_up(game, step, self.handicap, next(following, None))
                continue
            played += 1
            try:
                if takes_places and game.violation(step.colour, step.point) == "occupied":
                    replaced += 1
                    if replaced > MAX_SETUPS:
                        raise SgfError(f"more than {MAX_SETUPS} moves on stones")
                    set_up(game, Setup(cleared=(step.point,)), self.handicap, step.colour)
                game.play_lenient(step.colour, step.point)
            except RuleViolation as violation:
                vertex = to_vertex(step.point, self.height) if violation.reason != "off board" else "?"
                name = f"{COLOUR_NAMES[step.colour]} {vertex}"
                raise SgfError(f"move {played} ({name}) is illegal: {violation.reason}") from None
        yield game, None

    def _steps_with_handicap(self) -> tuple[Move | Setup, ...]:
        """The steps, with the fixed handicap that some servers mean by HA alone; then the first move is white's."""
        if not 2 <= self.handicap <= max_fixed_handicap(self.width, self.height):
            return self.steps
        beyond_turns = dropwhile(lambda step: isinstance(step, Setup) and step.is_turn_alone, self.steps)
        first = next(beyond_turns, None)
        if not isinstance(first, Move) or first.colour != WHITE:
            return self.steps
        points = fixed_handicap(self.handicap, self.width, self.height)
        if self.has_turned_handicap:
            points = [point_at(row_of(point), column_of(point)) for point in points]
        return (Setup(tuple(Move(BLACK, point) for point in points)), *self.steps)


def set_up(game: Game, setup: Setup, handicap: int, next_colour: int | None) -> None:
    """Set stones up in a game, whose file says so many handicap stones, before a move of `next_colour`, None where none
    follows. Raises SgfError for an impossible position."""
    if setup.is_turn_alone:
        # In the middle of a game the next move decides; where it says something else the history is kept.
        said = next_colour if game.moves and next_colour else setup.to_play
        game.give_turn(said or game.to_play)
        return
    board = game.position["board"]
    present = {p: int(board[p]) for p in board_points(game.width, game.height) if board[p] != EMPTY}
    first = not present and not game.moves
    black_only = first and len(setup.stones) > 1 and all(stone.colour == BLACK for stone in setup.stones)
    for point in setup.cleared:
        present.pop(point, None)
    present.update((stone.point, stone.colour) for stone in setup.stones)
    to_play = setup.to_play or next_colour or (WHITE if black_only else game.to_play)
    try:
        if black_only and handicap > 1 and to_play == WHITE:
            game.place_handicap(list(present))
        else:
            stones = [(colour, point) for point, colour in present.items()]
            game.set_position(stones, to_play, captured_before(game.position))
    except RuleViolation as violation:
        raise SgfError(f"the position set up is impossible: {violation.reason}") from None


def read_sgf(path: str | os.PathLike[str]) -> SgfGame:
    """Parse a regular file of at most MAX_BYTES. Raises SgfError, whose text begins with the path."""
    try:
        return parse_sgf(read_regular(path, MAX_BYTES), Path(path).name)
    except (OSError, SgfError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SgfError(f"{printable_path(path)}: {reason}") from None


def parse_sgf(data: bytes, file_name: str = "") -> SgfGame:
    """Parse the first game in `data`, whatever comes before it. `file_name` may help to find out its encoding. Raises
    SgfError."""
    nodes = [node.properties for node in parse_game(data).nodes]
    return PropertyReader(nodes, file_name).game(nodes)


# What FF[4] says of Text: other white space is a space; an escaped line break is none.
_ESCAPED = re.compile(r"\\(.|\Z)", re.DOTALL)
_VERTEX = re.compile(rb"[A-Ta-t]\d{1,2}")
"""A point as SmartGo writes it."""
_BLANKS = bytes.maketrans(b"\t\v\f", b"   ")


class PropertyReader:
    """Reads nodes (property name -> raw values), with the board size and encoding that the root states."""

    def __init__(self, nodes: Sequence[Mapping[str, list[bytes]]], file_name: str = "") -> None:
        """The root comes first. `file_name` may help to find out the encoding. Raises SgfError."""
        self.root = root = nodes[0]
        _require_go(root.get("GM", [b"1"])[0])
        self.encoding, self.charset = encoding_of(nodes, file_name)
        self.width, self.height = _size(root.get("SZ", [b"19"])[0])
        self.handicap = self._handicap()
        self.programs = {*root.get("AP", [])}

    def game(self, nodes: Sequence[Mapping[str, list[bytes]]]) -> SgfGame:
        """Interpret the nodes of the main line. Raises SgfError."""
        steps: list[Move | Setup] = []
        comments: dict[int, str] = {}
        played = 0
        for node in nodes:
            for step in self.steps(node):
                steps.append(step)
                played += isinstance(step, Move)
                if played > MAX_MOVES or len(steps) - played > MAX_SETUPS:
                    raise SgfError(f"more than {MAX_MOVES} moves or {MAX_SETUPS} setups")
            if "C" in node:
                texts = comments.get(played, ""), *map(self.text, node["C"])
                comments[played] = "\n\n".join(text for text in texts if text)
        rules, usual_komi = rules_from_sgf(self._root_text("RU")) or (None, None)
        is_territory = rules is not None and rules.scoring == SCORING_TERRITORY
        name = "KM" if self._root_text("KM") else "KO"  # as Sina has it
        komi = read_komi(self._root_text(name), is_territory, not self.programs.isdisjoint((b"foxwq", b"SGFC:2.0")))
        unknown = {name: komi is None and self._root_text(name), "RU": rules is None and self._root_text("RU")}
        return SgfGame(
            width=self.width,
            height=self.height,
            steps=tuple(steps),
            komi=komi,
            usual_komi=usual_komi if komi is None else None,
            rules=rules,
            handicap=self.handicap,
            has_turned_handicap=self._has_turned_handicap(),
            captured=self._captured(),
            black=self._root_text("PB"),
            white=self._root_text("PW"),
            result=self._root_text("RE"),
            ignored=tuple(f"{name}[{printable(text, 20)}]" for name, text in unknown.items() if text),
            comments=comments,
        )

    def steps(self, node: Mapping[str, list[bytes]]) -> Iterator[Move | Setup]:
        """Yield the setup and the moves of one node. Raises SgfError.

        FF[4] allows only one kind; where files mix them, setup comes first."""
        stones = [Move(BLACK, p) for p in self.points(node, "AB")] + [Move(WHITE, p) for p in self.points(node, "AW")]
        cleared = self.points(node, "AE")
        side = node.get("PL", [b""])[0].strip().upper()[:1]
        to_play = {b"B": BLACK, b"1": BLACK, b"W": WHITE, b"2": WHITE}.get(side)
        if stones or cleared or to_play is not None:
            yield Setup(tuple(stones), tuple(cleared), to_play)
        for name, values in node.items():
            if name in ("B", "W"):
                for value in values:
                    yield Move(BLACK if name == "B" else WHITE, self._move(value))

    def _move(self, value: bytes) -> int:
        value = value.strip()
        if value == b"" or (value == b"tt" and min(self.width, self.height) <= 19):
            return PASS
        return self._point(value)

    def _point(self, value: bytes) -> int:
        if len(value) == 2:
            x, y = value[0] - ord("a"), value[1] - ord("a")
            if 0 <= x < self.width and 0 <= y < self.height:
                return point_at(x, y)
        if _VERTEX.fullmatch(value):
            with contextlib.suppress(VertexError):
                return from_vertex(value.decode("ascii"), self.width, self.height)
        raise SgfError(f"{_shown(value)} is no point of a {self.width}x{self.height} board")

    def points(self, node: Mapping[str, list[bytes]], name: str) -> list[int]:
        """Return a property's list of points, in which `aa:cc` is a rectangle. Raises SgfError."""
        points: dict[int, None] = {}
        values = node.get(name, [])
        named = len(values)
        for value in values:
            corners = [self._point(corner.strip()) for corner in value.split(b":")] if value.strip() else []
            if len(corners) > 2:
                raise SgfError(f"{_shown(value)} is no list of points")
            xs, ys = [column_of(p) for p in corners], [row_of(p) for p in corners]
            rectangle = [point_at(x, y) for y in _from_to(ys) for x in _from_to(xs)]
            named += len(rectangle)
            # Rectangles over each other would cost far more than the text that names them.
            if named > 2 * self.width * self.height:
                raise SgfError(f"{name} names more points than the board has")
            points.update(dict.fromkeys(rectangle))
        return list(points)

    def _has_turned_handicap(self) -> bool:
        is_fox = b"foxwq" in self.programs or (b"GNU Go:3.8" in self.programs and self.root.get("GN") == [b""])
        is_old = re.match(r"20(0\d|1[0-7])\b", self._root_text("DT")) is not None
        return is_fox and is_old and self.width == self.height and self.handicap in (6, 7)

    def _captured(self) -> tuple[int, int]:
        """The captures that writer.py notes, for which SGF has nothing."""
        found = re.fullmatch(r"(\d{1,4}):(\d{1,4})", self._root_text(CAPTURED), re.ASCII)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def _handicap(self) -> int:
        text = self._root_text("HA")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0

    def _root_text(self, name: str) -> str:
        return self.text(self.root[name][0]).strip() if name in self.root else ""

    def text(self, value: bytes) -> str:
        """Return the text that a value says."""
        value = value.replace(b"\r\n", b"\n").replace(b"\r", b"\n").translate(_BLANKS)
        text = value.decode(self.encoding, "replace")  # first, since a backslash may be half a character
        return _ESCAPED.sub(lambda match: match[1].strip("\n"), text)


def _from_to(ends: list[int]) -> range:
    return range(min(ends), max(ends) + 1) if ends else range(0)


def _require_go(value: bytes) -> None:
    """Raise SgfError if GM, by whose number SGF tells games apart, says that this is another game."""
    number = value.strip()
    if number.isdigit() and int(number[:9]) != 1:
        raise SgfError(f"GM{_shown(value)} is not Go")


def _size(value: bytes) -> tuple[int, int]:
    sides = [side.strip() for side in value.split(b":")]
    if not 1 <= len(sides) <= 2 or not all(side.isdigit() and len(side) <= 3 and int(side) for side in sides):
        raise SgfError(f"SZ{_shown(value)} is no board size")
    width, height = int(sides[0]), int(sides[-1])
    if width > MAX_SIZE or height > MAX_SIZE:
        raise SgfError(f"a {width}x{height} board is too large (at most {MAX_SIZE}x{MAX_SIZE})")
    return width, height


def _shown(value: bytes) -> str:
    return "[" + "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in value[:20]) + "]"
