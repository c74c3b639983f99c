"""The review of the game on the board, while the engine has nothing else to do: its main line is searched, position by
position, and then where the points of the worst moves went."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

from go_rules.game import Game
from gtp_engine.review.causes import LEAST_LOSS, find_cause
from gtp_engine.review.judged import SIDES
from gtp_engine.review.search import MOST_EXPLAINED
from gtp_engine.web.engine import Engine, Task
from gtp_engine.web.game import OpenGame
from gtp_engine.web.shared import SharedGame
from gtp_engine.web.tree import Node
from search.request import OWNERSHIP_AT_THE_END, Limits
from search.result import SearchResult


class Interrupted(Exception):
    """Raised where something else is to be done first."""


class GameReview:
    """Searches a game in small tasks, each of which is done again where it was interrupted."""

    def __init__(self, shared: SharedGame, engine: Engine, visits: int) -> None:
        """`visits`: of each position. The game is the one that is on the board now."""
        self._shared, self._engine, self._visits = shared, engine, visits
        self._game: OpenGame = shared.game
        node, self._line = self._game.tree.root, [self._game.tree.root]
        while node.children:
            node = node.children[0]
            self._line.append(node)
        self._explained = set[int]()

    def tasks(self) -> Iterator[Task]:
        """Yield what is to be done, in its order."""
        for number, node in enumerate(self._line, 1):
            yield partial(self._judge, node, number)
        yield self._explain

    def _judge(self, node: Node, number: int, stop: threading.Event) -> None:
        if node.opinion is not None and node.opinion.visits >= self._visits:
            return
        position = self._position(node)
        if position is None:
            return
        self._engine.say(f"{number}/{len(self._line)}")
        result = self._search(position, self._visits, stop)
        with self._shared.lock:
            if self._is_there(node):
                self._shared.think_of(node, result)
                self._shared.tell(node, *node.children[:1])

    def _explain(self, stop: threading.Event) -> None:
        """Look for the causes of the worst moves of either side."""
        judged = [(node, self._game.tree.judged(node)) for node in self._line]
        bad = [(node, move) for node, move in judged if move is not None and move.points_lost >= LEAST_LOSS]
        bad.sort(key=lambda each: -each[1].points_lost)
        for colour in SIDES:
            for node, move in [each for each in bad if each[1].colour == colour][:MOST_EXPLAINED]:
                position = self._position(node.parent)
                if node.cause is not None or node.id in self._explained or position is None:
                    continue
                self._engine.say(f"{move.number}?")
                cause = find_cause(
                    position, move.point, lambda game, visits: self._search(game, visits, stop), self._visits
                )
                with self._shared.lock:
                    self._explained.add(node.id)
                    if cause is not None and self._is_there(node):
                        node.cause = cause
                        self._shared.tell(node)

    def _search(self, position: Game, visits: int, stop: threading.Event) -> SearchResult:
        """Search with ownership. Raises Interrupted."""
        result = self._engine.analyse(position, Limits(visits, may_stop_early=False), stop, OWNERSHIP_AT_THE_END)
        if stop.is_set() or not result.moves:
            raise Interrupted
        return result

    def _position(self, node: Node | None) -> Game | None:
        """The board at a node; None where it is not on the board any more."""
        with self._shared.lock:
            return self._game.tree.board(node).copy() if node is not None and self._is_there(node) else None

    def _is_there(self, node: Node) -> bool:
        return self._shared.game is self._game and self._game.tree.nodes.get(node.id) is node
