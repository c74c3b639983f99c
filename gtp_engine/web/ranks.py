"""Levels that play as people of a rank do, beside the twelve, where a HumanSL network is at hand."""

from __future__ import annotations

from typing import Any

from gtp_engine.web.levels import LEVELS
from gtp_engine.web.refusals import Refusal
from nets.at_hand import AtHand, at_hand

RANKS = dict(enumerate([*(f"{n}k" for n in range(18, 0, -1)), *(f"{n}d" for n in range(1, 10))], start=101))
"""The ranks by the numbers of their levels, the weakest first."""
NAMES = {level.id: level.name for level in LEVELS.values()} | RANKS
"""Of all levels, by their numbers."""


def network_of_people() -> AtHand | None:
    """Return a HumanSL network at hand; None if there is none."""
    return next((each for each in at_hand() if each.is_whole and each.header and each.header.imitates_people), None)


def levels() -> dict[int, str]:
    """Return the names of all levels that can be played now, by their numbers."""
    if network_of_people() is not None:
        return NAMES
    return {each: name for each, name in NAMES.items() if each not in RANKS}


def told_levels() -> list[dict[str, Any]]:
    """Return what pages are told of the levels. `elo`: above GNU Go at its level 1, null where nobody knows."""
    elo = {number: level.elo for number, level in LEVELS.items()}
    return [
        {"id": each, "name": name, "is_rank": each in RANKS, "elo": elo.get(each)} for each, name in levels().items()
    ]


def require_level(level: int) -> None:
    """Raise Refused unless there is such a level."""
    if level not in levels():
        raise Refusal("no_such_level", level=level)
