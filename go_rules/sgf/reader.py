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

from go_rules.game import Game, Move, RuleViolation, captured_before
from go_rules.handicap import fixed_handicap, max_fixed_handicap
from go_rules.points import (
    BLACK,
    COLOUR_NAMES,
    EMPTY,
    MAX_SIZE,
    PASS,
    WHITE,
    board_points,
    column_of,
    point_at,
    row_of,
    to_vertex,
)
from go_rules.rule_names import DEFAULT_KOMI, DEFAULT_RULES, komi_from_sgf, rules_from_sgf
from go_rules.rules import SCORING_TERRITORY, Rules
from go_rules.sgf.grammar import MAX_BYTES, SgfError, known_encoding, parse_game
from nobi_machine.files import read_regular
from nobi_machine.text import parse_number, printable_path

MAX_MOVES = 10_000
MAX_SETUPS = 300
"""The most nodes of the main line that set stones up."""


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
    """Where the file says nothing of a komi: what is usual with the rules that it names, if we know them."""
    rules: Rules | None = None
    """The rules that the RU property names, if we know them."""
    handicap: int = 0
    black: str = ""
    white: str = ""
    result: str = ""
    """The RE property: `B+3.5`, `W+Resign`, `0`, ..."""
    ignored: tuple[str, ...] = ()
    """Properties of the root that say rules or a komi in words that we do not know: `KM[6.5 points]`."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """The comments by the number of moves played before: 0 is the root's. Those of nodes without a move follow, each
    after a blank line."""

    @property
    def komi_to_play(self) -> float | None:
        """The komi that the file says, else the usual one; None if neither is known."""
        return self.usual_komi if self.komi is None else self.komi

    @property
    def moves(self) -> list[Move]:
        """The moves of the main line, without setups."""
        return [step for step in self.steps if isinstance(step, Move)]

    def to_game(self, before_move: int | None = None, rules: Rules = DEFAULT_RULES, komi: float = DEFAULT_KOMI) -> Game:
        """Play the game up to the position before move `before_move`, where 1 is the first; None plays all moves.

        `rules` and `komi` are used if the file names none; rules that it names without a komi bring their usual one.
        Raises SgfError for moves that Game.play_lenient refuses, and for impossible setups.
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
            for _ in self._play(steps, rules, komi):
                played += 1
        return played

    def _play(
        self, steps: Sequence[Move | Setup], rules: Rules, komi: float
    ) -> Iterator[tuple[Game, Move | Setup | None]]:
        """What `positions` yields, played by these steps."""
        own_komi = self.komi_to_play
        game = Game(self.width, self.height, self.rules or rules, komi if own_komi is None else own_komi)
        played = 0
        for index, step in enumerate(steps):
            yield game, step
            if isinstance(step, Setup):
                following = (later.colour for later in steps[index + 1 :] if isinstance(later, Move))
                set_up(game, step, self.handicap, next(following, None))
                continue
            played += 1
            try:
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
        return parse_sgf(read_regular(path, MAX_BYTES))
    except (OSError, SgfError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SgfError(f"{printable_path(path)}: {reason}") from None


def parse_sgf(data: bytes) -> SgfGame:
    """Parse the first game in `data`, whatever comes before it. Raises SgfError."""
    nodes = [node.properties for node in parse_game(data).nodes]
    return PropertyReader(nodes[0]).game(nodes)


# What FF[4] says of Text: other white space is a space; an escaped line break is none.
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BLANKS = bytes.maketrans(b"\t\v\f", b"   ")


class PropertyReader:
    """Reads nodes (property name -> raw values), with the board size and encoding that the root states."""

    def __init__(self, root: Mapping[str, list[bytes]]) -> None:
        self.root = root
        _require_go(root.get("GM", [b"1"])[0])
        self.encoding = known_encoding(root.get("CA", [b""])[0])
        self.width, self.height = _size(root.get("SZ", [b"19"])[0])

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
        return SgfGame(
            width=self.width,
            height=self.height,
            steps=tuple(steps),
            komi=self._komi(),
            usual_komi=None if self._root_text("KM") else komi_from_sgf(self._root_text("RU")),
            rules=rules_from_sgf(self._root_text("RU")),
            handicap=self._handicap(),
            black=self._root_text("PB"),
            white=self._root_text("PW"),
            result=self._root_text("RE"),
            ignored=self._ignored(),
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

    def _komi(self) -> float | None:
        text = self._root_text("KM").replace(",", ".")
        if not text:
            return None
        try:
            komi = parse_number(text)
        except ValueError:
            return None
        if is_in_hundredths(text):
            return komi / 100 if komi >= 500 else komi / 50
        if is_in_stones(text):
            rules = rules_from_sgf(self._root_text("RU"))
            return None if rules is not None and rules.scoring == SCORING_TERRITORY else 2 * komi
        return komi + 0.0

    def _ignored(self) -> tuple[str, ...]:
        unknown = {"KM": self._komi() is None, "RU": rules_from_sgf(self._root_text("RU")) is None}
        names = [name for name, is_unknown in unknown.items() if is_unknown and self._root_text(name)]
        return tuple(f"{name}{_shown(self.root[name][0])}" for name in names)

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


def is_in_hundredths(komi: str) -> bool:
    """Return whether the text of a KM property is meant as Foxwq writes it, in hundredths.

    They are hundredths of points (750), or of Chinese stones, two points each (375). With a decimal point the text is
    not meant so.
    """
    return len(komi) == 3 and komi.isdigit() and komi >= "250"


def is_in_stones(komi: str) -> bool:
    """Return whether the text of a KM property is meant in Chinese stones, two points each: 3.75, as GoGoD writes 7.5.

    No rules give quarters of a point, so only a file that names territory rules cannot mean that, and then nobody knows
    what it means. A larger number is somebody's own komi in points; so is one with another digit, 3.750.
    """
    return re.fullmatch(r"-?[0-4]?\.[27]5", komi) is not None


def _require_go(value: bytes) -> None:
    """Raise SgfError if GM, by whose number SGF tells games apart, says that this is another game."""
    number = value.strip()
    if number.isdigit() and int(number[:9]) != 1:
        raise SgfError(f"GM{_shown(value)} is not Go")


def _size(value: bytes) -> tuple[int, int]:
    sides = [side.strip() for side in value.split(b":")]
    if not 1 <= len(sides) <= 2 or not all(side.isdigit() and len(side) <= 3 for side in sides):
        raise SgfError(f"SZ{_shown(value)} is no board size")
    width, height = int(sides[0]), int(sides[-1])
    if not (width and height):
        raise SgfError(f"SZ{_shown(value)} is no board size")
    if width > MAX_SIZE or height > MAX_SIZE:
        raise SgfError(f"a {width}x{height} board is too large (at most {MAX_SIZE}x{MAX_SIZE})")
    return width, height


def _shown(value: bytes) -> str:
    return "[" + "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in value[:20]) + "]"
