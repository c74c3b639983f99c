"""KataGo's V7 input features: what a network is told about a position, seen by the side to move.

Planes of `spatial`, in rows from the top left of the board and of its exact size:

    0       on the board (always 1)
    1, 2    own stones, opponent's stones
    3-5     stones of chains with 1, 2, 3 liberties
    6       points banned by ko or superko. In clean-up phases KataGo shows a capture that was made in this position
            before even while the stone is blocked (plane 7). The move is legal then, as a "pass for ko", so it is not
            shown here: searches take `ban` for what is illegal
    7       stones that may not be retaken yet (clean-up phases)
    8       not used
    9-13    the last five moves, newest first
    14      stones that a ladder catches now
    15, 16  the same on the boards of one and two moves ago
    17      moves that start a ladder which catches opponent's stones
    18, 19  own area, opponent's area
    20, 21  own and opponent's stones as the second clean-up began

Numbers of `global_`: GLOBAL_* below. The networks' input is public knowledge
(https://github.com/lightvector/KataGo/blob/master/cpp/neuralnet/nninputs.cpp); this is an implementation of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.phases import live_phase, pass_ends_phase
from go_rules.points import BLACK, EMPTY, MAX_SIZE, NO_POINT, PASS, STRIDE, WHITE
from go_rules.position import (
    HISTORY_MOVES,
    MARK_BLACK_AT_CLEANUP_2,
    MARK_KO_RECAPTURE_BLOCKED,
    MARK_WHITE_AT_CLEANUP_2,
    PHASE_CLEANUP_1,
    PHASE_CLEANUP_2,
    PHASE_MAIN,
    PHASE_OVER,
)
from go_rules.rules import (
    KO_POSITIONAL,
    KO_SIMPLE,
    SCORING_AREA,
    SCORING_TERRITORY,
    TAX_ALL,
    TAX_NONE,
)
from go_rules.tactics.ladder import LADDERS, find_ladders
from go_rules.tactics.ladder_board import new_ladder_work
from go_rules.tactics.life import final_area, new_life_work, safe_area
from nobi_machine.jit import kernel, kernel_for_python, kernel_part

if TYPE_CHECKING:
    from nets.evaluator import Evaluator

HISTORY = 3
"""How many positions a network sees: the present one and two before it."""

ON_BOARD, OWN, OPPONENT, ONE_LIBERTY, BANNED, BLOCKED = 0, 1, 2, 3, 6, 7
LAST_MOVES = 9
CAUGHT, CAUGHT_BEFORE, CAUGHT_TWICE_BEFORE, CATCHES = 14, 15, 16, 17
OWN_AREA, OPPONENT_AREA, OWN_AT_CLEANUP_2, OPPONENT_AT_CLEANUP_2 = 18, 19, 20, 21
"""Planes of `spatial`."""

GLOBAL_PASSES = 0  # 0-4: that one of the last five moves was a pass
GLOBAL_KOMI = 5  # komi and all other points that are not on the board, the side to move's view, / KOMI_UNIT
GLOBAL_SUPERKO, GLOBAL_POSITIONAL = 6, 7  # 0, 0 simple; 1, +1/2 positional; 1, -1/2 situational
GLOBAL_SUICIDE, GLOBAL_TERRITORY, GLOBAL_TAX, GLOBAL_TAX_ALL = 8, 9, 10, 11
GLOBAL_CLEANUP_1, GLOBAL_CLEANUP_2 = 12, 13  # that phase, or a later one
GLOBAL_PASS_ENDS_PHASE = 14
GLOBAL_HAS_ADVANTAGE, GLOBAL_ADVANTAGE = 15, 16  # playout doubling advantage: whether there is one; half of it
GLOBAL_BUTTON = 17  # it is still to be taken
GLOBAL_PARITY = 18  # where komi stands between the values that allow a draw on this board, a wave of period 2
"""Numbers of `global_`."""

MOST_DOUBLINGS, DOUBLINGS_STEP = 2.75, 0.125
"""The largest advantage that networks are told, in doublings, and the difference from one to the next."""
KOMI_UNIT = 20.0
"""Points that a komi feature of 1 stands for."""
KOMI_BEYOND_AREA = 20.0
"""Komi is clipped to the board's area plus this."""

IN_TREE, AT_ROOT, AS_IS = 0, 1, 2
"""Values of `view`: what to show of a position in which a pass would end the game.

A network must not take for granted that the game ends. So in the last phase the pass before is hidden, and with it all
history, in each of these cases: AT_ROOT, always; in every view, under rules with friendly passes, if there was one
pass; IN_TREE, where ending the game now would not win it. `kata-raw-nn` uses AS_IS.
"""

LADDER_SLOTS = 2048
"""How many positions' ladders a scratch remembers, a power of two: enough for most of a leaf's earlier boards."""


class Scratch(NamedTuple):
    """Work space of `encode`, made by `new_scratch`. Threads must not share one."""

    life: NDArray[np.void]
    """LIFE_WORK[1]: work space for pass-alive chains and area."""
    ladder: NDArray[np.void]
    """LADDER_WORK[1]: work space for reading ladders."""
    ladders: NDArray[np.void]
    """LADDERS[LADDER_SLOTS]: ladders read lately, each position's at the slot that its key names."""
    suicide: NDArray[np.int8]
    """int8[1]: 1 where pass-alive chains must withstand suicide moves whatever the rules say."""
    only_safe: NDArray[np.int8]
    """int8[1]: 1 where the area planes show certain area only, under all rules (KataGo's V4 features)."""
    straight: NDArray[np.int16]
    """int16[MAX_SIZE**2]: the symmetry that leaves a board as it lies, whatever its size."""


def new_scratch(pass_alive_under_suicide: bool = False, only_safe_area: bool = False) -> Scratch:
    """Make work space for one thread; the two options say how the network's file wants its area planes."""
    return Scratch(
        new_life_work(),
        new_ladder_work(),
        np.zeros(LADDER_SLOTS, LADDERS),
        np.array([pass_alive_under_suicide], np.int8),
        np.array([only_safe_area], np.int8),
        np.arange(MAX_SIZE * MAX_SIZE, dtype=np.int16),
    )


def scratch_for(evaluator: Evaluator) -> Scratch:
    """Make work space for one thread that encodes positions as the evaluator's network expects them."""
    attributes = evaluator.attributes
    return new_scratch(attributes.pass_alive_under_suicide, attributes.only_safe_area)


def encode(
    stack: NDArray[np.void],
    i: int,
    colour: int,
    rules: np.void,
    pda: float,
    view: int,
    ban: NDArray[np.int8],
    scratch: Scratch,
    spatial: NDArray[np.float32],
    global_: NDArray[np.float32],
) -> None:
    """Encode the position `stack[i]` with `colour` to move, as it lies: `encode_symmetry` for `spatial` [22, H, W]."""
    flat = spatial.reshape(spatial.shape[0], -1)
    encode_symmetry(stack, i, colour, rules, pda, view, ban, scratch, scratch.straight, flat, global_)


@kernel_for_python
def encode_symmetry(stack, i, colour, rules, pda, view, ban, scratch, permutation, spatial, global_):
    """Encode the position `stack[i]` with `colour` to move, under a symmetry.

    `permutation[y * width + x]` is where the point (x, y) is shown in a plane, as in a row of
    symmetry.symmetry_permutations.
    `stack[i - 1]` and `stack[i - 2]` are the positions one and two moves before; they are read only if `stack[i]`
    remembers these moves. `rules` is the game's record of rules, `pda` the playout doubling advantage of `colour` (0.0
    in an even game), `view` one of IN_TREE, AT_ROOT and AS_IS, `ban` int8[N_POINTS] with 1 where superko forbids a
    move. Fills `spatial` (float32[22, H*W]) and `global_` (float32[19]); `scratch` is work space.
    """
    pos = stack[i]
    phase = live_phase(pos, rules)
    komi = pos.white_bonus + rules.handicap_bonus + rules.komi + rules.draw_shift
    if colour == BLACK:
        komi = -komi
    _encode_points(pos, colour, phase, ban, permutation, spatial)
    _encode_rules(pos, rules, phase, komi, pda, global_)

    is_last_phase = rules.scoring == SCORING_AREA or phase == PHASE_CLEANUP_2
    wins_now = True
    suicide = rules.suicide == 1 or scratch.suicide[0] == 1
    if is_last_phase:
        white_lead = final_area(pos, rules, phase, suicide, scratch.life[0])
        wins_now = (white_lead if colour == WHITE else -white_lead) + komi > 0
        if scratch.only_safe[0] == 0:
            _encode_area(pos, colour, scratch.life[0], permutation, spatial)
    if scratch.only_safe[0] == 1:
        safe_area(pos, suicide, scratch.life[0])
        _encode_area(pos, colour, scratch.life[0], permutation, spatial)

    turns = HISTORY_MOVES if pos.phase != PHASE_OVER else 1
    if pass_ends_phase(pos):
        is_friendly = rules.friendly_pass == 1 and rules.scoring == SCORING_AREA
        is_friendly = is_friendly and pos.passes == 1 and pos.passed_here == 0
        if is_last_phase and (view == AT_ROOT or is_friendly or (view == IN_TREE and not wins_now)):
            turns = 0
        else:
            global_[GLOBAL_PASS_ENDS_PHASE] = 1.0
    turns = _encode_moves(pos, colour, turns, permutation, spatial, global_)

    # From the oldest on, since what is read on one board helps on the next.
    for ago in range(2, -1, -1):
        # Where the history is hidden or ends, the oldest board known stands for those before it.
        slot = find_ladders(stack[i - min(ago, turns, i)], scratch.ladder[0], scratch.ladders)
        for y in range(pos.height):
            first = y * pos.width
            _encode_row(scratch.ladders[slot].rows[0, y], CAUGHT + ago, first, permutation, spatial)
            if ago == 0:
                _encode_row(scratch.ladders[slot].rows[3 - colour, y], np.int64(CATCHES), first, permutation, spatial)


@kernel
def _encode_points(pos, colour, phase, ban, permutation, spatial):
    """Clear all planes, then fill those that follow from the point alone: stones, liberties, bans, marks."""
    for plane in range(spatial.shape[0]):
        for cell in range(spatial.shape[1]):
            spatial[plane, cell] = 0.0
    own_mark = MARK_BLACK_AT_CLEANUP_2 if colour == BLACK else MARK_WHITE_AT_CLEANUP_2
    for y in range(pos.height):
        for x in range(pos.width):
            point = (y + 1) * STRIDE + x + 1
            cell = permutation[y * pos.width + x]
            spatial[ON_BOARD, cell] = 1.0
            content = pos.board[point]
            if content != EMPTY:
                spatial[OWN if content == colour else OPPONENT, cell] = 1.0
                liberties = pos.liberties[pos.chain[point]]
                if liberties <= 3:
                    spatial[ONE_LIBERTY + liberties - 1, cell] = 1.0
            if ban[point] != 0 or point == pos.ko:
                spatial[BANNED, cell] = 1.0
            marks = pos.marks[point]
            if phase != PHASE_MAIN and marks != 0:
                if marks & MARK_KO_RECAPTURE_BLOCKED:
                    spatial[BLOCKED, cell] = 1.0
                if marks & (MARK_BLACK_AT_CLEANUP_2 | MARK_WHITE_AT_CLEANUP_2):
                    spatial[OWN_AT_CLEANUP_2 if marks & own_mark else OPPONENT_AT_CLEANUP_2, cell] = 1.0


@kernel
def _encode_area(pos, colour, life, permutation, spatial):
    for y in range(pos.height):
        for x in range(pos.width):
            owner = life.area[(y + 1) * STRIDE + x + 1]
            if owner != EMPTY:
                spatial[OWN_AREA if owner == colour else OPPONENT_AREA, permutation[y * pos.width + x]] = 1.0


@kernel_part
def _encode_moves(pos, colour, turns, permutation, spatial, global_):
    """The last moves, at most `turns` of them; returns how many there were: 0 if `colour` moved last."""
    if colour != pos.to_play:
        return 0
    for turn in range(turns):
        move = pos.recent[turn]
        if move == NO_POINT:
            return turn
        if move == PASS:
            global_[GLOBAL_PASSES + turn] = 1.0
        else:
            spatial[LAST_MOVES + turn, permutation[(move // STRIDE - 1) * pos.width + move % STRIDE - 1]] = 1.0
    return turns


@kernel
def _encode_row(bits, plane, first, permutation, spatial):
    """Set a row's points where `bits` has a 1, the lowest bit being the leftmost point, number `first` of the board."""
    while bits != 0:
        if bits & 1:
            spatial[plane, permutation[first]] = 1.0
        bits >>= 1
        first += 1


@kernel
def _encode_rules(pos, rules, phase, komi, pda, global_):
    """Clear all numbers, then fill those that follow from the rules and the state of the game."""
    for feature in range(len(global_)):
        global_[feature] = 0.0
    area = pos.width * pos.height
    most = area + KOMI_BEYOND_AREA
    if komi > most:
        komi = most
    elif komi < -most:
        komi = -most
    global_[GLOBAL_KOMI] = komi / KOMI_UNIT
    if rules.ko != KO_SIMPLE:
        global_[GLOBAL_SUPERKO] = 1.0
        global_[GLOBAL_POSITIONAL] = 0.5 if rules.ko == KO_POSITIONAL else -0.5
    if rules.suicide == 1:
        global_[GLOBAL_SUICIDE] = 1.0
    if rules.scoring == SCORING_TERRITORY:
        global_[GLOBAL_TERRITORY] = 1.0
    if rules.tax != TAX_NONE:
        global_[GLOBAL_TAX] = 1.0
    if rules.tax == TAX_ALL:
        global_[GLOBAL_TAX_ALL] = 1.0
    if phase >= PHASE_CLEANUP_1:
        global_[GLOBAL_CLEANUP_1] = 1.0
    if phase >= PHASE_CLEANUP_2:
        global_[GLOBAL_CLEANUP_2] = 1.0
    if pda != 0.0:
        global_[GLOBAL_HAS_ADVANTAGE] = 1.0
        global_[GLOBAL_ADVANTAGE] = 0.5 * pda
    if pos.button == 1:
        global_[GLOBAL_BUTTON] = 1.0
    if rules.scoring == SCORING_AREA or phase >= PHASE_CLEANUP_2:
        global_[GLOBAL_PARITY] = _parity_wave(komi, area)


@kernel
def _parity_wave(komi, area):
    """How much more half a point of komi is worth than elsewhere, where area scoring on this board allows a draw.

    A draw needs a komi of the area's parity. From such a komi the wave rises to 1/2, half a point above it, then
    falls to -1/2 and rises again to 0 at the next.
    """
    parity = area % 2
    above = komi - (math.floor((komi - parity) / 2.0) * 2.0 + parity)
    if above < 0.5:
        return above
    if above < 1.5:
        return 1.0 - above
    return above - 2.0
