"""A position's labels as decisions of the range coder, in steps that are far finer than a network can learn.

| label | steps |
| --- | --- |
| policies | 32 levels of the square root of a probability, from 1/255 to 1, a sixteenth apart at the top |
| winning and no result | 1/2047 |
| score columns | 0.005 at 0, 2 % of larger numbers |
| ownership | 1/5 |

Policies and ownership are coded by what is known of the points around. Where the same board came before with another
komi, its labels are the best guess. Labels that are not known become zeros.
"""

from __future__ import annotations

import math

import numpy as np

from go_rules.compilation.jit import kernel
from nets.evaluator import LOSS, NO_RESULT, SCORE_COLUMNS, VAR_TIME_LEFT, WIN
from training.samples.board_coding import BOARD_CONTEXTS, CELL_BITS
from training.samples.range_coder import code_bit, code_guessed, code_plain, code_tree
from training.samples.samples import (
    HAS_ERRORS,
    HAS_OPTIMISTIC,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
)

OWNED, OWNED_STEPS = 11, 5
"""How many levels ownership has, and how many of them lie between nobody's and one side's."""
LEVELS = np.array(
    [0, 1, 2, 4, 7, 10, 14, 18, 23, 28, 33, 39, 45, 52, 59, 67, 75, 84, 93, 103, 113, 124, 135, 147, 159, 172, 185, 199,
     213, 227, 241, 255], np.uint8,
)  # fmt: skip
"""255 * sqrt(probability) of each level."""
LEVEL_OF = np.array([int(np.abs(LEVELS.astype(int) - value).argmin()) for value in range(256)], np.uint8)
CHANCE_BITS, CHANCE_TOP = 11, 2047
SCORE_BITS, SCORE_FINEST, SCORE_STEPS = 9, 4.0, 32.0
"""A score column is stored as round(SCORE_STEPS * log2(1 + SCORE_FINEST * |column|))."""

KNOWN = BOARD_CONTEXTS
REPLIES = KNOWN + 256
WINNING = REPLIES + 1
UNDECIDED = WINNING + 64
SIGNS = UNDECIDED + 1
SCORES = SIGNS + SCORE_COLUMNS
OWNERS = SCORES + SCORE_COLUMNS * 512
OWNERS_AGAIN = OWNERS + OWNED * 3 * 7 * 16
POLICY = OWNERS_AGAIN + OWNED * 5 * 16
POLICY_ON_STONES = POLICY + 6 * 3 * 3 * 32
POLICY_AGAIN = POLICY_ON_STONES + 32
OPTIMISTIC = POLICY_AGAIN + len(LEVELS) * 3 * 32
PASSES = OPTIMISTIC + len(LEVELS) * 3 * 32
LABEL_CONTEXTS = PASSES + 3 * 32
"""The first contexts of each kind of decision, and the end of all of them."""

FREE, BY_LABELS_BEFORE, BY_POLICY = 0, 1, 2
"""Where the guess of a policy comes from: the points around, the same board with another komi, or the plain policy."""


@kernel
def code_labels(coder, data, samples, i, twin, stones, size, moves):
    """Write the labels of sample `i` of `samples`, or read them.

    `twin` is an earlier sample of the same board, or -1. `stones`, `size` and `moves` are as `code_board` leaves them.
    """
    known = code_tree(coder, data, np.int64(KNOWN), np.int64(8), np.int64(samples.known[i]))
    samples.known[i] = known
    cells = len(samples.ownership[i])
    reply = np.int64(samples.reply[i])
    samples.reply[i] = -1
    if code_bit(coder, data, np.int64(REPLIES), reply >= 0) == 1:
        samples.reply[i] = min(code_plain(coder, data, np.int64(CELL_BITS), reply), np.int64(cells))
    if known & HAS_VALUE:
        _code_value(coder, data, samples.value[i])
    for column in range(SCORE_COLUMNS):
        if known & (HAS_SCORE if column < VAR_TIME_LEFT else HAS_ERRORS):
            samples.score[i, column] = _code_score(coder, data, np.int64(column), samples.score[i, column])
    has_twin = twin >= 0
    if known & HAS_OWNERSHIP:
        before = samples.ownership[twin if has_twin else i]
        _code_owners(coder, data, samples.ownership[i], before, has_twin, stones, size)
    if known & HAS_POLICY:
        before = samples.policy[twin if has_twin else i]
        source = np.int64(BY_LABELS_BEFORE if has_twin else FREE)
        _code_policy(coder, data, samples.policy[i], before, source, stones, size, moves)
    if known & HAS_OPTIMISTIC and samples.optimistic.shape[1] > 0:
        _code_policy(coder, data, samples.optimistic[i], samples.policy[i], np.int64(BY_POLICY), stones, size, moves)


@kernel
def _code_value(coder, data, value):
    winning = np.int64(value[WIN] * CHANCE_TOP + 0.5)
    undecided = np.int64(value[NO_RESULT] * CHANCE_TOP + 0.5)
    upper = code_tree(coder, data, np.int64(WINNING), np.int64(6), winning >> 5)
    winning = 32 * upper + code_plain(coder, data, np.int64(5), winning & 31)
    if code_bit(coder, data, np.int64(UNDECIDED), undecided > 0) == 1:
        undecided = code_plain(coder, data, np.int64(CHANCE_BITS), undecided)
    else:
        undecided = np.int64(0)
    if undecided > CHANCE_TOP - winning:
        undecided = CHANCE_TOP - winning
    value[WIN] = winning / CHANCE_TOP
    value[NO_RESULT] = undecided / CHANCE_TOP
    value[LOSS] = (CHANCE_TOP - winning - undecided) / CHANCE_TOP


@kernel
def _code_score(coder, data, column, points):
    size = np.int64(SCORE_STEPS * np.log2(1.0 + SCORE_FINEST * abs(points)) + 0.5)
    if size >= 1 << SCORE_BITS:
        size = np.int64((1 << SCORE_BITS) - 1)
    size = code_tree(coder, data, SCORES + column * (1 << SCORE_BITS), np.int64(SCORE_BITS), size)
    if size == 0:
        return 0.0
    is_negative = code_bit(coder, data, SIGNS + column, points < 0) == 1
    found = (2.0 ** (size / SCORE_STEPS) - 1.0) / SCORE_FINEST
    return -found if is_negative else found


@kernel
def _owner_level(ownership):
    return np.int64(math.floor(ownership * OWNED_STEPS / 127.0 + 0.5)) + OWNED_STEPS


@kernel
def _code_owners(coder, data, ownership, before, has_twin, stones, size):
    canvas = stones.shape[1]
    for y in range(size):
        for x in range(size):
            cell = y * canvas + x
            guess, unrest = _guessed_owner(ownership, cell, x, y, canvas)
            if has_twin:
                level = _owner_level(before[cell])
                change = guess - level
                guess = level
                context = OWNERS_AGAIN + 16 * (5 * level + min(max(change, -2), 2) + 2)
            else:
                context = OWNERS + 16 * (7 * (3 * guess + unrest) + _surroundings(stones, x, y, size))
            level = code_guessed(coder, data, context, np.int64(4), guess, _owner_level(ownership[cell]))
            level = min(level, OWNED - 1)
            # In steps of 1/127 again; halves are rounded away from zero.
            part = (level - OWNED_STEPS) * 127.0 / OWNED_STEPS
            ownership[cell] = np.int64(part + 0.5) if part >= 0 else -np.int64(0.5 - part)


@kernel
def _guessed_owner(ownership, cell, x, y, canvas):
    """Guess a point's level from those to the west and north (the median predictor of JPEG-LS), and tell how much
    these differ: 0, 1 or 2."""
    if x == 0 and y == 0:
        return np.int64(OWNED_STEPS), np.int64(0)
    west = _owner_level(ownership[cell - 1]) if x > 0 else _owner_level(ownership[cell - canvas])
    north = _owner_level(ownership[cell - canvas]) if y > 0 else west
    corner = _owner_level(ownership[cell - canvas - 1]) if x > 0 and y > 0 else west
    low, high = min(west, north), max(west, north)
    guess = low if corner >= high else high if corner <= low else west + north - corner
    difference = high - low
    return guess, np.int64(0 if difference == 0 else 1 if difference <= 2 else 2)


@kernel
def _surroundings(stones, x, y, size):
    """Return 0 for an own stone, 1 for the opponent's, else 2 to 6 by whose stones are beside the point."""
    if stones[y, x] > 0:
        return np.int64(stones[y, x] - 1)
    balance = np.int64(0)
    for step in range(4):
        column = x + (1 if step == 0 else -1 if step == 1 else 0)
        row = y + (1 if step == 2 else -1 if step == 3 else 0)
        if 0 <= column < size and 0 <= row < size and stones[row, column] > 0:
            balance += 3 - 2 * np.int64(stones[row, column])
    return np.int64(min(max(int(balance), -2), 2) + 4)


@kernel
def _code_policy(coder, data, policy, before, source, stones, size, moves):
    canvas = stones.shape[1]
    for y in range(size):
        for x in range(size):
            cell = y * canvas + x
            west = np.int64(LEVEL_OF[policy[cell - 1]]) if x > 0 else np.int64(0)
            guess = np.int64(0)
            if stones[y, x] > 0:
                context = np.int64(POLICY_ON_STONES)
            elif source == FREE:
                north = np.int64(LEVEL_OF[policy[cell - canvas]]) if y > 0 else np.int64(0)
                beside = np.int64(LEVEL_OF[policy[cell - canvas - 1]]) if x > 0 and y > 0 else np.int64(0)
                across = np.int64(LEVEL_OF[policy[cell - canvas + 1]]) if x + 1 < size and y > 0 else np.int64(0)
                context = 3 * _class_of(west + north) + min(_class_of(beside + across) // 2, 2)
                context = POLICY + 32 * (3 * context + _distance(moves, x, y, size))
            else:
                guess = np.int64(LEVEL_OF[before[cell]])
                trend = np.int64(1)
                if x > 0:
                    change = west - np.int64(LEVEL_OF[before[cell - 1]])
                    trend = np.int64(0 if change < 0 else 1 if change == 0 else 2)
                first = POLICY_AGAIN if source == BY_LABELS_BEFORE else OPTIMISTIC
                context = first + 32 * (3 * guess + trend)
            level = code_guessed(coder, data, context, np.int64(5), guess, np.int64(LEVEL_OF[policy[cell]]))
            policy[cell] = LEVELS[min(level, len(LEVELS) - 1)]
    last = canvas * canvas
    level = code_tree(coder, data, PASSES + 32 * source, np.int64(5), np.int64(LEVEL_OF[policy[last]]))
    policy[last] = LEVELS[min(level, len(LEVELS) - 1)]


@kernel
def _class_of(level):
    """Return the class, 0 to 5, of the sum of two levels."""
    return np.int64(
        0 if level == 0 else 1 if level <= 3 else 2 if level <= 7 else 3 if level <= 13 else 4 if level <= 20 else 5
    )


@kernel
def _distance(moves, x, y, size):
    """Return 0 for a point beside the last move, 1 near it, else 2."""
    if moves[0] < 0 or moves[0] == size * size:
        return np.int64(2)
    steps = max(abs(moves[0] % size - x), abs(moves[0] // size - y))
    return np.int64(0 if steps <= 1 else 1 if steps <= 3 else 2)
