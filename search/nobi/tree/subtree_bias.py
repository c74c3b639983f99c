"""Subtree bias: correcting evaluations by what searching showed after similar local moves.

Where a network misjudges a local fight, it does so wherever in the tree the same moves were played around it. Nodes
that came about by the same two last moves, with the same stones around the last one, share an entry. It averages how
much their searched values differ from their evaluations, and part of that difference corrects the evaluations (Wu
2021, KataGo's "subtree value bias correction").
"""

from __future__ import annotations

import numpy as np

from go_rules.points import BLACK, MAX_SIZE, N_POINTS, NO_POINT, PASS, STRIDE, WHITE
from go_rules.position import KO_KEYS, TO_PLAY_KEYS
from nobi_machine.jit import kernel, kernel_part
from search.nobi.tree.nodes import BIASES, NODES, NONE

RADIUS = 2
"""Situations are alike only if the points within this distance of the last move (a square) are alike."""

MIN_WEIGHT = 0.001
"""An entry with less weight corrects nothing."""

PROBES = 16
"""How many slots of the table are looked at for a key before the node goes without an entry."""

_generator = np.random.Generator(np.random.PCG64(20210517))
_CELLS = (2 * RADIUS + 1) ** 2
PATTERN_KEYS = _generator.integers(1, 2**64, size=(_CELLS, 8), dtype=np.uint64)
"""[cell, content + 4 if in atari]"""
MOVE_KEYS = _generator.integers(1, 2**64, size=(2, N_POINTS), dtype=np.uint64)
"""[0 the move before the last, 1 the last; point]"""


@kernel
def bias_key(before, after):
    """Compute the key of the local situation of the move that led from `before` to `after`; 0 if there is none.

    There is none after a pass, and after a move before which no other is remembered.
    """
    point = np.int64(after.recent[0])
    earlier = np.int64(before.recent[0])
    if point <= PASS or earlier == NO_POINT:
        return np.uint64(0)
    key = TO_PLAY_KEYS[3 - after.to_play] ^ MOVE_KEYS[0, earlier] ^ MOVE_KEYS[1, point]
    if before.ko != NO_POINT:
        key ^= KO_KEYS[before.ko]
    row = point // STRIDE
    column = point % STRIDE
    cell = 0
    for y in range(row - RADIUS, row + RADIUS + 1):
        for x in range(column - RADIUS, column + RADIUS + 1):
            if 1 <= y <= MAX_SIZE and 1 <= x <= MAX_SIZE:
                q = y * STRIDE + x
                content = np.int64(before.board[q])
                if (content == BLACK or content == WHITE) and before.liberties[before.chain[q]] == 1:
                    content += 4
                key ^= PATTERN_KEYS[cell, content]
            cell += 1
    return key | np.uint64(1)


@kernel_part
def find_bias(tree, key):
    """Find the entry with this key, or begin a new one; return its index, or NONE where there is no room."""
    biases = tree.biases
    mask = len(biases) - 1
    slot = np.int64(key & np.uint64(mask))
    for _ in range(PROBES):
        if biases[slot].key == key:
            return slot
        if biases[slot].key == 0:
            biases[slot].key = key
            tree.used[BIASES] += 1
            return slot
        slot = (slot + 1) & mask
    return np.int64(NONE)


@kernel
def corrected(s, biases, node):
    """Return a node's own utility (white's view), corrected by its bias entry if that has weight enough."""
    if node.bias == NONE or biases[node.bias].weight <= MIN_WEIGHT:
        return np.float64(node.eval_utility)
    entry = biases[node.bias]
    return node.eval_utility + s.subtree_bias_factor * entry.delta / entry.weight


@kernel
def learn(s, biases, node, weight, children_utility):
    """Replace a node's part in its entry. `weight` is its children's total weight, `children_utility` their average."""
    if node.bias == NONE:
        return
    entry = biases[node.bias]
    new_weight = weight**s.subtree_bias_exponent
    new_delta = (children_utility - node.eval_utility) * new_weight
    entry.delta += new_delta - node.bias_delta
    entry.weight += new_weight - node.bias_weight
    node.bias_delta = new_delta
    node.bias_weight = new_weight


@kernel
def forget(s, biases, node):
    """Take most of a node's part out of its entry, because its subtree is no longer searched."""
    if node.bias == NONE:
        return
    entry = biases[node.bias]
    entry.delta -= s.subtree_bias_free * node.bias_delta
    entry.weight -= s.subtree_bias_free * node.bias_weight
    node.bias = NONE
    node.bias_delta = 0.0
    node.bias_weight = 0.0


@kernel
def drop_unused(tree, entries):
    """Empty the table but for the entries of nodes in the tree. `entries` is a copy of the table."""
    for slot in range(len(entries)):
        tree.biases[slot].key = 0
        tree.biases[slot].delta = 0.0
        tree.biases[slot].weight = 0.0
    tree.used[BIASES] = 0
    for index in range(tree.used[NODES]):
        node = tree.nodes[index]
        if node.bias == NONE:
            continue
        entry = entries[node.bias]
        slot = find_bias(tree, entry.key)
        node.bias = slot
        if slot == NONE:
            node.bias_delta = 0.0
            node.bias_weight = 0.0
        else:
            tree.biases[slot].delta = entry.delta
            tree.biases[slot].weight = entry.weight
