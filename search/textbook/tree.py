"""The tree of all players of the textbook: an array of nodes, in which the children of a node lie side by side.

A node is a move together with the position behind it. Its statistics are those of the move: visits N, wins W and prior
P, so that its value is W / N. Values are winning chances, 0..1, of the side that plays the move. The papers on networks
have -1..1 instead; rules.py says so where it matters.

Several threads may grow one tree without locks (Enzenberger and Müller, "A lock-free multithreaded Monte-Carlo tree
search algorithm", 2009). It stays sound because children are published by one 64-bit write after they are complete,
because each thread takes room from its own part of the array, and because a lost update of a counter does little harm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.points import NO_POINT
from nobi_machine.jit import kernel, kernel_for_python, kernel_with_arrays

NODE = np.dtype(
    [
        ("children", "i8"),  # index of the first child << 16 | number of children; 0 while there are none
        ("wins", "f8"),  # W: sum of the values of all visits, 0..1, as the player of `move` sees them
        ("score", "f8"),  # sum of the scores of all visits, white's points minus black's
        ("visits", "i4"),  # N: iterations that came through this node and have ended
        ("in_flight", "i2"),  # iterations that are under way through this node
        ("move", "i2"),  # the move that leads here: a point or PASS; NO_POINT at the root
        ("prior", "f4"),  # P, the share of a network's policy; with imagined visits, how many of those are won
        ("prior_visits", "f4"),  # imagined visits, the weight of a prior without a network
        ("amaf_visits", "f4"),  # playouts through the parent in which the same player played `move` first, at any time
        ("amaf_wins", "f4"),  # sum of their values, as `wins`
        ("own_value", "f4"),  # v: the network's value of the position, or the game's result; the side to move's view
        ("own_score", "f4"),  # the score that goes with it, white's points minus black's
    ],
    align=True,
)

ROOT, NONE = 0, -1
"""The root's index, and the index that stands for no node."""

NUMBER_BITS = 16
NUMBER_MASK = (1 << NUMBER_BITS) - 1


def new_nodes(n: int) -> NDArray[np.void]:
    """Make an array of `n` nodes, of which only the root is in use. Memory is taken as nodes are first written to."""
    nodes = np.zeros(max(1, n), NODE)
    nodes[ROOT]["move"] = NO_POINT
    return nodes


@kernel_for_python
def first_child(children):
    """Read the index of the first child from a packed `children`."""
    return children >> NUMBER_BITS


@kernel_for_python
def number_of_children(children):
    """Read the number of children from a packed `children`."""
    return children & NUMBER_MASK


@kernel_for_python
def pack_children(first, number):
    """Pack the index of the first child and the number of children into one integer (NODE's `children`)."""
    return (first << NUMBER_BITS) | number


def place_of_children(nodes: NDArray[np.void], index: int = ROOT) -> slice:
    """Return where a node's children are in the array at this moment; an empty slice if it has none."""
    children = int(nodes[index]["children"])
    first = int(first_child(children))
    return slice(first, first + int(number_of_children(children)))


def children_of(nodes: NDArray[np.void], index: int = ROOT) -> NDArray[np.void]:
    """Return the children of a node as a view into the tree."""
    return nodes[place_of_children(nodes, index)]


@kernel
def clear_node(node, move):
    """Reset `node` to a new one for `move`, without visits, prior or children."""
    node.children = 0
    node.wins = 0.0
    node.score = 0.0
    node.visits = 0
    node.in_flight = 0
    node.move = move
    node.prior = 0.0
    node.prior_visits = 0.0
    node.amaf_visits = 0.0
    node.amaf_wins = 0.0
    node.own_value = 0.0
    node.own_score = 0.0


@kernel_with_arrays
def sort_by_prior(nodes, start, end):
    """Sort the nodes[start:end] by their priors, the likeliest first; equals stay in their order."""
    unsorted = nodes[start:end].copy()
    order = np.argsort(unsorted["prior_visits"] - 2.0 * unsorted["prior"], kind="mergesort")
    for i in range(end - start):
        nodes[start + i] = unsorted[order[i]]


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
