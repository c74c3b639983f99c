"""Kernels that replay a game record up to a random move and write the position there as network input.

Sample `index` of stream `seed` is always the same position, so a run that is resumed goes on with the very samples it
would have seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.board import clear, copy_position, place_stone, play
from go_rules.points import BLACK, EMPTY, PASS, STRIDE, WHITE
from go_rules.random import below, uniform
from go_rules.rules import SCORING_TERRITORY
from nets.symmetry import SYMMETRIES
from nobi_machine.jit import kernel
from training.positions.canvas import MOVE, OUTCOME, REPLY, UNKNOWN
from training.positions.encoding import cell_of, forget, known_turns, write_input
from training.positions.game_conditions import draw_conditions, may_play, random_move, seed_random

MAX_DEVIATIONS = 3
RECENT_MOVES = 30
"""Only the last moves before the position are replaced: their consequences are still open."""
MIN_HANDICAP, MAX_HANDICAP = 2, 6
SAME_KOMI = 1.0
"""The result of a record is known if its komi differs by at most this many points: rule sets differ by as much."""


class Records(NamedTuple):
    """Game records as kernels read them."""

    moves: NDArray[np.uint16]
    """The moves of all games, one game after another: y * size + x from the top left; size * size is a pass. No pass
    answers a pass."""
    offsets: NDArray[np.int64]
    """[G + 1] game g is moves[offsets[g] : offsets[g + 1]]."""
    result: NDArray[np.int8]
    """[G] 1 black won, -1 white won, 0 unknown."""
    komi: NDArray[np.float64]
    """[G] nan unknown."""
    first_player: NDArray[np.uint8]
    """[G] 0 black, 1 white; then they alternate."""
    size: NDArray[np.int64]
    """[1] number of lines of all boards."""
    deviating: NDArray[np.float64]
    """[1] share of the samples in which moves are replaced at random."""
    handicap: NDArray[np.float64]
    """[1] share of the samples that begin with handicap stones."""


@kernel
def draw_samples(records, conditions, seed, first, buffers, spatial, global_, labels):
    """Make samples first, first + 1, ... of stream `seed`, as many as the arrays hold.

    `spatial` uint8[N, 22, S, S], `global_` float32[N, 19], `labels` int16[N, LABELS].
    """
    for i in range(len(spatial)):
        _draw_sample(records, conditions, seed, first + i, buffers, spatial[i], global_[i], labels[i])


@kernel
def _draw_sample(records, conditions, seed, index, buffers, spatial, global_, labels):
    state = buffers.state
    seed_random(state, seed, index)
    game = below(state, len(records.offsets) - 1)
    start = records.offsets[game]
    length = records.offsets[game + 1] - start
    handicap = 0
    if uniform(state) < records.handicap[0] and records.first_player[game] == 0:
        handicap = MIN_HANDICAP + below(state, MAX_HANDICAP - MIN_HANDICAP + 1)
        length = max(length - 2 * handicap, 0)
    draw_conditions(conditions, handicap, state, buffers.rules[0])
    turns = below(state, length + 1)
    deviations = 0
    if turns > 0 and uniform(state) < records.deviating[0]:
        deviations = 1 + below(state, MAX_DEVIATIONS)
    symmetry = below(state, SYMMETRIES)

    is_as_played = _replay(records, start, turns, handicap, deviations, game, buffers)

    write_input(buffers.stack, 2, buffers.rules[0], symmetry, buffers, spatial, global_)
    forget(known_turns(conditions.forgotten[0], state), spatial, global_)
    size = records.size[0]
    canvas = spatial.shape[1]
    labels[MOVE] = UNKNOWN
    labels[REPLY] = UNKNOWN
    labels[OUTCOME] = 0
    if is_as_played:
        for column in range(2):
            if turns + column < length:
                point = _record_move(records, start + turns + column)
                labels[column] = cell_of(point, size, canvas, symmetry)
        # Under another komi another side might have won.
        if np.abs(buffers.rules[0].komi - records.komi[game]) <= SAME_KOMI:
            winner = records.result[game]
            labels[OUTCOME] = winner if buffers.stack[2].to_play == BLACK else -winner


@kernel
def _replay(records, start, turns, handicap, deviations, game, buffers):
    """Bring `buffers.stack[2]` to the position after `turns` moves, its last two predecessors to [1] and [0].

    Return whether every move was the record's own."""
    pos = buffers.stack[2]
    rules = buffers.rules[0]
    state = buffers.state
    size = records.size[0]
    clear(pos, size, size, rules.has_button)
    is_as_played = deviations == 0 and handicap == 0
    for i in range(handicap):
        point = _record_move(records, start + 2 * i)
        if point != PASS and pos.board[point] == EMPTY:
            place_stone(pos, point, BLACK)
            if rules.scoring == SCORING_TERRITORY:
                pos.white_bonus += 1
    pos.to_play = WHITE if handicap > 0 or records.first_player[game] == 1 else BLACK
    first_deviation = max(turns - RECENT_MOVES, 0)
    for turn in range(turns):
        if turn == turns - 2:
            copy_position(buffers.stack[0], pos)
        elif turn == turns - 1:
            copy_position(buffers.stack[1], pos)
        # Each remaining deviation falls on each remaining recent turn with the same chance.
        deviates = turn >= first_deviation and below(state, turns - turn) < deviations
        point = _record_move(records, start + _index(turn, handicap))
        if deviates or not may_play(pos, point, rules):
            deviations -= 1 if deviates else 0
            is_as_played = False
            point = _replacement(pos, rules, state)
        play(pos, point, np.int64(pos.to_play), rules)
    return is_as_played


@kernel
def _index(turn, handicap):
    """Return which of the record's moves comes at `turn`. In handicap games black's first moves are stones already."""
    return turn + 1 if handicap > 0 and turn % 2 == 0 else turn + max(2 * handicap - 1, 0)


@kernel
def _replacement(pos, rules, state):
    """Return a move in place of the record's: anywhere, near the last move, or now and then a pass."""
    kind = below(state, 10)
    if kind == 0 and pos.recent[0] != PASS:
        return PASS
    point = random_move(pos, rules, state, kind < 6)
    if point == PASS and pos.recent[0] == PASS:
        point = _any_move(pos, rules)
    return point


@kernel
def _any_move(pos, rules):
    """Return the first legal point, eyes included, or PASS if there is none at all."""
    for y in range(pos.height):
        for x in range(pos.width):
            point = (y + 1) * STRIDE + x + 1
            if may_play(pos, point, rules):
                return point
    return PASS


@kernel
def _record_move(records, i):
    size = records.size[0]
    cell = np.int64(records.moves[i])
    if cell >= size * size:
        return PASS
    return (cell // size + 1) * STRIDE + cell % size + 1
