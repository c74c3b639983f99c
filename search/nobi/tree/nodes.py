"""The search tree: arrays of nodes, of their priors and of edges between nodes.

A node is a position together with all that searching taught about it. Its moves live in two places: a move not
yet tried is a prior in the node's row of `priors`; a move that was tried has left that row and become an edge.
Edges of one node are contiguous, in the order in which they were tried, in a pool shared by all nodes; a node
whose edges outgrow their range gets one of twice the length. With graph search several edges may lead to one
node, so visits are counted at both.

All averages are white's view. Whatever grows does so inside arrays reserved once, for the memory the user
allows: pages of an array become memory when they are first written to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nobi_machine.jit import kernel, kernel_for_python, kernel_part

NONE = -1
"""No node, no edge range, no bias entry."""

# States of a node.
NEW = 0  # never evaluated, nobody is at it
WAITING = 1  # its evaluation is under way
EXPANDED = 2  # evaluated: statistics and priors are valid
TERMINAL = 3  # the game is over here: the eval_* fields hold the result

# Bits of `flags`.
HAS_OWNERSHIP = 1
PASS_ENDS_PHASE = 2  # a pass here ends the game, or its phase

NODE = np.dtype(
    [
        # What a parent reads of each of its children comes first: together it takes fewer lines of the caches.
        ("weight", "f8"),  # of all evaluations below and its own
        ("weight_sq", "f8"),  # sum of their squares
        # Averages over that weight, white's view.
        ("win_loss", "f4"),  # -1..1: chance to win minus chance to lose
        ("no_result", "f4"),  # 0..1
        ("score", "f4"),  # points
        ("score_sq", "f4"),  # points squared
        ("lead", "f4"),  # points
        ("utility", "f4"),
        ("utility_sq", "f4"),
        ("visits", "i4"),
        ("state", "i1"),
        ("to_play", "i1"),
        ("flags", "i1"),
        ("next_move", "i2"),  # the untried move with the largest prior, as move index, or NONE
        ("next_prior", "f4"),  # that prior
        ("edges", "i4"),  # first edge in the pool, or NONE
        ("n_edges", "i2"),
        ("room", "i2"),  # edges its range has room for
        # What is read at the node itself.
        ("key", "u8"),  # graph search: hash of the position; 0 for a node that is never shared
        ("child_weight", "f8"),  # sum of the edges' weights, before bad moves are given less
        ("mass", "f4"),  # sum of the edges' priors
        ("next_refresh", "i4"),  # visits at which the averages are next computed afresh from the children
        # Its own evaluation, white's view.
        ("eval_win_loss", "f4"),
        ("eval_no_result", "f4"),
        ("eval_score", "f4"),
        ("eval_score_sq", "f4"),
        ("eval_lead", "f4"),
        ("eval_winloss_error", "f4"),  # the network's estimate of its error; -1 if it has none
        ("eval_score_error", "f4"),  # the same, in points
        ("eval_weight", "f4"),
        ("eval_utility", "f4"),  # before the subtree bias
        ("bias", "i4"),  # entry of the subtree bias table, or NONE
        ("bias_delta", "f4"),  # what this node added to that entry's sum
        ("bias_weight", "f4"),  # and to its weight
    ],
    align=True,
)

EDGE = np.dtype(
    [
        ("child", "i4"),  # node; in a free range's first edge: the next free range, or NONE
        ("visits", "i4"),  # visits that came this way
        ("prior", "f4"),  # 0..1; -1: excluded when this node was the root; the edge is kept and never followed
        ("utility", "f4"),  # the child's, as of the last visit this way; white's view
        ("weight", "f4"),  # the child's times the share of its visits that came this way, likewise
        ("scale", "f4"),  # how much of that weight the parent's averages gave it at the last refresh
        ("in_flight", "i2"),  # visits on their way
        ("move", "i2"),  # move index: y * width + x, width * height for the pass
    ],
    align=True,
)

BIAS = np.dtype(
    [
        ("key", "u8"),  # hash of the local situation (subtree_bias.py); 0 where the slot is free
        ("delta", "f8"),  # sum over its nodes: weight times (average of the children's utility - own utility)
        ("weight", "f8"),  # sum of those weights
    ],
    align=True,
)

# Entries of `Tree.used`.
NODES, EDGES, ROOT, BIASES = range(4)

SMALLEST_ROOM = 2
ROOM_CLASSES = 10
"""Ranges of edges hold 2, 4, ... 1024."""

EDGES_PER_NODE = 3
"""Edges reserved per node: every node has one leading to it, shared ones have more, and ranges are half empty."""


class Tree(NamedTuple):
    """The arrays of a search tree, with room for N nodes of P moves each and for L edges."""

    nodes: NDArray[np.void]
    """NODE[N]"""
    priors: NDArray[np.uint16]
    """[N, P] in network order, encoded (`encode_prior`); 0 where a move is illegal, excluded or has become an edge."""
    edges: NDArray[np.void]
    """EDGE[L]"""
    table: NDArray[np.int32]
    """[2^k] node with that key, by open addressing; NONE where free."""
    biases: NDArray[np.void]
    """BIAS[2^k], by open addressing."""
    ownership: NDArray[np.int8]
    """[N, H*W], or [1, H*W] where it is not kept: a node's own evaluation, white's view, 127 = certainly white's."""
    free: NDArray[np.int32]
    """[ROOM_CLASSES] first free range of each size, or NONE."""
    used: NDArray[np.int64]
    """[4] nodes in use, edges in use, the root node or NONE, entries of `biases` in use."""


def node_bytes(points: int, with_ownership: bool) -> int:
    """Compute how many bytes one node takes, with its share of all arrays."""
    tables = 4 * 4 + BIAS.itemsize // 2
    kept = points if with_ownership else 0
    return int(NODE.itemsize + 2 * (points + 1) + EDGES_PER_NODE * EDGE.itemsize + tables + kept)


def new_tree(points: int, memory: int, with_ownership: bool = False) -> Tree:
    """Make an empty tree for boards of `points` points, in at most `memory` bytes: less where the machine has less.

    It has room for 64 nodes at least. Raises MemoryError where the machine has almost nothing left.
    """
    capacity = max(64, memory // node_bytes(points, with_ownership))
    while True:
        try:
            return _reserve(points, capacity, with_ownership)
        except MemoryError:
            if capacity <= 4096:
                raise
            capacity //= 2


def _reserve(points: int, capacity: int, with_ownership: bool) -> Tree:
    tree = Tree(
        nodes=np.empty(capacity, NODE),
        priors=np.empty((capacity, points + 1), np.uint16),
        edges=np.empty(max(EDGES_PER_NODE * capacity, 4 << ROOM_CLASSES), EDGE),
        table=np.empty(1 << (2 * capacity - 1).bit_length(), np.int32),
        biases=np.empty(1 << max(6, capacity.bit_length() - 2), BIAS),
        ownership=np.empty((capacity if with_ownership else 1, points), np.int8),
        free=np.empty(ROOM_CLASSES, np.int32),
        used=np.zeros(4, np.int64),
    )
    clear_tree(tree)
    return tree


@kernel
def clear_tree(tree):
    """Remove all nodes from the tree."""
    for slot in range(len(tree.table)):
        tree.table[slot] = NONE
    for i in range(len(tree.biases)):
        tree.biases[i].key = 0
        tree.biases[i].delta = 0.0
        tree.biases[i].weight = 0.0
    for size in range(ROOM_CLASSES):
        tree.free[size] = NONE
    tree.used[NODES] = 0
    tree.used[EDGES] = 0
    tree.used[ROOT] = NONE
    tree.used[BIASES] = 0


@kernel_for_python
def new_node(tree, key, to_play):
    """Add a NEW node without statistics; return it, or NONE when the tree is full."""
    index = tree.used[NODES]
    if index >= len(tree.nodes):
        return NONE
    tree.used[NODES] = index + 1
    node = tree.nodes[index]
    node.key = key
    node.state = NEW
    node.flags = 0
    node.to_play = to_play
    node.edges = NONE
    node.bias = NONE
    node.bias_delta = 0.0
    node.bias_weight = 0.0
    node.visits = 0
    node.weight = 0.0
    node.weight_sq = 0.0
    node.child_weight = 0.0
    node.win_loss = 0.0
    node.no_result = 0.0
    node.score = 0.0
    node.score_sq = 0.0
    node.lead = 0.0
    node.utility = 0.0
    node.utility_sq = 0.0
    node.mass = 0.0
    node.n_edges = 0
    node.room = 0
    node.next_refresh = 0
    node.next_move = NONE
    node.next_prior = 0.0
    return index


@kernel
def find_key(table, nodes, key):
    """Find the node with this key; return NONE if there is none."""
    mask = len(table) - 1
    slot = np.int64(key & np.uint64(mask))
    while table[slot] != NONE:
        index = np.int64(table[slot])
        if nodes[index].key == key:
            return index
        slot = (slot + 1) & mask
    return np.int64(NONE)


@kernel
def add_key(tree, index):
    """Add a node to the table of keys, so that `find_key` finds it."""
    mask = len(tree.table) - 1
    slot = np.int64(tree.nodes[index].key & np.uint64(mask))
    while tree.table[slot] != NONE:
        slot = (slot + 1) & mask
    tree.table[slot] = index


@kernel
def allocate_edges(tree, size):
    """Reserve SMALLEST_ROOM << size edges. Returns the first of them, or NONE when the pool is exhausted."""
    start = tree.free[size]
    if start != NONE:
        tree.free[size] = tree.edges[start].child
        return np.int64(start)
    room = SMALLEST_ROOM << size
    start = tree.used[EDGES]
    if start + room > len(tree.edges):
        return np.int64(NONE)
    tree.used[EDGES] = start + room
    return np.int64(start)


@kernel_part
def room_class(edges):
    """Return the smallest `size` of `allocate_edges` that has room for so many edges."""
    size = 0
    while SMALLEST_ROOM << size < edges:
        size += 1
    return size


@kernel
def open_edge(tree, index, move):
    """Turn an untried move of a node into an edge without child; return its slot, or NONE if the pool is exhausted."""
    node = tree.nodes[index]
    slot = np.int64(node.n_edges)
    if slot == node.room and not _grow(tree, index):
        return np.int64(NONE)
    edge = tree.edges[node.edges + slot]
    edge.child = NONE
    edge.visits = 0
    edge.prior = decode_prior(tree.priors[index, move])
    edge.utility = 0.0
    edge.weight = 0.0
    edge.scale = 1.0
    edge.in_flight = 0
    edge.move = move
    node.n_edges += 1
    node.mass += edge.prior
    tree.priors[index, move] = 0
    find_next(node, tree.priors[index])
    return slot


@kernel
def _grow(tree, index):
    """Move a node's edges to a range of twice the room; False when the pool is exhausted."""
    node = tree.nodes[index]
    size = 0 if node.room == 0 else room_class(node.room) + 1
    start = allocate_edges(tree, size)
    if start == NONE:
        return False
    if node.room > 0:
        old = node.edges
        for slot in range(node.n_edges):
            copy_edge(tree.edges[start + slot], tree.edges[old + slot])
        tree.edges[old].child = tree.free[size - 1]
        tree.free[size - 1] = old
    node.edges = start
    node.room = SMALLEST_ROOM << size
    return True


@kernel
def copy_edge(target, source):
    """Copy an EDGE field by field, because numba assigns whole records slowly."""
    target.child = source.child
    target.visits = source.visits
    target.prior = source.prior
    target.utility = source.utility
    target.weight = source.weight
    target.scale = source.scale
    target.in_flight = source.in_flight
    target.move = source.move


@kernel
def find_next(node, row):
    """Set a node's `next_move` and `next_prior`: its best untried move. `row`: the node's priors."""
    best = np.int64(0)
    move = NONE
    for i in range(len(row)):
        if row[i] > best:
            best = np.int64(row[i])
            move = i
    node.next_move = move
    node.next_prior = decode_prior(np.uint16(best)) if best > 0 else np.float32(0.0)


LOWEST_EXPONENT = 96 << 23
"""Float32 bits of 2^-31, the smallest prior that is kept."""


@kernel
def encode_prior(prior):
    """Encode a legal move's prior (0..1) in 16 bits: 5 of exponent, 11 of mantissa. Keeps the order; never 0."""
    bits = np.int64(np.float32(prior).view(np.uint32)) - LOWEST_EXPONENT + 2048
    code = bits >> 12
    return np.uint16(1 if code < 1 else 65535 if code > 65535 else code)


@kernel
def decode_prior(code):
    """Decode a prior from a code that is not 0. It is exact within 0.025 %."""
    return np.uint32((np.uint32(code) << np.uint32(12)) + np.uint32(LOWEST_EXPONENT)).view(np.float32)


def encode_priors(priors: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Encode a whole policy as `encode_prior` does; 0 stays 0."""
    bits = priors.astype(np.float32).view(np.uint32).astype(np.int64) - LOWEST_EXPONENT + 2048
    codes = np.clip(bits >> 12, 1, 65535).astype(np.uint16)
    codes[priors <= 0] = 0
    return codes


def decode_priors(codes: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Decode many codes, none of them 0, as `decode_prior` does."""
    return ((codes.astype(np.uint32) << 12) + np.uint32(LOWEST_EXPONENT)).view(np.float32)
