"""One kernel for a network: from the features of a batch to the outputs of the heads for each board.

A trunk is a list of runs: stretches of convolution blocks and of transformer blocks, which share the residual streams.
A kind of block that a network lacks is not compiled.
"""

from __future__ import annotations

import numpy as np

from nets.native.convolutions.layers import run_layers
from nets.native.heads import run_heads
from nets.native.stem import write_stem
from nets.native.transformers.blocks import run_blocks
from nobi_machine.jit import kernel

CONVOLUTIONS, ROWS = 0, 1
"""Kinds of runs: of LAYER records, and of BLOCK records."""

RUN = np.dtype([("kind", np.int64), ("first", np.int64), ("end", np.int64)])
"""A stretch of records of one kind, from number `first` to before `end`."""


@kernel
def run_network(
    network, runs, layers, blocks, matrices, heads, tiles, space, room, buffers, streams, finish, curves,
    constant, profile_bias, pools, policies, ownership, boards, count, spatial, global_,
):  # fmt: skip
    """Compute the first `count` boards of a batch, `boards` at a time, which divides their number.

    The other arguments are arrays. `network`, `heads`, `tiles`, `space`, `room`, `buffers` and `finish` hold one record
    each; `runs`, `layers`, `blocks` and `matrices` hold many, and `layers` and `blocks` are None where there are none.
    `streams` has addresses, and `curves` is None or activations.CURVES. `constant` is an address, and `profile_bias` is
    [boards of the batch, channels] (write_stem). `pools`, `policies` and `ownership` get the results (run_heads).
    """
    height, width = spatial.shape[2], spatial.shape[3]
    parameters = network[0].parameters
    for start in range(0, count, boards):
        part = slice(start, start + boards)
        write_stem(spatial[part], global_[part], profile_bias[part], network[0], constant, streams[0])
        for number in range(len(runs)):
            first, end = runs[number].first, runs[number].end
            if layers is not None and runs[number].kind == CONVOLUTIONS:
                run_layers(layers, first, end, network[0], tiles[0], space[0], streams, finish[0], curves, boards)
            if blocks is not None and runs[number].kind == ROWS:
                run_blocks(
                    blocks, first, end, matrices, parameters, room[0], streams, buffers[0], boards, height, width
                )
        run_heads(heads[0], matrices, parameters, room[0], streams[0], pools[part], policies[part], ownership[part])
