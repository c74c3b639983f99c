"""A network as the kernels read it: one piece of memory with all parameters, and records that say what lies where.

An activation's channels have a step each, a level being worth so much; the weights that read them absorb it. Weights
are as fine as sums in 32 bits allow, however unlikely the inputs: no sum can overflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import Activation, Convolution, FloatArray, Model, Normed, OrdinaryBlock, PoolingBlock
from nets.katago.value_head import score_outputs
from nets.native.heads import HEADS
from nets.native.outputs import SmallLayers
from nets.native.products import OUTPUTS
from nets.native.tiling import MOST_LEVELS, PLACES, reach, weight_matrix
from nets.native.trunk import LAYER, MOST_MIDDLES, NETWORK
from nets.native.vectors import is_available

LARGEST_WEIGHT = 32767
MOST_BYTES = 128 << 20
"""Of parameters. Larger networks would spend their time on reading them from memory."""
NARROWEST = 1e-2
"""Least range of a channel, as a share of the widest one's: a channel that never fired may do so one day."""

Steps = FloatArray
"""[channels]: what a level of each is worth."""


@dataclass(frozen=True)
class Packed:
    """A network ready for the kernels."""

    parameters: NDArray[np.uint8]
    """Begins at a multiple of 64 bytes."""
    network: NDArray[np.void]
    """A NETWORK record"""
    layers: NDArray[np.void]
    """LAYER records"""
    heads: NDArray[np.void]
    """A HEADS record"""
    channels: int
    """Of the stream; here and below a multiple of 32."""
    middles: tuple[int, ...]
    """Channels of the kinds of blocks' middles."""
    pooled: int
    """The most pooled channels of a layer."""
    planes: int
    global_features: int
    small: SmallLayers


def objection_to_packing(model: Model) -> str:
    """Why this network cannot be run in int16 on this processor, in a few words; empty where it can."""
    if not is_available():
        return "int16 needs a processor with AVX2"
    return "" if can_be_packed(model) else "int16 is only for networks of plain convolution blocks with ReLU"


def can_be_packed(model: Model) -> bool:
    """Whether a prepared network is made of what the kernels know: residual blocks of convolutions of 3×3 and ReLU."""
    trunk, policy, value = model.trunk, model.policy, model.value
    if not isinstance(trunk.tip, Normed) or trunk.metadata is not None or not trunk.blocks:
        return False
    activations = [trunk.tip.activation, policy.pooled_norm.activation, policy.first_norm.activation]
    activations += [value.norm.activation, value.hidden_activation, policy.pass_activation or Activation.RELU]
    heads = [policy.first, policy.pooled, policy.second, value.first, value.ownership]
    convolutions, middles, size = [], set(), 0
    for block in trunk.blocks:
        if not isinstance(block, (OrdinaryBlock, PoolingBlock)):
            return False
        activations += [block.before.activation, block.between.activation]
        convolutions += [block.first, block.second]
        middles.add(padded(block.first.outputs))
        if isinstance(block, PoolingBlock):
            activations.append(block.pooled_norm.activation)
            convolutions.append(block.pooled)
    size = sum(padded(each.inputs) * padded(each.outputs) for each in convolutions) * PLACES * 2
    stem = trunk.stem.weights.shape[2:]
    return (
        all(activation is Activation.RELU for activation in activations)
        and all(each.weights.shape[2:] == (3, 3) and each.dilation == (1, 1) for each in convolutions)
        and all(each.weights.shape[2:] == (1, 1) for each in heads)
        and stem[0] == stem[1]
        and trunk.stem.dilation == (1, 1)
        and len(middles) <= MOST_MIDDLES
        and size <= MOST_BYTES
    )


def padded(channels: int) -> int:
    return -(-channels // OUTPUTS) * OUTPUTS


def steps(highest: FloatArray) -> Steps:
    """From the highest values [channels] that should be told apart."""
    least = max(NARROWEST * float(highest.max()), 1e-6)
    return np.asarray(np.maximum(highest, least) / MOST_LEVELS, np.float32)


@np.errstate(over="ignore", invalid="ignore")  # absurd weights: outputs that are not finite are refused
def pack(model: Model, highest: Mapping[str, FloatArray]) -> Packed:
    """`highest` are the tops of the ranges of the activations, [channels] by the names of their taps."""
    writer = Writer()
    trunk = model.trunk
    channels = padded(trunk.channels)
    assert isinstance(trunk.tip, Normed)
    norms = [block.before for block in trunk.blocks if isinstance(block, (OrdinaryBlock, PoolingBlock))]
    readers = [*norms, trunk.tip]
    taps = [f"block{number}_before" for number in range(len(norms))] + ["tip"]
    # The levels that a reader of the stream sees: the stream times the first plus the second.
    scales = [_pad(norm.scale / steps(highest[tap]), channels) for norm, tap in zip(readers, taps, strict=True)]
    biases = [_pad(norm.bias / steps(highest[tap]), channels) for norm, tap in zip(readers, taps, strict=True)]

    stem_weights = np.zeros((trunk.stem.inputs, *trunk.stem.weights.shape[2:], channels), np.float32)
    stem_weights[..., : trunk.channels] = trunk.stem.weights.transpose(1, 2, 3, 0)[:, :, ::-1]
    stem_global = np.zeros((len(trunk.stem_global), channels), np.float32)
    stem_global[:, : trunk.channels] = trunk.stem_global
    network = np.zeros(1, NETWORK)
    record = network[0]
    record["channels"], record["stem_reach"] = channels, trunk.stem.weights.shape[2] // 2
    record["stem"], record["stem_bias"] = writer.put(stem_weights), writer.put(_pad(_bias(trunk.stem), channels))
    record["stem_global"] = writer.put(stem_global)
    record["first_scale"], record["first_bias"] = writer.put(scales[0]), writer.put(biases[0])
    middles: list[int] = []
    layers = np.zeros(2 * len(norms), LAYER)
    for number, block in enumerate(trunk.blocks):
        assert isinstance(block, (OrdinaryBlock, PoolingBlock))
        width = padded(block.first.outputs)
        if width not in middles:
            middles.append(width)
        before, between = steps(highest[taps[number]]), steps(highest[f"block{number}_between"])
        first, second = layers[2 * number], layers[2 * number + 1]
        first["inputs"], first["outputs"] = channels, width
        second["inputs"], second["outputs"], second["adds"] = width, channels, 1
        first["middle"] = second["middle"] = middles.index(width)
        parts = [_scaled(block.first, (1 / between).astype(np.float32))]
        if isinstance(block, PoolingBlock):
            parts.insert(0, block.pooled)
            first["pooled"] = padded(block.pooled.outputs)
            first["pool_matrix"] = writer.put(pool_matrix(block.pooled_to_bias / between, block.pooled.outputs, width))
        _put_convolutions(writer, first, parts, before)
        _put_convolutions(writer, second, [block.second], between)
        second["next_scale"], second["next_bias"] = writer.put(scales[number + 1]), writer.put(biases[number + 1])

    heads = _pack_heads(writer, model, steps(highest["tip"]), channels)
    parameters = writer.content()
    record["parameters"] = parameters.ctypes.data
    return Packed(
        parameters=parameters,
        network=network,
        layers=layers,
        heads=heads,
        channels=channels,
        middles=tuple(middles),
        pooled=int(layers["pooled"].max()),
        planes=trunk.stem.inputs,
        global_features=len(stem_global),
        small=small_layers(model),
    )


class Writer:
    """Arrays one after another, each at a multiple of 64 bytes."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.uint8]] = []
        self._size = 0

    def put(self, array: NDArray[np.generic]) -> int:
        """The offset at which it lies."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        at = self._size
        self._arrays.append(np.pad(flat, (0, -len(flat) % 64)))
        self._size += len(self._arrays[-1])
        return at

    def content(self) -> NDArray[np.uint8]:
        result = aligned(self._size)
        np.concatenate(self._arrays, out=result)
        return result


def aligned(size: int) -> NDArray[np.uint8]:
    """So many zero bytes that begin at a multiple of 64."""
    space = np.zeros(size + 64, np.uint8)
    start = -space.ctypes.data % 64
    return space[start : start + size]


def _pad(values: FloatArray, channels: int) -> FloatArray:
    return np.pad(values.astype(np.float32), (0, channels - len(values)))


def _bias(convolution: Convolution) -> FloatArray:
    return np.zeros(convolution.outputs, np.float32) if convolution.bias is None else convolution.bias


def _scaled(convolution: Convolution, factor: FloatArray) -> Convolution:
    """Its outputs times `factor`."""
    weights = convolution.weights * factor[:, None, None, None]
    return Convolution(weights, convolution.dilation, _bias(convolution) * factor)


def pool_matrix(matrix: FloatArray, pooled: int, outputs: int) -> FloatArray:
    """[3 * pooled, outputs] with padding for both."""
    result = np.zeros((3, padded(pooled), outputs), np.float32)
    result[:, :pooled, : matrix.shape[1]] = matrix.reshape(3, pooled, -1)
    return result


def _put_convolutions(writer: Writer, layer: np.void, parts: list[Convolution], read: Steps) -> None:
    """Write convolutions of 3×3 that read the same levels, each padded to blocks of 32 outputs, as one."""
    inputs, both = int(layer["inputs"]), np.kron(weight_matrix(), weight_matrix()).astype(np.float32)
    highest, lowest = (MOST_LEVELS * each[:, None].astype(np.float32) for each in reach())
    weights, scales, biases = [], [], []
    for part in parts:
        kernels = (part.weights * read[None, :, None, None]).reshape(-1, 9)
        # Not a matrix product, for which numpy's library would wake its threads.
        at_places = np.einsum("pk,nk->pn", both, kernels).reshape(PLACES, part.outputs, part.inputs)
        over = np.maximum(at_places, 0).sum(axis=2)
        under = over - at_places.sum(axis=2)
        most = np.maximum(highest * over + lowest * under, highest * under + lowest * over).max(axis=0)
        integers, scale = _rounded(at_places, most, axis=(0, 2), shape=(1, -1, 1))
        block = np.zeros((PLACES, padded(part.outputs), inputs), np.int16)
        block[:, : part.outputs, : part.inputs] = integers
        weights.append(block)
        scales.append(_pad(scale, padded(part.outputs)))
        biases.append(_pad(_bias(part), padded(part.outputs)))
    pairs = np.concatenate(weights, axis=1).view(np.int32).reshape(PLACES, -1, OUTPUTS, inputs // 2)
    layer["weights"] = writer.put(pairs.transpose(1, 0, 3, 2))
    layer["scale"], layer["bias"] = writer.put(np.concatenate(scales)), writer.put(np.concatenate(biases))


def _rounded(
    weights: FloatArray, most: FloatArray, axis: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[NDArray[np.int16], FloatArray]:
    """Integers [..., outputs, inputs] and what 1 is worth [outputs], where sums of products of the weights come to at
    most `most` [outputs]."""
    # Rounding moves each product by up to half of the largest input, 2^15.
    largest_sum = 2**31 - 2**15 * weights.shape[-1]
    scale = np.maximum(most / largest_sum, np.abs(weights).max(axis=axis) / LARGEST_WEIGHT)
    scale = np.maximum(scale, 1e-30)
    return np.rint(weights / scale.reshape(shape)).astype(np.int16), scale.astype(np.float32)


def _pack_heads(writer: Writer, model: Model, read: Steps, channels: int) -> NDArray[np.void]:
    policy, value = model.policy, model.value
    result = np.zeros(1, HEADS)
    heads = result[0]
    parts = [policy.pooled.followed_by(policy.pooled_norm), policy.first.followed_by(policy.first_norm)]
    parts.append(value.first.followed_by(value.norm))
    weights, scales, biases = [], [], []
    for part in parts:
        matrix = part.weights[:, :, 0, 0] * read
        integers, scale = _rounded(matrix, MOST_LEVELS * np.abs(matrix).sum(axis=1), axis=(1,), shape=(-1, 1))
        block = np.zeros((padded(part.outputs), channels), np.int16)
        block[: part.outputs, : part.inputs] = integers
        weights.append(block)
        scales.append(_pad(scale, padded(part.outputs)))
        biases.append(_pad(_bias(part), padded(part.outputs)))
    pooled_width, policy_width, value_width = (len(each) for each in scales)
    heads["pooled_blocks"], heads["policy_blocks"] = pooled_width // OUTPUTS, policy_width // OUTPUTS
    heads["value_blocks"] = value_width // OUTPUTS
    pairs = np.concatenate(weights).view(np.int32).reshape(-1, OUTPUTS, channels // 2)
    heads["weights"] = writer.put(pairs.transpose(0, 2, 1))
    heads["scale"], heads["bias"] = writer.put(np.concatenate(scales)), writer.put(np.concatenate(biases))
    matrix = pool_matrix(policy.pooled_to_bias * policy.first_norm.scale, policy.pooled.outputs, policy_width)
    heads["pool_matrix"] = writer.put(matrix.reshape(3, -1, OUTPUTS, policy_width).transpose(1, 0, 2, 3))
    # The two further channels of versions 16 and 17 predict values of moves, not moves.
    heads["policies"] = min(2, policy.channels)
    policies = np.stack([_pad(row, policy_width) for row in policy.second.weights[:2, :, 0, 0]])
    heads["policy"] = writer.put(policies)
    heads["ownership"] = writer.put(_pad(value.ownership.weights[0, :, 0, 0], value_width))
    return result


def small_layers(model: Model) -> SmallLayers:
    """What no kernel computes of the heads."""
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
        pass_second=policy.pass_second[:, :used] if policy.pass_second is not None else none,
        hidden=hidden,
        hidden_bias=value.hidden_bias,
        value=value.value,
        value_bias=value.value_bias,
        score=score_outputs(model),
    )
