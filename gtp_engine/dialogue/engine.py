"""The state of one GTP session: game, clock, player and settings, with the operations that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from go_rules.points import opponent
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.dialogue.loading import Loader
from gtp_engine.dialogue.log import DialogueLog
from gtp_engine.dialogue.protocol import GtpError
from gtp_engine.thinking.clock import Clock, System
from gtp_engine.thinking.lateness import Lateness, Pulse, Turn
from gtp_engine.thinking.time_management import most_seconds

if TYPE_CHECKING:
    from go_rules.game import Game
    from go_rules.rules import Rules
    from gtp_engine.thinking.pondering import Pondering
    from search.player import Player
    from search.result import SearchResult

PONDERING_SHARE = 0.25
"""We do not ponder where its end takes more than this share of what the clock allows our next move."""


@dataclass(frozen=True)
class Decision:
    """A move that the engine was asked for, with the search that chose it."""

    colour: int
    point: int
    """A point, PASS or RESIGN."""
    result: SearchResult
    move_number: int
    """How many moves were played before it."""
    due: float
    """time.monotonic() at which the search was to end; infinite without a limit."""
    is_cancelled: bool = False
    """Whether the search was stopped from outside, and not by the clock."""


@dataclass(frozen=True)
class Estimate:
    """How a position will probably end."""

    game: Hashable
    """The identity of the position."""
    white_lead: float
    """White's lead in points, komi included."""
    dead: frozenset[int]
    """The points of all stones that are dead."""


class Engine:
    """The state of one GTP session. One thread uses it; another may call `begin_shutdown`, and use `lateness`."""

    settings: EngineSettings
    """Replaced as a whole when a parameter changes."""
    named: set[str]
    """The names of the parameters that somebody gave a value to, here or before the session."""
    clock: Clock
    komi: float
    """The komi as the controller said it; the game's may be clamped. It is known once the rules are loaded."""
    decision: Decision | None
    estimated: Estimate | None
    """What was last found out about the end of the game."""
    turn: Turn
    """Since when the controller's clock runs."""
    lateness: Lateness
    """By how much the next move may be late."""
    chatted: bool
    """Whether the first variation for gtp2ogs has been written to stderr."""
    draws: bool
    """Whether stderr is read by GoGui, which draws what it finds there."""
    shutting_down: bool
    """Whether the session is ending, so that nothing new may begin."""

    def __init__(
        self,
        settings: EngineSettings,
        make_player: Callable[[], Player],
        on_compile: Callable[[], None] = lambda: None,
        named: Iterable[str] = (),
    ) -> None:
        self.settings = settings
        self.named = set(named)
        self.log = DialogueLog(settings.log_file)
        self.loader = Loader(make_player, *settings.board, on_compile)
        self.clock = Clock()
        self.decision = None
        self.estimated = None
        self.turn = Turn()
        self.lateness = Lateness()
        self.pulse = Pulse(self.lateness)
        self.chatted = False
        self.draws = False
        self.shutting_down = False
        self._game: Game | None = None
        self._pondering: Pondering | None = None
        self._warm = settings.board
        self._may_ponder = False

    # --- Parts that take time to load -------------------------------------------------------------------------

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

    # --- Changing the game ------------------------------------------------------------------------------------

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

    def new_game(self, width: int, height: int) -> None:
        """Begin a game with full clocks under the present rules and komi. Raises ValueError for a bad size."""
        from go_rules.game import Game

        self.replace_game(Game(width, height, self.game.rules, self.komi))

    def set_komi(self, komi: float) -> None:
        """Set the komi of the game to any finite number."""
        self.game.set_komi(komi)
        self.komi = komi + 0.0  # no negative zero

    def set_rules(self, rules: Rules) -> None:
        """Play on under other rules; moves that they would not have allowed stay.

        Raises GtpError where they leave out a clean-up phase without which a move cannot have been played."""
        from go_rules.game import RuleViolation

        try:
            self.game.set_rules(rules)
        except RuleViolation as error:
            raise GtpError(f"the moves so far are impossible under these rules: {error}") from None

    def white_score(self, score: float) -> float:
        """Correct a score of the game, white's points minus black's, to the komi exactly as the controller said it."""
        return score - float(self.game.record["komi"]) + self.komi

    # --- Pondering --------------------------------------------------------------------------------------------

    def ponder_next(self) -> None:
        """Ask for pondering. It starts after the reply has been sent."""
        self._may_ponder = True

    def after_reply(self) -> None:
        """Do what has to wait until the reply has been sent: watch how busy the machine is, and begin to ponder."""
        if self.has_clock:
            self.pulse.begin()
        wanted, self._may_ponder = self._may_ponder, False
        if not wanted or self.shutting_down or not self.settings.ponder or self.game.is_over or not self._can_ponder():
            return
        from gtp_engine.thinking.pondering import Pondering
        from search.request import Limits

        if self._pondering is None:
            self._pondering = Pondering(self.log.failure)
        settings = self.settings
        limits = Limits(settings.ponder_visits, settings.ponder_time, False, settings.ponder_playouts)
        self._pondering.start(self.loader.await_player(), self.game, limits)

    def _can_ponder(self) -> bool:
        """Whether pondering ends soon enough for the clock, as far as is known: a slow network has to end its work."""
        left = self.clock.left[opponent(self.game.to_play)]
        return self.lateness.pondering <= PONDERING_SHARE * most_seconds(self.clock.control, left)

    def interrupt_pondering(self) -> None:
        """Ask pondering to end, and do not wait: it has a game of its own, and who needs the player waits for it."""
        if self._pondering is not None:
            self._pondering.interrupt()

    def stop_pondering(self) -> None:
        """End pondering, if it is under way, and wait for its end."""
        if self._pondering is not None:
            self.lateness.pondered(self._pondering.stop())

    # --- The end ----------------------------------------------------------------------------------------------

    def begin_shutdown(self) -> None:
        """Say that the session is ending, so that nobody waits for anything any more. Any thread may call this."""
        self.shutting_down = True
        self.loader.abandon()

    def close(self) -> None:
        """End the player's threads and free its memory."""
        self.stop_pondering()
        if self.loader.player is not None:
            self.loader.player.close()
