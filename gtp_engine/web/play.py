"""The engine's part in a game: its move, and what teaching says of the person's."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from go_rules.agreement import may_have_dead
from go_rules.game import Game
from gtp_engine.session.estimate import estimate
from gtp_engine.session.thinking import legal_choice
from gtp_engine.web.engine import Engine
from gtp_engine.web.game import OpenGame
from gtp_engine.web.judgement import Opinion
from gtp_engine.web.levels import LEVELS
from gtp_engine.web.tree import Node
from search.request import Limits
from search.result import SearchResult

TEACHING_VISITS = 200
TEACHING = Limits(TEACHING_VISITS, 3.0, may_stop_early=False)
"""Of the searches before and after a person's move."""

_generator = np.random.default_rng()


def move_of(engine: Engine, game: OpenGame, position: Game, stop: threading.Event) -> tuple[int, SearchResult]:
    """Return the engine's move in a game, PASS or RESIGN, and the search that found it. A task."""
    level, clock = LEVELS[game.level], game.clock
    engine.sit_down(position, None if clock is None else clock.clock)
    session, colour = engine.session, position.to_play
    player = session.player
    visits = level.visits_of(player)
    if visits is None:
        decision = session.think(colour, stop)
        return decision.point, decision.result
    seconds = None if clock is None else session.move_limits(colour).seconds
    result = session.analyse(Limits(visits, seconds, may_stop_early=False), stop)
    point = level.choose(session.game, result, player, _generator)
    return legal_choice(session.game, colour, point, result), result


def judge(engine: Engine, game: OpenGame, node: Node, lock: threading.RLock, stop: threading.Event) -> Sequence[Node]:
    """Search the positions before and after the person's last move, so that its loss is known. Returns both
    nodes. A task."""
    if node.move is None or node.move.colour != game.person or node.parent is None:
        return ()
    for each in (node.parent, node):
        if each.opinion is None or each.opinion.visits < TEACHING_VISITS:
            with lock:
                position = game.tree.board(each).copy()
            result = engine.analyse(position, TEACHING, stop)
            if result.moves and not stop.is_set():
                each.opinion = Opinion.of(result, game.tree.on_page)
    return (node.parent, node)


def dead_stones(engine: Engine, position: Game, stop: threading.Event) -> frozenset[int]:
    """Return the points of the stones that the engine takes for dead. A task."""
    if not may_have_dead(position.rules):
        return frozenset()
    return estimate(position, lambda game, colour: engine.glance(game, stop, colour)).dead
