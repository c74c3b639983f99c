"""Rule sets by name: presets, KataGo's notations of rules as text and as JSON, and the RU property of SGF."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from go_rules.rules import (
    BONUS_N,
    BONUS_N_MINUS_1,
    BONUS_NONE,
    KO_POSITIONAL,
    KO_SIMPLE,
    KO_SITUATIONAL,
    SCORING_AREA,
    SCORING_TERRITORY,
    TAX_ALL,
    TAX_NONE,
    TAX_SEKI,
    Rules,
    RulesError,
)
from nobi_machine.text import parse_json, parse_number, shown

_JAPANESE = Rules(KO_SIMPLE, SCORING_TERRITORY, TAX_SEKI, False, False, BONUS_NONE, False)
_CHINESE = Rules(KO_SIMPLE, SCORING_AREA, TAX_NONE, False, False, BONUS_N, True)
_CHINESE_SUPERKO = dataclasses.replace(_CHINESE, ko=KO_POSITIONAL)
_TROMP_TAYLOR = Rules(KO_POSITIONAL, SCORING_AREA, TAX_NONE, True, False, BONUS_NONE, False)
_AGA = Rules(KO_SITUATIONAL, SCORING_AREA, TAX_NONE, False, False, BONUS_N_MINUS_1, True)

PRESETS: dict[str, tuple[Rules, float]] = {
    "tromp-taylor": (_TROMP_TAYLOR, 7.5),
    "chinese": (_CHINESE, 7.5),
    "chinese-ogs": (_CHINESE_SUPERKO, 7.5),
    "chinese-kgs": (_CHINESE_SUPERKO, 7.5),
    "japanese": (_JAPANESE, 6.5),
    "korean": (_JAPANESE, 6.5),
    "stone-scoring": (Rules(KO_SIMPLE, SCORING_AREA, TAX_ALL, False, False, BONUS_NONE, True), 7.5),
    "ancient-territory": (Rules(KO_SIMPLE, SCORING_TERRITORY, TAX_ALL, False, False, BONUS_NONE, False), 6.5),
    "aga": (_AGA, 7.5),
    "bga": (_AGA, 7.5),
    "aga-button": (dataclasses.replace(_AGA, has_button=True), 7.0),
    "new-zealand": (Rules(KO_SITUATIONAL, SCORING_AREA, TAX_NONE, True, False, BONUS_NONE, True), 7.0),
    "ing": (dataclasses.replace(_TROMP_TAYLOR, friendly_pass=True), 7.5),
}
"""KataGo's presets by name: the rules and their usual komi."""

OTHER_NAMES = {"nz": "new-zealand", "french": "aga", "goe": "ing", "ancient-area": "stone-scoring"}
"""Further names of presets, as KataGo and SGF have them."""

KOMI_KEY = "komi"
"""The key of an object of rules that is no rule."""

LONGEST_NAME = 200
"""Characters of a text that may name rules."""

DEFAULT_PRESET = "chinese-ogs"
"""Area scoring, positional superko, no suicide: a move that is legal under it is legal on OGS, KGS and CGOS."""

DEFAULT_RULES, DEFAULT_KOMI = PRESETS[DEFAULT_PRESET]

_SPELLINGS = {
    spelling: preset_name
    for name, preset_name in [*((name, name) for name in PRESETS), *OTHER_NAMES.items()]
    for spelling in (name, name.replace("-", ""))
}


def preset(name: str) -> tuple[Rules, float]:
    """Return a preset's rules and komi. Its name may have `_`, `-`, spaces or nothing between its words, in any letter
    case. Raises RulesError."""
    key = "-".join(name.strip().strip('"').lower().replace("_", " ").replace("-", " ").split())
    if key not in _SPELLINGS:
        raise RulesError(f"unknown rules: {shown(name)} (known: {', '.join(PRESETS)})")
    return PRESETS[_SPELLINGS[key]]


# --- KataGo's notations -------------------------------------------------------------------------------------------


def rules_from_object(values: Mapping[str, object]) -> Rules:
    """Return the rules that an object like that of `Rules.to_json` says.

    What it leaves out is as in Tromp-Taylor rules, except that territory scoring does not count points in seki. Raises
    RulesError.
    """
    rules = _TROMP_TAYLOR
    for key, value in values.items():
        rules = rules.with_value(key, value)
    if rules.scoring == SCORING_TERRITORY and "tax" not in (key.strip().lower() for key in values):
        rules = dataclasses.replace(rules, tax=TAX_SEKI)
    return rules.known_to_networks()


def read_rules(text: str) -> Rules:
    """Return the rules that a text says: what `named_rules` reads, or the object of `rules_from_object` in JSON, whose
    komi does not matter here. Raises RulesError."""
    return _rules_in(_object(text)) if text.lstrip().startswith("{") else named_rules(text)


def named_rules(text: str) -> Rules:
    """Return the rules of a preset, or those of KataGo's notation `koSIMPLEscoreAREAtaxNONEsui0`.

    The parts of the notation may be in any order and may be left out. A komi in it changes nothing here. Raises
    RulesError.
    """
    if len(text) > LONGEST_NAME:
        raise RulesError(f"unknown rules: {shown(text)}")
    notation = text.strip()
    if not _NOTATION.fullmatch(notation):
        return preset(text)[0]
    return rules_from_object({_KEYS.get(key, key): _value(key, value) for key, value in _PART.findall(notation) if key})


def rules_and_komi(text: str) -> tuple[Rules, float]:
    """Return the rules that a configuration names, and the komi that goes with them: that of the preset, or the one
    that the text says, or KataGo's for such rules.

    The text is what `named_rules` reads, or the object of `rules_from_object` in JSON, which may have a komi. Raises
    RulesError.
    """
    if text.lstrip().startswith("{"):
        values = _object(text)
        rules = _rules_in(values)
        return rules, _komi(next((value for key, value in values.items() if _is_komi(key)), None), rules)
    rules = named_rules(text)
    with contextlib.suppress(RulesError):
        return preset(text)
    said = _KOMI.search(text)
    return rules, _komi(said and said[1], rules)


def _object(text: str) -> dict[str, object]:
    try:
        values = parse_json(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise RulesError(f"no object in JSON: {shown(text)}")
    return values


def _rules_in(values: Mapping[str, object]) -> Rules:
    return rules_from_object({key: value for key, value in values.items() if not _is_komi(key)})


def _is_komi(key: str) -> bool:
    return key.strip().lower() == KOMI_KEY


def usual_komi(rules: Rules) -> float:
    """Return KataGo's komi for rules that nothing is said of but what they are."""
    return 7.0 if rules.has_button else 6.5 if rules.scoring == SCORING_TERRITORY else 7.5


def _komi(said: object, rules: Rules) -> float:
    """The komi as a text or a number, or KataGo's for such rules where it is None. Raises RulesError."""
    if said is None:
        return usual_komi(rules)
    try:
        return parse_number(str(said))
    except ValueError as error:
        raise RulesError(f"{KOMI_KEY} must be {error}, not {shown(said)}") from None


_KEYS = {"sui": "suicide", "whb": "whiteHandicapBonus", "fpok": "friendlyPassOk", "scoring": "score"}
_PARTS = (
    r"(?:komi[-+.0-9]+|(ko|score|scoring|tax|sui|button|whb|fpok)\s*"
    r"(SIMPLE|POSITIONAL|SITUATIONAL|AREA|TERRITORY|NONE|SEKI|ALL|N-1|N|[01]))\s*"
)
_PART = re.compile(_PARTS)
_KOMI = re.compile(r"komi([-+.0-9]+)")
_NOTATION = re.compile(f"(?:{_PARTS})+")


def _value(key: str, text: str) -> object:
    return text if key == "whb" or text not in ("0", "1") else text == "1"


# --- SGF ----------------------------------------------------------------------------------------------------------


_WORDS = {
    "japanese": r"japan|nihon|\bjp\b|\bjpn\b|日本|일본",
    "korean": r"korea|\bkr\b|\bkor\b|韓国|韓國|韩国|한국",
    "chinese": r"chin(a|ese)|\bcn\b|\bchn\b|中国|中國|중국",
    "aga": r"\baga\b|american|usgo|\bffg\b|french",
    "bga": r"\bbga\b|british",
    "ing": r"\bing\b|\bing's\b|\bgoe\b|应氏|應氏|応氏|응씨",
    "new-zealand": r"\bnz\b|new.?zealand",
    "tromp-taylor": r"tromp",
}
"""What people call the presets in the RU property."""


def rules_from_sgf(text: str) -> tuple[Rules, float] | None:
    """Return the rules that an RU property names, and the komi that goes with them: a preset, KataGo's
    `koSIMPLEscoreAREA...`, or words such as `Japanese Rules` and `日本ルール`. None if unknown."""
    said = [name for name, words in _WORDS.items() if len(text) <= LONGEST_NAME and re.search(words, text.lower())]
    for name in (text, *said) if len(said) == 1 else (text,):
        with contextlib.suppress(RulesError):
            rules = named_rules(name)
            with contextlib.suppress(RulesError):
                return rules_and_komi(name)
            return rules, usual_komi(rules)  # the notation has a komi that is no number
    return None


def rules_to_sgf(rules: Rules) -> str:
    """Write the RU property of these rules: the name that other programs know, or else KataGo's notation."""
    common = {"japanese": "Japanese", "chinese": "Chinese", "aga": "AGA", "new-zealand": "NZ"}
    for name, (preset_rules, _) in PRESETS.items():
        if dataclasses.replace(rules, cleanup=preset_rules.cleanup) == preset_rules:
            return common.get(name, name)
    json: dict[str, Any] = rules.to_json()
    parts = [f"ko{json['ko']}score{json['scoring']}tax{json['tax']}sui{int(rules.suicide)}"]
    parts += ["button1"] if rules.has_button else []
    parts += [f"whb{json['whiteHandicapBonus']}"] if rules.white_handicap_bonus else []
    parts += ["fpok1"] if rules.friendly_pass else []
    return "".join(parts)
