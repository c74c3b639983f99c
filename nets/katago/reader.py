"""Reads KataGo's model files, versions 3 to 17: gzip, tokens between spaces, arrays of floats, and the `Model` in all.

A stranger's file may be truncated, corrupt or made to exhaust memory. What is decompressed is capped, and no array
is allocated before the bytes that fill it are known to be there. (Layout: KataGo's `cpp/neuralnet/desc.cpp`.)
"""

from __future__ import annotations

import itertools
import math
import re
import zlib
from collections import Counter
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from nets.human_profile import META_FEATURES
from nets.katago.model import (
    Activation,
    AttentionBlock,
    Block,
    BottleneckBlock,
    Convolution,
    FeedForwardBlock,
    FloatArray,
    MetadataEncoder,
    Model,
    Multipliers,
    Normed,
    OrdinaryBlock,
    PolicyHead,
    PoolingBlock,
    RmsTip,
    Trunk,
    ValueHead,
)
from nobi_machine.text import parse_integer, parse_number

MAX_BYTES = 1 << 30
"""The largest decompressed file to accept; no network that KataGo has published is as large."""
SMALL_BYTES = 64 << 20
MAX_RATIO = 100
"""Beyond SMALL_BYTES: decompressed bytes per compressed byte. Trained weights compress less than tenfold."""
MOST_MEMBERS = 50_000
"""Parts of a gzip file. One is usual; programs that compress in parallel write one for each 64 kB or more."""
FIRST_PIECE, LARGEST_PIECE = 1 << 10, 1 << 20
"""Bytes of a member that are decompressed at once: the first, and the most."""
MAX_TOKEN = 256
MAX_DIMENSION = 1 << 16
"""The largest number of channels, kernel points or heads that a header may announce."""

LEAST_WEIGHT = 1e-30
"""Smaller weights are read as 0. Training wears weights down as far as to numbers that are not normal in float32, which
processors of Intel take more than ten times as long to multiply."""

_TOKEN = re.compile(rb"[^\s]+")
_BINARY = b"@BIN@"


class ModelFormatError(ValueError):
    """A file's content is no KataGo network; the text is one line without the file's name."""


def decompress(data: bytes) -> bytes:
    """Decompress gzip data, which may have several members; other data is returned as it is. Raises
    ModelFormatError. Takes linear time."""
    if data[:2] != b"\x1f\x8b":
        return data
    limit = min(MAX_BYTES, max(SMALL_BYTES, MAX_RATIO * len(data)))
    content = bytearray()
    view, at, members = memoryview(data), 0, 0
    try:
        while at < len(data) and any(view[at : at + 64]):  # gzip allows padding with zeros
            members += 1
            if members > MOST_MEMBERS:
                raise ModelFormatError(f"more than {MOST_MEMBERS} gzip members")
            at = _decompress_member(view, at, content, limit)
    except zlib.error as error:
        raise ModelFormatError(f"corrupt gzip data ({error})") from None
    return bytes(content)


def _decompress_member(data: memoryview, at: int, content: bytearray, limit: int) -> int:
    """Append the member at `at` to `content`, and return where it ends. Raises ModelFormatError and zlib.error."""
    member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    size = FIRST_PIECE
    while not member.eof:
        if at >= len(data):
            raise ModelFormatError("truncated gzip data")
        content += member.decompress(data[at : at + size], limit + 1 - len(content))
        if len(content) > limit:
            raise ModelFormatError(f"decompresses to more than {limit >> 20} MiB")
        at = min(at + size, len(data))
        size = min(2 * size, LARGEST_PIECE)
    return at - len(member.unused_data)  # which is copied: hence small pieces first


class Reader:
    """Reads a model's decompressed content from front to back.

    Every method raises ModelFormatError if the content ends early or is not what it should be.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._counts: Counter[str] = Counter()

    def word(self) -> str:
        """Read the next token, such as a layer's name or a block's kind."""
        found = _TOKEN.search(self._content, self._at, self._at + 4 * MAX_TOKEN)
        if found is None:
            raise ModelFormatError("ends early" if self._at_end() else "not a KataGo model file")
        if found.end() - found.start() > MAX_TOKEN:
            raise ModelFormatError("not a KataGo model file")
        self._at = found.end()
        try:
            word = found.group().decode("ascii")
        except UnicodeDecodeError:
            word = ""
        if not word.isprintable() or not word:
            raise ModelFormatError("not a KataGo model file")
        return word

    def integer(self, what: str, low: int = 1, high: int = MAX_DIMENSION) -> int:
        """Read the next token as an integer within [low, high]."""
        word = self.word()
        try:
            value = parse_integer(word)
        except ValueError:
            raise ModelFormatError(f"{what}: a number was expected, not {word[:40]!r}") from None
        if not low <= value <= high:
            raise ModelFormatError(f"{what}: {value} is outside {low}..{high}")
        return value

    def count(self, what: str, most: int) -> None:
        """Count one more of something that a file may have `most` of."""
        self._counts[what] += 1
        if self._counts[what] > most:
            raise ModelFormatError(f"more than {most} {what}")

    def flag(self, what: str) -> bool:
        """Read the next token as a truth value, 0 or 1."""
        return self.integer(what, 0, 1) == 1

    def zero(self, what: str) -> None:
        """Read an option that no known network sets, and refuse any value but 0: ignoring it would be wrong."""
        value = self.integer(what, -(1 << 29), 1 << 29)
        if value != 0:
            raise ModelFormatError(f"{what}: {value} is not supported")

    def positive(self, what: str) -> float:
        """Read the next token as a finite float above zero."""
        word = self.word()
        try:
            value = parse_number(word)
        except ValueError:
            raise ModelFormatError(f"{what}: a finite number was expected, not {word[:40]!r}") from None
        if not value > 0.0:
            raise ModelFormatError(f"{what}: {word[:40]} is not positive")
        return value

    def floats(self, what: str, *shape: int) -> NDArray[np.float32]:
        """Read the next array, binary or decimal, in row-major order; all numbers must be finite."""
        count = math.prod(shape)
        start = self._skip_space()
        if self._content.startswith(_BINARY, start):
            values = self._binary(what, start + len(_BINARY), count)
        else:
            values = self._decimal(what, start, count)
        if not np.isfinite(values).all():
            raise ModelFormatError(f"{what}: a weight is not finite")
        values[np.abs(values) < LEAST_WEIGHT] = 0.0
        return values.reshape(shape)

    def _binary(self, what: str, start: int, count: int) -> NDArray[np.float32]:
        if 4 * count > len(self._content) - start:
            raise ModelFormatError(f"{what}: ends early ({count} weights announced)")
        self._at = start + 4 * count
        return np.frombuffer(self._content, "<f4", count, start).astype(np.float32)

    def _decimal(self, what: str, start: int, count: int) -> NDArray[np.float32]:
        if 2 * count - 1 > len(self._content) - start:
            raise ModelFormatError(f"{what}: ends early ({count} weights announced)")
        values = np.empty(count, np.float64)
        filled = 0
        for found in itertools.islice(_TOKEN.finditer(self._content, start), count):
            try:
                values[filled] = float(found.group())
            except (ValueError, OverflowError):
                raise ModelFormatError(f"{what}: a weight is not a number") from None
            filled += 1
            self._at = found.end()
        if filled < count:
            raise ModelFormatError(f"{what}: ends early ({count} weights announced)")
        with np.errstate(over="ignore"):  # what no float32 can hold becomes infinite, which the caller refuses
            return values.astype(np.float32)

    def _skip_space(self) -> int:
        found = _TOKEN.search(self._content, self._at, self._at + 4 * MAX_TOKEN)
        return found.start() if found else len(self._content)

    def _at_end(self) -> bool:
        return not self._content[self._at :].strip()


# --- From the file to the model --------------------------------------------------------------------------------------

OLDEST_VERSION, NEWEST_VERSION = 3, 17
MAX_BLOCKS = 1000
"""The most blocks, those inside bottlenecks included; KataGo's largest networks have about 200."""
MAX_NESTING = 4
MAX_KERNEL = 25

INPUTS = {3: (22, 14), 4: (22, 14), 5: (22, 14), 6: (13, 12), 7: (22, 16)}
"""The numbers of spatial planes and global features by version; 22 and 19 from version 8 on."""
SCORE_CHANNELS = {3: 1, 4: 2, 5: 2, 6: 2, 7: 2, 8: 4}
"""The number of score outputs by version; 6 from version 9 on."""


def parse_model(content: bytes) -> Model:
    """Parse a model file's decompressed content. Raises ModelFormatError."""
    return read_model(Reader(content))


def read_model(reader: Reader) -> Model:
    """Read a model from the beginning of a file's decompressed content. Raises ModelFormatError."""
    name = reader.word()
    version = reader.integer("model version", 0, 1 << 29)
    if not OLDEST_VERSION <= version <= NEWEST_VERSION:
        raise ModelFormatError(
            f"model version {version} is not supported (known: {OLDEST_VERSION} to {NEWEST_VERSION})"
        )
    spatial_inputs = reader.integer("input planes")
    global_inputs = reader.integer("global inputs")
    _expect((spatial_inputs, global_inputs) == INPUTS.get(version, (22, 19)), "unexpected number of inputs")
    multipliers = _multipliers(reader) if version >= 13 else Multipliers()
    has_metadata, pass_alive_under_suicide = False, False
    if version >= 15:
        has_metadata = reader.integer("metadata encoder version", 0, 1) == 1
        pass_alive_under_suicide = reader.flag("pass-alive option")
        for option in "CDEFGH":
            reader.zero(f"model option {option}")
    trunk = _trunk(reader, version, has_metadata)
    _expect(trunk.stem.inputs == spatial_inputs, "the first convolution doesn't fit the input planes")
    _expect(trunk.stem_global.shape[0] == global_inputs, "the first matrix doesn't fit the global inputs")
    policy = _policy_head(reader, version, trunk.channels)
    value = _value_head(reader, version, trunk.channels)
    return Model(
        name, version, spatial_inputs, global_inputs, multipliers, pass_alive_under_suicide, trunk, policy, value
    )


def _expect(condition: bool, complaint: str) -> None:
    if not condition:
        raise ModelFormatError(complaint)


def _multipliers(reader: Reader) -> Multipliers:
    reader.positive("td score multiplier")  # of training targets, which no engine sees
    names = [each.name.replace("_", " ") for each in fields(Multipliers)]
    return Multipliers(*(reader.positive(f"{name} multiplier") for name in names))


def _name(reader: Reader, channels: int) -> str:
    """Read the name of a layer and its number of channels, which has to be that of those that arrive."""
    name = reader.word()
    announced = reader.integer(f"{name}: channels")
    _expect(announced == channels, f"{name}: {announced} channels where {channels} arrive")
    return name


def _convolution(reader: Reader, inputs: int | None, outputs: int | None = None) -> Convolution:
    name = reader.word()
    height, width = (reader.integer(f"{name}: kernel", 1, MAX_KERNEL) for _ in range(2))
    _expect(height % 2 == 1 and width % 2 == 1, f"{name}: a kernel must be odd")
    channels_in, channels_out = (reader.integer(f"{name}: channels") for _ in range(2))
    _expect(inputs in (None, channels_in), f"{name}: {channels_in} input channels where {inputs} arrive")
    _expect(outputs in (None, channels_out), f"{name}: {channels_out} output channels where {outputs} are needed")
    dilation = reader.integer(f"{name}: dilation", 1, MAX_KERNEL), reader.integer(f"{name}: dilation", 1, MAX_KERNEL)
    weights = reader.floats(name, height, width, channels_in, channels_out)
    return Convolution(np.ascontiguousarray(weights.transpose(3, 2, 0, 1)), dilation)


def _activation(reader: Reader, version: int) -> Activation:
    name = reader.word()
    if version < 11:
        return Activation.RELU
    kind = reader.word()
    try:
        return Activation(kind)
    except ValueError:
        raise ModelFormatError(f"{name}: unknown activation {kind[:40]}") from None


def _normed(reader: Reader, version: int, channels: int) -> Normed:
    name = _name(reader, channels)
    epsilon = reader.positive(f"{name}: epsilon")
    has_scale, has_bias = reader.flag(f"{name}: scale flag"), reader.flag(f"{name}: bias flag")
    mean = reader.floats(name, channels).astype(np.float64)
    variance = reader.floats(name, channels).astype(np.float64)
    _expect(bool((variance + epsilon > 0).all()), f"{name}: a variance is negative")
    gamma = reader.floats(name, channels).astype(np.float64) if has_scale else np.ones(channels)
    beta = reader.floats(name, channels).astype(np.float64) if has_bias else np.zeros(channels)
    with np.errstate(over="ignore"):
        scale = gamma / np.sqrt(variance + epsilon)
        bias = beta - scale * mean
        merged = scale.astype(np.float32), bias.astype(np.float32)
    _expect(bool(np.isfinite(merged).all()), f"{name}: a scale or bias is not finite")
    return Normed(*merged, _activation(reader, version))


def _matrix(reader: Reader, inputs: int | None, outputs: int | None = None) -> FloatArray:
    name = reader.word()
    rows, columns = (reader.integer(f"{name}: channels") for _ in range(2))
    _expect(inputs in (None, rows), f"{name}: {rows} input channels where {inputs} arrive")
    _expect(outputs in (None, columns), f"{name}: {columns} output channels where {outputs} are needed")
    return reader.floats(name, rows, columns)


def _vector(reader: Reader, channels: int) -> FloatArray:
    return reader.floats(_name(reader, channels), channels)


def _rms_weights(reader: Reader, channels: int) -> tuple[FloatArray, float]:
    name = _name(reader, channels)
    epsilon = reader.positive(f"{name}: epsilon")
    return reader.floats(name, channels), epsilon


def _blocks(reader: Reader, version: int, count: int, channels: int, depth: int) -> tuple[Block, ...]:
    return tuple(_block(reader, version, channels, depth) for _ in range(count))


def _block(reader: Reader, version: int, channels: int, depth: int) -> Block:
    kind, name = reader.word(), reader.word()
    reader.count("blocks", MAX_BLOCKS)
    if kind == "ordinary_block":
        before = _normed(reader, version, channels)
        first = _convolution(reader, channels)
        between = _normed(reader, version, first.outputs)
        return OrdinaryBlock(before, first, between, _convolution(reader, first.outputs, channels))
    if kind == "gpool_block":
        before = _normed(reader, version, channels)
        first, pooled = _convolution(reader, channels), _convolution(reader, channels)
        pooled_norm = _normed(reader, version, pooled.outputs)
        pooled_to_bias = _matrix(reader, 3 * pooled.outputs, first.outputs)
        between = _normed(reader, version, first.outputs)
        second = _convolution(reader, first.outputs, channels)
        return PoolingBlock(before, first, pooled, pooled_norm, pooled_to_bias, between, second)
    if kind == "nested_bottleneck_block":
        _expect(depth < MAX_NESTING, f"{name}: blocks are nested too deeply")
        count = reader.integer(f"{name}: blocks", 1, MAX_BLOCKS)
        before = _normed(reader, version, channels)
        narrow = _convolution(reader, channels)
        inner = _blocks(reader, version, count, narrow.outputs, depth + 1)
        after = _normed(reader, version, narrow.outputs)
        return BottleneckBlock(before, narrow, inner, after, _convolution(reader, narrow.outputs, channels))
    if kind == "transformer_attention_block":
        return _attention_block(reader, name, channels)
    if kind == "transformer_ffn_block":
        return _feed_forward_block(reader, name, channels)
    raise ModelFormatError(f"unknown kind of block: {kind[:40]}")


def _attention_block(reader: Reader, name: str, channels: int) -> AttentionBlock:
    heads, kv_heads, query_dimension, value_dimension = (reader.integer(f"{name}: heads") for _ in range(4))
    _expect(heads % kv_heads == 0, f"{name}: {heads} heads cannot share {kv_heads} keys evenly")
    uses_rope, learned = reader.flag(f"{name}: rope flag"), reader.flag(f"{name}: learned rope flag")
    norm, epsilon = _rms_weights(reader, channels)
    query = _matrix(reader, channels, heads * query_dimension)
    key = _matrix(reader, channels, kv_heads * query_dimension)
    value = _matrix(reader, channels, kv_heads * value_dimension)
    output = _matrix(reader, heads * value_dimension, channels)
    rope = None
    if uses_rope:
        _expect(query_dimension % 2 == 0, f"{name}: rotary embedding needs an even head size")
        pairs = query_dimension // 2
        if learned:
            name = reader.word()
            shape = tuple(reader.integer(f"{name}: shape") for _ in range(3))
            _expect(shape == (kv_heads, pairs, 2), f"{name}: shape {shape} where {(kv_heads, pairs, 2)} is needed")
            rope = reader.floats(name, *shape)
        else:
            rope = fixed_rope(reader.positive(reader.word()), pairs)
            _expect(bool(np.isfinite(rope).all()), "rope theta is out of range")
    return AttentionBlock(heads, kv_heads, norm, epsilon, query, key, value, output, rope)


def fixed_rope(theta: float, pairs: int) -> FloatArray:
    """Return frequencies [1, pairs, 2] at which the first half of the pairs turn with y, the others with x:
    theta^(-2i / pairs)."""
    half = pairs // 2
    frequencies = np.zeros((1, pairs, 2), np.float32)
    with np.errstate(over="ignore"):
        frequencies[0, :half, 1] = theta ** (-2.0 * np.arange(half) / pairs)
        frequencies[0, half:, 0] = theta ** (-2.0 * np.arange(pairs - half) / pairs)
    return frequencies


def _feed_forward_block(reader: Reader, name: str, channels: int) -> FeedForwardBlock:
    announced, hidden = reader.integer(f"{name}: channels"), reader.integer(f"{name}: hidden channels")
    _expect(announced == channels, f"{name}: {announced} channels where {channels} arrive")
    gated = reader.flag(f"{name}: gate flag")
    norm, epsilon = _rms_weights(reader, channels)
    first = _matrix(reader, channels, hidden)
    gate = _matrix(reader, channels, hidden) if gated else None
    return FeedForwardBlock(norm, epsilon, first, gate, _matrix(reader, hidden, channels))


def _trunk(reader: Reader, version: int, has_metadata: bool) -> Trunk:
    name = reader.word()
    blocks = reader.integer(f"{name}: blocks", 1, MAX_BLOCKS)
    channels = reader.integer(f"{name}: channels")
    for kind in ("middle", "regular", "dilated", "pooled"):
        reader.integer(f"{name}: {kind} channels", 0)  # each layer states its own again
    has_rms_tip = False
    if version >= 15:
        has_rms_tip = reader.flag(f"{name}: kind of norm")
        for option in "BCDEF":
            reader.zero(f"{name}: trunk option {option}")
    stem = _convolution(reader, None, channels)
    stem_global = _matrix(reader, None, channels)
    metadata = _metadata_encoder(reader, version, channels) if has_metadata else None
    body = _blocks(reader, version, blocks, channels, 0)
    tip = _rms_tip(reader, version, channels) if has_rms_tip else _normed(reader, version, channels)
    return Trunk(stem, stem_global, metadata, body, tip)


def _rms_tip(reader: Reader, version: int, channels: int) -> RmsTip:
    name = _name(reader, channels)
    epsilon = reader.positive(f"{name}: epsilon")
    spatial = reader.flag(f"{name}: spatial flag")
    reader.zero(f"{name}: grouped norm")
    gamma, beta = reader.floats(name, channels), reader.floats(name, channels)
    return RmsTip(gamma, beta, epsilon, spatial, _activation(reader, version))


def _metadata_encoder(reader: Reader, version: int, channels: int) -> MetadataEncoder:
    name = reader.word()
    inputs = reader.integer(f"{name}: inputs")
    _expect(inputs == META_FEATURES, f"{name}: {inputs} inputs where {META_FEATURES} are known")
    first = _matrix(reader, inputs)
    first_bias = _vector(reader, first.shape[1])
    first_activation = _activation(reader, version)
    second = _matrix(reader, first.shape[1])
    second_bias = _vector(reader, second.shape[1])
    second_activation = _activation(reader, version)
    third = _matrix(reader, second.shape[1], channels)
    return MetadataEncoder(first, first_bias, first_activation, second, second_bias, second_activation, third)


def _policy_head(reader: Reader, version: int, channels: int) -> PolicyHead:
    name = reader.word()
    if version >= 17:
        outputs = reader.integer(f"{name}: channels", 2, 4)
        _expect(outputs in (2, 4), f"{name}: {outputs} channels where 2 or 4 are known")
        for option in "ABC":
            reader.zero(f"{name}: policy option {option}")
    else:
        outputs = 4 if version == 16 else 2 if version >= 12 else 1
    first = _convolution(reader, channels)
    pooled = _convolution(reader, channels)
    pooled_norm = _normed(reader, version, pooled.outputs)
    pooled_to_bias = _matrix(reader, 3 * pooled.outputs, first.outputs)
    first_norm = _normed(reader, version, first.outputs)
    second = _convolution(reader, first.outputs, outputs)
    pass_first = _matrix(reader, 3 * pooled.outputs, outputs if version < 15 else None)
    pass_bias = pass_activation = pass_second = None
    if version >= 15:
        pass_bias = _vector(reader, pass_first.shape[1])
        pass_activation = _activation(reader, version)
        pass_second = _matrix(reader, pass_first.shape[1], outputs)
    passing = pass_first, pass_bias, pass_activation, pass_second
    return PolicyHead(first, pooled, pooled_norm, pooled_to_bias, first_norm, second, *passing)


def _value_head(reader: Reader, version: int, channels: int) -> ValueHead:
    name = reader.word()
    if version >= 17:
        for option in "ABC":
            reader.zero(f"{name}: value option {option}")
    scores = SCORE_CHANNELS.get(version, 6)
    first = _convolution(reader, channels)
    norm = _normed(reader, version, first.outputs)
    hidden = _matrix(reader, 3 * first.outputs)
    hidden_bias = _vector(reader, hidden.shape[1])
    hidden_activation = _activation(reader, version)
    value = _matrix(reader, hidden.shape[1], 3)
    value_bias = _vector(reader, 3)
    score = _matrix(reader, hidden.shape[1], scores)
    score_bias = _vector(reader, scores)
    ownership = _convolution(reader, first.outputs, 1)
    return ValueHead(
        first, norm, hidden, hidden_bias, hidden_activation, value, value_bias, score, score_bias, ownership
    )
