"""A game with its variations: nodes, the board at each of them, and how SGF files say them.

What an SGF file says beyond moves and stones stays in its nodes as the bytes that it is, so that a game which is read
and written loses nothing. To pages points are integers, row by row from the top left; a pass is -1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from go_rules.game import Game, Move, RuleViolation
from go_rules.points import BLACK, COLOUR_LETTERS, EMPTY, PASS, WHITE, column_of, point_at, row_of, to_vertex
from go_rules.rules import Rules
from go_rules.sgf.encodings import is_text
from go_rules.sgf.grammar import SgfError, parse_game
from go_rules.sgf.reader import MAX_SETUPS, PropertyReader, Setup, set_up
from go_rules.sgf.writer import coordinates, escaped, root_terms
from gtp_engine.review.causes import TEXTS, Cause
from gtp_engine.review.judged import LONGEST_LINE, JudgedMove, Opinion
from gtp_engine.web.refusals import Refusal, Said, said

PAGE_PASS = -1
MOST_NODES = 20_000
MARKS = {"triangle": "TR", "square": "SQ", "circle": "CR", "cross": "MA"}
"""The properties of marks by what pages call them. Those with letters are in LB."""
ILLEGAL = {"ko": "illegal_ko", "superko": "illegal_superko", "suicide": "illegal_suicide"}
"""The keys of the texts for reasons why a move is not allowed."""
STEPS = ("B", "W", "AB", "AW", "AE", "PL")
"""The properties that change the board."""


@dataclass(eq=False)
class Node:
    """A position of a game, and what led to it: a move, stones that were set up, or nothing."""

    id: int
    parent: Node | None
    step: Move | Setup | None = None
    properties: dict[str, list[bytes]] = field(default_factory=dict)
    """What else an SGF file says here: the bytes between the brackets, escaped."""
    children: list[Node] = field(default_factory=list)
    """The main line's first."""
    taken: list[int] = field(default_factory=list)
    """The points of the stones that the move took off."""
    to_play: int = BLACK
    number: int = 0
    """The moves that led here."""
    opinion: Opinion | None = None
    cause: Cause | None = None
    """Where the points of its move went, if that was looked for."""
    depth: int = field(init=False)
    """How many nodes are before it."""

    def __post_init__(self) -> None:
        self.depth = 0 if self.parent is None else self.parent.depth + 1

    @property
    def move(self) -> Move | None:
        """The move that led here, if it was one."""
        return self.step if isinstance(self.step, Move) else None

    def line(self) -> list[Node]:
        """List the nodes from the root to this one."""
        line: list[Node] = []
        node: Node | None = self
        while node is not None:
            line.append(node)
            node = node.parent
        return line[::-1]


class GameTree:
    """A game with its variations, and a board that stands at one of its nodes."""

    def __init__(self, width: int, height: int, rules: Rules, komi: float) -> None:
        """Begin a game."""
        self.width, self.height, self.rules, self.komi = width, height, rules, komi
        self.handicap = 0
        terms = root_terms(width, height, rules, komi)
        self.root = Node(0, None, properties={name: [escaped(text)] for name, text in terms.items()})
        self.nodes = {0: self.root}
        self.is_utf8 = True
        """Whether the texts are in UTF-8 for sure; else they are in what `_reader` takes for the encoding."""
        self._reader = PropertyReader([self.root.properties])
        self.left_out: Said | None = None
        """What the file says that cannot be played."""
        self._next = 1
        self._board: Game | None = None
        self._stands = self.root

    # --- Nodes ------------------------------------------------------------------------------------------------

    def node(self, number: int) -> Node:
        """Return the node of this id. Raises Refused."""
        if number not in self.nodes:
            raise Refusal("no_such_position")
        return self.nodes[number]

    def end(self) -> Node:
        """Return the last node of the main line."""
        node = self.root
        while node.children:
            node = node.children[0]
        return node

    def in_order(self, first: Node | None = None) -> Iterator[Node]:
        """Yield a node, the root if none is named, and all after it: parents before children, the main line first."""
        waiting = [first or self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)

    def board(self, node: Node) -> Game:
        """Return the game as it stands at a node. It is only to be read, and changes with the next call."""
        left, entered = list[Node](), list[Node]()
        before, after = self._stands, node
        while before is not after:
            if before.depth >= after.depth:
                left.append(before)
                assert before.parent is not None
                before = before.parent
            else:
                entered.append(after)
                assert after.parent is not None
                after = after.parent
        if self._board is None or any(isinstance(each.step, Setup) for each in left):
            self._board, entered = Game(self.width, self.height, self.rules, self.komi), node.line()[::-1]
            self._stands = self.root
        else:
            for each in left:
                if each.move is not None:
                    self._board.undo()
            self._stands = before
        for each in reversed(entered):
            self._apply(self._board, each)
            self._stands = each
        return self._board

    def play(self, node: Node, colour: int, point: int) -> Node:
        """Return the node of a move at this node, which is new or was there. Raises Refused where it is not allowed."""
        move = Move(colour, point)
        for child in node.children:
            if child.step == move:
                return child
        reason = self.board(node).violation(colour, point)
        if reason is not None:
            vertex = to_vertex(point, self.height)
            raise Refusal(ILLEGAL.get(reason, "illegal"), point=vertex)
        return self._add(node, move)

    def place_handicap(self, points: tuple[int, ...], is_whole: bool) -> None:
        """Put black's stones on the board of a game that has not begun. It is white's turn if these are all of them.
        Raises Refused for an impossible position."""
        self.handicap = len(points) if is_whole else 0
        self.write_text(self.root, "HA", str(self.handicap or ""))
        stones = tuple(Move(BLACK, point) for point in points)
        self._rearrange(self.root, Setup(stones, (), WHITE if is_whole else BLACK))

    def set_up(self, node: Node, setup: Setup) -> Node:
        """Return the node where these stones are set up: a new one after this node, or this one, where nothing was
        played here and after it. Raises Refused for an impossible position."""
        if node.move is None and not node.children:
            self._rearrange(node, _merged(node.step, setup))
            return node
        try:
            return self._add(node, setup)
        except SgfError as error:
            raise Refusal("impossible_position") from error

    def _rearrange(self, node: Node, setup: Setup) -> None:
        """Set other stones up at a node. Raises Refused for an impossible position."""
        before, node.step, self._board = node.step, setup, None
        try:
            self._arrive(node)
        except SgfError as error:
            node.step, self._board = before, None
            raise Refusal("impossible_position") from error

    def remove(self, node: Node) -> list[int]:
        """Take a node that is not the root, and all that follows it, out of the game. Returns their ids."""
        assert node.parent is not None
        self._stands, self._board = self.root, None
        node.parent.children.remove(node)
        removed = [each.id for each in self.in_order(node)]
        for each in removed:
            del self.nodes[each]
        return removed

    def promote(self, node: Node) -> bool:
        """Make the line to a node the main line. Returns whether it was another one before."""
        changed = False
        for each in node.line()[1:]:
            assert each.parent is not None
            siblings = each.parent.children
            changed |= siblings[0] is not each
            siblings.remove(each)
            siblings.insert(0, each)
        return changed

    def _add(self, parent: Node, step: Move | Setup | None, properties: dict[str, list[bytes]] | None = None) -> Node:
        """Add a node. Raises SgfError and RuleViolation where its step is impossible, and then changes nothing."""
        if len(self.nodes) >= MOST_NODES:
            raise Refusal("too_many_positions", n=MOST_NODES)
        node = Node(self._next, parent, step, properties or {})
        parent.children.append(node)
        try:
            self._arrive(node)
        except (SgfError, RuleViolation):
            parent.children.pop()
            raise
        self._next += 1
        self.nodes[node.id] = node
        return node

    def _arrive(self, node: Node) -> None:
        """Write down what a node's step makes of the board."""
        before = None if node.parent is None else self.board(node.parent).position["board"].copy()
        game = self.board(node)
        if before is not None and node.move is not None:
            gone = np.flatnonzero((before != EMPTY) & (game.position["board"] == EMPTY))
            node.taken = [self.on_page(int(point)) for point in gone]
        node.to_play = game.to_play
        node.number = (0 if node.parent is None else node.parent.number) + (node.move is not None)

    def _apply(self, game: Game, node: Node) -> None:
        if isinstance(node.step, Move):
            game.play_lenient(node.step.colour, node.step.point)
        elif node.step is not None:
            following = (child.move.colour for child in node.children if child.move is not None)
            set_up(game, node.step, self.handicap, next(following, None))

    # --- What pages are told ----------------------------------------------------------------------------------

    def on_page(self, point: int) -> int:
        """Return what pages call a point."""
        return PAGE_PASS if point == PASS else row_of(point) * self.width + column_of(point)

    def from_page(self, number: int) -> int:
        """Return the point that a page means. Raises Refused."""
        if number == PAGE_PASS:
            return PASS
        if not 0 <= number < self.width * self.height:
            raise Refusal("no_such_point", n=number)
        return point_at(number % self.width, number // self.width)

    def told(self, node: Node) -> dict[str, Any]:
        """Return what pages are told of a node."""
        move, parent, setup = node.move, node.parent, node.step if isinstance(node.step, Setup) else None
        judged = self.judged(node)
        return {
            "id": node.id,
            "parent": None if parent is None else parent.id,
            "colour": 0 if move is None else move.colour,
            "point": PAGE_PASS if move is None else self.on_page(move.point),
            "setup": None
            if setup is None
            else {
                "black": [self.on_page(each.point) for each in setup.stones if each.colour == BLACK],
                "white": [self.on_page(each.point) for each in setup.stones if each.colour == WHITE],
                "empty": [self.on_page(point) for point in setup.cleared],
            },
            "taken": node.taken,
            "to_play": node.to_play,
            "number": node.number,
            "comment": self._reader.text(b"".join(node.properties.get("C", [])[:1])),
            "marks": self._marks(node),
            "analysis": None if node.opinion is None else self._told_opinion(node.opinion),
            "loss": None if judged is None else round(judged.points_lost, 2),
            "cause": None if node.cause is None else self._told_cause(node.cause),
        }

    def judged(self, node: Node) -> JudgedMove | None:
        """Return what the searches before and after a node's move say of it; None where one of them is missing."""
        move, parent = node.move, node.parent
        if move is None or parent is None or parent.opinion is None or node.opinion is None:
            return None
        return JudgedMove(node.number, move.colour, move.point, parent.opinion, node.opinion, node.cause)

    def _told_opinion(self, opinion: Opinion) -> dict[str, Any]:
        winrate, lead = opinion.of_black
        known = {"visits": opinion.visits, "winrate": round(winrate, 4), "lead": round(lead, 2)}
        line = [self.on_page(point) for point in opinion.line[:LONGEST_LINE]]
        return {**known, "moves": [{**known, "point": line[0], "order": 0, "pv": line}]}

    def _told_cause(self, cause: Cause) -> dict[str, Any]:
        return {
            "texts": {language: cause.text(language, self.height) for language in TEXTS},
            "areas": [
                {"points": sorted(map(self.on_page, area.points)), "change": round(area.change, 1)}
                for area in cause.areas
            ],
            "refutation": [self.on_page(point) for point in cause.refutation],
        }

    def text(self, name: str) -> str:
        """Return the text of a property of the root; '' where it is not there."""
        return self._reader.text(self.root.properties.get(name, [b""])[0]).strip()

    def write_text(self, node: Node, name: str, text: str) -> None:
        """Write a property of one text; '' takes it away."""
        node.properties.pop(name, None)
        if text:
            node.properties[name] = [self._value(text)]

    def write_marks(self, node: Node, marks: dict[str, list[int]], labels: dict[int, str]) -> None:
        """Write the marks of a node, by what pages call them. Raises Refused."""
        written = {MARKS[name]: [self._coordinates(each) for each in points] for name, points in marks.items()}
        written["LB"] = [b"%b:%b" % (self._coordinates(each), self._value(text)) for each, text in labels.items()]
        for name in (*MARKS.values(), "LB"):
            node.properties.pop(name, None)
        node.properties.update({name: values for name, values in written.items() if values})

    def _marks(self, node: Node) -> dict[str, Any]:
        marks: dict[str, Any] = {each: self._points(node.properties.get(name, [])) for each, name in MARKS.items()}
        split = [value.partition(b":") for value in node.properties.get("LB", [])]
        labels = {point: self._reader.text(text) for where, _, text in split for point in self._points([where])}
        return {**marks, "labels": labels}

    def _points(self, values: list[bytes]) -> list[int]:
        """The points of a property as pages call them; none where the file names some that the board has not."""
        try:
            return [self.on_page(point) for point in self._reader.points({"": values}, "")]
        except SgfError:
            return []

    def _coordinates(self, point: int) -> bytes:
        return coordinates(self.from_page(point)).encode()

    def _value(self, text: str) -> bytes:
        """A text as a value, in ASCII where nobody knows the file's encoding for sure."""
        return escaped(text if self.is_utf8 else text.encode("ascii", "backslashreplace").decode())

    # --- SGF --------------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, content: bytes, rules: Rules, komi: float, file_name: str = "") -> GameTree:
        """Read the first game of an SGF file. `rules` and `komi` are for a file that says none; `file_name` may help to
        find out its encoding. Raises SgfError."""
        text = parse_game(content)
        nodes = list(text.tree())
        if len(nodes) > MOST_NODES:
            raise SgfError(f"more than {MOST_NODES} positions")
        reader = PropertyReader([properties for _, properties in nodes], file_name)
        game = reader.game([node.properties for node in text.nodes])
        first = next(game.positions(rules, komi))[1]
        own_komi = game.komi_to_play
        tree = cls(game.width, game.height, game.rules or rules, komi if own_komi is None else own_komi)
        tree.handicap = game.handicap
        root = nodes[0][1]
        tree.is_utf8 = bool(reader.charset) and is_text(text.content, reader.encoding)
        if tree.is_utf8:
            for _, properties in nodes:
                for values in properties.values():
                    values[:] = [value.decode(reader.encoding).encode() for value in values]
            root["CA"] = [b"UTF-8"]
            reader.encoding = "utf-8"
        tree._reader = reader
        tree.root.properties.clear()
        ends: list[Node] = []
        setups = list[Node]()
        for parent, properties in nodes:
            steps = list[Move | Setup | None](tree._reader.steps(properties))
            rest = {name: values for name, values in properties.items() if name not in STEPS}
            if parent >= 0:
                node = tree._read_node(ends[parent], steps.pop(0) if steps else None, rest)
            else:
                node = tree.root
                node.properties = rest
                if isinstance(first, Setup) and first not in steps:
                    steps.insert(0, first)  # the handicap that some servers mean by HA alone
                if steps and isinstance(steps[0], Setup):
                    node.step = steps.pop(0)
                    tree._arrive(node)
            setups += [node] * isinstance(node.step, Setup)
            if len(setups) > MAX_SETUPS:
                raise SgfError(f"more than {MAX_SETUPS} setups")
            for step in steps:
                node = tree._read_node(node, step, {})
            ends.append(node)
        for node in setups:
            move = node.children[0].move if node.children else None
            if move is not None and move.colour != node.to_play:
                tree._board = None
                tree._arrive(node)  # only now is known who moves next
        return tree

    def _read_node(self, parent: Node, step: Move | Setup | None, properties: dict[str, list[bytes]]) -> Node:
        """Add a node of a file. A step that is impossible is left to its properties, and said in `left_out`."""
        try:
            return self._add(parent, step, properties)
        except (SgfError, RuleViolation):
            fault = said("impossible_stones", n=parent.number)
            if isinstance(step, Move):
                fault = said("impossible_move", n=parent.number + 1, point=to_vertex(step.point, self.height))
            self.left_out = self.left_out or fault
            return self._add(parent, None, {**_properties_of(step), **properties})

    def write(self, remarks: dict[Node, dict[str, bytes]] | None = None) -> bytes:
        """Write the game as SGF. `remarks` are further properties."""
        parts, waiting = [b"("], list[Node | bytes]([b")\n", self.root])
        while waiting:
            each = waiting.pop()
            if isinstance(each, bytes):
                parts.append(each)
                continue
            parts.append(self._written(each, (remarks or {}).get(each, {})))
            if len(each.children) == 1:
                waiting.append(each.children[0])
            else:
                for child in reversed(each.children):
                    waiting += [b")", child, b"\n("]
        return b"".join(parts)

    def _written(self, node: Node, remarks: dict[str, bytes]) -> bytes:
        steps, others = _properties_of(node.step), {name: [value] for name, value in remarks.items()}
        properties = {**node.properties, **steps} if node is self.root else {**steps, **node.properties}
        return b"\n;" + b"".join(
            name.encode() + b"".join(b"[%b]" % value for value in values)
            for name, values in {**properties, **others}.items()
        )


def _properties_of(step: Move | Setup | None) -> dict[str, list[bytes]]:
    """How SGF says a step."""
    properties: dict[str, list[bytes]] = {}
    if isinstance(step, Move):
        properties[COLOUR_LETTERS[step.colour]] = [coordinates(step.point).encode()]
    elif step is not None:
        for each in step.stones:
            properties.setdefault("A" + COLOUR_LETTERS[each.colour], []).append(coordinates(each.point).encode())
        if step.cleared:
            properties["AE"] = [coordinates(point).encode() for point in step.cleared]
        if step.to_play is not None:
            properties["PL"] = [COLOUR_LETTERS[step.to_play].encode()]
    return properties


def _merged(before: Move | Setup | None, setup: Setup) -> Setup:
    """Stones that are set up, and then others."""
    if not isinstance(before, Setup):
        return setup
    changed = {stone.point for stone in setup.stones} | set(setup.cleared)
    stones = (*(stone for stone in before.stones if stone.point not in changed), *setup.stones)
    placed = {stone.point for stone in stones}
    cleared = tuple(dict.fromkeys(p for p in (*before.cleared, *setup.cleared) if p not in placed))
    return Setup(stones, cleared, setup.to_play or before.to_play)
