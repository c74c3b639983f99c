"""Commands with which the bridges to game servers tell the engine something. Nothing heavy is imported here."""

from __future__ import annotations

from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.version import VERSION


def cgos_opponent_name(_engine: Engine, _call: Call) -> str:
    return ""


def cgos_opponent_rating(_engine: Engine, _call: Call) -> str:
    return ""


def cgos_gameover(_engine: Engine, _call: Call) -> str:
    return ""


def kgs_game_over(_engine: Engine, _call: Call) -> str:
    """Do nothing: if the players disagree about dead stones, play goes on from the present position."""
    return ""


def kgs_chat(engine: Engine, _call: Call) -> str:
    """Reply to a chat message with what the engine thinks of the game."""
    decision = engine.decision
    if decision is None:
        return f"I am {engine.settings.gtp_name} {VERSION}, a Go program."
    result = decision.result
    return (
        f"After {result.visits} visits I expect to win with {100 * result.winrate:.0f} %, by {result.lead:+.1f} points."
    )
