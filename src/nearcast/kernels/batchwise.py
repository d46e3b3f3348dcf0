"""A micro-batch on one subscription partition, in parts between which columns travel (paper 7.2, DSkype).

Within a batch nothing is refilled and no list is told: only the lists at its end count. So all that expires goes first,
what is dead by the end is not offered at all, and whoever is short of entries asks once, after the last offer. That
gives the same buffers: an entry's dominators are newer than it and outlive it, so it is evicted for good whichever came
first; and between two re-evaluations a buffer holds the skyband of all live messages that reach its threshold.
"""

from __future__ import annotations

import numpy as np

from nearcast.kernels.buffers import free_buffer, offer
from nearcast.kernels.clock import prefetch, ticks
from nearcast.kernels.disseminate import disseminate
from nearcast.kernels.jit import helper, hot_kernel
from nearcast.kernels.layout import (
    F_TOUCHED,
    S_BUFFER,
    S_CAPACITY,
    S_COUNT,
    S_K,
    S_NTERMS,
    S_NUMBER,
    S_TERMS,
    S_THETA,
    T_CHANGES,
    T_EXPIRE,
    T_OFFER,
    T_REFILL,
)
from nearcast.kernels.refill import load_found
from nearcast.kernels.report import E_ROW, ENTERED, REGISTERED, emit_difference, remember
from nearcast.kernels.shard import (
    expire,
    insert_postings,
    keep_short,
    load_short,
    move_threshold,
    new_row,
    pack_terms,
    rein_in,
    tell_list,
    unregister,
)
from nearcast.kernels.sorting import sort_order

AHEAD = 4
"""Hits between asking for a row, asking for its buffer, and reading both."""


@hot_kernel
def disseminate_batch(
    subscriptions, postings, policy, scratch, points, offsets, terms, weights, rows, sources, scores, counters
):
    """Algorithm 1 for each message: the pairs found, as the subscription's row, which message, score; how many."""
    pairs = 0
    for i in range(len(points)):
        hits = disseminate(
            subscriptions, postings, scratch, policy, points[i, 0], points[i, 1], points[i, 2], terms, weights,
            offsets[i], offsets[i + 1], counters,
        )  # fmt: skip
        for j in range(hits):
            scratch.keys[j] = subscriptions.u32[scratch.hit_rows[j], S_NUMBER]
        sort_order(scratch.keys, scratch.order, hits)  # so that what is sent does not depend on how lists lie
        for j in range(hits):
            rows[pairs + j] = scratch.hit_rows[scratch.order[j]]
            sources[pairs + j] = i
            scores[pairs + j] = scratch.hit_scores[scratch.order[j]]
        pairs += hits
    return pairs


@helper
def keep_list(subscriptions, scratch, row, score):
    """Put a list by before the batch changes it for the first time, if this score will."""
    s = subscriptions
    if s.flag[row] & F_TOUCHED == 0:
        k = np.int64(s.u32[row, S_K])
        last = np.int64(s.u32[row, S_BUFFER]) * 4 + k - 1
        if np.int64(s.u32[row, S_COUNT]) < k or s.buffer_f32[last] <= score:
            scratch.state[1] = remember(s, scratch, scratch.state[0], scratch.state[1], row)
            scratch.state[0] += 1
            s.flag[row] |= F_TOUCHED


@hot_kernel
def take_batch(
    subscriptions, postings, policy, scratch, rows, seqs, scores, expired, live, newest, risen, counters
):  # fmt: skip
    """Expire messages expired..live-1, then offer hits, a subscription's oldest first.

    How many are short of entries (`scratch.pending`), and how many thresholds rose (`risen`, a row perhaps twice).
    """
    s = subscriptions
    start = ticks()
    scratch.state[:] = 0
    for message in range(expired, live):
        expire(s, scratch, message, scratch.state, counters)
    gone = ticks()
    rises = 0
    n = len(rows)
    for i in range(-2 * AHEAD, n):
        if i + 2 * AHEAD < n:
            prefetch(s.flat, np.int64(rows[i + 2 * AHEAD]) * 16)
        if 0 <= i + AHEAD < n:
            ahead = rows[i + AHEAD]
            at = np.int64(s.u32[ahead, S_BUFFER]) * 4
            for line in range(0, np.int64(s.u32[ahead, S_CAPACITY]) * 5 // 2, 16):
                prefetch(s.buffer_u32, at + line)
        if i < 0:
            continue
        row = rows[i]
        if scores[i] < s.f32[row, S_THETA]:  # it has risen since the hit was found
            continue
        keep_list(s, scratch, row, scores[i])
        offer(s, row, scores[i], np.uint32(seqs[i] & 0xFFFFFFFF), counters)
        if rein_in(s, postings, policy, row, counters):
            risen[rises] = row
            rises += 1
    offered = ticks()
    short = keep_short(s, scratch, live, newest)
    counters[T_OFFER] += offered - gone
    counters[T_EXPIRE] += gone - start + ticks() - offered
    return short, rises


@hot_kernel
def load_batch(
    subscriptions, postings, policy, scratch, rows, first, thetas, offsets, scores, seqs, live, newest, counters
):
    """Load answers to requests: all messages that score at least theta. `first` lists stand in no postings yet."""
    s = subscriptions
    start = ticks()
    for i in range(len(rows)):
        row = rows[i]
        begin = offsets[i]
        found = offsets[i + 1] - begin
        for j in range(found):
            scratch.found_scores[j] = scores[begin + j]
            scratch.found_stamps[j] = np.uint32(seqs[begin + j] & 0xFFFFFFFF)
        if first[i]:
            load_found(s, scratch, row, found, newest, counters)
            s.f32[row, S_THETA] = thetas[i]
        else:
            load_short(s, postings, policy, scratch, row, found, thetas[i], live, newest, counters)
    counters[T_REFILL] += ticks() - start


@hot_kernel
def report_batch(subscriptions, scratch, out, order, seq, fresh, live, counters):
    """Net changes of the lists put by, in this order. Messages from `fresh` on came in this batch."""
    start = ticks()
    for at in order:
        event = scratch.touched[at]
        emit_difference(subscriptions, scratch, event, out, seq, fresh, live)
        subscriptions.flag[event[E_ROW]] = 0
    counters[T_CHANGES] += ticks() - start


@hot_kernel
def tell_lists(subscriptions, out, rows, newest):
    """The first lists of new subscriptions."""
    for row in rows:
        tell_list(subscriptions, out, row, newest, ENTERED, REGISTERED)


@hot_kernel
def enter_rows(subscriptions, points, codes, alphas, ks, numbers, offsets, terms, weights, rows):
    """Rows for new subscriptions, empty and without postings: no message looks for them before their first list."""
    for i in range(len(alphas)):
        rows[i] = new_row(
            subscriptions, points[i], codes[i], alphas[i], ks[i], numbers[i], terms, weights, offsets[i], offsets[i + 1]
        )


@hot_kernel
def index_rows(subscriptions, postings, policy, rows):
    """Enter rows into the lists of their keywords."""
    for row in rows:
        insert_postings(subscriptions, postings, policy.world, row)


@hot_kernel
def pack_rows(subscriptions, postings, policy, rows, counters):
    """Pack those of their lists that have changed enough."""
    for row in rows:
        pack_terms(subscriptions, postings, policy, row, counters)


@hot_kernel
def remove_rows(subscriptions, postings, policy, out, counters, rows, newest):
    """Forget subscriptions; what stands in their lists leaves."""
    for row in rows:
        unregister(subscriptions, postings, policy, out, counters, row, newest)


@hot_kernel
def empty_rows(subscriptions, rows):
    """Give buffers away: their subscriptions have moved, and are guests here from now on."""
    for row in rows:
        free_buffer(subscriptions, row)


@hot_kernel
def move_thresholds(subscriptions, postings, policy, rows, thetas, counters):
    """The thresholds that the homes of these guests have told."""
    for i in range(len(rows)):
        move_threshold(subscriptions, postings, policy, rows[i], thetas[i], counters)


@hot_kernel
def read_vectors(subscriptions, rows, offsets, terms, weights):
    """The term vectors of these rows; offsets as their lengths say."""
    s = subscriptions
    for i in range(len(rows)):
        first = np.int64(s.u32[rows[i], S_TERMS])
        for j in range(np.int64(s.u32[rows[i], S_NTERMS])):
            terms[offsets[i] + j] = s.term_ids[first + j]
            weights[offsets[i] + j] = s.term_weights[first + j]
