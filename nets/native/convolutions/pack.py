"""Packs a network of convolutions for the kernels: all parameters in one array, and records that say where each is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nets.conversion.value_head import score_outputs
from nets.katago.model import Activation, FloatArray, Model, Trunk
from nets.native.convolutions.heads import HEADS
from nets.native.convolutions.layers import Buffer, LayersWriter, Reader
from nets.native.convolutions.levels import PLAIN
from nets.native.convolutions.parameters import Writer, bias_of, pad, padded, pool_matrix, put_convolutions
from nets.native.convolutions.tiling import LARGEST
from nets.native.convolutions.trunk import NETWORK
from nets.native.outputs import SmallLayers
from nets.native.simd.activations import CURVES, KINDS
from nets.native.simd.products import OUTPUTS
from nets.native.unsupported import is_curved


@dataclass(frozen=True)
class Packed:
    """A network of convolutions as the kernels read it."""

    parameters: NDArray[np.uint8]
    """All parameters; the array begins at a multiple of 64 bytes."""
    network: NDArray[np.void]
    """One NETWORK record."""
    layers: NDArray[np.void]
    """LAYER records of the trunk, in order."""
    heads: NDArray[np.void]
    """One HEADS record."""
    largest: int
    """The side of Winograd's largest tiles, in points."""
    curves: NDArray[np.float64] | None
    """activations.CURVES, or None if ReLU is the only activation."""
    channels: int
    """Channels of the trunk's stream; here and below a multiple of 32."""
    streams: tuple[int, ...]
    """Channels of the trunk's stream and of those of bottlenecks in it."""
    buffers: tuple[Buffer, ...]
    """The buffers for levels."""
    pooled: int
    """The most pooled channels of a layer."""
    planes: int
    global_features: int
    small: SmallLayers


@np.errstate(over="ignore", invalid="ignore")  # absurd weights: outputs that are not finite are refused
def pack(model: Model, highest: Mapping[str, FloatArray], largest: int = LARGEST) -> Packed:
    """Write a network for the kernels. `highest` has the tops of the ranges of activations, [channels] by the names of
    their taps; `largest` is the most points of a side of Winograd's tiles."""
    writer, trunk = Writer(), model.trunk
    has_curves = is_curved(model)
    network = pack_stem(writer, trunk)
    record = network[0]
    record["points"] = largest + 2
    plan = LayersWriter(writer, highest, has_curves, largest)
    layers, tip = plan.trunk(trunk)
    heads = _pack_heads(writer, model, tip)
    heads[0]["source"] = plan.target
    widest = max(OUTPUTS, int((layers["outputs"] + layers["pooled"]).max()))
    record["ones"] = writer.put(np.ones(widest, np.float32))
    parameters = writer.content()
    record["parameters"] = parameters.ctypes.data
    return Packed(
        parameters=parameters,
        network=network,
        layers=layers,
        heads=heads,
        largest=largest,
        curves=CURVES if has_curves else None,
        channels=int(record["channels"]),
        streams=tuple(plan.streams),
        buffers=tuple(plan.buffers),
        pooled=int(layers["pooled"].max()),
        planes=trunk.stem.inputs,
        global_features=len(trunk.stem_global),
        small=small_layers(model),
    )


def pack_stem(writer: Writer, trunk: Trunk) -> NDArray[np.void]:
    """Make a NETWORK record with what write_stem reads."""
    channels = padded(trunk.channels)
    weights = np.zeros((trunk.stem.inputs, *trunk.stem.weights.shape[2:], channels), np.float32)
    weights[..., : trunk.channels] = trunk.stem.weights.transpose(1, 2, 3, 0)[:, :, ::-1]
    by_feature = np.zeros((len(trunk.stem_global), channels), np.float32)
    by_feature[:, : trunk.channels] = trunk.stem_global
    network = np.zeros(1, NETWORK)
    record = network[0]
    record["channels"], record["stem_reach"] = channels, trunk.stem.weights.shape[2] // 2
    record["stem"], record["stem_bias"] = writer.put(weights), writer.put(pad(bias_of(trunk.stem), channels))
    record["stem_global"] = writer.put(by_feature)
    return network


def _pack_heads(writer: Writer, model: Model, tip: Reader) -> NDArray[np.void]:
    policy, value = model.policy, model.value
    result = np.zeros(1, HEADS)
    heads = result[0]
    parts = [policy.pooled.followed_by(policy.pooled_norm), policy.first.followed_by(policy.first_norm)]
    parts.append(value.first.followed_by(value.norm))
    heads["weights"], heads["scale"], heads["bias"] = put_convolutions(writer, parts, tip.steps, tip.levels, PLAIN)
    policy_width, value_width = padded(policy.first.outputs), padded(value.first.outputs)
    heads["pooled_blocks"] = padded(policy.pooled.outputs) // OUTPUTS
    heads["policy_blocks"], heads["value_blocks"] = policy_width // OUTPUTS, value_width // OUTPUTS
    for name, norm in (("pooled", policy.pooled_norm), ("policy", policy.first_norm), ("value", value.norm)):
        heads[f"{name}_activation"] = KINDS.index(norm.activation)
    matrix = pool_matrix(policy.pooled_to_bias * policy.first_norm.scale, policy.pooled.outputs, policy_width)
    heads["pool_matrix"] = writer.put(matrix.reshape(3, -1, OUTPUTS, policy_width).transpose(1, 0, 2, 3))
    # The two further channels of versions 16 and 17 predict values of moves, not moves.
    heads["policies"] = min(2, policy.channels)
    policies = np.stack([pad(row, policy_width) for row in policy.second.weights[:2, :, 0, 0]])
    heads["policy"] = writer.put(policies)
    heads["ownership"] = writer.put(pad(value.ownership.weights[0, :, 0, 0], value_width))
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
