"""A game with its variations: nodes, the board at each of them, and what the page is told of them.

To the page points are integers, row by row from the top left; a pass is -1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from go_rules.game import Game, Move, RuleViolation
from go_rules.points import BLACK, EMPTY, PASS, board_points, column_of, point_at, row_of, to_vertex
from go_rules.rules import Rules
from gtp_engine.errors import Refused

PAGE_PASS = -1
"""What the page calls a pass."""


@dataclass(frozen=True)
class Opinion:
    """What a search thinks of a position, in black's view."""

    visits: int
    winrate: float
    """0..1."""
    lead: float
    """Points."""
    ranks: dict[int, int]
    """The moves that were looked at: 1 for the best."""


@dataclass(eq=False)
class Node:
    """A position of a game, and what led to it: a move, stones that were set up, or nothing."""

    id: int
    parent: Node | None
    move: Move | None = None
    children: list[Node] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    """The points of the stones that the move took off, as the page calls them."""
    to_play: int = BLACK
    number: int = 0
    """The moves that led here."""
    opinion: Opinion | None = None

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
        self.width, self.height = width, height
        self.rules, self.komi = rules, komi
        self.handicap: list[int] = []
        self.root = Node(0, None)
        self.nodes = {0: self.root}
        self._next = 1
        self._board: Game | None = None
        self._stands = self.root

    # --- Points -----------------------------------------------------------------------------------------------

    def on_page(self, point: int) -> int:
        """Return what the page calls a point."""
        return PAGE_PASS if point == PASS else row_of(point) * self.width + column_of(point)

    def from_page(self, number: int) -> int:
        """Return the point that the page means. Raises Refused."""
        if number == PAGE_PASS:
            return PASS
        if not 0 <= number < self.width * self.height:
            raise Refused(f"{number} is no point of this board")
        return point_at(number % self.width, number // self.width)

    # --- Nodes ------------------------------------------------------------------------------------------------

    def node(self, number: int) -> Node:
        """Return the node of this id. Raises Refused."""
        if number not in self.nodes:
            raise Refused("this position is not in the game any more")
        return self.nodes[number]

    def end(self) -> Node:
        """Return the last node of the main line."""
        node = self.root
        while node.children:
            node = node.children[0]
        return node

    def board(self, node: Node) -> Game:
        """Return the game as it stands at a node. It is only to be read, and changes with the next call."""
        if self._board is None:
            self._board, self._stands = self._first(), self.root
        line, stands = node.line(), self._stands.line()
        common = sum(one is other for one, other in zip(line, stands, strict=False))
        for each in reversed(stands[common:]):
            if each.move is not None:
                self._board.undo()
        for each in line[common:]:
            self._apply(self._board, each)
        self._stands = node
        return self._board

    def play(self, node: Node, colour: int, point: int) -> tuple[Node, bool]:
        """Return the node of a move at this node, and whether it is new. Raises Refused where it is not allowed."""
        for child in node.children:
            if child.move == Move(colour, point):
                return child, False
        game = self.board(node)
        before = game.position["board"].copy()
        try:
            game.play(colour, point)
        except RuleViolation as error:
            raise Refused(f"{to_vertex(point, self.height)} is not allowed: {error.reason}") from None
        child = self._add(node, Move(colour, point))
        self._stands = child
        self._look(child, game, before)
        return child, True

    def remove(self, node: Node) -> list[int]:
        """Take a node and all that follows it out of the game. Returns their ids."""
        assert node.parent is not None
        self.board(node.parent)
        node.parent.children.remove(node)
        waiting, removed = [node], []
        while waiting:
            each = waiting.pop()
            removed.append(each.id)
            del self.nodes[each.id]
            waiting += each.children
        return removed

    def _first(self) -> Game:
        game = Game(self.width, self.height, self.rules, self.komi)
        if self.handicap:
            game.place_handicap(self.handicap)
        return game

    def _apply(self, game: Game, node: Node) -> None:
        if node.move is not None:
            game.play_lenient(node.move.colour, node.move.point)

    def _add(self, parent: Node, move: Move | None) -> Node:
        node = Node(self._next, parent, move)
        self._next += 1
        self.nodes[node.id] = node
        parent.children.append(node)
        return node

    def _look(self, node: Node, game: Game, before: Any) -> None:
        """Write down what a move has done to the board."""
        board = game.position["board"]
        points = board_points(self.width, self.height)
        node.taken = [self.on_page(p) for p in points if before[p] != EMPTY and board[p] == EMPTY]
        node.to_play = game.to_play
        node.number = len(game.moves)

    # --- What the page is told --------------------------------------------------------------------------------

    def in_order(self) -> Iterator[Node]:
        """Yield all nodes, parents before children."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)

    def told(self, node: Node) -> dict[str, Any]:
        """Return what the page is told of a node."""
        opinion, parent = node.opinion, node.parent
        loss, rank = None, None
        if node.move is not None and parent is not None and parent.opinion is not None:
            rank = parent.opinion.ranks.get(self.on_page(node.move.point))
            if opinion is not None:
                sign = 1.0 if node.move.colour == BLACK else -1.0
                loss = 0.0 if rank == 1 else max(0.0, sign * (parent.opinion.lead - opinion.lead))
        stones = {"black": [self.on_page(p) for p in self.handicap], "white": [], "empty": []}
        return {
            "id": node.id,
            "parent": None if parent is None else parent.id,
            "colour": 0 if node.move is None else node.move.colour,
            "point": PAGE_PASS if node.move is None else self.on_page(node.move.point),
            "setup": stones if parent is None and self.handicap else None,
            "taken": node.taken,
            "to_play": node.to_play,
            "number": node.number,
            "comment": "",
            "marks": {"triangle": [], "square": [], "circle": [], "cross": [], "labels": {}},
            "analysis": None
            if opinion is None
            else {"visits": opinion.visits, "winrate": opinion.winrate, "lead": opinion.lead},
            "loss": loss,
            "rank": rank,
        }
