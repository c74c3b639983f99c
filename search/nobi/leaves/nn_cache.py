"""The cache of network evaluations: a position that the search comes back to needs no second evaluation.

It is a table of fixed size with two places for each key. The key contains everything that the network was shown, except
the symmetry and the stones of earlier boards (planes 15 and 16), and everything that decided which moves have priors.
The cache is used under the search's lock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import N_POINTS
from go_rules.position import HISTORY_MOVES, KO_KEYS, STONE_KEYS
from nobi_machine.jit import kernel, kernel_part
from search.nobi.leaves.path import cycle_key, mark_banned, mix
from search.nobi.memory.context import VALUES


class Cache(NamedTuple):
    """The arrays of a cache with C entries, for boards of H*W points and P = H*W + 1 moves."""

    keys: NDArray[np.uint64]
    """[C], where C is a power of two; 0 marks an empty entry."""
    codes: NDArray[np.uint16]
    """[C, P] as LEAF's"""
    values: NDArray[np.float32]
    """[C, VALUES] as LEAF's"""
    ownership: NDArray[np.int8]
    """[C, H*W] as LEAF's"""
    salt: NDArray[np.uint64]
    """[1] a number mixed into all keys. It stands for rules, komi and whatever else evaluations depend on."""


def new_cache(points: int, memory: int) -> Cache:
    """Make an empty cache of at most `memory` bytes, but of two entries at least."""
    entry = 8 + 2 * (points + 1) + 4 * VALUES + points
    entries = 1 << max(1, (memory // entry).bit_length() - 1)
    return Cache(
        keys=np.zeros(entries, np.uint64),
        codes=np.empty((entries, points + 1), np.uint16),
        values=np.empty((entries, VALUES), np.float32),
        ownership=np.empty((entries, points), np.int8),
        salt=np.zeros(1, np.uint64),
    )


@kernel_part
def look_up(cache, ctx, work, leaves, keys, missing):
    """Give the first `leaves` leaves the evaluations that the cache knows; returns how many leaves it does not know.

    Those are listed in `missing`. Sets `keys` [leaves], and marks in every leaf the points that superko bans.
    """
    count = 0
    for i in range(leaves):
        leaf = work.leaves[i]
        mark_banned(ctx[0], leaf)
        keys[i] = _key(cache, ctx[0], leaf)
        slot = _slot(cache, keys[i])
        if keys[i] == 0 or cache.keys[slot] != keys[i]:
            missing[count] = i
            count += 1
            continue
        for move in range(ctx[0].moves):
            leaf.codes[move] = cache.codes[slot, move]
        for j in range(VALUES):
            leaf.values[j] = cache.values[slot, j]
        for point in range(ctx[0].moves - 1):
            leaf.ownership[point] = cache.ownership[slot, point]
    return count


@kernel_part
def remember(cache, ctx, work, keys, missing, count):
    """Keep the evaluations of the first `count` leaves listed in `missing`, under their `keys`."""
    for i in range(count):
        leaf = work.leaves[missing[i]]
        key = keys[missing[i]]
        if key == 0:
            continue
        slot = _slot(cache, key)
        cache.keys[slot] = key
        for move in range(ctx[0].moves):
            cache.codes[slot, move] = leaf.codes[move]
        for j in range(VALUES):
            cache.values[slot, j] = leaf.values[j]
        for point in range(ctx[0].moves - 1):
            cache.ownership[slot, point] = leaf.ownership[point]


@kernel
def _key(cache, ctx, leaf):
    """The hash of everything a leaf's evaluation depends on; 0 if it must not be kept: with a move filter."""
    if ctx.settings.has_filter == 1:
        return np.uint64(0)
    pos = leaf.stack[leaf.last]
    key = cycle_key(pos, ctx.rules) ^ cache.salt[0]
    if pos.ko >= 0:
        key ^= KO_KEYS[pos.ko]
    passes = np.uint64(pos.passes + 4 * pos.passed_here)
    key = mix(key + passes + np.uint64(8) * np.uint64(np.int64(2.0 * pos.white_bonus) + 4096))
    for i in range(HISTORY_MOVES):
        key = mix(key + np.uint64(pos.recent[i] + 2))
    for point in range(N_POINTS):
        if leaf.banned[point] == 1:
            key ^= STONE_KEYS[1, point]
    return key | np.uint64(1)


@kernel
def _slot(cache, key):
    """The entry that holds a key; if there is none, the entry to use for it: an empty one of its two, or either."""
    mask = np.uint64(len(cache.keys) - 1)
    first = np.int64((key >> np.uint64(2)) & mask)
    second = first ^ 1
    for wanted in (key, np.uint64(0)):
        if cache.keys[first] == wanted:
            return first
        if cache.keys[second] == wanted:
            return second
    return second if key & np.uint64(2) else first
