"""One kernel for a transformer: from the features of a batch to the outputs of the heads for each board."""

from __future__ import annotations

from go_rules.machine.jit import kernel
from nets.native.convolutions.trunk import write_stem
from nets.native.transformers.blocks import run_blocks
from nets.native.transformers.heads import run_heads


@kernel
def run_tokens(
    network, blocks, matrices, heads, tiles, space, room, buffers,
    spatial, global_, players, pools, policies, ownership, boards,
):  # fmt: skip
    """Compute a batch, `boards` boards at a time, which divides their number.

    The other arguments are arrays. The first eight hold records, one each except `blocks` and `matrices`. The last
    three get the results (run_heads)."""
    parameters = network[0].parameters
    for start in range(0, len(spatial), boards):
        part = slice(start, start + boards)
        write_stem(spatial[part], global_[part], players[part], network[0], tiles[0], space[0])
        run_blocks(blocks, matrices, parameters, room[0], buffers[0], boards, spatial.shape[2], spatial.shape[3])
        run_heads(heads[0], matrices, parameters, room[0], pools[part], policies[part], ownership[part])
