"""The second stage of an iteration: leaves as network input, each under a symmetry of its own."""

from __future__ import annotations

import numpy as np

from go_rules.jit import kernel
from go_rules.random import below
from nets.features import encode
from nets.symmetry import turn_planes
from search.path import mark_banned


@kernel
def encode_all(ctx, work, leaves, view, symmetries, images, features, planes, spatial, global_):
    """Encode the first `leaves` leaves into `spatial` [leaves, 22, H*W] and `global_` [leaves, 19].

    Leaf i is shown under the symmetry `symmetries[i]`, a row of `images`: its board point p is found at `images[., p]`.
    `view`: features.IN_TREE or AT_ROOT. `planes` [22, H, W] is scratch, `features` the encoder's.
    """
    context = ctx[0]
    for i in range(leaves):
        leaf = work.leaves[i]
        mark_banned(context, leaf)
        colour = np.int64(leaf.stack[leaf.last].to_play)
        encode(
            leaf.stack, leaf.last, colour, context.rules, 0.0, view, leaf.banned, features, planes, global_[i]
        )
        turn_planes(planes, images[symmetries[i]], spatial[i])


@kernel
def draw_symmetries(ctx, work, leaves, count, symmetries):
    """Draw one of `count` symmetries for each leaf, where evaluations are to see random ones."""
    for i in range(leaves):
        symmetries[i] = 0
        if ctx[0].settings.random_symmetry == 1:
            symmetries[i] = below(work.scratch[0].random, count)
