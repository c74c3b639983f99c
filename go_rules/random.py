"""Random numbers for kernels: xoroshiro128++ with its state as an explicit argument.

Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators" (2021). SplitMix64 makes the state from a
seed, as they advise. Do not use it for secrets.
"""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from nobi_machine.jit import kernel, kernel_for_python

_MASK = 2**64 - 1

SEED_BITS = 48

_source: random.Random = random.SystemRandom()


def draw_seeds_from(seed: int) -> None:
    """Have `drawn_seed` draw the same numbers after the same `seed` from now on, in place of the system's."""
    global _source
    _source = random.Random(seed)


def drawn_seed(seed: int) -> int:
    """Return a seed, or where it is negative one of SEED_BITS that is drawn."""
    return seed if seed >= 0 else _source.getrandbits(SEED_BITS)


def seed_state(seed: int) -> NDArray[np.uint64]:
    """Make a generator's state, uint64[2], from any integer; different seeds give unrelated sequences."""
    words = []
    counter = seed & _MASK
    for _ in range(2):
        counter = (counter + 0x9E3779B97F4A7C15) & _MASK
        word = ((counter ^ (counter >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
        words.append(word ^ (word >> 31))
    return np.array(words, np.uint64)


@kernel
def next_u64(state):
    """Return the next 64 random bits as uint64, and advance `state`."""
    s0 = state[0]
    s1 = state[1]
    total = s0 + s1
    result = ((total << np.uint64(17)) | (total >> np.uint64(47))) + s0
    s1 ^= s0
    state[0] = ((s0 << np.uint64(49)) | (s0 >> np.uint64(15))) ^ s1 ^ (s1 << np.uint64(21))
    state[1] = (s1 << np.uint64(28)) | (s1 >> np.uint64(36))
    return result


@kernel_for_python
def below(state, n):
    """Return a random integer 0..n-1, for 1 <= n < 2^31. No value is likelier than another by more than n / 2^32."""
    return np.int64(((next_u64(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def uniform(state):
    """Return a random float64 in [0, 1)."""
    return np.float64(next_u64(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
