"""Superko: which moves would repeat a position of the game or of a search's path.

A key is the hash of what must not come back. In the main phase this is the position: the stones alone under positional
superko, the stones and the side to move under situational superko. In the clean-up phases of territory rules it is the
capture of a ko in one position by one player, which may happen once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.board import blocked_stone, hash_after, ko_capture
from go_rules.phases import live_phase
from go_rules.points import BLACK, N_POINTS, NO_POINT, PASS, WHITE
from go_rules.position import (
    BLOCKED_KEYS,
    BUTTON_KEY,
    KO_KEYS,
    MARK_BLACK_AT_CLEANUP_2,
    MARK_KO_RECAPTURE_BLOCKED,
    MARK_WHITE_AT_CLEANUP_2,
    PHASE_KEYS,
    PHASE_MAIN,
    START_KEYS,
    TO_PLAY_KEYS,
)
from go_rules.rules import KO_POSITIONAL, KO_SIMPLE
from nobi_machine.jit import kernel, kernel_for_python

NO_KEY = np.uint64(0)
"""Marks an empty slot of a table, and is the key of a position that may come back."""


def new_seen(keys: int) -> NDArray[np.uint64]:
    """Make an empty hash set, uint64[2^k], that `keys` keys fill to a half at most."""
    return np.zeros(max(16, 1 << (2 * max(1, keys) - 1).bit_length()), np.uint64)


@kernel
def seen_has(table, key):
    """Tell whether the hash set holds `key`."""
    mask = len(table) - 1
    slot = np.int64(key & np.uint64(mask))
    while table[slot] != NO_KEY:
        if table[slot] == key:
            return True
        slot = (slot + 1) & mask
    return False


@kernel_for_python
def seen_add(table, key):
    """Add `key` to the hash set unless it is NO_KEY, and tell whether it is new there.

    The caller keeps the set at most three quarters full.
    """
    if key == NO_KEY:
        return False
    mask = len(table) - 1
    slot = np.int64(key & np.uint64(mask))
    while table[slot] != NO_KEY and table[slot] != key:
        slot = (slot + 1) & mask
    is_new = table[slot] == NO_KEY
    table[slot] = key
    return is_new


@kernel
def seen_remove_last(table, key):
    """Remove `key` from the hash set, which must be the last key that was new when it was added."""
    mask = len(table) - 1
    slot = np.int64(key & np.uint64(mask))
    while table[slot] != key:
        slot = (slot + 1) & mask
    table[slot] = NO_KEY


@kernel
def seen_refill(table, keys):
    """Make the hash set hold exactly `keys`."""
    seen_clear(table)
    for i in range(len(keys)):
        seen_add(table, keys[i])


@kernel
def seen_clear(table):
    """Remove all keys from the hash set."""
    for slot in range(len(table)):
        table[slot] = NO_KEY


@kernel
def superko_key(stones_hash, to_play_after, ko_rule):
    """Compute the key of a position of the main phase, without a button, where `to_play_after` is to move."""
    if ko_rule == KO_POSITIONAL:
        return stones_hash ^ TO_PLAY_KEYS[0]
    return stones_hash ^ TO_PLAY_KEYS[to_play_after]


@kernel_for_python
def position_key(pos, rules):
    """Compute the superko key of a position that no move led to, or NO_KEY if it may come back."""
    if live_phase(pos, rules) != PHASE_MAIN:
        return NO_KEY
    # Taking the button ends the history: positions before it never ban anything afterwards.
    button = BUTTON_KEY if pos.button == 1 else NO_KEY
    return superko_key(pos.hash ^ button, np.int64(pos.to_play), rules.ko)


@kernel_for_python
def history_key(before, after, rules):
    """Compute the key that the move from `before` to `after` adds to the history, or NO_KEY if it adds none."""
    phase = live_phase(before, rules)
    if phase == PHASE_MAIN:
        return position_key(after, rules)
    point = np.int64(after.recent[0])
    colour = 3 - after.to_play
    if point <= PASS or ko_capture(before, point, colour) == NO_POINT or after.board[point] != colour:
        return NO_KEY
    return _ko_capture_key(before, point, colour, phase)


@kernel_for_python
def is_superko_banned(pos, point, colour, rules, table, path_keys, n_path):
    """Tell whether a move that `is_legal` allows repeats a key of `table` or of the first `n_path` of `path_keys`.

    A pass never does. Under simple ko moves are banned only in the clean-up phases. There a capture that would repeat a
    key is not banned while the stone is blocked: it is a "pass for ko" (board.blocked_stone), which captures nothing.
    """
    if point == PASS:
        return False
    phase = live_phase(pos, rules)
    if phase != PHASE_MAIN:
        if ko_capture(pos, point, colour) == NO_POINT or blocked_stone(pos, point, colour) != NO_POINT:
            return False
        key = _ko_capture_key(pos, point, colour, phase)
    elif rules.ko == KO_SIMPLE:
        return False
    else:
        button = BUTTON_KEY if pos.button == 1 else NO_KEY
        key = superko_key(hash_after(pos, point, colour) ^ button, 3 - colour, rules.ko)
    if seen_has(table, key):
        return True
    for i in range(n_path):
        if path_keys[i] == key:
            return True
    return False


@kernel
def drop_superko_banned(pos, colour, rules, table, points, n):
    """Remove from the first `n` of `points` those that superko bans, keep the order, and return how many are left."""
    no_path = np.int64(0)
    kept = 0
    for i in range(n):
        if not is_superko_banned(pos, np.int64(points[i]), colour, rules, table, table, no_path):
            points[kept] = points[i]
            kept += 1
    return kept


@kernel_for_python
def situation_key(pos, rules):
    """Compute the key of what a long cycle repeats, all but the side to move.

    It contains stones, phase, button, blocked stones, and the stones with which the second clean-up phase began.
    """
    phase = live_phase(pos, rules)
    key = pos.hash ^ PHASE_KEYS[phase]
    if pos.button == 1:
        key ^= BUTTON_KEY
    if phase != PHASE_MAIN:
        for point in range(N_POINTS):
            marks = pos.marks[point]
            if marks & MARK_KO_RECAPTURE_BLOCKED:
                key ^= BLOCKED_KEYS[point]
            if marks & MARK_BLACK_AT_CLEANUP_2:
                key ^= START_KEYS[BLACK, point]
            elif marks & MARK_WHITE_AT_CLEANUP_2:
                key ^= START_KEYS[WHITE, point]
    return key


@kernel
def _ko_capture_key(pos, point, colour, phase):
    return pos.hash ^ PHASE_KEYS[phase] ^ KO_KEYS[point] ^ TO_PLAY_KEYS[colour]
