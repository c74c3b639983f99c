"""Playing out the moves of a path in the tree: the hash of the position that it leads to, whether the game ends.

Under simple ko, and in the clean-up phases, rules let positions come back for ever. There a pass in a situation in
which the same side has passed before ends the phase even if it is not answered, and a position that comes about for the
third time without a pass between is no result. Game does the same for the moves that were played.
"""

from __future__ import annotations

import numpy as np

from go_rules.board import copy_position, is_legal, neighbour, play
from go_rules.phases import live_phase, passes_decide
from go_rules.points import BLACK, EMPTY, N_POINTS, NO_POINT, PASS, WHITE
from go_rules.position import KO_KEYS, PHASE_CLEANUP_2, PHASE_MAIN, TO_PLAY_KEYS
from go_rules.rules import KO_SIMPLE, SCORING_TERRITORY
from go_rules.superko import NO_KEY, history_key, is_superko_banned, position_key, situation_key
from go_rules.tactics.life import final_area
from nets.features import HISTORY
from nobi_machine.jit import kernel, kernel_part
from search.nobi.memory.context import MAX_CYCLE, MAX_PASSES, REGION_ROOM


@kernel
def replay(nodes, edges, ctx, scratch, leaf):
    """Play the moves of a leaf's path: fills its stack, its superko keys and its stone counts."""
    rules = ctx.rules
    have = ctx.root_positions
    stack = leaf.stack
    leaf.stones = ctx.root_stones
    leaf.most_stones = ctx.most_stones
    # The leaf's stack starts HISTORY - 1 moves before it, at a position of the game if that is before the root.
    early = leaf.depth - (HISTORY - 1)
    first = min(have - 1, max(0, have - 1 + early))
    for i in range(first, have):
        copy_position(stack[i - first], ctx.roots[i])
    last = have - 1 - first
    for level in range(leaf.depth):
        if level >= early:
            copy_position(stack[last + 1], stack[last])
            last += 1
        pos = stack[last]
        node = nodes[leaf.nodes[level]]
        point = np.int64(ctx.points[edges[node.edges + leaf.slots[level]].move])
        captured = pos.captured[1] + pos.captured[2]
        in_main_phase = live_phase(pos, rules) == PHASE_MAIN
        if ctx.may_cycle == 1:
            leaf.cycle_keys[level] = cycle_key(pos, rules)
            if point == PASS and has_passed_before(nodes, edges, ctx, leaf, level):
                pos.passed_here = 1
        if not in_main_phase:
            copy_position(scratch.before, pos)
        play(pos, point, np.int64(node.to_play), rules)
        leaf.keys[level] = NO_KEY
        if not in_main_phase:
            leaf.keys[level] = history_key(scratch.before, pos, rules)
        elif rules.ko != KO_SIMPLE:
            leaf.keys[level] = position_key(pos, rules)
        if point != PASS:
            leaf.stones += 1 + captured - (pos.captured[1] + pos.captured[2])
            leaf.most_stones = max(leaf.most_stones, leaf.stones)
    leaf.last = last
    leaf.no_result = 0
    if ctx.may_cycle == 1:
        leaf.cycle_keys[leaf.depth] = cycle_key(stack[last], rules)
        if has_passed_before(nodes, edges, ctx, leaf, leaf.depth):
            stack[last].passed_here = 1
        leaf.no_result = 1 if completes_cycle(nodes, edges, ctx, leaf) else 0


@kernel
def mark_banned(ctx, leaf):
    """Mark in `leaf.banned` the points where superko forbids the side to move to play."""
    banned = leaf.banned
    for i in range(N_POINTS):
        banned[i] = 0
    pos = leaf.stack[leaf.last]
    rules = ctx.rules
    growing = False
    if live_phase(pos, rules) == PHASE_MAIN:
        if rules.ko == KO_SIMPLE:
            return
        # A move that takes nothing off the board makes a position with more stones than any before it.
        growing = leaf.most_stones <= leaf.stones
        if growing and pos.captured[1] + pos.captured[2] == 0 and rules.suicide == 0:
            # Stones were only ever added: a first capture leaves a stone that no earlier position had.
            return
    for i in range(ctx.moves - 1):
        point = np.int64(ctx.points[i])
        if not growing:
            _ban_superko(ctx, leaf, pos, point)
        elif pos.liberties[point] == 1 and pos.chain[point] == point and pos.board[point] != EMPTY:
            # Only what fills the last liberty of a chain takes stones off the board.
            _ban_superko(ctx, leaf, pos, _last_liberty(pos, point))


@kernel
def _ban_superko(ctx, leaf, pos, point):
    """Mark an empty point where the side to move may not play for superko alone."""
    colour = np.int64(pos.to_play)
    rules = ctx.rules
    if (
        pos.board[point] == EMPTY
        and is_legal(pos, point, colour, rules)
        # Slices, because arrays inside records are types of their own, for which the rules would be compiled again.
        and is_superko_banned(pos, point, colour, rules, ctx.seen[:], leaf.keys[:], leaf.depth)
    ):
        leaf.banned[point] = 1


@kernel
def _last_liberty(pos, head):
    """A liberty of the chain, of which it has one."""
    stone = head
    while True:
        for i in range(4):
            if pos.board[neighbour(stone, i)] == EMPTY:
                return neighbour(stone, i)
        stone = np.int64(pos.next[stone])


@kernel
def graph_key(ctx, scratch, leaf, over, parent_key):
    """Compute the key by which other move orders find a leaf's position. Never 0.

    It contains all that decides the rest of the game. Where superko may tell histories apart, because few points are
    left around the last move, the parent's key is in it too, and with it the whole path (after KataGo).
    """
    rules = ctx.rules
    pos = leaf.stack[leaf.last]
    key = situation_key(pos, rules) ^ TO_PLAY_KEYS[pos.to_play]
    if pos.ko != NO_POINT:
        key ^= KO_KEYS[pos.ko]
    extra = np.uint64(4 * pos.passes + 2 * leaf.no_result + (1 if over else 0))
    extra += np.uint64(16) * np.uint64(np.int64(2.0 * pos.white_bonus) + 4096)
    # The largest bonus leaves this bit free.
    extra += np.uint64(pos.passed_here) << np.uint64(32)
    key = mix(key + extra)
    if not _has_room(pos, ctx.settings.graph_repetition_bound, scratch.region):
        key = mix(key ^ parent_key)
    return key | np.uint64(1)


@kernel
def mix(key):
    """Scramble 64 bits (SplitMix64's finalizer)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@kernel
def _has_room(pos, bound, region):
    """Whether the last move's chain and the empty points around it are more than `bound` points."""
    point = np.int64(pos.recent[0])
    if point <= PASS:
        return False
    count = np.int64(0)
    stones = np.int64(0)
    if pos.board[point] == EMPTY:
        count = _add_empty(pos, region, count, point)
    else:
        head = np.int64(pos.chain[point])
        stones = np.int64(pos.stones[head])
        if stones + pos.liberties[head] > bound:
            return True
        stone = head
        while True:
            for i in range(4):
                count = _add_empty(pos, region, count, neighbour(stone, i))
            stone = np.int64(pos.next[stone])
            if stone == head:
                break
    done = 0
    while done < count and stones + count <= bound:
        for i in range(4):
            count = _add_empty(pos, region, count, neighbour(np.int64(region[done]), i))
        done += 1
    return stones + count > bound


@kernel
def _add_empty(pos, region, count, point):
    if pos.board[point] != EMPTY or count == REGION_ROOM:
        return count
    for i in range(count):
        if region[i] == point:
            return count
    region[count] = point
    return count + 1


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


@kernel_part
def ends_game(ctx, pos, depth):
    """Return whether the passes that ended the game at `pos`, `depth` moves from the root, end it for the search too.

    With conservative passing the root's own pass never does.
    """
    if depth == 1 and ctx.settings.conservative_pass == 1:
        return False
    return passes_decide(pos, ctx.rules)


@kernel_part
def is_judged(ctx, pos):
    """Return whether the search goes no further than this position, of which the network's evaluation stands.

    So the second clean-up phase is never played where players agree on dead stones. It ends with all stones taken for
    alive that nobody has captured, and few networks know that they have to: they pass, and lose what they had won.
    """
    return ctx.settings.agreement == 1 and pos.phase == PHASE_CLEANUP_2


@kernel
def score_terminal(ctx, scratch, pos, node):
    """Make a finished game's result the node's own evaluation."""
    rules = ctx.rules
    board = final_area(pos, rules, live_phase(pos, rules), rules.suicide == 1, scratch.life)
    score = board + pos.white_bonus + rules.komi + rules.handicap_bonus
    set_result(node, score, ctx.settings.draw_wins_for_white)


@kernel_part
def keep_owners(ctx, scratch, row):
    """Write the owners that `score_terminal` found to a row of the tree's ownership."""
    for i in range(ctx.moves - 1):
        owner = scratch.life.area[ctx.points[i]]
        row[i] = 127 if owner == WHITE else -127 if owner == BLACK else 0


@kernel
def set_result(node, score, draw_wins):
    """Set the own evaluation of a finished game that white won by `score` points. A draw is worth `draw_wins` wins.

    KataGo's adjustment for draws: an integer score s counts as s + 1/2 with the probability draw_wins, else as s - 1/2.
    """
    win = 1.0 if score > 0.0 else 0.0 if score < 0.0 else draw_wins
    node.eval_win_loss = 2.0 * win - 1.0
    node.eval_no_result = 0.0
    node.eval_score = score
    node.eval_score_sq = score * score
    if score == round(score):
        low = score - 0.5
        high = score + 0.5
        node.eval_score = score + draw_wins - 0.5
        node.eval_score_sq = low * low + (high * high - low * low) * draw_wins
    node.eval_lead = node.eval_score
    node.eval_winloss_error = 0.0
    node.eval_score_error = 0.0


@kernel_part
def set_no_result(node):
    """Set the own evaluation of a node whose game ended without result."""
    node.eval_win_loss = 0.0
    node.eval_no_result = 1.0
    node.eval_score = 0.0
    node.eval_score_sq = 0.0
    node.eval_lead = 0.0
    node.eval_winloss_error = 0.0
    node.eval_score_error = 0.0
