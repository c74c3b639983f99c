"""Whom a HumanSL network is to imitate: KataGo's names of profiles, and the 192 numbers that describe one to it.

The names and the numbers are public knowledge (KataGo's docs/GTP_Extensions.md, `humanSLProfile`, and
cpp/neuralnet/sgfmetadata.cpp); this is an implementation of its own. Light: names are checked before numpy is imported.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass

META_FEATURES = 192

FORMS = "rank_20k to rank_9d, preaz_20k to preaz_9d, rank_9d_5k for black 9d and white 5k, proyear_1800 to proyear_2023"
"""Every name, for messages."""
NEEDS_PROFILE = f"this network imitates people; say whom with --human-profile NAME ({FORMS})"

RANKS = (*(f"{dan}d" for dan in range(9, 0, -1)), *(f"{kyu}k" for kyu in range(1, 21)))
"""Strongest first."""
STYLES = {"rank": datetime.date(2020, 3, 1), "preaz": datetime.date(2016, 9, 1)}
"""By the first part of a name: when the imitated amateur games were played, after and before AlphaZero."""
YEARS = range(1800, 2024)
FIRST_YEAR_OF_GO4GO = 2021

KGS, GOGOD, GO4GO = 2, 5, 6
"""Where games come from, as the networks number it."""

# Where the numbers lie.
OWN_HUMAN, OPPONENT_HUMAN = 0, 1
OWN_RANK, OPPONENT_RANK, RANK_LENGTH = 6, 40, 34
UNRATED = 74
TIME_UNKNOWN, BYO_YOMI = 75, 79
TIME, AREA, DATE, SOURCE = 82, 86, 87, 151
PERIODS, SHORTEST_PERIOD, LONGEST_PER_SHORTEST = 32, 7.0, 80_000.0
"""The date is given as the phases of so many cycles, from a week upwards, in days."""


@dataclass(frozen=True)
class HumanProfile:
    """Two players of one kind of game."""

    name: str
    black: int
    """The rank: 1 for 9d and professionals, 2 for 8d, and so on to 29 for 20k."""
    white: int
    date: datetime.date
    source: int
    """KGS, GOGOD or GO4GO; amateurs play on KGS with 20 minutes and 5 periods of 30 seconds."""


def parse_profile(name: str) -> HumanProfile:
    """Parse the name of a profile, such as `rank_5k`. Raises ValueError, one line, for any other text."""
    kind, _, rest = name.strip().lower().partition("_")
    if kind in STYLES:
        ranks = rest.split("_")
        if len(ranks) <= 2 and all(rank in RANKS for rank in ranks):
            black, white = (RANKS.index(rank) + 1 for rank in (ranks[0], ranks[-1]))
            return HumanProfile(name.strip().lower(), black, white, STYLES[kind], KGS)
    if kind == "proyear" and rest.isascii() and rest.isdigit() and len(rest) == 4 and int(rest) in YEARS:
        year = int(rest)
        source = GO4GO if year >= FIRST_YEAR_OF_GO4GO else GOGOD
        return HumanProfile(name.strip().lower(), 1, 1, datetime.date(year, 6, 1), source)
    raise ValueError(f"unknown human profile {name[:40]!r} (known: {FORMS})")


def metadata_row(profile: HumanProfile, is_black: bool, points: int) -> list[float]:
    """Compute the 192 numbers that describe the players, with black or white to move, on a board of so many points."""
    row = [0.0] * META_FEATURES
    row[OWN_HUMAN] = row[OPPONENT_HUMAN] = 1.0
    own, opponent = (profile.black, profile.white) if is_black else (profile.white, profile.black)
    for start, rank in ((OWN_RANK, own), (OPPONENT_RANK, opponent)):
        for step in range(min(rank, RANK_LENGTH)):
            row[start + step] = 1.0
    is_amateur = profile.source == KGS
    row[UNRATED] = 0.5 if is_amateur else 0.0  # nobody says whether such a game counted
    row[BYO_YOMI if is_amateur else TIME_UNKNOWN] = 1.0
    main_seconds, period_seconds, periods = (1200.0, 30.0, 5.0) if is_amateur else (0.0, 0.0, 0.0)
    row[TIME : TIME + 4] = (
        0.4 * (math.log(main_seconds + 60.0) - 6.5),
        0.3 * (math.log(period_seconds + 1.0) - 3.0),
        0.5 * (math.log(periods + 2.0) - 1.5),
        0.25 * (math.log(2.0) - 1.5),  # no stones of Canadian overtime
    )
    row[AREA] = 0.5 * math.log(points / 361.0)
    days = (profile.date - datetime.date(1970, 1, 1)).days
    for number in range(PERIODS):
        angle = 2.0 * math.pi * days / (SHORTEST_PERIOD * LONGEST_PER_SHORTEST ** (number / (PERIODS - 1)))
        row[DATE + 2 * number : DATE + 2 * number + 2] = math.cos(angle), math.sin(angle)
    row[SOURCE + profile.source] = 1.0
    return row
