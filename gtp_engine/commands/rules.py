"""Commands that show or change the rules of the game. None of them changes the komi."""

from __future__ import annotations

import json
from typing import Any

from go_rules.rule_names import preset, read_rules
from go_rules.rules import Rules, RulesError
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import GtpError

KGS_RULES = {
    "chinese": "chinese-kgs",
    "aga": "aga",
    "japanese": "japanese",
    "new_zealand": "new-zealand",
}


def kata_get_rules(engine: Engine, _call: Call) -> str:
    """Reply with the rules as JSON."""
    return rules_json(engine.game.rules)


def kata_set_rules(engine: Engine, call: Call) -> str:
    """Set the rules to a preset by name, to KataGo's notation of them, or to a JSON object."""
    call.word(0)
    try:
        rules = read_rules(call.command.text)
    except RulesError as error:
        raise GtpError(str(error)) from None
    engine.set_rules(rules)
    return ""


def kata_set_rule(engine: Engine, call: Call) -> str:
    """Set one rule to a value."""
    call.expect(2)
    try:
        rules = engine.game.rules.with_value(call.word(0), call.word(1)).known_to_networks()
    except RulesError as error:
        raise GtpError(str(error)) from None
    engine.set_rules(rules)
    return ""


def kgs_rules(engine: Engine, call: Call) -> str:
    """Set the rules by the name that KGS uses. What follows the name does not matter here."""
    name = call.word(0).lower().replace("-", "_")
    if name not in KGS_RULES:
        raise GtpError(f"unknown rules (known: {', '.join(KGS_RULES)})")
    engine.set_rules(preset(KGS_RULES[name])[0])
    return ""


def rules_json(rules: Rules, **more: Any) -> str:
    """Write rules as one line of JSON, with its keys in KataGo's order, the alphabetical one. `more` are further
    keys."""
    return json.dumps({**rules.to_json(), **more}, sort_keys=True, separators=(",", ":"))
