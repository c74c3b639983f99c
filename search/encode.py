"""The second stage of an iteration: leaves as network input, each under a symmetry of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.jit import kernel
from go_rules.random import below
from nets.features import AT_ROOT, IN_TREE, encode
from search.path import mark_banned


@kernel
def encode_all(ctx, work, leaves, symmetries, images, features, planes, spatial, global_):
    """Encode the first `leaves` leaves into `spatial` [leaves, 22, H*W] and `global_` [leaves, 19].

    Draws `symmetries[i]` for leaf i where evaluations are to see random ones, from the rows of `images`. `planes`
    [22, H, W] is scratch, `features` the encoder's.
    """
    for i in range(leaves):
        symmetry = 0
        if ctx[0].settings.random_symmetry == 1:
            symmetry = below(work.scratch[0].random, len(images))
        symmetries[i] = symmetry
        encode_leaf(ctx[0], work.leaves[i], IN_TREE, images[symmetry], features, planes, spatial[i], global_[i])


@kernel
def encode_root(ctx, work, images, features, planes, spatial, global_):
    """Encode leaf 0, which is the root, under every row of `images`."""
    view = AT_ROOT if ctx[0].settings.conservative_pass == 1 else IN_TREE
    for i in range(len(images)):
        encode_leaf(ctx[0], work.leaves[0], view, images[i], features, planes, spatial[i], global_[i])


@kernel
def encode_leaf(ctx, leaf, view, image, features, planes, spatial, global_):
    """Encode one leaf so that its board point i is found at `image[i]` of the `spatial` planes [22, H*W]."""
    mark_banned(ctx, leaf)
    colour = np.int64(leaf.stack[leaf.last].to_play)
    encode(leaf.stack, leaf.last, colour, ctx.rules, 0.0, np.int64(view), leaf.banned, features, planes, global_)
    height, width = planes.shape[1:]
    for plane in range(len(planes)):
        at = 0
        for y in range(height):
            for x in range(width):
                spatial[plane, image[at]] = planes[plane, y, x]
                at += 1


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
