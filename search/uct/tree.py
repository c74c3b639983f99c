"""The UCT search's tree: an array of nodes, in which the children of a node lie side by side.

Several threads grow one tree without locks (Enzenberger and Müller, "A lock-free multithreaded Monte-Carlo tree
search algorithm", 2009). It stays sound because children are published by one 64-bit write after they are complete,
because each thread takes room from its own part of the array, and because a lost update of a counter does no harm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.compilation.jit import kernel
from go_rules.points import NO_POINT

NODE = np.dtype(
    [
        ("children", "i8"),  # index of the first child << 16 | number of children; 0 while there are none
        ("wins", "f8"),  # sum of the playouts' values, 0..1, as the player of `move` sees them
        ("score", "f8"),  # sum of the playouts' scores, white's points minus black's
        ("visits", "i4"),  # playouts through this node, those under way included (they count as lost: virtual loss)
        ("amaf_visits", "f4"),  # playouts through the parent in which the same player played `move` first, at any time
        ("amaf_wins", "f4"),  # sum of their values, as `wins`
        ("prior_visits", "f4"),  # weight of the prior
        ("prior_wins", "f4"),
        ("move", "i2"),  # the move that leads here: a point or PASS; NO_POINT at the root
    ],
    align=True,
)

ROOT = 0
NUMBER_BITS = 16
NUMBER_MASK = (1 << NUMBER_BITS) - 1


def new_nodes(n: int) -> np.ndarray:
    """Make an array of `n` nodes, of which only the root is in use. Memory is taken as nodes are first written to."""
    nodes = np.zeros(max(1, n), NODE)
    nodes[ROOT]["move"] = NO_POINT
    return nodes


@kernel
def first_child(children):
    """Read the index of the first child from a packed `children`."""
    return children >> NUMBER_BITS


@kernel
def number_of_children(children):
    """Read the number of children from a packed `children`."""
    return children & NUMBER_MASK


def children_of(nodes: NDArray[np.void], index: int) -> slice:
    """Return where a node's children are in the array at this moment; an empty slice if it has none."""
    children = int(nodes[index]["children"])
    first = int(first_child(children))
    return slice(first, first + int(number_of_children(children)))


@kernel
def pack_children(first, number):
    """Pack the index of the first child and the number of children into one integer (NODE's `children`)."""
    return (first << NUMBER_BITS) | number


@kernel
def clear_node(node, move):
    """Reset `node` to a new one for `move`, without visits, prior or children."""
    node.children = 0
    node.wins = 0.0
    node.score = 0.0
    node.visits = 0
    node.amaf_visits = 0.0
    node.amaf_wins = 0.0
    node.prior_visits = 0.0
    node.prior_wins = 0.0
    node.move = move


@kernel
def copy_subtree(target, source, index):
    """Copy the tree below `source[index]` to the start of `target`, its top becoming the root; returns its size.

    Breadth first, so that children lie side by side again. `target` has at least as much room as the subtree needs.
    """
    target[ROOT] = source[index]
    used = 1
    done = 0
    while done < used:
        children = target[done].children
        if children != 0:
            first = first_child(children)
            number = number_of_children(children)
            for i in range(number):
                target[used + i] = source[first + i]
            target[done].children = pack_children(used, number)
            used += number
        done += 1
    return used
