"""A game of a person against the engine: turns, clocks, teaching, problems, and how it ends."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import numpy as np

from go_rules.agreement import may_have_dead
from go_rules.game import Game
from go_rules.points import COLOUR_LETTERS, EMPTY, PASS, opponent
from go_rules.sgf.reader import Setup
from gtp_engine.play.words import RESIGNED
from gtp_engine.review.judged import JudgedMove
from gtp_engine.session.estimate import is_finished
from gtp_engine.session.thinking import legal_choice
from gtp_engine.web.counting import Count
from gtp_engine.web.engine import Engine
from gtp_engine.web.game import ANALYSE, ON_TIME, PLAY, OpenGame
from gtp_engine.web.levels import RANKS, require_level, strength_of
from gtp_engine.web.problems import OPEN, RIGHT, SHOWN, SOLVED_LOSS, WRONG, Asked, Problems
from gtp_engine.web.refusals import Refusal, said_of
from gtp_engine.web.reviewing import GameReview, Interrupted
from gtp_engine.web.shared import SharedGame
from gtp_engine.web.tree import Node
from search.request import OWNERSHIP_AT_THE_END, Limits
from search.result import RESIGN, SearchResult

TEACHING = Limits(200, 3.0, may_stop_early=False)
"""Of the searches before and after a person's move; the first limit that is reached ends them."""
PROBLEM = Limits(400, may_stop_early=False)
"""The same, where the move is to solve a problem."""
CAUSE_VISITS = 100
"""Of the search for where the points went of a move that solved no problem."""


class Contest:
    """Plays the engine's part in the shared game, and sees to its clocks and its end."""

    def __init__(self, shared: SharedGame, engine: Engine, problems: Problems) -> None:
        self._shared, self._engine, self._problems = shared, engine, problems
        self._flag: threading.Timer | None = None
        self._generator = np.random.default_rng()

    def play(self, node: int, point: int) -> dict[str, Any]:
        """Play the person's move where the game stands, or a variation. Raises Refused."""
        with self._shared.lock:
            game, parent = self._shared.game, self._shared.game.tree.node(node)
            goes_on, played = game.goes_on and parent is game.at, game.tree.from_page(point)
            if game.to_place:
                return {"node": self._place(game, played).id}
            if goes_on and game.is_engines_turn:
                raise Refusal("engines_turn")
            child = game.tree.play(parent, parent.to_play, played)
            if goes_on:
                self._moved(child)
            elif game.mode == ANALYSE:
                game.stand(child)
                self._shared.changed(child)
                self.go_on()
            else:
                self._shared.changed(child)
            return {"node": child.id}

    def _place(self, game: OpenGame, point: int) -> Node:
        """Place one of black's handicap stones. Raises Refused."""
        tree, root = game.tree, game.tree.root
        if point == PASS or tree.board(root).position["board"][point] != EMPTY:
            raise Refusal("illegal")
        before = [stone.point for stone in root.step.stones] if isinstance(root.step, Setup) else []
        tree.place_handicap((*before, point), is_whole=game.to_place == 1)
        game.to_place -= 1
        self._shared.changed(root)
        self.go_on()
        return root

    def undo(self) -> None:
        """Take the person's last move back, or the resignation; in analysis the last move. Raises Refused."""
        with self._shared.lock:
            game, node = self._shared.game, self._shared.game.at
            if game.mode == ANALYSE:
                if node.parent is None:
                    raise Refusal("nothing_to_take_back")
                game.stand(node.parent)
                self._shared.changed(removed=() if node.children else game.tree.remove(node))
                return
            if game.result != _won_by(opponent(game.person), RESIGNED):
                while node.move is None or node.move.colour != game.person:
                    if node.parent is None:
                        raise Refusal("nothing_to_take_back")
                    node = node.parent
                game.at = node.parent or node
            if game.problem is not None and game.at is game.tree.root:
                game.problem.state = OPEN
            self._engine.interrupt()
            game.end("")
            self._shared.changed()
            self.go_on()

    def resign(self) -> None:
        """Give the game up for the person. Raises Refused."""
        with self._shared.lock:
            game = self._shared.game
            if not game.goes_on:
                raise Refusal("no_game_goes_on")
            self._engine.interrupt()
            self._end(_won_by(opponent(game.person), RESIGNED))

    def play_on(self, node: int | None = None, level: int | None = None) -> None:
        """Have the person play against the engine from a position, for the side to move there, at its level so far
        unless another one is named. Raises Refused."""
        with self._shared.lock:
            game = self._shared.game
            first = game.node(node)
            if level is not None:
                require_level(level)
                game.level = level
            self._engine.interrupt()
            game.end("")
            game.person, game.mode, game.at = first.to_play, PLAY, first
            game.name_players()
            self._shared.tell()
            self.go_on()

    def answer(self) -> None:
        """Have the engine go on after an offer to take a move back. Raises Refused."""
        with self._shared.lock:
            if self._shared.game.offer is None:
                raise Refusal("nothing_was_offered")
            self.go_on(is_judged=True)

    def go_on(self, is_judged: bool = False) -> None:
        """Start the clock, count where both have passed, and ask the engine for its move where it is its turn.

        Where that is taught, it first says what the person's last move has lost, unless that `is_judged`.
        """
        game, node = self._shared.game, self._shared.game.at
        game.offer = None
        is_to_be_judged = (game.teaching or game.is_asked) and game.is_engines_turn and not is_judged
        if not is_to_be_judged:
            self._start_clock()
        if game.to_place or not game.may_be_counted:
            return
        position = game.tree.board(node).copy()
        if is_finished(position):
            self._ask_to_count(node)
        elif game.is_engines_turn:
            self._ask(lambda stop: self._reply(game, node, position, is_to_be_judged, stop))

    def _moved(self, child: Node) -> None:
        """Go on with the game after a move of either side."""
        game = self._shared.game
        game.stand(child)
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
        if game.clock is None or game.to_place or not game.goes_on:
            return
        game.clock.press(node.to_play)
        self._shared.publish("clock", {"game": game.id, "clock": game.clock.told()})

        def flag() -> None:
            with self._shared.lock:
                if self._goes_on_at(game, node):
                    self._engine.interrupt()
                    self._end(_won_by(opponent(node.to_play), ON_TIME))

        self._flag = threading.Timer(min(max(0.0, game.clock.seconds_left()), threading.TIMEOUT_MAX), flag)
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
                self._shared.say(said_of(error))

        future = self._engine.ask(task, is_urgent=True)
        future.add_done_callback(report)
        return future

    def _reply(self, game: OpenGame, node: Node, position: Game, is_to_be_judged: bool, stop: threading.Event) -> None:
        """Say what the person's move has lost, where that is taught, and answer it unless it may be taken back. A
        task."""
        if is_to_be_judged and game.problem is not None:
            self._check(game, game.problem, node, stop)
        elif is_to_be_judged:
            self._teach(game, node, stop)
        with self._shared.lock:
            if not self._goes_on_at(game, node) or game.offer is not None or game.is_asked:
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
        clock, colour = None if game.clock is None else game.clock.clock, position.to_play
        if game.level in RANKS:
            decision = self._engine.imitate(RANKS[game.level], position, clock, stop)
            return decision.point, decision.result
        self._engine.sit_down(position, clock)
        session = self._engine.session
        strength = strength_of(game.level, position, session.player)
        if strength is None:
            decision = session.think(colour, stop)
            return decision.point, decision.result
        seconds = None if clock is None else session.move_limits(colour).seconds
        limits = Limits(strength.visits, seconds, may_stop_early=False)
        result = session.analyse(limits, stop, report=OWNERSHIP_AT_THE_END)
        point = strength.choose(position, result, session.player, self._generator)
        return legal_choice(position, colour, point, result), result

    def _judge(self, game: OpenGame, node: Node, limits: Limits, stop: threading.Event) -> JudgedMove | None:
        """Search the positions before and after the person's last move; None where another one is on the board."""
        if node.move is None or node.move.colour != game.person or node.parent is None:
            return None
        for each in (node.parent, node):
            self._search(game, each, limits, stop)
        with self._shared.lock:
            return game.tree.judged(node) if self._goes_on_at(game, node) and not stop.is_set() else None

    def _search(self, game: OpenGame, node: Node, limits: Limits, stop: threading.Event) -> None:
        """Search a position, unless it was searched as long, and keep what that says of it. A task."""
        if node.opinion is not None and node.opinion.visits >= (limits.visits or 0):
            return
        position = self._shared.position(game, node)
        if position is None:
            return
        result = self._engine.analyse(position, limits, stop)
        with self._shared.lock:
            if self._shared.game is game and not stop.is_set():
                self._shared.think_of(node, result)

    def _teach(self, game: OpenGame, node: Node, stop: threading.Event) -> None:
        """Tell pages what the person's last move has lost, and offer to take it back where that is much."""
        judged = self._judge(game, node, TEACHING, stop)
        with self._shared.lock:
            if judged is None or node.parent is None or not self._goes_on_at(game, node):
                return
            if judged.points_lost >= game.limit:
                lines = (judged.before.line, judged.after.line)
                better, answer = ([game.tree.on_page(point) for point in line] for line in lines)
                loss = round(judged.points_lost, 2)
                game.offer = {"node": node.id, "loss": loss, "better": better, "refutation": answer}
            self._shared.tell(node.parent, node)

    # --- Problems ---------------------------------------------------------------------------------------------

    def pose(self, is_shown: bool) -> None:
        """Ask the problem on the board once more, or show its answer; then the position may be analysed. Raises
        Refused."""
        with self._shared.lock:
            game = self._shared.game
            if game.problem is None:
                raise Refusal("no_problem_on_the_board")
            self._engine.interrupt()
            game.end("")
            game.at = game.tree.root
            if is_shown:
                self._answered(game, game.problem, SHOWN)
            else:
                game.mode, game.person, game.problem.state = PLAY, game.at.to_play, OPEN
                self.get_ready()
            self._shared.tell()

    def get_ready(self) -> None:
        """Search a problem's position while the person thinks about it."""
        game = self._shared.game

        def search(stop: threading.Event) -> None:
            self._search(game, game.tree.root, PROBLEM, stop)
            if stop.is_set():
                raise Interrupted

        self._engine.do_later([search])

    def _check(self, game: OpenGame, problem: Asked, node: Node, stop: threading.Event) -> None:
        """Find out whether the person's move solves a problem, and tell pages. If not, the game goes on."""
        move, loss = node.move, 0.0
        if move is None or move.point != problem.best[0]:
            judged = self._judge(game, node, PROBLEM, stop)
            if judged is None:
                return
            loss = judged.points_lost
        with self._shared.lock:
            if not self._goes_on_at(game, node):
                return
            problem.node, problem.loss = node.id, round(loss, 1)
            self._answered(game, problem, RIGHT if loss <= SOLVED_LOSS else WRONG)
            self._shared.tell(node)
        if problem.state == WRONG:
            review = GameReview(self._shared, self._engine, CAUSE_VISITS)
            self._engine.do_later([lambda stop: review.explain(node, stop, names_best=False)])

    def _answered(self, game: OpenGame, problem: Asked, state: str) -> None:
        """Write down how the person has answered a problem, if that is the first answer."""
        problem.state = state
        if state != WRONG:
            game.mode, game.person = ANALYSE, 0
        if not problem.is_answered:
            problem.is_answered = True
            try:
                problem.days = self._problems.answer(problem.key, state == RIGHT)
            except OSError as error:
                self._shared.say(said_of(error))
            self._shared.publish("problems", self._problems.told())

    # --- Counting ---------------------------------------------------------------------------------------------

    def score(self, node: int | None) -> Future[dict[str, Any]]:
        """Count a position, with the stones dead that the engine takes for dead. Returns what comes of it."""
        with self._shared.lock:
            return self._ask_to_count(self._shared.game.node(node))

    def toggle(self, point: int) -> dict[str, Any]:
        """Turn a chain from alive to dead or back, in the count of the game, and return that. Raises Refused."""
        with self._shared.lock:
            game = self._shared.game
            game.count = self._counted().toggled(game.tree.from_page(point))
            self._shared.tell()
            return game.count.told()

    def agree(self) -> None:
        """End the game with its count. Raises Refused."""
        with self._shared.lock:
            self._end(self._counted().result)

    def _counted(self) -> Count:
        if self._shared.game.count is None:
            raise Refusal("nothing_is_counted")
        return self._shared.game.count

    def _ask_to_count(self, node: Node) -> Future[dict[str, Any]]:
        game = self._shared.game
        position = game.tree.board(node).copy()

        def count(stop: threading.Event) -> dict[str, Any]:
            dead = frozenset[int]()
            if may_have_dead(position.rules):
                self._engine.sit_down(position, None)
                dead = self._engine.session.estimate(stop).dead
            found = Count(position, dead)
            with self._shared.lock:
                stands = self._shared.game is game and game.at is node
                if stands and game.may_be_counted and is_finished(position):
                    game.count = found
                    self._shared.tell()
            return found.told()

        return self._ask(count)


def _won_by(colour: int, how: str) -> str:
    return f"{COLOUR_LETTERS[colour]}{how}"
