"""The review of the game on the board, while the engine has nothing else to do: its main line is searched, position by
position, then where the points of the worst moves went, and then for problems where that was asked for."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from functools import partial

from go_rules.game import Game
from gtp_engine.review.causes import LEAST_LOSS, find_cause
from gtp_engine.review.judged import JudgedMove, costliest
from gtp_engine.review.problems import PROBLEM_LOSS, find_problem
from gtp_engine.web.engine import Engine, Task
from gtp_engine.web.game import PLAY, OpenGame
from gtp_engine.web.problems import Problems, source_of
from gtp_engine.web.refusals import said
from gtp_engine.web.shared import SharedGame
from gtp_engine.web.tree import Node
from search.request import OWNERSHIP_AT_THE_END, Limits, MoveFilter
from search.result import SearchResult


class Interrupted(Exception):
    """Raised where something else is to be done first."""


class GameReview:
    """Searches a game in small tasks, each of which is done again where it was interrupted."""

    def __init__(self, shared: SharedGame, engine: Engine, visits: int, problems: Problems | None = None) -> None:
        """`visits`: of each position. `problems`: where those are kept that are found; None where none are searched.
        The game is the one that is on the board now."""
        self._shared, self._engine, self._visits, self._problems = shared, engine, visits, problems
        self._game: OpenGame = shared.game
        self._line = self._game.tree.end().line()
        self._done = set[tuple[str, int]]()
        """What was found out already: of which kind, and of which node."""
        self._found = 0

    def tasks(self) -> Iterator[Task]:
        """Yield what is to be done, in its order."""
        for number, node in enumerate(self._line, 1):
            yield partial(self._judge, node, number)
        yield self._explain
        if self._problems is not None:
            yield partial(self._find_problems, self._problems)

    def _judge(self, node: Node, number: int, stop: threading.Event) -> None:
        if node.opinion is not None and node.opinion.visits >= self._visits:
            return
        position = self._shared.position(self._game, node)
        if position is None:
            return
        self._engine.say(n=number, of=len(self._line))
        result = self._search(position, self._visits, stop)
        with self._shared.lock:
            if self._shared.has(self._game, node):
                self._shared.think_of(node, result)
                self._shared.tell(node, *node.children[:1])

    def _explain(self, stop: threading.Event) -> None:
        """Look for the causes of the worst moves of either side."""
        judged = self._judged()
        nodes = {move.number: node for node, move in judged}
        for move in costliest((move for _, move in judged), LEAST_LOSS):
            self.explain(nodes[move.number], stop)

    def explain(self, node: Node, stop: threading.Event, names_best: bool = True) -> None:
        """Look for the cause of a move that was bad, unless that was done, and tell pages of it. `names_best`: whether
        it says what was better. A task."""
        position = self._shared.position(self._game, node.parent)
        if node.move is None or node.cause is not None or ("cause", node.id) in self._done or position is None:
            return
        self._engine.say(n=node.number)
        cause = find_cause(
            position, node.move.point, lambda game, visits: self._search(game, visits, stop), self._visits
        )
        with self._shared.lock:
            self._done.add(("cause", node.id))
            if cause is not None and self._shared.has(self._game, node):
                node.cause = cause if names_best else dataclasses.replace(cause, best=None)
                self._shared.tell(node)

    def _find_problems(self, problems: Problems, stop: threading.Event) -> None:
        """Keep the problems among the person's moves; of a game that nobody played here, among all."""
        game, judged = self._game, self._judged()
        person = game.person if game.mode == PLAY else 0
        nodes = {move.number: node for node, move in judged}

        def search(position: Game, visits: int, moves: MoveFilter | None) -> SearchResult:
            return self._search(position, visits, stop, moves)

        for move in costliest((move for _, move in judged if person in (0, move.colour)), PROBLEM_LOSS):
            node = nodes[move.number]
            position = self._shared.position(self._game, node.parent)
            if ("problem", node.id) in self._done or position is None:
                continue
            self._engine.say(n=move.number)
            problem = find_problem(position, move, search)
            if problem is not None:
                source = source_of((game.tree.text("PB"), game.tree.text("PW")), game.file, move.number)
                self._found += problems.add(position, problem, source)
                self._shared.publish("problems", problems.told())
            self._done.add(("problem", node.id))
        self._shared.say(said("problems_found", n=self._found), kind="info")

    def _judged(self) -> list[tuple[Node, JudgedMove]]:
        """The moves of the line that are judged, with their nodes."""
        judged = ((node, self._game.tree.judged(node)) for node in self._line)
        return [(node, move) for node, move in judged if move is not None]

    def _search(
        self, position: Game, visits: int, stop: threading.Event, moves: MoveFilter | None = None
    ) -> SearchResult:
        """Search with ownership. Raises Interrupted."""
        limits = Limits(visits, may_stop_early=False)
        result = self._engine.analyse(position, limits, stop, OWNERSHIP_AT_THE_END, moves=moves)
        if stop.is_set() or not result.moves:
            raise Interrupted
        return result
