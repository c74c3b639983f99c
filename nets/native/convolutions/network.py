"""One kernel for a network of convolutions: from the features of a batch to the outputs of the heads for each board."""

from __future__ import annotations

from go_rules.machine.jit import kernel
from nets.native.convolutions.heads import run_heads
from nets.native.convolutions.trunk import run_layers, write_stem


@kernel
def run_network(
    network, layers, heads, tiles, space, finish, curves, spatial, global_, players, pools, policies, ownership, boards
):
    """Compute a batch, `boards` boards at a time, which divides their number.

    The other arguments are arrays. The first six hold records, one each except `layers`; `curves` is None or
    activations.CURVES. The last three get the results (run_heads).
    """
    for start in range(0, len(spatial), boards):
        part = slice(start, start + boards)
        write_stem(spatial[part], global_[part], players[part], network[0], tiles[0], space[0])
        run_layers(layers, network[0], tiles[0], space[0], finish[0], curves, boards)
        run_heads(
            heads[0], network[0], tiles[0], space[0], finish[0], curves,
            pools[part], policies[part], ownership[part],
        )  # fmt: skip
