"""A game with an engine, and no protocol: board, rules, clocks, player, thinking, pondering, score and game records.

Whoever lets a person or a program play translates what they say into calls of a Session, and what it returns into
words: GTP (gtp_engine/gtp/), a terminal (gtp_engine/play/), a server. A game in short:

    session = Session(settings, make_player)
    session.load()                               # some seconds: compiled rules, network
    session.play(BLACK, from_vertex("D4", 19, 19))
    decision = session.think(WHITE, stop)        # a threading.Event, which ends it
    session.play_decision(decision, stop)
    session.after_reply()                        # ponders, where the settings say so
    session.score(stop)                          # "W+3.5"
    session.close()

What cannot be done raises Refused, whose text is one line for the user, and changes nothing. Failures of the network or
the machine are raised as they are.

Any thread may call a session. One lock lets in one caller at a time, so a move waits for the end of a search; whoever
does several things that belong together holds `lock`. Without it may be called: `interrupt_pondering`,
`begin_shutdown`, and what only reads an attribute. Nothing heavy is imported here: the rules and the player are loaded
in the background.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from go_rules.points import opponent, to_vertex
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.errors import Refused
from gtp_engine.session.clock import Clock, System
from gtp_engine.session.lateness import Lateness, Pulse, Turn
from gtp_engine.session.loading import Loader
from gtp_engine.session.log import DialogueLog
from gtp_engine.session.time_management import SMALLEST, is_time_kept, most_seconds, seconds_for_move

if TYPE_CHECKING:
    from go_rules.game import Game
    from go_rules.rules import Rules
    from go_rules.sgf.reader import SgfGame
    from gtp_engine.configuration.configuration import Configuration
    from gtp_engine.session.estimate import Estimate
    from gtp_engine.session.thinking import Decision, Pondering
    from search.player import Player
    from search.request import Limits, MoveFilter, ReportRequest
    from search.result import SearchResult


PONDERING_SHARE = 0.25
"""We do not ponder where its end takes more than this share of what the clock allows our next move."""
MOMENT, MOMENT_VISITS = 1.5, 600
"""Seconds and visits of a short search; the first one reached ends it."""

P = ParamSpec("P")
R = TypeVar("R")


def _alone(method: Callable[Concatenate[Session, P], R]) -> Callable[Concatenate[Session, P], R]:
    """Let one thread at a time into the methods of a session that are marked so."""

    @functools.wraps(method)
    def locked(self: Session, /, *arguments: P.args, **named: P.kwargs) -> R:
        with self.lock:
            return method(self, *arguments, **named)

    return locked


class Session:
    """A game with an engine: its state, and what can be done with it."""

    komi: float
    """The komi as it was asked for; the game's may be clamped. It is known once the rules are loaded."""

    def __init__(
        self,
        settings: EngineSettings,
        make_player: Callable[[], Player],
        on_compile: Callable[[], None] = lambda: None,
        named: Iterable[str] = (),
    ) -> None:
        """`make_player` is called in another thread, and `on_compile` once, if anything has to be compiled."""
        self.settings = settings
        """Replaced as a whole when a parameter changes."""
        self.named = set(named)
        """The names of the parameters that somebody gave a value to, here or before the session."""
        self.lock = threading.RLock()
        self.log = DialogueLog(settings.log_file)
        self.loader = Loader(make_player, *settings.board, on_compile)
        self.clock = Clock()
        self.decision: Decision | None = None
        self.estimated: Estimate | None = None
        """What was last found out about the end of the game."""
        self.turn = Turn()
        self.lateness = Lateness()
        self.pulse = Pulse(self.lateness)
        self.shutting_down = False
        """Whether the session is ending, so that nothing new may begin."""
        self._game: Game | None = None
        self._pondering: Pondering | None = None
        self._warm = settings.board
        self._may_ponder = False

    @classmethod
    def of(cls, configuration: Configuration, width: int, height: int) -> Session:
        """Make a session with the player of a configuration, on a board of this size."""
        from gtp_engine.players import compile_beside, make_player

        settings = dataclasses.replace(configuration.engine, size=f"{width}x{height}")
        return cls(settings, lambda: make_player(configuration), lambda: compile_beside(configuration))

    # --- Parts that take time to load -------------------------------------------------------------------------

    def load(self) -> None:
        """Load the rules and the player, and wait for that. Raises what prevents it.

        Whoever does not want to wait calls `loader.begin()`: what needs a part waits for it.
        """
        self.loader.begin()
        try:
            self.loader.await_player()
        except Refused as error:
            raise self.loader.failure or error from None
        _ = self.game

    @property
    def game(self) -> Game:
        """The game. Waits until the rules are loaded."""
        if self._game is None:
            self.loader.await_rules()
            from go_rules.game import Game
            from go_rules.rule_names import rules_and_komi

            rules, komi = rules_and_komi(self.settings.rules)
            self.komi = komi if self.settings.komi is None else self.settings.komi
            self._game = Game(*self.settings.board, rules, self.komi)
        return self._game

    @property
    def player(self) -> Player:
        """The player, ready for the present board. Waits until it is loaded, and stops its pondering."""
        player = self.loader.await_player()
        self.stop_pondering()
        size = (self.game.width, self.game.height)
        if size != self._warm:
            # Also for a size that was played before: the player has memory for one size of board at a time.
            player.warm_up(*size)
            self._warm = size
        return player

    def get_ready(self) -> None:
        """Load and compile everything that the next move needs, before a clock starts."""
        if not self.shutting_down:
            _ = self.player

    @property
    def has_clock(self) -> bool:
        """Whether a clock runs while we think."""
        return self.clock.control.system is not System.NONE

    # --- The game ---------------------------------------------------------------------------------------------

    @_alone
    def replace_game(self, game: Game, komi: float | None = None) -> None:
        """Go on with another game and full clocks. A komi of None keeps the present one.

        Where the player cannot get ready for it, its error is raised and the game before goes on."""
        before = self.game, self.komi, self.decision, self.clock.left
        if komi is not None:
            self.komi = komi
        self._game = game
        self.decision = None
        self.clock.restart()
        try:
            self.get_ready()
        except Exception:
            self._game, self.komi, self.decision, self.clock.left = before
            raise

    @_alone
    def new_game(self, width: int, height: int) -> None:
        """Begin a game with full clocks under the present rules and komi. Raises ValueError for a bad size."""
        from go_rules.game import Game

        self.replace_game(Game(width, height, self.game.rules, self.komi))

    @_alone
    def set_komi(self, komi: float) -> None:
        """Set the komi of the game to any finite number."""
        self.game.set_komi(komi)
        self.komi = komi + 0.0  # no negative zero

    @_alone
    def set_rules(self, rules: Rules) -> None:
        """Play on under other rules; moves that they would not have allowed stay.

        Raises Refused where they leave out a clean-up phase without which a move cannot have been played."""
        from go_rules.game import RuleViolation

        try:
            self.game.set_rules(rules)
        except RuleViolation as error:
            raise Refused(f"the moves so far are impossible under these rules: {error}") from None

    @_alone
    def set_position(self, stones: Iterable[tuple[int, int]], to_play: int) -> None:
        """Begin anew with these stones, (colour, point) each. Raises Refused for a position that cannot be."""
        from go_rules.game import RuleViolation

        try:
            self.game.set_position(stones, to_play)
        except RuleViolation as error:
            raise Refused(f"impossible position: {error}") from None
        self.decision = None

    @_alone
    def play(self, colour: int, point: int, arrived: float | None = None, *, is_lenient: bool = False) -> None:
        """Play a move of either colour at a point, or PASS. Raises Refused where it is not allowed.

        `arrived`: time.monotonic() at which we were told, where our turn on the clock begins with that. `is_lenient`:
        whether to play as `Game.play_lenient` does what the rules do not allow but a referee has.
        """
        from go_rules.game import RuleViolation

        play = self.game.play_lenient if is_lenient else self.game.play
        try:
            play(colour, point)
        except RuleViolation as error:
            raise Refused(f"{to_vertex(point, self.game.height)} is not allowed: {error.reason}") from None
        if arrived is not None:
            self.turn.told(arrived, time.monotonic())

    @_alone
    def undo(self, number: int = 1) -> None:
        """Take back so many moves; handicap stones are none. Raises Refused if there are not so many."""
        if number > len(self.game.moves):
            raise Refused("there are not so many moves to take back")
        for _ in range(number):
            self.game.undo()

    @_alone
    def load_sgf(self, path: str | os.PathLike[str], before_move: int | None = None) -> SgfGame:
        """Go on with the main line of a file, to its end or up to the position before a move, 1 for the first.

        Its komi and rules, if it names any, apply. Returns what was read. Raises Refused.
        """
        from go_rules.sgf.grammar import SgfError
        from go_rules.sgf.reader import read_sgf

        try:
            loaded = read_sgf(path)
            game = loaded.to_game(before_move, self.game.rules, self.game.komi)
        except SgfError as error:
            raise Refused(str(error)) from None
        self.replace_game(game, loaded.komi_to_play)
        return loaded

    @_alone
    def sgf(self, application: str = "Nobi") -> str:
        """Write the game as SGF text. `application`: who says to have written it."""
        from go_rules.sgf.writer import to_sgf

        return to_sgf(self.game, komi=self.komi, application=application)

    def save_sgf(self, path: str | os.PathLike[str], application: str = "Nobi") -> None:
        """Write the game to a new SGF file. Raises Refused."""
        from go_rules.sgf.grammar import SgfError
        from go_rules.sgf.writer import write_sgf

        try:
            write_sgf(path, self.sgf(application))
        except SgfError as error:
            raise Refused(str(error)) from None

    # --- Thinking ---------------------------------------------------------------------------------------------

    def move_limits(self, colour: int, used: float = 0.0) -> Limits:
        """Compute the limits of the next search, from the clock and the user's settings. `used`: the turn's seconds so
        far, which count only where there is a clock."""
        from search.request import Limits

        game, settings, control, left = self.game, self.settings, self.clock.control, self.clock.left[colour]
        area, late = game.width * game.height, self.lateness.expected
        seconds = seconds_for_move(control, left, game.turn, area, settings.lag, late)
        if seconds is None:
            return settings.limits()
        seconds = max(SMALLEST, seconds - used)
        longest = settings.longest if settings.time is None else settings.time
        is_by_clock = settings.time is None or settings.time >= seconds
        is_kept = is_by_clock and is_time_kept(control, left, min(seconds, longest))
        return Limits(
            settings.visits,
            min(seconds, longest),
            playouts=settings.playouts,
            unused_time_carries_over=settings.early_answer or is_kept,
        )

    @_alone
    def think(
        self,
        colour: int,
        stop: threading.Event,
        arrived: float | None = None,
        filter: MoveFilter | None = None,
        report: ReportRequest | None = None,
        may_cancel: bool = False,
    ) -> Decision:
        """Think of a move for `colour`. Neither plays it nor charges the clock: `play_decision` does both.

        `stop` ends the search; it is set here, too, where the clock runs out. `arrived`: time.monotonic() at which we
        were asked. `report`: a callback, and how often it is called. `may_cancel`: whether no move is needed where
        `stop` ends the search, which then ends at once.
        """
        from go_rules.points import PASS
        from gtp_engine.session.thinking import Decision, legal_choice
        from search.request import Limits, SearchRequest
        from search.result import StopReason

        player, game = self.player, self.game
        began = self.turn.began(time.monotonic() if arrived is None else arrived)
        started = time.monotonic()
        limits = self.move_limits(colour, started - began)
        due = math.inf if limits.seconds is None else started + limits.seconds
        by_clock = False

        def look_at_clock() -> None:
            """End the search if the machine turns out to be busier than we thought when it began."""
            nonlocal due, by_clock
            now = time.monotonic()
            seconds = self.move_limits(colour, started - began).seconds
            if seconds is not None and now >= started + seconds and not stop.is_set():
                due, by_clock = min(due, now), True
                stop.set()

        if self.has_clock:
            self.pulse.begin(look_at_clock)
        try:
            result = self.log.search(
                player,
                SearchRequest(game, colour, limits, filter=filter, report=report, stop=stop, may_end_empty=may_cancel),
                lambda: by_clock,
            )
        finally:
            if self.has_clock:
                self.pulse.begin()
        is_cancelled = result.reason is StopReason.INTERRUPTED
        if not result.moves and not is_cancelled:  # the clock allows no evaluation, but a move has to be found
            result = self.log.search(player, SearchRequest(game, colour, Limits(visits=1), filter=filter))
        chosen = self.log.choose(player, game, result) if result.moves else PASS
        point = legal_choice(game, colour, chosen, result, filter) if result.moves else PASS
        decision = Decision(colour, point, result, len(game.moves), began, due, is_cancelled)
        if result.moves:
            self.decision = decision
        return decision

    @_alone
    def play_decision(self, decision: Decision, stop: threading.Event) -> None:
        """Play the move, when it has been held back as long as is wanted, or until `stop`; charge the clock for it, and
        ask for pondering. Resignation is not played."""
        from gtp_engine.session.thinking import held_back
        from search.result import RESIGN

        if self.settings.delay_scale > 0.0:
            wait = held_back(self.settings, self.game, decision, random.gammavariate(2.0, 0.5))
            stop.wait(min(wait, decision.due - time.monotonic()))
        if decision.point != RESIGN:
            self.game.play(decision.colour, decision.point)
            self.ponder_next()
        now = time.monotonic()
        # The opponent's clock charges the way to us and back, too, and may never tell us.
        self.clock.spend(decision.colour, now - decision.began + self.settings.lag)
        self.turn.over()
        if self.has_clock:
            # A search that had no time for more than the root's evaluation tells nothing: nothing is shorter.
            self.lateness.moved(now - decision.due if decision.result.new_visits > 1 else 0.0)

    @_alone
    def analyse(
        self,
        limits: Limits,
        stop: threading.Event | None = None,
        *,
        colour: int | None = None,
        filter: MoveFilter | None = None,
        report: ReportRequest | None = None,
        game: Game | None = None,
        may_end_empty: bool = False,
    ) -> SearchResult:
        """Search as for an analyst until a limit or `stop`: the present position, or that of another `game` of the
        same size, with `colour` to move, or whose turn it is. `may_end_empty`: as in SearchRequest."""
        from search.request import SearchRequest

        game = game or self.game
        colour = game.to_play if colour is None else colour
        return self.log.search(
            self.player,
            SearchRequest(game, colour, limits, filter, report, analysis=True, stop=stop, may_end_empty=may_end_empty),
        )

    def glance(
        self,
        stop: threading.Event | None = None,
        seconds: float = MOMENT,
        colour: int | None = None,
        game: Game | None = None,
    ) -> SearchResult:
        """Analyse for a moment, MOMENT_VISITS and `seconds` at most, with ownership in the result."""
        from search.request import OWNERSHIP_AT_THE_END, Limits

        limits = Limits(MOMENT_VISITS, seconds, may_stop_early=False)
        return self.analyse(limits, stop, colour=colour, report=OWNERSHIP_AT_THE_END, game=game)

    @_alone
    def estimate(self, stop: threading.Event, seconds: float = math.inf) -> Estimate:
        """Estimate who owns what at the end of the game, from what the network says with either side to move.

        Without a network, and on boards that networks do not know, the player searches for a moment each. The estimate
        is kept until the position changes, unless `stop` or the `seconds` for both sides have cut it short.
        """
        from gtp_engine.session.estimate import Judgement, estimate, judged, position_name
        from search.nobi.memory.context import SMALLEST_KNOWN
        from search.result import StopReason

        evaluator, end = self.player.evaluator, time.monotonic() + seconds
        is_known = min(self.game.width, self.game.height) >= SMALLEST_KNOWN
        reasons = set()

        def is_due() -> bool:
            return stop.is_set() or time.monotonic() >= end

        def judge(game: Game, colour: int) -> Judgement:
            if evaluator is not None and is_known:
                return judged(evaluator, game, colour, is_due)
            found = self.glance(stop, min(MOMENT, seconds / 2), colour, game)
            assert found.ownership is not None
            reasons.add(found.reason)
            return Judgement(found.lead, found.ownership)

        found = self.estimated
        if found is None or found.game != position_name(self.game):
            found = estimate(self.game, judge)
            if not is_due() and StopReason.INTERRUPTED not in reasons:
                self.estimated = found
        return found

    @_alone
    def score(self, stop: threading.Event) -> str:
        """Return the result of the game, expected or exact, as `score_text` in estimate.py writes it."""
        from gtp_engine.session.estimate import score_text

        return score_text(self.game, self.komi, lambda: self.estimate(stop))

    @_alone
    def forget(self) -> None:
        """Forget what earlier searches learned."""
        self.player.clear()
        self.estimated = None

    # --- Pondering --------------------------------------------------------------------------------------------

    def ponder_next(self) -> None:
        """Ask for pondering. It starts with `after_reply`."""
        self._may_ponder = True

    @_alone
    def after_reply(self) -> None:
        """Do what has to wait until the opponent was told: watch how busy the machine is, and begin to ponder."""
        if self.has_clock:
            self.pulse.begin()
        wanted, self._may_ponder = self._may_ponder, False
        if not wanted or self.shutting_down or not self.settings.ponder or self.game.is_over:
            return
        if not self.log.can_ponder(self._can_ponder()):
            return
        from gtp_engine.session.thinking import Pondering
        from search.request import Limits

        if self._pondering is None:
            self._pondering = Pondering(self.log.failure)
        settings = self.settings
        limits = Limits(settings.ponder_visits, settings.ponder_time, False, settings.ponder_playouts)
        self._pondering.start(functools.partial(self.log.search, self.loader.await_player()), self.game, limits)

    def _can_ponder(self) -> bool:
        """Whether pondering ends soon enough for the clock, as far as is known: a slow network has to end its work."""
        left = self.clock.left[opponent(self.game.to_play)]
        return self.lateness.pondering <= PONDERING_SHARE * most_seconds(self.clock.control, left)

    def interrupt_pondering(self) -> None:
        """Ask pondering to end, and do not wait: it has a game of its own, and who needs the player waits for it."""
        if self._pondering is not None:
            self._pondering.interrupt()

    @_alone
    def stop_pondering(self) -> None:
        """End pondering, if it is under way, and wait for its end."""
        if self._pondering is not None:
            self.lateness.pondered(self._pondering.stop())

    # --- The end ----------------------------------------------------------------------------------------------

    def begin_shutdown(self) -> None:
        """Say that the session is ending, so that nobody waits for anything any more. Any thread may call this."""
        self.shutting_down = True
        self.loader.abandon()

    @_alone
    def close(self) -> None:
        """End the player's threads and free its memory."""
        self.stop_pondering()
        if self.loader.player is not None:
            self.loader.player.close()
