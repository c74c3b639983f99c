"""Commands that draw on GoGui's board, for its Analyze dialog. `gogui-analyze_commands` names them."""

from __future__ import annotations

from gtp_engine.analysis.pictures import influence_picture, ownership_picture, policy_picture, variation_picture
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import GtpError
from gtp_engine.thinking.estimate import short_search
from nets.evaluator import Evaluator


def nobi_policy(engine: Engine, call: Call) -> str:
    """Draw the moves that the network would look at first."""
    call.expect(0)
    return policy_picture(_network(engine), engine.game, engine.game.to_play)


def nobi_influence(engine: Engine, call: Call) -> str:
    """Draw whose each point will be, as the network guesses without a search."""
    call.expect(0)
    return influence_picture(_network(engine), engine.game, engine.game.to_play)


def nobi_ownership(engine: Engine, call: Call) -> str:
    """Draw whose each point will be, as a short search finds it."""
    call.expect(0)
    return ownership_picture(engine.game, short_search(engine, call, engine.game, engine.game.to_play))


def nobi_variation(engine: Engine, call: Call) -> str:
    """Draw the best line of play that a short search finds."""
    call.expect(0)
    result = short_search(engine, call, engine.game, engine.game.to_play)
    return variation_picture(engine.game, result, engine.settings.longest_variation)


def _network(engine: Engine) -> Evaluator:
    evaluator = engine.player.evaluator
    if evaluator is None:
        raise GtpError("this player has no network")
    return evaluator
