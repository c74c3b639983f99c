"""Between two evaluations: all that a worker does to the tree, in one call and so under the lock only once."""

from __future__ import annotations

from go_rules.machine.jit import kernel
from search.puct.leaves.nn_cache import find_cached, store
from search.puct.tree.expand import insert_all
from search.puct.tree.nodes import ROOT
from search.puct.tree.rank import is_decided
from search.puct.tree.select import select

VISITS_AT_ONCE = 256
"""Visits that end without an evaluation in one hold of the lock, at most."""

VISITS_A_LEAF = 16
"""Visits of the root for each further leaf that a worker collects: leaves under way make a small tree worse."""

NO_ROOM, NOT_YET = -1, -1.0
"""For `advance`: nothing more is to be begun; it is not to see whether the search is decided."""

DECIDED = -1
"""How a call ends, beside the ways in which a descent does (tree/select.py): the search is decided."""


@kernel
def advance(tree, cache, ctx, work, keys, missing, leaves, asked, room, left):
    """Insert a worker's `leaves`, remember the `asked` ones that the evaluator was asked for, and collect new ones.

    `keys` and `missing` are as `find_cached` left them, and are filled again. `room`: how many visits may be begun, or
    NO_ROOM. `left`: visits that may still come, to end where these cannot change the move, or NOT_YET.
    Returns (visits completed, leaves collected, how many of them to ask for, how the last descent ended).
    """
    done = insert_all(tree, ctx, work, leaves)
    store(cache, ctx, work, keys, missing, asked)
    if left != NOT_YET and is_decided(tree, left):
        return done, 0, 0, DECIDED
    if room != NO_ROOM:
        # An inserted leaf that counts for no visit of the root makes room for one that does.
        room += leaves - done
    grown = 1 + tree.nodes[tree.used[ROOT]].visits // VISITS_A_LEAF
    wanted = min(len(work.leaves), room, grown)
    leaves, counted, outcome = select(tree, ctx, work, wanted, min(room, VISITS_AT_ONCE))
    asked = find_cached(cache, ctx, work, leaves, keys, missing)
    return done + counted, leaves, asked, outcome
