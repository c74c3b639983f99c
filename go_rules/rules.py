"""Rule sets in KataGo's terms, and the record that the kernels read. rule_names.py knows them by name."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nobi_machine.text import shown

KO_SIMPLE, KO_POSITIONAL, KO_SITUATIONAL = 0, 1, 2
SCORING_AREA, SCORING_TERRITORY = 0, 1
TAX_NONE, TAX_SEKI, TAX_ALL = 0, 1, 2
BONUS_NONE, BONUS_N_MINUS_1, BONUS_N = 0, 1, 2

KO_NAMES = ("SIMPLE", "POSITIONAL", "SITUATIONAL")
SCORING_NAMES = ("AREA", "TERRITORY")
TAX_NAMES = ("NONE", "SEKI", "ALL")
BONUS_NAMES = ("0", "N-1", "N")

RULES = np.dtype(
    [
        ("komi", "f4"),  # points for white, as set
        ("handicap_bonus", "f4"),  # further points for white for black's handicap stones
        ("ko", "i1"),  # KO_*
        ("scoring", "i1"),  # SCORING_*
        ("tax", "i1"),  # TAX_*
        ("suicide", "i1"),  # 1: removing one's own chain of two or more stones is legal
        ("has_button", "i1"),  # 1: the first pass earns half a point
        ("friendly_pass", "i1"),  # 1: after two passes the players agree which stones are dead
        ("draw_shift", "f4"),  # points that networks see white have besides: how far a draw is from being half a win
        ("cleanup", "i1"),  # territory scoring: 1 if two passes lead to the clean-up phases, 0 if they end the game
    ],
    align=True,
)
"""What the kernels need of a game's rules. `Rules.record` makes it."""


KOMI_LIMIT = 10_000.0
"""GTP wants any komi accepted, however ridiculous; the kernels' 32-bit arithmetic gets no more than this."""


def clamped_komi(komi: float) -> float:
    """Return the komi that a game has where somebody asked for `komi`: at most KOMI_LIMIT in either direction, and
    never a negative zero. Raises ValueError for what is not finite."""
    if not math.isfinite(komi):
        raise ValueError(f"no komi: {komi}")
    return max(-KOMI_LIMIT, min(KOMI_LIMIT, float(komi))) + 0.0


class RulesError(ValueError):
    """There is no such rule set, rule or value."""


class ButtonError(RulesError):
    """The rules have a button under territory scoring, which no network has learned."""

    def __init__(self, rules: Rules) -> None:
        super().__init__("a button needs area scoring")
        self.without = dataclasses.replace(rules, has_button=False)
        """The same rules without it."""


@dataclass(frozen=True)
class Rules:
    """One rule set in KataGo's terms (https://lightvector.github.io/KataGo/rules.html); without arguments that of OGS's
    Chinese rules."""

    ko: int = KO_POSITIONAL
    """KO_SIMPLE, KO_POSITIONAL or KO_SITUATIONAL: which positions may not come back."""
    scoring: int = SCORING_AREA
    """SCORING_AREA or SCORING_TERRITORY."""
    tax: int = TAX_NONE
    """TAX_NONE; TAX_SEKI: no points for territory in seki; TAX_ALL: besides, two points of each group's count less."""
    suicide: bool = False
    """Whether suicide of several stones is legal."""
    has_button: bool = False
    """Whether the first pass earns half a point (area scoring)."""
    white_handicap_bonus: int = BONUS_N
    """BONUS_NONE, BONUS_N or BONUS_N_MINUS_1: how many points white gets for black's N handicap stones."""
    friendly_pass: bool = True
    """Whether the players agree, after two passes, which stones are dead. Otherwise the board is counted as it stands,
    so dead stones have to be taken off before passing."""
    cleanup: bool = False
    """Whether, under territory scoring, two clean-up phases follow the game, in which disputes are played out; without
    them the players agree which stones are dead. Searches and self-play need them. No part of a rule set's name or
    JSON."""

    def record(self, komi: float, handicap_stones: int = 0) -> np.void:
        """Make the RULES record of a game with this komi and this number of black handicap stones.

        Raises ValueError for a komi that is not finite; a ridiculous one is clamped.
        """
        bonus = {BONUS_NONE: 0, BONUS_N_MINUS_1: max(0, handicap_stones - 1), BONUS_N: handicap_stones}
        out = np.zeros(1, RULES)
        out["komi"] = clamped_komi(komi)
        out["handicap_bonus"] = bonus[self.white_handicap_bonus]
        for name in ("ko", "scoring", "tax", "suicide", "has_button", "friendly_pass", "cleanup"):
            out[name] = getattr(self, name)
        return out[0]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `kata-get-rules` prints."""
        return {
            "hasButton": self.has_button,
            "ko": KO_NAMES[self.ko],
            "scoring": SCORING_NAMES[self.scoring],
            "suicide": self.suicide,
            "tax": TAX_NAMES[self.tax],
            "whiteHandicapBonus": BONUS_NAMES[self.white_handicap_bonus],
            "friendlyPassOk": self.friendly_pass,
        }

    def with_value(self, key: str, value: object) -> Rules:
        """Return this rule set with one of the keys of `to_json` changed, in any letter case. Raises RulesError."""
        text = str(value).strip().strip('"').upper() if isinstance(value, (str, int, float)) else ""
        folded = key.strip().lower()
        if folded in _CHOICES:
            field, names = _CHOICES[folded]
            if text not in names:
                given = "null" if value is None else shown(value)
                raise RulesError(f"{shown(key)} must be one of {', '.join(names)}, not {given}")
            changes: dict[str, Any] = {field: names.index(text)}
            return dataclasses.replace(self, **changes)
        if folded in _FLAGS:
            if text not in ("TRUE", "FALSE"):
                raise RulesError(f"{shown(key)} must be true or false, not {shown(value)}")
            return dataclasses.replace(self, **{_FLAGS[folded]: text == "TRUE"})
        raise RulesError(f"unknown rule: {shown(key)}")

    def known_to_networks(self) -> Rules:
        """Return these rules, if there are networks that have learned such. Raises ButtonError."""
        if self.has_button and self.scoring != SCORING_AREA:
            raise ButtonError(self)
        return self


_CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "ko": ("ko", KO_NAMES),
    "scoring": ("scoring", SCORING_NAMES),
    "score": ("scoring", SCORING_NAMES),
    "tax": ("tax", TAX_NAMES),
    "whitehandicapbonus": ("white_handicap_bonus", BONUS_NAMES),
}
_FLAGS = {"suicide": "suicide", "hasbutton": "has_button", "button": "has_button", "friendlypassok": "friendly_pass"}
