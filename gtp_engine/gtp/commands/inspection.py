"""Commands that show the engine's state: the board, its last move, and what the engine is made of."""

from __future__ import annotations

import json
from pathlib import Path

from go_rules.points import BLACK, COLOUR_NAMES, WHITE, to_vertex
from gtp_engine.configuration.configuration import network_path
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.commands.parameters import imitator
from gtp_engine.gtp.commands.rules import rules_json
from gtp_engine.networks import described
from gtp_engine.session.session import Session
from gtp_engine.session.thinking import move_text, pv_text
from gtp_engine.version import VERSION

CANDIDATES_SHOWN = 3


def showboard(session: Session, _call: Call) -> str:
    """Reply with the board as text. The last three moves are numbered, the newest with 1."""
    game = session.game
    captured = game.position["captured"]
    lines = [
        f"Moves: {len(game.moves)}",
        str(game),
        f"Next player: {COLOUR_NAMES[game.to_play].capitalize()}",
        f"Rules: {rules_json(game.rules, komi=session.komi)}",
        f"Black stones captured: {captured[BLACK]}",
        f"White stones captured: {captured[WHITE]}",
    ]
    return "\n".join(lines)


def gomill_explain_last_move(session: Session, _call: Call) -> str:
    """Reply with what the engine thought when it was last asked for a move."""
    return "\n".join(explanation(session))


def debug_moves(session: Session, call: Call) -> str:
    """Reply with the board and all moves that the last search looked at, when the engine was asked for a move."""
    call.expect(0)
    return "\n".join([showboard(session, call), *explanation(session, most=None)])


def explanation(session: Session, most: int | None = CANDIDATES_SHOWN) -> list[str]:
    """Explain the last move that the engine was asked for, in lines: with `most` of its moves, or with all for None."""
    decision = session.decision
    if decision is None:
        return ["no move yet"]
    result, height = decision.result, session.game.height
    lines = [
        f"move {decision.move_number + 1}: {COLOUR_NAMES[decision.colour]} {move_text(decision.point, height)}",
        f"visits {result.visits} winrate {result.winrate:.3f} lead {result.lead:+.1f} "
        f"seconds {result.seconds:.2f} stopped by {result.reason.value}",
    ]
    lines += [
        f"{to_vertex(move.point, height)}: visits {move.visits} winrate {move.winrate:.3f} "
        f"lead {move.lead:+.1f} prior {move.prior:.3f} pv {pv_text(move.pv, height, 8)}"
        for move in result.moves
        if move.visits
    ][:most]
    return lines


def gomill_describe_engine(session: Session, _call: Call) -> str:
    """Reply with the engine's name, its version, its player and its network."""
    player = session.player
    lines = [f"{session.settings.gtp_name} {VERSION}", f"player {player.name}"]
    if player.evaluator is not None:
        network = player.evaluator.attributes
        lines.append(f"network {network.name} ({network.precision}, {network.provider})")
    return "\n".join(lines)


def kata_get_models(session: Session, _call: Call) -> str:
    """Reply with the networks in use as JSON, in KataGo's form: a list of objects, the human network's last."""
    evaluator = session.player.evaluator
    if evaluator is None:
        return "[]"
    path = network_path(session.settings.net) or Path(evaluator.attributes.name)
    batch = session.player.parameters.batch_for(evaluator, session.game.width, session.game.height)
    models = [described(evaluator, path, batch)]
    human = imitator(session)
    if human is not None and human is not evaluator:
        human_path = network_path(session.settings.human_net) or Path(human.attributes.name)
        models.append(described(human, human_path, batch))
    return json.dumps(models, sort_keys=True, separators=(",", ":"))
