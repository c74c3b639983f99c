"""A game of a person against the engine: turns, clocks, teaching, and how it ends."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import numpy as np

from go_rules.agreement import may_have_dead
from go_rules.game import Game
from go_rules.points import COLOUR_LETTERS, opponent
from gtp_engine.errors import Refused, explain
from gtp_engine.play.words import RESIGNED
from gtp_engine.session.estimate import is_finished
from gtp_engine.session.thinking import legal_choice
from gtp_engine.web import requests
from gtp_engine.web.counting import Count
from gtp_engine.web.engine import Engine
from gtp_engine.web.game import ANALYSE, ON_TIME, PLAY, OpenGame, require_level
from gtp_engine.web.levels import LEVELS
from gtp_engine.web.shared import SharedGame
from gtp_engine.web.tree import Node
from search.request import OWNERSHIP_AT_THE_END, Limits
from search.result import RESIGN, SearchResult

TEACHING_VISITS, TEACHING_SECONDS = 200, 3.0
"""Of the searches before and after a person's move; the first limit that is reached ends them."""


class Contest:
    """Plays the engine's part in the shared game, and sees to its clocks and its end."""

    def __init__(self, shared: SharedGame, engine: Engine) -> None:
        self._shared, self._engine = shared, engine
        self._flag: threading.Timer | None = None
        self._generator = np.random.default_rng()

    def play(self, play: requests.Play) -> dict[str, Any]:
        """Play the person's move where the game stands, or a variation. Raises Refused."""
        with self._shared.lock:
            game, node = self._shared.game, self._shared.game.tree.node(play.node)
            goes_on = game.goes_on and node is game.at
            if goes_on and game.is_engines_turn:
                raise Refused("it is the engine's turn")
            child = game.tree.play(node, node.to_play, game.tree.from_page(play.point))
            if goes_on:
                self._moved(child)
            else:
                game.at = child if game.mode == ANALYSE else game.at
                self._shared.changed(child)
            return {"node": child.id}

    def undo(self, _: requests.Request) -> None:
        """Take the person's last move back, or the resignation; in analysis the last move. Raises Refused."""
        with self._shared.lock:
            game, node = self._shared.game, self._shared.game.at
            if game.mode == ANALYSE:
                if node.parent is None:
                    raise Refused("there is no move to take back")
                game.at = node.parent
                self._shared.changed(removed=() if node.children else game.tree.remove(node))
                return
            if game.result != _won_by(opponent(game.person), RESIGNED):
                while node.move is None or node.move.colour != game.person:
                    if node.parent is None:
                        raise Refused("there is no move of yours to take back")
                    node = node.parent
                game.at = node.parent or node
            self._engine.interrupt()
            game.end("")
            self._shared.changed()
            self.go_on()

    def resign(self, _: requests.Request) -> None:
        """Give the game up for the person. Raises Refused."""
        with self._shared.lock:
            game = self._shared.game
            if not game.goes_on:
                raise Refused("there is no game that goes on")
            self._engine.interrupt()
            self._end(_won_by(opponent(game.person), RESIGNED))

    def set(self, settings: requests.Settings) -> None:
        """Change how the game goes on. Raises Refused."""
        with self._shared.lock:
            game = self._shared.game
            node = game.at if settings.node is None else game.tree.node(settings.node)
            if settings.level is not None:
                require_level(settings.level)
                game.level = settings.level
            game.teaching = game.teaching if settings.teaching is None else settings.teaching
            game.limit = game.limit if settings.limit is None else settings.limit
            if settings.person is not None:
                self._engine.interrupt()
                if settings.person:
                    game.end("")
                game.person, game.mode, game.at = settings.person, PLAY if settings.person else ANALYSE, node
            game.name_players()
            self._shared.tell()
            if settings.person is not None:
                self.go_on()

    def answer(self, _: requests.Request) -> None:
        """Have the engine go on after an offer to take a move back. Raises Refused."""
        with self._shared.lock:
            if self._shared.game.offer is None:
                raise Refused("nothing was offered")
            self.go_on(is_judged=True)

    def go_on(self, is_judged: bool = False) -> None:
        """Start the clock, count where both have passed, and ask the engine for its move where it is its turn.

        Where that is taught, it first says what the person's last move has lost, unless that `is_judged`.
        """
        game, node = self._shared.game, self._shared.game.at
        game.offer = None
        is_to_be_judged = game.teaching and game.is_engines_turn and not is_judged
        if not is_to_be_judged:
            self._start_clock()
        if not game.goes_on:
            return
        position = game.tree.board(node).copy()
        if is_finished(position):
            self._ask_to_count(node)
        elif game.is_engines_turn:
            self._ask(lambda stop: self._reply(game, node, position, is_to_be_judged, stop))

    def _moved(self, child: Node) -> None:
        """Go on with the game after a move of either side."""
        game = self._shared.game
        game.at, game.count = child, None
        is_reordered = not game.file and game.tree.promote(child)
        if game.clock is not None:
            game.clock.press(0)
        self._shared.changed(child)
        if is_reordered:
            self._shared.tell_all()
        self.go_on()

    def _end(self, result: str) -> None:
        self._shared.game.end(result)
        self._start_clock()
        self._shared.changed()

    def _start_clock(self) -> None:
        """Start the clock of the side to move where the game goes on, and end the game when it has run out."""
        game, node = self._shared.game, self._shared.game.at
        if self._flag is not None:
            self._flag.cancel()
        if game.clock is None or not game.goes_on:
            return
        game.clock.press(node.to_play)
        self._shared.publish("clock", {"game": game.id, "clock": game.clock.told()})

        def flag() -> None:
            with self._shared.lock:
                if self._goes_on_at(game, node):
                    self._engine.interrupt()
                    self._end(_won_by(opponent(node.to_play), ON_TIME))

        self._flag = threading.Timer(max(0.0, game.clock.seconds_left()), flag)
        self._flag.daemon = True
        self._flag.start()

    def _goes_on_at(self, game: OpenGame, node: Node) -> bool:
        """Whether a game is still on the board, and stands where it did."""
        return self._shared.game is game and game.at is node and game.goes_on

    # --- The engine's part ------------------------------------------------------------------------------------

    def _ask(self, task: Any) -> Future[Any]:
        """Ask the engine, before all that pages wait for; what prevents it is said on the pages."""

        def report(done: Future[Any]) -> None:
            if not done.cancelled() and (error := done.exception()) is not None:
                self._shared.say(explain(error))

        future = self._engine.ask(task, is_urgent=True)
        future.add_done_callback(report)
        return future

    def _reply(self, game: OpenGame, node: Node, position: Game, is_to_be_judged: bool, stop: threading.Event) -> None:
        """Say what the person's move has lost, where that is taught, and answer it unless it may be taken back. A
        task."""
        if is_to_be_judged:
            self._judge(game, node, stop)
        with self._shared.lock:
            if not self._goes_on_at(game, node) or game.offer is not None:
                return
            self._start_clock()
        point, result = self._move(game, position, stop)
        with self._shared.lock:
            if not self._goes_on_at(game, node):
                return
            self._shared.think_of(node, result)
            if point == RESIGN:
                self._end(_won_by(opponent(node.to_play), RESIGNED))
            else:
                self._moved(game.tree.play(node, node.to_play, point))

    def _move(self, game: OpenGame, position: Game, stop: threading.Event) -> tuple[int, SearchResult]:
        """The engine's move, PASS or RESIGN, and the search that found it."""
        clock, colour = game.clock, position.to_play
        self._engine.sit_down(position, None if clock is None else clock.clock)
        session = self._engine.session
        strength = LEVELS[game.level].strength(position, session.player)
        if strength is None:
            decision = session.think(colour, stop)
            return decision.point, decision.result
        seconds = None if clock is None else session.move_limits(colour).seconds
        limits = Limits(strength.visits, seconds, may_stop_early=False)
        result = session.analyse(limits, stop, report=OWNERSHIP_AT_THE_END)
        point = strength.choose(position, result, session.player, self._generator)
        return legal_choice(position, colour, point, result), result

    def _judge(self, game: OpenGame, node: Node, stop: threading.Event) -> None:
        """Search the positions before and after the person's last move, and tell pages what it has lost."""
        if node.move is None or node.move.colour != game.person or node.parent is None:
            return
        for each in (node.parent, node):
            if each.opinion is None or each.opinion.visits < TEACHING_VISITS:
                with self._shared.lock:
                    position = game.tree.board(each).copy()
                result = self._engine.analyse(position, Limits(TEACHING_VISITS, TEACHING_SECONDS, False), stop)
                if stop.is_set():
                    return
                with self._shared.lock:
                    if self._goes_on_at(game, node):
                        self._shared.think_of(each, result)
        with self._shared.lock:
            before, after = node.parent.opinion, node.opinion
            if not self._goes_on_at(game, node) or before is None or after is None:
                return
            judged = game.tree.judged(node)
            if judged is not None and judged.points_lost >= game.limit:
                better, answer = ([game.tree.on_page(point) for point in each.line] for each in (before, after))
                loss = round(judged.points_lost, 2)
                game.offer = {"node": node.id, "loss": loss, "better": better, "refutation": answer}
            self._shared.tell(node.parent, node)

    # --- Counting ---------------------------------------------------------------------------------------------

    def score(self, at: requests.At) -> Future[dict[str, Any]]:
        """Count a position, with the stones dead that the engine takes for dead. Returns what comes of it."""
        with self._shared.lock:
            game = self._shared.game
            return self._ask_to_count(game.at if at.node is None else game.tree.node(at.node))

    def toggle(self, dead: requests.Point) -> dict[str, Any]:
        """Turn a chain from alive to dead or back, in the count of the game, and return that. Raises Refused."""
        with self._shared.lock:
            game = self._shared.game
            game.count = self._counted().toggled(game.tree.from_page(dead.point))
            self._shared.tell()
            return game.count.told()

    def agree(self, _: requests.Request) -> None:
        """End the game with its count. Raises Refused."""
        with self._shared.lock:
            self._end(self._counted().result)

    def _counted(self) -> Count:
        if self._shared.game.count is None:
            raise Refused("nothing is being counted; both sides have to pass first")
        return self._shared.game.count

    def _ask_to_count(self, node: Node) -> Future[dict[str, Any]]:
        game = self._shared.game
        position = game.tree.board(node).copy()

        def count(stop: threading.Event) -> dict[str, Any]:
            dead = frozenset[int]()
            if may_have_dead(position.rules):
                dead = self._engine.dead_stones(position, stop)
            found = Count(position, dead)
            with self._shared.lock:
                if self._goes_on_at(game, node) and is_finished(position):
                    game.count = found
                    self._shared.tell()
            return found.told()

        return self._ask(count)


def _won_by(colour: int, how: str) -> str:
    return f"{COLOUR_LETTERS[colour]}{how}"
