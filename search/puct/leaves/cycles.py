"""How repetition ends a phase or the game inside the tree, under rules that let positions come back for ever.

Under simple ko, and in the clean-up phases, a pass in a situation in which the same side has passed before ends the
phase even if it is not answered, and a position that comes about for the third time without a pass between is no
result. Game does the same for the moves that were played.
"""

from __future__ import annotations

from go_rules.compilation.jit import kernel, kernel_part
from go_rules.rules import KO_SIMPLE, SCORING_TERRITORY
from go_rules.superko import situation_key
from go_rules.zobrist import TO_PLAY_KEYS
from search.puct.memory.context import MAX_CYCLE, MAX_PASSES


@kernel
def cycle_key(pos, rules):
    """Compute the key by which repetition is found: of the situation (`situation_key`) and the side to move."""
    return situation_key(pos, rules) ^ TO_PLAY_KEYS[pos.to_play]


@kernel
def set_cycles(ctx, stack, length, passes):
    """Store those of the game's positions that later repetitions refer to.

    `stack` [length]: the game's positions; `passes`: the indices of the positions in which somebody passed.
    """
    context = ctx[0]
    rules = context.rules
    context.may_cycle = 1 if rules.ko == KO_SIMPLE or rules.scoring == SCORING_TERRITORY else 0
    context.passes = 0
    context.cycle = 0
    if context.may_cycle == 0:
        return
    first = 0
    for i in range(max(0, len(passes) - MAX_PASSES), len(passes)):
        context.passed[context.passes] = cycle_key(stack[passes[i]], rules)
        context.passes += 1
        first = passes[i] + 1
    for i in range(max(first, length - 1 - MAX_CYCLE), length - 1):
        context.cycled[context.cycle] = cycle_key(stack[i], rules)
        context.cycle += 1


@kernel
def has_passed_before(nodes, edges, ctx, leaf, level):
    """Return whether the side to move at a level of the path has passed in that very situation before.

    Passes of the path before that level count, and those of the game.
    """
    key = leaf.cycle_keys[level]
    for i in range(level):
        if leaf.cycle_keys[i] == key and _is_pass(nodes, edges, ctx, leaf, i):
            return True
    for i in range(ctx.passes):
        if ctx.passed[i] == key:
            return True
    return False


@kernel_part
def completes_cycle(nodes, edges, ctx, leaf):
    """Return whether the leaf's position came about for the third time, without a pass since the first."""
    depth = leaf.depth
    key = leaf.cycle_keys[depth]
    times = 1
    for i in range(depth - 1, -1, -1):
        if _is_pass(nodes, edges, ctx, leaf, i):
            return False
        if leaf.cycle_keys[i] == key:
            times += 1
    for i in range(ctx.cycle):
        if ctx.cycled[i] == key:
            times += 1
    return times >= 3 and depth > 0


@kernel
def _is_pass(nodes, edges, ctx, leaf, level):
    return edges[nodes[leaf.nodes[level]].edges + leaf.slots[level]].move == ctx.moves - 1
