"""The position that a search without a network starts from, as its kernels need it."""

from __future__ import annotations

import numpy as np

from go_rules.board import copy_position
from go_rules.game import Game
from go_rules.phases import give_turn, live_phase
from go_rules.position import PHASE_OVER


def set_root(root: np.void, game: Game, colour: int) -> None:
    """Copy a game's present position to the POSITION `root`, with `colour` to play. A game that is over goes on."""
    copy_position(root, game.position)
    give_turn(root, colour)
    if root["phase"] == PHASE_OVER:
        root["phase"] = live_phase(root, game.record)
        root["passes"] = 0
