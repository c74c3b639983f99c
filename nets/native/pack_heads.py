"""Packs the heads of a network, and the end of its trunk, for the kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import Activation, Model, RmsTip
from nets.katago.score_outputs import score_outputs
from nets.native.heads import HEADS
from nets.native.outputs import SmallLayers
from nets.native.parameters import Writer, pad, padded, pool_matrix
from nets.native.simd.activations import KINDS
from nets.native.simd.products import OUTPUTS
from nets.native.transformers.packing import MatricesWriter, placed, spread


def pack_heads(model: Model, writer: Writer, matrices: MatricesWriter) -> NDArray[np.void]:
    """Make the HEADS record of a network, with what the kernel reads."""
    trunk, policy, value = model.trunk, model.policy, model.value
    tip, stream = trunk.tip, placed([trunk.channels])
    result = np.zeros(1, HEADS)
    heads = result[0]
    if isinstance(tip, RmsTip):
        heads["tip"], heads["epsilon"], gamma, beta = 2 if tip.spatial else 1, tip.epsilon, tip.gamma, tip.beta
    else:
        gamma, beta = tip.scale, tip.bias
    heads["share"] = 1 / trunk.channels
    heads["gamma"], heads["beta"] = (writer.put(spread(each, stream)) for each in (gamma, beta))
    heads["tip_activation"] = KINDS.index(tip.activation)
    norms = policy.pooled_norm, policy.first_norm, value.norm
    parts = [
        each.followed_by(norm) for each, norm in zip((policy.pooled, policy.first, value.first), norms, strict=True)
    ]
    widths = [padded(each.outputs) for each in parts]
    outputs = placed([each.outputs for each in parts], lanes=OUTPUTS)
    matrix = np.concatenate([each.weights[:, :, 0, 0].T for each in parts], axis=1)
    heads["matrix"] = matrices.put(matrix, stream, outputs)
    heads["bias"] = writer.put(spread(np.concatenate([each.biases for each in parts]), outputs))
    for name, width, norm in zip(("pooled", "policy", "value"), widths, norms, strict=True):
        heads[f"{name}_blocks"], heads[f"{name}_activation"] = width // OUTPUTS, KINDS.index(norm.activation)
    pools = pool_matrix(policy.pooled_to_bias * policy.first_norm.scale, policy.pooled.outputs, widths[1])
    heads["pool_matrix"] = writer.put(pools.reshape(3, -1, OUTPUTS, widths[1]).transpose(1, 0, 2, 3))
    # The two further channels of versions 16 and 17 predict values of moves, not moves.
    heads["policy"] = writer.put(np.stack([pad(row, widths[1]) for row in policy.second.weights[:2, :, 0, 0]]))
    heads["ownership"] = writer.put(pad(value.ownership.weights[0, :, 0, 0], widths[2]))
    return result


def small_layers(model: Model) -> SmallLayers:
    """Return the layers of the heads that the big kernel does not compute."""
    policy, value = model.policy, model.value
    used, none = min(2, policy.channels), np.zeros(0, np.float32)
    has_hidden = policy.pass_second is not None and policy.pass_bias is not None
    pass_first = policy.pass_first if has_hidden else policy.pass_first[:, :used]
    width = padded(policy.pooled.outputs)
    by_block = pool_matrix(pass_first, policy.pooled.outputs, pass_first.shape[1]).reshape(
        3, -1, OUTPUTS, pass_first.shape[1]
    )
    hidden = pool_matrix(value.hidden, value.first.outputs, value.hidden.shape[1])
    return SmallLayers(
        version=model.version,
        pass_first=by_block.transpose(1, 0, 2, 3).reshape(3 * width, -1),
        pass_bias=policy.pass_bias if policy.pass_bias is not None else none,
        pass_activation=KINDS.index(policy.pass_activation or Activation.IDENTITY),
        pass_second=policy.pass_second[:, :used] if policy.pass_second is not None else none,
        hidden=hidden,
        hidden_bias=value.hidden_bias,
        hidden_activation=KINDS.index(value.hidden_activation),
        value=value.value,
        value_bias=value.value_bias,
        score=score_outputs(model),
    )
