"""What the kernels that make positions share: work space, reproducible random numbers, and writing network input."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.board import is_legal
from go_rules.machine.jit import kernel
from go_rules.points import EMPTY, MAX_SIZE, N_POINTS, NO_POINT, PASS, STRIDE, WALL
from go_rules.position import new_stack
from go_rules.random import below
from go_rules.rules import RULES
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from nets.features import IN_TREE, Scratch, encode, new_scratch
from nets.symmetry import LEFT_RIGHT, TRANSPOSED, UPSIDE_DOWN

SYMMETRIES = 8
"""Of a square board; nets/symmetry.py numbers them."""

TRIES = 24
"""Points that `random_move` looks at before it gives up and passes."""
NEARBY = 2
"""How far, in columns and in rows, a nearby move is from the last one."""


class Work(NamedTuple):
    """Work space of one thread."""

    stack: NDArray[np.void]
    """POSITION[3]: two moves ago, one move ago, now."""
    rules: NDArray[np.void]
    """RULES[1] of the game being replayed."""
    scratch: Scratch
    ban: NDArray[np.int8]
    """[N_POINTS] of zeros: superko bans, which are not known here."""
    planes: NDArray[np.float32]
    """A board's planes before they are turned."""
    numbers: NDArray[np.float32]
    """[19] global features."""
    state: NDArray[np.uint64]
    """[2] random state."""


def new_work(pass_alive_under_suicide: bool = False) -> Work:
    """Work space for one thread. `pass_alive_under_suicide`: as the teacher's file states."""
    return Work(
        new_stack(3),
        np.zeros(1, RULES),
        new_scratch(pass_alive_under_suicide),
        np.zeros(N_POINTS, np.int8),
        np.zeros(SPATIAL_PLANES * MAX_SIZE * MAX_SIZE, np.float32),
        np.zeros(GLOBAL_FEATURES, np.float32),
        np.zeros(2, np.uint64),
    )


@kernel
def seed_random(state, seed, index):
    """Start the random numbers of sample `index` of stream `seed` (both int64); SplitMix64, as go_rules.random's."""
    counter = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(index)
    for i in range(2):
        counter += np.uint64(0x9E3779B97F4A7C15)
        word = (counter ^ (counter >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state[i] = word ^ (word >> np.uint64(31))


@kernel
def cell_of(point, size, canvas, symmetry):
    """Where a point, or PASS, of a board of size×size lies on the canvas once turned: row * canvas + column; the pass
    comes last."""
    if point == PASS:
        return canvas * canvas
    y = point // STRIDE - 1
    x = point % STRIDE - 1
    if symmetry & UPSIDE_DOWN:
        y = size - 1 - y
    if symmetry & LEFT_RIGHT:
        x = size - 1 - x
    return x * canvas + y if symmetry & TRANSPOSED else y * canvas + x


@kernel
def write_input(stack, now, rules, symmetry, work, spatial, global_):
    """Encode `stack[now]` for the side to move, turned by `symmetry`, into the top left corner of a canvas.

    `spatial`: uint8[22, S, S], of zeros and ones; `global_`: float32[19].
    """
    pos = stack[now]
    size = np.int64(pos.width)
    canvas = spatial.shape[1]
    planes = work.planes[: SPATIAL_PLANES * size * size].reshape(SPATIAL_PLANES, size, size)
    encode(stack, now, np.int64(pos.to_play), rules, 0.0, IN_TREE, work.ban, work.scratch, planes, work.numbers)
    for i in range(GLOBAL_FEATURES):
        global_[i] = work.numbers[i]
    for plane in range(SPATIAL_PLANES):
        for y in range(canvas):
            for x in range(canvas):
                spatial[plane, y, x] = 0
        for y in range(size):
            row = size - 1 - y if symmetry & UPSIDE_DOWN else y
            for x in range(size):
                if planes[plane, y, x] != 0.0:
                    column = size - 1 - x if symmetry & LEFT_RIGHT else x
                    if symmetry & TRANSPOSED:
                        spatial[plane, column, row] = 1
                    else:
                        spatial[plane, row, column] = 1


@kernel
def random_move(pos, rules, state, nearby):
    """A legal point that does not fill an own eye; PASS if none is found quickly. `nearby`: close to the last move."""
    last = pos.recent[0]
    for _ in range(TRIES):
        if nearby and last > 0:
            y = last // STRIDE - 1 + below(state, 2 * NEARBY + 1) - NEARBY
            x = last % STRIDE - 1 + below(state, 2 * NEARBY + 1) - NEARBY
            if x < 0 or y < 0 or x >= pos.width or y >= pos.height:
                continue
        else:
            y = below(state, pos.height)
            x = below(state, pos.width)
        point = (y + 1) * STRIDE + x + 1
        if pos.board[point] == EMPTY and is_legal(pos, point, pos.to_play, rules) and not is_own_eye(pos, point):
            return point
    return PASS


@kernel
def is_own_eye(pos, point):
    """Whether all neighbours of an empty point are stones of the side to move."""
    for step in (-STRIDE, -1, 1, STRIDE):
        content = pos.board[point + step]
        if content != pos.to_play and content != WALL:
            return False
    return True


@kernel
def may_play(pos, point, rules):
    """Whether a record's move makes sense here: legal, and no pass in answer to a pass."""
    if point == PASS:
        return pos.recent[0] != PASS
    return point != NO_POINT and pos.board[point] == EMPTY and is_legal(pos, point, pos.to_play, rules)
