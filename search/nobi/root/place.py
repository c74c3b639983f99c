"""Where a search starts: the game's position, its rules and the excluded moves, written for the kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.board import copy_position
from go_rules.game import Game
from go_rules.phases import give_turn, live_phase
from go_rules.position import PHASE_OVER
from go_rules.scoring import count_stones
from go_rules.superko import seen_add, seen_clear
from nets.features import HISTORY
from nobi_machine.jit import kernel
from search.nobi.leaves.path import set_cycles
from search.nobi.memory.context import MAX_PASSES, MAX_SEEN


@kernel
def set_position(ctx, stack, length, keys, most_stones, colour):
    """Make the last of a game's positions the root, with `colour` to play.

    `stack` [length or more]: the positions; `keys`: their superko keys; `most_stones`: the most stones on any of them.
    """
    context = ctx[0]
    first = max(0, length - HISTORY) if colour == stack[length - 1].to_play else length - 1
    for i in range(first, length):
        copy_position(context.roots[i - first], stack[i])
    context.root_positions = length - first
    root = context.roots[length - first - 1]
    give_turn(root, colour)
    context.most_stones = most_stones
    context.root_stones = count_stones(root)
    seen_clear(context.seen)
    for i in range(max(0, length - MAX_SEEN), length):
        seen_add(context.seen, keys[i])


def place_root(
    context: NDArray[np.void], game: Game, colour: int, until: NDArray[np.int16], draw_wins: float = 0.5
) -> None:
    """Write the game's position and rules, and the excluded moves (search.request.excluded_until), into the context.

    `draw_wins`: how many wins of white's a draw is worth. Where games can be drawn networks are shown another komi for
    that, as by KataGo.
    """
    context["rules"][0] = game.record
    can_be_drawn = float(game.komi).is_integer() != game.rules.has_button
    context["rules"]["draw_shift"] = draw_wins - 0.5 if can_be_drawn else 0.0
    # Between players two passes end the game and dead stones are agreed upon; a search has to play them out.
    context["rules"]["cleanup"] = 1
    context["until"][0] = until
    context["settings"]["has_filter"] = int(until.any())
    set_position(context, game.stack, game.length, game.keys, game.most_stones, colour)
    set_cycles(context, game.stack, game.length, np.array(game.passes[-MAX_PASSES:], np.int64))
    last = context["roots"][0, int(context["root_positions"][0]) - 1]
    if last["phase"] == PHASE_OVER:
        last["phase"] = live_phase(last, game.record)
