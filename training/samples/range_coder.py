"""An adaptive binary range coder: each decision costs as many bits as it was surprising in its context.

One function is used for both directions: it is given a decision and writes it, or it reads one. So whoever describes a
sample as decisions has described how it is written and how it is read. The method is that of LZMA (Martin, "Range
encoding", 1979); a context's chance is the mean of a quick and a slow average (as in H.266).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.compilation.jit import kernel, kernel_part

CONTEXTS = 32768
"""How many contexts there are."""
CHANCE_BITS = 15
QUICK, SLOW = 4, 7
"""The averages move by 1 / 2^QUICK and 1 / 2^SLOW of the way to what was decided."""
HALF = 1 << 15
"""An average of one half."""
LEAST_RANGE = 1 << 24
ALL = (1 << 32) - 1

CODER = np.dtype(
    [
        ("contexts", "u2", (CONTEXTS, 2)),  # 65536 times the chance of a 0, as a quick and as a slow average
        ("low", "i8"),  # writing: the lower end of the interval; reading: how far above it the number lies
        ("range", "i8"),  # the interval's width, 32 bits
        ("held", "i8"),  # writing: the last byte, which a carry may still change; -1 at first
        ("pending", "i8"),  # writing: how many bytes of 255 follow it, through which the carry would go
        ("place", "i8"),  # the next byte
        ("reads", "i1"),  # 0 writing, 1 reading
    ],
    align=True,
)


def new_coder() -> NDArray[np.void]:
    """Allocate a coder; `begin` makes it ready."""
    return np.zeros(1, CODER)


@kernel
def begin(coder, data, reads):
    """Begin to read (`reads` 1) or write (0) `data`, uint8[L]."""
    for i in range(CONTEXTS):
        coder.contexts[i, 0] = HALF
        coder.contexts[i, 1] = HALF
    coder.low = 0
    coder.range = ALL
    coder.held = -1
    coder.pending = 0
    coder.place = 0
    coder.reads = reads
    if reads == 1:
        for _ in range(4):
            coder.low = (coder.low << 8) | _next_byte(coder, data)


@kernel
def finish(coder, data):
    """End writing. Return how many bytes of `data` were used; more than it has means that they did not suffice."""
    for _ in range(5):
        _shift(coder, data)
    return np.int64(coder.place)


@kernel
def code_bit(coder, data, context, bit):
    """Write `bit`, or return the one that is read; `context` is its context."""
    return _decision(coder, data, context, np.int64(bit))


@kernel
def code_tree(coder, data, context, bits, value):
    """Write a number of `bits` bits, or return the one that is read. It has 2^bits contexts, from `context` on."""
    node = np.int64(1)
    for i in range(bits):
        node = 2 * node + _decision(coder, data, context + node, (np.int64(value) >> (bits - 1 - i)) & 1)
    return node - (np.int64(1) << bits)


@kernel
def code_guessed(coder, data, context, bits, guess, value):
    """Write a number from 0 to 2^bits, or return the one that is read: a decision whether it is the guess, and only if
    not which other one it is. It has 2^bits contexts, from `context` on."""
    if _decision(coder, data, context, np.int64(1 if value != guess else 0)) == 0:
        return np.int64(guess)
    rest = np.int64(value) - (1 if value > guess else 0)
    node = np.int64(1)
    for i in range(bits):
        node = 2 * node + _decision(coder, data, context + node, (rest >> (bits - 1 - i)) & 1)
    rest = node - (np.int64(1) << bits)
    return rest + (1 if rest >= guess else 0)


@kernel
def code_plain(coder, data, bits, value):
    """Write a number of `bits` bits all of whose values are as likely, or return the one that is read."""
    result = np.int64(0)
    for i in range(bits):
        bound = coder.range >> 1
        result = 2 * result + _narrow(coder, data, bound, (np.int64(value) >> (bits - 1 - i)) & 1)
    return result


@kernel_part
def _decision(coder, data, context, bit):
    quick = np.int64(coder.contexts[context, 0])
    slow = np.int64(coder.contexts[context, 1])
    bit = _narrow(coder, data, (coder.range >> CHANCE_BITS) * ((quick + slow) >> (17 - CHANCE_BITS)), bit)
    if bit == 0:
        coder.contexts[context, 0] = quick + ((65535 - quick) >> QUICK)
        coder.contexts[context, 1] = slow + ((65535 - slow) >> SLOW)
    else:
        coder.contexts[context, 0] = quick - (quick >> QUICK)
        coder.contexts[context, 1] = slow - (slow >> SLOW)
    return bit


@kernel_part
def _narrow(coder, data, bound, bit):
    """Take the lower `bound` of the interval for a 0, the rest for a 1."""
    if coder.reads == 1:
        bit = np.int64(1 if coder.low >= bound else 0)
        if bit == 1:
            coder.low -= bound
    elif bit == 1:
        coder.low += bound
    if bit == 1:
        coder.range -= bound
    else:
        coder.range = bound
    while coder.range < LEAST_RANGE:
        coder.range <<= 8
        if coder.reads == 1:
            coder.low = ((coder.low << 8) & ALL) | _next_byte(coder, data)
        else:
            _shift(coder, data)
    return bit


@kernel_part
def _next_byte(coder, data):
    """Return the next byte; after the last one there are zeros."""
    place = coder.place
    coder.place = place + 1
    return np.int64(data[place]) if place < len(data) else np.int64(0)


@kernel
def _shift(coder, data):
    """Write the upper byte of `low` once no carry can change it any more."""
    if coder.low < 0xFF000000 or coder.low > ALL:
        carry = coder.low >> 32
        if coder.held >= 0:
            _put(coder, data, coder.held + carry)
        for _ in range(coder.pending):
            _put(coder, data, 255 + carry)
        coder.pending = 0
        coder.held = (coder.low >> 24) & 255
    else:
        coder.pending += 1
    coder.low = (coder.low << 8) & ALL


@kernel
def _put(coder, data, byte):
    if coder.place < len(data):
        data[coder.place] = byte & 255
    coder.place += 1
