"""Commands about the rules of the game, none of which changes the komi, and about the result that they give."""

from __future__ import annotations

import json
from typing import Any

from go_rules.agreement import chains, has_no_dead, seki_stones
from go_rules.points import to_vertex
from go_rules.rule_names import preset, read_rules
from go_rules.rules import Rules, RulesError
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.protocol import SYNTAX_ERROR, GtpError
from gtp_engine.session.session import Session

KGS_RULES = {"chinese": "chinese-kgs", "aga": "aga", "japanese": "japanese", "new_zealand": "new-zealand"}


def kata_get_rules(session: Session, _call: Call) -> str:
    """Reply with the rules as JSON."""
    return rules_json(session.game.rules)


def kata_set_rules(session: Session, call: Call) -> str:
    """Set the rules to a preset by name, to KataGo's notation of them, or to a JSON object."""
    call.word(0)
    try:
        rules = read_rules(call.command.text)
    except RulesError as error:
        raise GtpError(str(error)) from None
    session.set_rules(rules)
    return ""


def kata_set_rule(session: Session, call: Call) -> str:
    """Set one rule to a value."""
    call.expect(2)
    try:
        rules = session.game.rules.with_value(call.word(0), call.word(1)).known_to_networks()
    except RulesError as error:
        raise GtpError(str(error)) from None
    session.set_rules(rules)
    return ""


def kgs_rules(session: Session, call: Call) -> str:
    """Set the rules by the name that KGS uses. What follows the name does not matter here."""
    name = call.word(0).lower().replace("-", "_")
    if name not in KGS_RULES:
        raise GtpError(f"unknown rules (known: {', '.join(KGS_RULES)})")
    session.set_rules(preset(KGS_RULES[name])[0])
    return ""


def rules_json(rules: Rules, **more: Any) -> str:
    """Write rules, and what there is `more`, as a line of JSON, with its keys in alphabetical order as KataGo's."""
    return json.dumps({**rules.to_json(), **more}, sort_keys=True, separators=(",", ":"))


def final_score(session: Session, call: Call) -> str:
    """Reply with the result under the present rules, exact after two passes and expected before."""
    return session.score(call.stop)


def final_status_list(session: Session, call: Call) -> str:
    """Reply with the stones that are alive, dead or in seki, one chain in each line."""
    call.expect(1)
    status = call.word(0).lower()
    if status not in ("alive", "dead", "seki"):
        raise GtpError(SYNTAX_ERROR)
    game = session.game
    dead = frozenset[int]() if has_no_dead(game) else session.estimate(call.stop).dead
    seki = seki_stones(game, dead)
    lines = []
    for chain in chains(game):
        found = "dead" if chain[0] in dead else "seki" if chain[0] in seki else "alive"
        if found == status:
            lines.append(" ".join(to_vertex(point, game.height) for point in chain))
    return "\n".join(lines)
