"""A batch of positions from its features to what the heads make of every board: everything that is not small."""

from __future__ import annotations

from go_rules.machine.jit import kernel
from nets.native.convolutions.heads import run_heads
from nets.native.convolutions.trunk import run_layers, write_stem


@kernel
def run_network(
    network, layers, heads, tiles, space, finish, curves, spatial, global_, players, pools, policies, ownership, boards
):
    """So many `boards` at a time, which divides their number. The other arguments are arrays; the first six are of
    records, and but for `layers` of one; `curves` is None or activations.CURVES. The last three arrays are the results,
    see run_heads."""
    for start in range(0, len(spatial), boards):
        part = slice(start, start + boards)
        write_stem(spatial[part], global_[part], players[part], network[0], tiles[0], space[0])
        run_layers(layers, network[0], tiles[0], space[0], finish[0], curves, boards)
        run_heads(
            heads[0], network[0], tiles[0], space[0], finish[0], curves,
            pools[part], policies[part], ownership[part],
        )  # fmt: skip
