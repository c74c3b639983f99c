"""The engine's part in a game: its move, and what teaching says of the person's."""

from __future__ import annotations

import threading

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

TEACHING = Limits(200, 3.0, may_stop_early=False)
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


def judge(engine: Engine, game: OpenGame, node: Node, lock: threading.RLock, stop: threading.Event) -> bool:
    """Search the positions before and after the person's last move, and return whether it lost so much that it may be
    taken back: then `game.offer` says so. A task."""
    if node.move is None or node.move.colour != game.person or node.parent is None:
        return False
    for each in (node.parent, node):
        if each.opinion is None or each.opinion.visits < (TEACHING.visits or 0):
            with lock:
                position = game.tree.board(each).copy()
            result = engine.analyse(position, TEACHING, stop)
            if not result.moves or stop.is_set():
                return False
            each.opinion = Opinion.of(result, game.tree.on_page)
    before, after = node.parent.opinion, node.opinion
    assert before is not None
    assert after is not None
    loss = before.loss(game.person, game.tree.on_page(node.move.point), after)
    if loss is None or loss < game.limit or game.at is not node:
        return False
    game.offer = {"node": node.id, "loss": loss, "better": list(before.best), "refutation": list(after.best)}
    return True


def dead_stones(engine: Engine, position: Game, stop: threading.Event) -> frozenset[int]:
    """Return the points of the stones that the engine takes for dead. A task."""
    if not may_have_dead(position.rules):
        return frozenset()
    return estimate(position, lambda game, colour: engine.glance(game, stop, colour)).dead
