"""What the search kernels share: the SETTINGS and the CONTEXT of a search, and each worker's SCRATCH and LEAF records.

SETTINGS is what the kernels need of the parameters and of the root, as plain numbers. All of it lives in records of
fixed size, for the largest board: a record is handed to a kernel as one pointer, where a tuple of arrays costs as much
as playing a move.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_MOVES, MAX_POINTS, N_POINTS, PASS, point_at
from go_rules.position import POSITION
from go_rules.random import seed_state
from go_rules.rules import RULES
from go_rules.tactics.life import LIFE_WORK
from nets.features import HISTORY
from nobi_machine.records import record_fields, record_of
from search.nobi.parameters import SearchParameters
from search.nobi.tree.formulas import SCORE_MEANS, SCORE_STDEVS, WEIGHT_HALF, score_table, weight_table

SETTINGS = np.dtype(
    [
        # SearchParameters, with `root_fpu_reduction` and `wide_root_noise` as this search needs them.
        *record_fields(SearchParameters),
        # What belongs to this search alone.
        ("score_center", "f8"),  # centre of the dynamic score's S curve: points, white's view
        ("sqrt_area", "f8"),  # square root of the board's points
        ("utility_radius", "f8"),  # the largest |utility|
        ("ending_bonuses", "i1"),  # 1: root moves have ending bonuses
        ("white_doublings", "f8"),  # playout doubling advantage, white's view
        ("mirroring", "i1"),  # the colour that plays mirror Go (mirror.py), 0 if none does or it is not countered
        ("mirror_wins", "i1"),  # 1: the komi gives that colour the game if everything is mirrored
        ("has_filter", "i1"),  # 1: some moves are excluded for some depth
        ("agreement", "i1"),  # 1: two passes end the game, and then the players agree which stones are dead
        # HumanParameters, 0 where nobody is asked.
        ("asks_people", "i1"),  # 1: some visits of the root look at what people might play
        ("human_weightless", "f8"),
        ("human_weightful", "f8"),
        ("human_cpuct", "f8"),
        ("human_cpuct_permanent", "f8"),
    ],
    align=True,
)


def make_settings(parameters: SearchParameters, points: int, analysis: bool = False) -> np.void:
    """Make the record for searching a board of `points` points. What depends on the root, as `score_center`, is 0."""
    out = record_of(parameters, SETTINGS)
    if parameters.root_noise:
        out["root_fpu_reduction"] = 0.0
    if analysis:
        out["wide_root_noise"] = parameters.analysis_wide_root_noise
    out["sqrt_area"] = math.sqrt(points)
    out["utility_radius"] = (
        parameters.win_loss_factor + parameters.static_score_factor + parameters.dynamic_score_factor
    )
    return out[0]


SMALLEST_KNOWN = 5
"""The shortest side of a board on which networks know good moves. They learn on 7x7 and more, enough for 5x5 too."""

UNIFORM_POINTS = 3.0
"""`uniform_share` is this over (points - 1), at most 1: 2x2 has the share 1."""

MAX_DEPTH = 1000
"""The largest number of moves from the root to a leaf."""

SEEN_ROOM = 8192
"""Slots for superko keys of the game; a longer game's last MAX_SEEN positions are enough."""
MAX_SEEN = 6000

MAX_PASSES = 64
MAX_CYCLE = 256
"""Passes and positions of the game that are remembered where repetition matters."""

REGION_ROOM = 64
"""Points of an empty region that are looked at, at least the largest `graph_repetition_bound`."""

CONTEXT = np.dtype(
    [
        ("settings", SETTINGS),
        ("rules", RULES),
        ("roots", POSITION, (HISTORY,)),  # the game's last positions, the root last, from index 0 on
        ("root_positions", "i8"),  # how many these are
        ("root_stones", "i8"),  # stones on the root's board
        ("most_stones", "i8"),  # the most there were on any of the game's
        ("moves", "i8"),  # H * W + 1: board points and the pass
        ("uniform_share", "f8"),  # how much of a policy is shared equally by all legal moves: see `uniform_share`
        ("errors_known", "i1"),  # 1: evaluations come with error estimates
        ("points", "i2", (MAX_MOVES,)),  # the point of each move in network order, the pass last
        ("until", "i2", (3, N_POINTS)),  # [colour, point] excluded within so many moves of the root
        ("bonuses", "f4", (MAX_MOVES,)),  # points added to white's score after each root move, to end games well
        ("seen", "u8", (SEEN_ROOM,)),  # set of the superko keys of the game's positions (superko.py)
        # Where positions may come back for ever, repetition ends phases and games (leaves/path.py).
        ("may_cycle", "i1"),  # 1: the rules let them
        ("passes", "i8"),  # how many passes of the game `passed` holds
        ("passed", "u8", (MAX_PASSES,)),  # cycle keys of the positions in which somebody passed, the last ones
        ("cycle", "i8"),  # how many positions `cycled` holds
        ("cycled", "u8", (MAX_CYCLE,)),  # cycle keys of the positions between the game's last pass and the root
        ("human_priors", "f4", (MAX_MOVES,)),  # how likely people play each move of the root
        ("score_table", "f4", (SCORE_MEANS, SCORE_STDEVS)),
        ("weight_table", "f4", (2 * WEIGHT_HALF + 1,)),
    ],
    align=True,
)
"""What all workers' kernels read. It stays the same during a search."""

# Indices into `values` of a LEAF: white's view.
WIN_LOSS, NO_RESULT, SCORE, SCORE_SQ, LEAD, WINLOSS_ERROR, SCORE_ERROR = range(7)
VALUES = 7

LEAF = np.dtype(
    [
        ("stack", POSITION, (HISTORY,)),  # its last positions, from index 0 on
        ("last", "i8"),  # index of its own
        ("depth", "i8"),  # moves from the root
        ("counted_from", "i8"),  # first level of the path that the visit counts for: 0, but not if forced or weightless
        ("weightless", "i1"),  # 1: a visit of the root that counts for the move alone (human_weightless)
        ("stones", "i8"),  # stones on its board
        ("most_stones", "i8"),  # the most on any board of the game and the path
        ("nodes", "i4", (MAX_DEPTH + 1,)),  # the path from the root, the leaf last
        ("slots", "i4", (MAX_DEPTH,)),  # which edge of each node was taken
        ("keys", "u8", (MAX_DEPTH,)),  # superko keys after each of those moves
        ("cycle_keys", "u8", (MAX_DEPTH + 1,)),  # cycle keys (leaves/path.py) along the path, where needed
        ("no_result", "i1"),  # 1: its position came about for the third time, which ends the game
        ("banned", "i1", (N_POINTS,)),  # 1 where superko forbids a move
        # The evaluation.
        ("codes", "u2", (MAX_MOVES,)),  # priors as the tree keeps them
        ("values", "f4", (VALUES,)),
        ("ownership", "i1", (MAX_POINTS,)),  # white's view, 127 = certainly white's
    ],
    align=True,
)
"""A leaf: a position on its way through an iteration, with its path from the root and its evaluation."""

SCRATCH = np.dtype(
    [
        ("random", "u8", (2,)),  # state of random.py
        ("before", POSITION),
        ("weights", "f8", (MAX_MOVES,)),
        ("region", "i2", (REGION_ROOM,)),
        ("life", LIFE_WORK),
    ],
    align=True,
)
"""Scratch memory of one worker's kernels."""


class Work(NamedTuple):
    """The records that one worker's kernels read and write."""

    leaves: NDArray[np.void]
    """LEAF[batch]"""
    scratch: NDArray[np.void]
    """SCRATCH[1]"""


def new_context(width: int, height: int, exponent: float) -> NDArray[np.void]:
    """Make a CONTEXT[1] for boards of this size. Settings, rules and root must still be filled in.

    `exponent`: SearchParameters.value_weight_exponent.
    """
    out = np.zeros(1, CONTEXT)
    points = [point_at(i % width, i // width) for i in range(width * height)]
    out["moves"] = len(points) + 1
    out["uniform_share"] = uniform_share(width, height)
    out["points"][0, : len(points) + 1] = [*points, PASS]
    out["score_table"] = score_table()
    out["weight_table"] = weight_table(exponent)
    return out


def uniform_share(width: int, height: int) -> float:
    """Return how much of a policy all legal moves share equally, 0..1: nothing on boards that networks know.

    On smaller boards a network can be sure of a move that is wrong, such as a pass at the start on 2x2, and thousands
    of visits never look at another. The fewer the points, the fewer visits it takes to look at all moves. On 2x2 and
    less its policy counts for nothing.
    """
    if min(width, height) >= SMALLEST_KNOWN:
        return 0.0
    return min(1.0, UNIFORM_POINTS / max(1, width * height - 1))


def new_work(batch: int, seed: int) -> Work:
    """Make the records of a worker that has up to `batch` leaves at a time. `seed`: for its random choices."""
    work = Work(np.zeros(batch, LEAF), np.zeros(1, SCRATCH))
    work.scratch["random"][0] = seed_state(seed)
    return work
