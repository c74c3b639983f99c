"""What a GTP engine is told before its first command: everything but the player itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gtp_engine.version import VERSION

DEFAULT_SECONDS = 5.0
"""A move's thinking time where neither the user nor the controller limits anything."""


@dataclass(frozen=True)
class EngineSettings:
    """Light on purpose: made before numpy or a network are loaded. Names are checked by whoever fills it in."""

    gtp_name: str = "Nobi"
    """What `name` answers; some GUIs choose their dialect by it."""
    version: str = VERSION
    """What `version` answers. Lizzie needs `x.NN`, with an integer NN."""
    width: int = 19
    height: int = 19
    """The board before the first `boardsize`."""
    rules: str = "chinese-ogs"
    """A preset of go_rules.rules."""
    komi: float | None = None
    """None is the preset's customary komi."""
    visits: int | None = None
    """Visits a move at most."""
    seconds: float | None = None
    """Seconds a move at most, clock or no clock."""
    ponder: bool = False
    """Search on while the opponent thinks."""
    lag: float = 0.3
    """Seconds a move that the controller's clock is expected to charge beyond our own thinking."""
    analysis_pv: int = 20
    """Moves of a principal variation shown at most."""
    ogs_chat: bool = False
    """After each move, write the line on stderr that gtp2ogs shows as the engine's analysis."""
    log: Path | None = None
    """Where the GTP dialogue and the tracebacks of internal errors go; None writes neither."""

    def search_limits(self) -> tuple[int | None, float | None]:
        """Visits and seconds of a move without a clock: DEFAULT_SECONDS where the user sets neither."""
        if self.visits is None and self.seconds is None:
            return None, DEFAULT_SECONDS
        return self.visits, self.seconds
