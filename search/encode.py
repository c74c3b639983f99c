"""The second stage of an iteration: leaves as network input, each under a symmetry of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.jit import kernel
from go_rules.random import below
from nets.features import encode
from search.path import mark_banned


@kernel
def encode_all(ctx, work, leaves, view, symmetries, images, features, planes, spatial, global_):
    """Encode the first `leaves` leaves into `spatial` [leaves, 22, H*W] and `global_` [leaves, 19].

    Leaf i is shown under the symmetry `symmetries[i]`, a row of `images`: its board point p is found at `images[., p]`.
    `view`: features.IN_TREE or AT_ROOT. `planes` [22, H, W] is scratch, `features` the encoder's.
    """
    context = ctx[0]
    height, width = planes.shape[1:]
    for i in range(leaves):
        leaf = work.leaves[i]
        mark_banned(context, leaf)
        colour = np.int64(leaf.stack[leaf.last].to_play)
        encode(
            leaf.stack, leaf.last, colour, context.rules, 0.0, view, leaf.banned, features, planes, global_[i]
        )
        image = images[symmetries[i]]
        for plane in range(len(planes)):
            at = 0
            for y in range(height):
                for x in range(width):
                    spatial[i, plane, image[at]] = planes[plane, y, x]
                    at += 1


@kernel
def draw_symmetries(ctx, work, leaves, count, symmetries):
    """Draw one of `count` symmetries for each leaf, where evaluations are to see random ones."""
    for i in range(leaves):
        symmetries[i] = 0
        if ctx[0].settings.random_symmetry == 1:
            symmetries[i] = below(work.scratch[0].random, count)


def symmetry_images(width: int, height: int) -> NDArray[np.int16]:
    """int16[8, P] (4 rows unless the board is square): where each symmetry shows each move; row 0 is the identity.

    Bits of the row's number: 1 turns the board upside down, 2 swaps left and right, 4 then swaps rows and columns.
    """
    y, x = np.divmod(np.arange(width * height), width)
    rows = []
    for symmetry in range(8 if width == height else 4):
        v = height - 1 - y if symmetry & 1 else y
        u = width - 1 - x if symmetry & 2 else x
        if symmetry & 4:
            u, v = v, u
        rows.append(np.append(v * width + u, width * height))
    return np.array(rows, np.int16)
