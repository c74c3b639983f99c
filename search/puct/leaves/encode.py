"""The start of the evaluation stage: leaves become network input, each under a symmetry of its own."""

from __future__ import annotations

import numpy as np

from go_rules.compilation.jit import kernel
from go_rules.points import WHITE
from go_rules.random import below
from nets.features import encode_symmetry


@kernel
def encode_leaves(ctx, work, chosen, symmetries, permutations, features, spatial, global_, count, view, n_symmetries):
    """Encode the `count` leaves listed in `chosen` into `spatial` [count, 22, H*W] and `global_` [count, 19].

    The i-th is shown under the symmetry `symmetries[i]`, a row of `permutations`: board point p is found at
    `permutations[., p]`. They are drawn first, each from the first `n_symmetries`, unless that is 0. `view`:
    features.IN_TREE or AT_ROOT. `features` is the encoder's scratch.
    """
    context = ctx[0]
    for i in range(count):
        if n_symmetries > 0:
            # Where evaluations are not to see random ones, they see the board as it lies.
            symmetries[i] = below(work.scratch[0].random, n_symmetries) if context.settings.random_symmetry == 1 else 0
        leaf = work.leaves[chosen[i]]
        colour = np.int64(leaf.stack[leaf.last].to_play)
        doublings = context.settings.white_doublings if colour == WHITE else -context.settings.white_doublings
        permutation = permutations[symmetries[i]]
        position = leaf.stack, leaf.last, colour, context.rules, doublings, view, leaf.banned
        encode_symmetry(*position, features, permutation, spatial[i], global_[i])
