"""Loading in the background, so that the first commands are answered at once.

Stage 1 imports numpy and numba and compiles the rules' kernels; stage 2 makes the player: its network and its
own kernels. Commands wait for the stage they need, and give up waiting when the session ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gtp_engine.errors import Refused
from nobi_machine.streams import note

if TYPE_CHECKING:
    from search.player import Player

STILL_LOADING = "interrupted while the engine was being loaded"
"""What a command that still waits is told where the session ends."""

LOADING, RULES_READY, PLAYER_READY, FAILED = range(4)


class Loader:
    """Loads the rules and then the player in a thread of its own. It runs once."""

    def __init__(
        self, make_player: Callable[[], Player], width: int, height: int, on_compile: Callable[[], None] = lambda: None
    ) -> None:
        """`make_player` runs in the loading thread. `on_compile` is called once, if anything has to be compiled.

        `width` and `height` are the board for which the player is warmed up.
        """
        self._make_player = make_player
        self._on_compile = on_compile
        self._size = (width, height)
        self._changed = threading.Condition()
        self._abandoned = False
        self.stage = LOADING
        self.player: Player | None = None
        """None if it is not ready yet."""
        self.failure: BaseException | None = None
        """Why loading failed, if it did."""
        self.on_failure: Callable[[BaseException], None] = lambda error: None
        """Called in the loading thread if loading fails."""

    def begin(self) -> None:
        """Start loading and return at once."""
        threading.Thread(target=self._run, name="start-up", daemon=True).start()

    def abandon(self) -> None:
        """Make everyone who waits give up."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()

    @property
    def is_loading(self) -> bool:
        """Whether something is still being loaded."""
        return self.stage < PLAYER_READY

    def await_rules(self) -> None:
        """Wait until the rules are loaded. Raises Refused if the session ends or if loading failed."""
        self._await(RULES_READY)

    def await_player(self) -> Player:
        """Wait until the player is ready and return it. Raises Refused as `await_rules` does."""
        self._await(PLAYER_READY)
        assert self.player is not None
        return self.player

    def _await(self, stage: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.stage >= stage or self._abandoned)
            if self.stage == FAILED:
                raise Refused("the engine could not be loaded")
            if self.stage < stage:
                raise Refused(STILL_LOADING)

    def _run(self) -> None:
        try:
            warm_up_rules(self._on_compile)
            self._reach(RULES_READY)
            player = self._make_player()
            player.warm_up(*self._size)
            self.player = player
            self._reach(PLAYER_READY)
        except BaseException as error:
            self.failure = error
            # Before anyone is told: a command that waits may be followed by `quit`, which ends the process at once.
            self.on_failure(error)
            self._reach(FAILED)

    def _reach(self, stage: int) -> None:
        with self._changed:
            self.stage = stage
            self._changed.notify_all()


def warm_up_rules(on_first: Callable[[], None] = lambda: None) -> None:
    """Import the rules, and compile or load the kernels that `Game` calls.

    Before the first kernel that this process compiles, be it long after this function has returned, the user is told
    and `on_first` is called.
    """
    from go_rules.game import warm_up
    from nobi_machine import jit

    def announce(_kernel: str) -> None:
        jit.on_compile(None)
        note("preparing for this computer; this happens once and takes up to half a minute")
        on_first()

    if jit.compilations == 0:
        jit.on_compile(announce)
    warm_up()
