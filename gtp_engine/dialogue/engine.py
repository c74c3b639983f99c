"""The state behind the commands: game, clock, player and settings, and what several commands do with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.dialogue.journal import Journal
from gtp_engine.dialogue.loading import Startup
from gtp_engine.dialogue.protocol import GtpError
from gtp_engine.thinking.clock import Clock

if TYPE_CHECKING:
    from go_rules.game import Game
    from go_rules.rules import Rules
    from gtp_engine.thinking.pondering import Pondering
    from search.player import Player
    from search.result import SearchResult

KOMI_LIMIT = 10_000.0
"""GTP wants any komi accepted, however ridiculous; the search's 32-bit arithmetic gets no more than this."""


@dataclass(frozen=True)
class Decision:
    """The last move the engine was asked for."""

    colour: int
    point: int
    """PASS and RESIGN included."""
    result: SearchResult
    move_number: int
    """Moves played before it."""


class Engine:
    """One dialogue's state. Used from one thread, except for the player's own threads."""

    settings: EngineSettings
    """Replaced as a whole when a parameter changes."""
    clock: Clock
    komi: float
    """As the controller said it; `game.komi` may be a clamped one. Meaningful once the rules are ready."""
    decision: Decision | None
    estimated: object
    """The last Estimate (estimate.py), or None."""
    overshoot: float
    """Seconds by which recent searches outlasted their limit."""
    hurried: bool
    """The session is ending: nothing new is begun."""

    def __init__(
        self, settings: EngineSettings, make_player: Callable[[], Player], on_compile: Callable[[], None] = lambda: None
    ) -> None:
        self.settings = settings
        self.journal = Journal(settings.log_file)
        self.startup = Startup(make_player, *settings.board, on_compile)
        self.clock = Clock()
        self.decision = None
        self.estimated = None
        self.overshoot = 0.0
        self.hurried = False
        self._game: Game | None = None
        self._pondering: Pondering | None = None
        self._warm: set[tuple[int, int]] = {settings.board}
        self._may_ponder = False

    # --- Parts that take time to load -------------------------------------------------------------------------

    @property
    def game(self) -> Game:
        """The game; waits for the rules."""
        if self._game is None:
            self.startup.await_rules()
            from go_rules.game import Game
            from go_rules.rules import preset

            rules, komi = preset(self.settings.rules)
            self.komi = komi if self.settings.komi is None else self.settings.komi
            self._game = Game(*self.settings.board, rules, clamped(self.komi))
        return self._game

    @property
    def player(self) -> Player:
        """The player, ready for this board; waits for it and stops its pondering."""
        player = self.startup.await_player()
        self.stop_pondering()
        size = (self.game.width, self.game.height)
        if size not in self._warm:
            player.warm_up(*size)
            self._warm.add(size)
        return player

    def get_ready(self) -> None:
        """Load and compile whatever the next move needs, before a clock starts."""
        if not self.hurried:
            _ = self.player

    # --- Changing the game ------------------------------------------------------------------------------------

    def replace_game(self, game: Game, komi: float | None = None) -> None:
        """Go on with another game; None keeps the komi."""
        if komi is not None:
            self.komi = komi
        self._game = game
        self.decision = None

    def new_game(self, width: int, height: int) -> None:
        """An empty board with full clocks under the present rules and komi. Raises ValueError for a bad size."""
        from go_rules.game import Game

        self.replace_game(Game(width, height, self.game.rules, clamped(self.komi)))
        self.clock.restart()
        self.get_ready()

    def set_komi(self, komi: float) -> None:
        self.game.set_komi(clamped(komi))
        self.komi = komi

    def set_rules(self, rules: Rules) -> None:
        """Raises GtpError where a move of the game would have been illegal."""
        from go_rules.game import RuleViolation

        try:
            self.game.set_rules(rules)
        except RuleViolation:
            raise GtpError("moves of this game are illegal under those rules") from None

    def white_score(self, score: float) -> float:
        """A score of `game`, white's view, with the komi exactly as the controller said it."""
        return score - float(self.game.record["komi"]) + self.komi

    # --- Pondering --------------------------------------------------------------------------------------------

    def ponder_next(self) -> None:
        """Start pondering once the reply has been sent."""
        self._may_ponder = True

    def after_reply(self) -> None:
        """The loop calls this when a reply is out."""
        wanted, self._may_ponder = self._may_ponder, False
        if not wanted or self.hurried or not self.settings.ponder or self.game.is_over:
            return
        if self._pondering is None:
            from gtp_engine.thinking.pondering import Pondering

            self._pondering = Pondering(self.journal.failure)
        self._pondering.start(self.startup.await_player(), self.game)

    def stop_pondering(self) -> None:
        if self._pondering is not None:
            self._pondering.stop()

    # --- The end ----------------------------------------------------------------------------------------------

    def hurry(self) -> None:
        """From any thread: the session is ending, do not wait for anything any more."""
        self.hurried = True
        self.startup.abandon()

    def close(self) -> None:
        """Release the player's threads and memory."""
        self.stop_pondering()
        if self.startup.player is not None:
            self.startup.player.close()


def clamped(komi: float) -> float:
    return max(-KOMI_LIMIT, min(KOMI_LIMIT, komi))
