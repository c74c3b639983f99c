"""Positions with kos and the rules that judge them, for tests of games."""

from __future__ import annotations

import dataclasses

from go_rules.rule_names import preset
from go_rules.rules import BONUS_NONE, KO_POSITIONAL, KO_SIMPLE, KO_SITUATIONAL, Rules

POSITIONAL = Rules(ko=KO_POSITIONAL, white_handicap_bonus=BONUS_NONE)
SITUATIONAL = Rules(ko=KO_SITUATIONAL, white_handicap_bonus=BONUS_NONE)
SIMPLE = Rules(ko=KO_SIMPLE, white_handicap_bonus=BONUS_NONE)
SUICIDE = Rules(ko=KO_POSITIONAL, suicide=True, white_handicap_bonus=BONUS_NONE)
JAPANESE = dataclasses.replace(preset("japanese")[0], cleanup=True)

KO = """
    . X O .
    X O . O
    . X O .
"""

# Black plays A3, white takes both black stones at C3, and black could take that one stone back at B3.
SEND_TWO = """
    . X . X
    O O X .
    . . . .
"""

TRIPLE_KO = """
    . X O .
    X O . O
    . X O .
    . . . .
    . X O .
    X . X O
    . X O .
    . . . .
    . X O .
    X O . O
    . X O .
"""
TRIPLE_KO_CYCLE = "B C10 W B6 B C2 W B10 B C6 W B2"
