"""Commands about the result of a game and the status of its stones."""

from __future__ import annotations

from go_rules.agreement import agreed_score, chains, has_no_dead, seki_stones
from go_rules.points import to_vertex
from go_rules.scoring import result_text
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import SYNTAX_ERROR, GtpError
from gtp_engine.thinking.estimate import estimate, is_finished


def final_score(engine: Engine, call: Call) -> str:
    """Reply with the result under the present rules.

    After two passes it is exact, except that the engine decides which stones are dead. Before that it is the expected
    lead, rounded to a score that is possible with this komi.
    """
    game = engine.game
    if game.is_no_result:
        return "0"
    if has_no_dead(game):
        return result_text(round(engine.white_score(game.score()), 3))
    found = estimate(engine, call)
    if is_finished(game):
        return result_text(round(engine.white_score(agreed_score(game, found.dead)), 3))
    # With a button every score differs from komi by half a point.
    half = 0.5 if game.rules.has_button else 0.0
    return result_text(round(round(found.white_lead - game.komi - half) + half + engine.komi, 3))


def final_status_list(engine: Engine, call: Call) -> str:
    """Reply with the stones that are alive, dead or in seki, one chain in each line."""
    call.expect(1)
    status = call.word(0).lower()
    if status not in ("alive", "dead", "seki"):
        raise GtpError(SYNTAX_ERROR)
    game = engine.game
    dead = frozenset[int]() if has_no_dead(game) else estimate(engine, call).dead
    seki = seki_stones(game, dead)
    lines = []
    for chain in chains(game):
        found = "dead" if chain[0] in dead else "seki" if chain[0] in seki else "alive"
        if found == status:
            lines.append(" ".join(to_vertex(point, game.height) for point in chain))
    return "\n".join(lines)
