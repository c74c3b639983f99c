"""The parameters that all players without a network have: their playouts, and how they end a game."""

from __future__ import annotations

from dataclasses import dataclass

from search.parameters import ParameterTable, parameter


@dataclass(frozen=True)
class PlayoutParameters(ParameterTable, section="playouts", title="Players without a network", live=True):
    """How games are played out, and what is made of their results."""

    # --- Playouts ---------------------------------------------------------------------------------------------
    capture_rate: float = parameter(0.9, "How often playouts look for captures and chains to save.", low=0.0, high=1.0)
    vital_rate: float = parameter(
        0.9, "How often playouts look for the vital point of a small space.", low=0.0, high=1.0
    )
    pattern_rate: float = parameter(
        0.9, "How often playouts look for patterns around the last move.", low=0.0, high=1.0
    )
    self_atari_rate: float = parameter(
        0.4, "How often playouts do not mind putting themselves in atari.", low=0.0, high=1.0
    )
    score_weight: float = parameter(
        0.03, "Part of a playout's value that is the score rather than the win.", low=0.0, high=1.0
    )

    # --- Move choice ------------------------------------------------------------------------------------------
    early_stop: bool = parameter(True, "End a search as soon as the rest of it cannot change the move.")
    resign_winrate: float = parameter(0.1, "Give up below this winning chance.", low=0.0, high=0.5)
    resign_visits: float = parameter(
        1000.0, "... but not before the search has seen so much.", unit="visits", low=1.0, high=1e6
    )
    settled: float = parameter(0.9, "|ownership| from which a point counts as decided.", low=0.5, high=1.0)
