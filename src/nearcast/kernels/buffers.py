"""The result buffers: the k-skyband of what scores at least theta, with dominance counters (paper 6.1).

A buffer is sorted by score, of equal scores the newer first, so the top-k list is its first k entries and the
dominators of an entry all stand before it. `dominators[i]` counts them; at k the entry is evicted (it can never be in
the list again).
"""

from __future__ import annotations

import numpy as np

from nearcast.kernels.chunks import buffer_capacity, buffer_class, give_chunk, take_chunk
from nearcast.kernels.jit import helper, hot_routine
from nearcast.kernels.layout import (
    C_BUFFER_USED,
    C_ENTRIES,
    F_PENDING,
    N_EVICTED,
    NONE,
    S_BUFFER,
    S_CAPACITY,
    S_COUNT,
    S_K,
    S_NEXT,
    SLOT_MASK,
    UNLINKED,
)


@helper
def age(now, stamp):
    """How many messages after `stamp` (seq modulo 2**32) the message `now` came."""
    return (np.int64(now) - np.int64(stamp)) & 0xFFFFFFFF


@helper
def link_to(due, u32, row, stamp):
    """Enter the subscription in the calendar at its oldest entry."""
    slot = np.int64(stamp) & SLOT_MASK
    u32[row, S_NEXT] = due[slot] - 1 if due[slot] != 0 else NONE
    due[slot] = row + 1


@helper
def oldest(stamps, at, count, now):
    """The stamp of the oldest of `count` > 0 entries."""
    far = np.uint32(0)
    for i in range(at, at + count):
        far = max(far, np.uint32(age(now, stamps[i])))
    return np.uint32((np.int64(now) - np.int64(far)) & 0xFFFFFFFF)


@hot_routine
def reserve(subscriptions, row, entries):
    """Give the subscription's buffer room for `entries`, keeping what it holds."""
    s = subscriptions
    capacity = np.int64(s.u32[row, S_CAPACITY])
    if entries <= capacity:
        return
    grown = buffer_class(entries)
    room = buffer_capacity(grown)
    new = take_chunk(s.free, 0, grown, s.buffer_u32, 4, 0, s.control, C_BUFFER_USED, room // 8 * 5, 1)
    if capacity > 0:
        old = np.int64(s.u32[row, S_BUFFER])
        a = old * 4
        b = new * 4
        for i in range(np.int64(s.u32[row, S_COUNT])):
            s.buffer_f32[b + i] = s.buffer_f32[a + i]
            s.buffer_u32[b + room + i] = s.buffer_u32[a + capacity + i]
            s.buffer_u16[2 * (b + 2 * room) + i] = s.buffer_u16[2 * (a + 2 * capacity) + i]
        give_chunk(s.free, 0, buffer_class(capacity), s.buffer_u32, 4, 0, old)
    s.u32[row, S_BUFFER] = new
    s.u32[row, S_CAPACITY] = room


@hot_routine
def free_buffer(subscriptions, row):
    """Give the buffer's memory back."""
    s = subscriptions
    capacity = np.int64(s.u32[row, S_CAPACITY])
    s.control[C_ENTRIES] -= np.int64(s.u32[row, S_COUNT])
    if capacity > 0:
        give_chunk(s.free, 0, buffer_class(capacity), s.buffer_u32, 4, 0, np.int64(s.u32[row, S_BUFFER]))
    s.u32[row, S_CAPACITY] = 0
    s.u32[row, S_COUNT] = 0


@helper
def offer(subscriptions, row, score, stamp, counters):
    """Take the newest message in; its place in the order (0 = best). Whom it dominates is counted, and evicted at k."""
    s = subscriptions
    count = np.int64(s.u32[row, S_COUNT])
    if count == np.int64(s.u32[row, S_CAPACITY]):
        reserve(s, row, count + 1)
    k = np.int64(s.u32[row, S_K])
    capacity = np.int64(s.u32[row, S_CAPACITY])
    scores = np.int64(s.u32[row, S_BUFFER]) * 4
    stamps = scores + capacity
    dominators = 2 * (stamps + capacity)
    place = 0
    for i in range(count):
        place += s.buffer_f32[scores + i] > score
    most = np.uint16(0)
    for i in range(place, count):
        s.buffer_u16[dominators + i] += np.uint16(1)
        most = max(most, s.buffer_u16[dominators + i])
    kept = count
    if most >= k:
        kept = place
        for i in range(place, count):
            if s.buffer_u16[dominators + i] < k:
                s.buffer_f32[scores + kept] = s.buffer_f32[scores + i]
                s.buffer_u32[stamps + kept] = s.buffer_u32[stamps + i]
                s.buffer_u16[dominators + kept] = s.buffer_u16[dominators + i]
                kept += 1
        counters[N_EVICTED] += count - kept
    for i in range(kept, place, -1):
        s.buffer_f32[scores + i] = s.buffer_f32[scores + i - 1]
        s.buffer_u32[stamps + i] = s.buffer_u32[stamps + i - 1]
        s.buffer_u16[dominators + i] = s.buffer_u16[dominators + i - 1]
    s.buffer_f32[scores + place] = score
    s.buffer_u32[stamps + place] = stamp
    s.buffer_u16[dominators + place] = 0
    s.u32[row, S_COUNT] = kept + 1
    s.control[C_ENTRIES] += kept + 1 - count
    if s.u32[row, S_NEXT] == UNLINKED and s.flag[row] & F_PENDING == 0:
        link_to(s.due, s.u32, row, stamp)
    return place


@helper
def remove(subscriptions, row, stamp):
    """Delete the entry of an expired message; the place it had, or -1 if it had been evicted before.

    The oldest message dominates nobody, so no counter changes.
    """
    s = subscriptions
    count = np.int64(s.u32[row, S_COUNT])
    capacity = np.int64(s.u32[row, S_CAPACITY])
    scores = np.int64(s.u32[row, S_BUFFER]) * 4
    stamps = scores + capacity
    dominators = 2 * (stamps + capacity)
    place = -1
    for i in range(count):
        if s.buffer_u32[stamps + i] == stamp:
            place = i
            break
    if place < 0:
        return place
    for i in range(place, count - 1):
        s.buffer_f32[scores + i] = s.buffer_f32[scores + i + 1]
        s.buffer_u32[stamps + i] = s.buffer_u32[stamps + i + 1]
        s.buffer_u16[dominators + i] = s.buffer_u16[dominators + i + 1]
    s.u32[row, S_COUNT] = count - 1
    s.control[C_ENTRIES] -= 1
    return place


@hot_routine
def purge(subscriptions, row, now, span):
    """Delete all entries more than `span` messages older than `now`; how many are left. They dominate nobody."""
    s = subscriptions
    count = np.int64(s.u32[row, S_COUNT])
    scores = np.int64(s.u32[row, S_BUFFER]) * 4
    stamps = scores + np.int64(s.u32[row, S_CAPACITY])
    dominators = 2 * (stamps + np.int64(s.u32[row, S_CAPACITY]))
    left = 0
    for i in range(count):
        if age(now, s.buffer_u32[stamps + i]) <= span:
            s.buffer_f32[scores + left] = s.buffer_f32[scores + i]
            s.buffer_u32[stamps + left] = s.buffer_u32[stamps + i]
            s.buffer_u16[dominators + left] = s.buffer_u16[dominators + i]
            left += 1
    s.u32[row, S_COUNT] = left
    s.control[C_ENTRIES] -= count - left
    return left


@hot_routine
def cut(subscriptions, row, theta):
    """Drop every entry that scores below theta; how many are left."""
    s = subscriptions
    count = np.int64(s.u32[row, S_COUNT])
    scores = np.int64(s.u32[row, S_BUFFER]) * 4
    left = count
    while left > 0 and s.buffer_f32[scores + left - 1] < theta:
        left -= 1
    s.u32[row, S_COUNT] = left
    s.control[C_ENTRIES] -= count - left
    return left


@hot_routine
def load_skyband(subscriptions, row, order, found, found_scores, found_stamps, first, now, sky):
    """Fill the buffer with the k-skyband of entries first..first+found-1 of what was found; how many it has.

    `order` sorts them by score, then newest first; `sky` is working room.
    """
    s = subscriptions
    k = np.int64(s.u32[row, S_K])
    s.control[C_ENTRIES] -= np.int64(s.u32[row, S_COUNT])
    s.u32[row, S_COUNT] = 0
    # An entry evicted has k kept dominators, which dominate whatever it dominates: kept entries alone need counting.
    kept = 0
    for position in range(found):
        i = first + order[position]
        own = age(now, found_stamps[i])
        newer = 0
        for j in range(kept):
            newer += sky[0, j] < own
        if newer < k:
            sky[0, kept] = own
            sky[1, kept] = newer
            sky[2, kept] = i
            kept += 1
    if kept > 0:
        reserve(s, row, kept)
    capacity = np.int64(s.u32[row, S_CAPACITY])
    scores = np.int64(s.u32[row, S_BUFFER]) * 4
    stamps = scores + capacity
    dominators = 2 * (stamps + capacity)
    for position in range(kept):
        s.buffer_f32[scores + position] = found_scores[sky[2, position]]
        s.buffer_u32[stamps + position] = found_stamps[sky[2, position]]
        s.buffer_u16[dominators + position] = np.uint16(sky[1, position])
    s.u32[row, S_COUNT] = kept
    s.control[C_ENTRIES] += kept
    return kept
