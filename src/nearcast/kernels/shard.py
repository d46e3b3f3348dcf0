"""One shard through time: expire, disseminate, offer, refill, report; registration and removal of subscriptions.

`advance_shard` is the sentence of ARCHITECTURE.md in code. Shards share the window and the message index, which hold
the whole batch before it starts; whatever happens at message i looks only at messages first_live[i]..i.
"""

from __future__ import annotations

import numpy as np

from nearcast.kernels.buffers import age, free_buffer, load_skyband, offer, oldest, purge, remove
from nearcast.kernels.buffers import link_to as link
from nearcast.kernels.chunks import give_chunk, power_class, take_chunk
from nearcast.kernels.clock import prefetch, ticks
from nearcast.kernels.disseminate import disseminate
from nearcast.kernels.jit import helper, hot_kernel, hot_routine, kernel
from nearcast.kernels.layout import (
    BLOCK,
    C_FREE_ROW,
    C_LIVE,
    C_ROWS,
    C_TERMS_USED,
    F_PENDING,
    F_TOUCHED,
    L_COUNT,
    L_PACKED,
    N_DUE,
    N_EXPIRED,
    N_REMOVED,
    NONE,
    S_ALPHA,
    S_BUFFER,
    S_CAPACITY,
    S_COUNT,
    S_K,
    S_NEXT,
    S_NTERMS,
    S_NUMBER,
    S_TERMS,
    S_THETA,
    SLOT_MASK,
    T_CHANGES,
    T_EXPIRE,
    T_OFFER,
    T_REFILL,
    UNLINKED,
)
from nearcast.kernels.pack import pack_list
from nearcast.kernels.postings import insert_posting, needs_packing, remove_posting, set_threshold
from nearcast.kernels.refill import fetch, load_found, raise_threshold
from nearcast.kernels.report import (
    E_ARRIVAL,
    E_BITS,
    E_LEFT,
    E_LEFT_BITS,
    E_NUMBER,
    E_PLACE,
    E_ROW,
    E_STAMP,
    ENTERED,
    LEFT,
    REGISTERED,
    UNSUBSCRIBED,
    emit,
    list_length,
    remember,
    report,
)
from nearcast.kernels.segments import span_of
from nearcast.kernels.trace import TRACE_ON, record_hits, record_refill


@hot_routine
def free_row(subscriptions, row):
    """Give a subscription's row back."""
    subscriptions.u32[row, S_NEXT] = subscriptions.control[C_FREE_ROW]
    subscriptions.control[C_FREE_ROW] = row + 1


@hot_routine
def expire(subscriptions, scratch, message, state, counters):
    """One message has left the window: delete it where it is the oldest entry, and note who underflows (Algorithm 2).

    `state` is [events, end of before-lists, pending].
    """
    s = subscriptions
    slot = message & SLOT_MASK
    stamp = np.uint32(message & 0xFFFFFFFF)
    counters[N_EXPIRED] += 1
    due = 0
    head = s.due[slot]
    s.due[slot] = 0
    row = head - np.uint32(1) if head != 0 else NONE
    while row != NONE:  # the list is rewritten while its members find their next place, so it is copied first
        scratch.due_rows[due] = row
        due += 1
        row = s.u32[row, S_NEXT]
        prefetch(s.flat, np.int64(row) * 16)
    counters[N_DUE] += due
    for i in range(due):
        if i + 4 < due:
            ahead = scratch.due_rows[i + 4]
            at = np.int64(s.u32[ahead, S_BUFFER]) * 4
            for line in range(0, np.int64(s.u32[ahead, S_CAPACITY]) * 5 // 2, 16):
                prefetch(s.buffer_u32, at + line)
        row = scratch.due_rows[i]
        s.u32[row, S_NEXT] = UNLINKED
        if s.u32[row, S_NTERMS] == 0:
            free_row(s, row)  # unsubscribed since
            continue
        count = np.int64(s.u32[row, S_COUNT])
        if count == 0:
            continue
        k = np.int64(s.u32[row, S_K])
        stamps = np.int64(s.u32[row, S_BUFFER]) * 4 + np.int64(s.u32[row, S_CAPACITY])
        if s.flag[row] & F_TOUCHED == 0:
            for j in range(min(k, count)):
                if s.buffer_u32[stamps + j] == stamp:
                    state[1] = remember(s, scratch, state[0], state[1], row)
                    state[0] += 1
                    s.flag[row] |= F_TOUCHED
                    break
        if remove(s, row, stamp) >= 0:
            counters[N_REMOVED] += 1
            count -= 1
            if count < k and s.f32[row, S_THETA] > 0.0 and s.flag[row] & F_PENDING == 0:
                s.flag[row] |= F_PENDING
                scratch.pending[state[2]] = row
                state[2] += 1
        if count > 0 and s.flag[row] & F_PENDING == 0:
            link(s.due, s.u32, row, oldest(s.buffer_u32, stamps, count, message))


@helper
def note_arrival(subscriptions, scratch, row, score, seq, state, counters):
    """Offer the message to one buffer and note the change of its list, if there is one."""
    s = subscriptions
    before = np.int64(s.u32[row, S_COUNT])
    k = np.int64(s.u32[row, S_K])
    last_bits = np.uint32(0)
    last_stamp = np.uint32(0)
    if before >= k:
        last = np.int64(s.u32[row, S_BUFFER]) * 4 + k - 1
        last_bits = s.buffer_u32[last]
        last_stamp = s.buffer_u32[last + np.int64(s.u32[row, S_CAPACITY])]
    place = offer(s, row, score, np.uint32(seq & 0xFFFFFFFF), counters)
    if place < k and s.flag[row] & F_TOUCHED == 0:
        event = scratch.touched[state[0]]
        event[E_NUMBER] = s.u32[row, S_NUMBER]
        event[E_ROW] = row
        event[E_ARRIVAL] = 1
        event[E_PLACE] = place
        event[E_LEFT] = k if before >= k else 0
        event[E_STAMP] = last_stamp
        event[E_LEFT_BITS] = last_bits
        event[E_BITS] = s.buffer_u32[np.int64(s.u32[row, S_BUFFER]) * 4 + place]
        state[0] += 1


@helper
def rein_in(subscriptions, postings, policy, row, counters):
    """Raise the threshold of a buffer that has grown past twice its target; whether it was."""
    s = subscriptions
    risen = False
    if np.int64(s.u32[row, S_COUNT]) > 2 * np.int64(policy.target_size[s.u32[row, S_K]]):
        theta = raise_threshold(s, policy, row, counters)
        if theta > s.f32[row, S_THETA]:
            set_threshold(s, postings, row, theta)
            risen = True
    return risen


@hot_routine
def take_hits(subscriptions, postings, scratch, policy, hits, seq, state, counters):
    """Offer the message to the buffers of the affected subscriptions and note whose list it changes."""
    s = subscriptions
    for i in range(hits):
        row = scratch.hit_rows[i]
        note_arrival(s, scratch, row, scratch.hit_scores[i], seq, state, counters)
        rein_in(s, postings, policy, row, counters)


@hot_routine
def pack_terms(subscriptions, postings, policy, row, counters):
    """Pack those lists of a subscription that have changed enough since they were packed last."""
    s = subscriptions
    first = np.int64(s.u32[row, S_TERMS])
    for at in range(first, first + np.int64(s.u32[row, S_NTERMS])):
        if needs_packing(postings.lists[s.term_ids[at]]):
            pack_list(s, postings, policy.world, s.term_ids[at], policy.limits, counters)


@helper
def still_short(subscriptions, row, first_live, seq):
    """Whether a buffer that underflowed still lacks entries; if the newest message has filled it, it is settled.

    It stood in no calendar list since, so whatever else of its entries has expired goes first.
    """
    s = subscriptions
    s.flag[row] &= ~F_PENDING
    count = purge(s, row, seq, seq - first_live)
    short = count < np.int64(s.u32[row, S_K])
    if not short and s.u32[row, S_NEXT] == UNLINKED:
        stamps = np.int64(s.u32[row, S_BUFFER]) * 4 + np.int64(s.u32[row, S_CAPACITY])
        link(s.due, s.u32, row, oldest(s.buffer_u32, stamps, count, seq))
    return short


@helper
def move_threshold(subscriptions, postings, policy, row, theta, counters):
    """The threshold that a re-evaluation found, if it is another one."""
    s = subscriptions
    if theta != s.f32[row, S_THETA]:
        set_threshold(s, postings, row, theta)
        pack_terms(s, postings, policy, row, counters)


@helper
def keep_short(subscriptions, scratch, first_live, seq):
    """Leave in `scratch.pending` only those who still lack entries, out of the calendar until an answer comes."""
    s = subscriptions
    short = 0
    for i in range(scratch.state[2]):
        row = scratch.pending[i]
        if still_short(s, row, first_live, seq):
            s.flag[row] |= F_PENDING
            scratch.pending[short] = row
            short += 1
    scratch.state[2] = short
    return short


@helper
def load_short(subscriptions, postings, policy, scratch, row, found, theta, first_live, seq, counters):
    """Load what was found elsewhere (`scratch.found_*`) for a subscription that lacks entries; whether it still did."""
    short = still_short(subscriptions, row, first_live, seq)
    if short:
        load_found(subscriptions, scratch, row, found, seq, counters)
        move_threshold(subscriptions, postings, policy, row, theta, counters)
    return short


@hot_routine
def settle(subscriptions, postings, messages, index, policy, scratch, pending, first_live, seq, trace, counters):
    """Re-evaluate the subscriptions whose buffers underflowed and that the newest message has not filled again."""
    s = subscriptions
    for i in range(pending):
        row = scratch.pending[i]
        if still_short(s, row, first_live, seq):
            theta = fetch(s, messages, index, policy, scratch, row, first_live, seq, counters)
            move_threshold(s, postings, policy, row, theta, counters)
            if trace.control[TRACE_ON]:
                record_refill(s, trace, row)


@helper
def arrive(subscriptions, postings, messages, policy, scratch, seq, state, counters):
    """Disseminate one message and offer it to the buffers of those that it affects; how many."""
    begin, end = span_of(messages, seq)
    place = messages.place[seq & SLOT_MASK]
    hits = disseminate(
        subscriptions, postings, scratch, policy, place[0], place[1], place[2], messages.term_ids,
        messages.term_weights, begin, end, counters,
    )  # fmt: skip
    start = ticks()
    take_hits(subscriptions, postings, scratch, policy, hits, seq, state, counters)
    counters[T_OFFER] += ticks() - start
    return hits


@hot_kernel
def advance_shard(
    subscriptions, postings, messages, index, policy, scratch, out, counters, first_seq, first_live, arrives, trace, log
):
    """Publish messages first_seq, first_seq + 1, … (as many as `arrives`), or let time pass (`arrives` 0, one step).

    `first_live[i]` is the oldest live message after step i - 1: step i expires first_live[i]..first_live[i + 1] - 1.
    `log` receives per step: ticks of the arrival, ticks of the expiry, hits (for percentiles).
    """
    s = subscriptions
    state = scratch.state
    for step in range(len(first_live) - 1):
        start = ticks()
        live = first_live[step + 1]
        seq = first_seq + step if arrives else first_seq - 1
        state[:] = 0
        for message in range(first_live[step], live):
            expire(s, scratch, message, state, counters)
        expired = ticks()
        counters[T_EXPIRE] += expired - start
        hits = 0
        if arrives:
            hits = arrive(s, postings, messages, policy, scratch, seq, state, counters)
        offered = ticks()
        settle(s, postings, messages, index, policy, scratch, state[2], live, seq, trace, counters)
        refilled = ticks()
        counters[T_REFILL] += refilled - offered
        report(s, scratch, state[0], out, seq, seq if arrives else seq + 1, live, counters)
        done = ticks()
        counters[T_CHANGES] += done - refilled
        log[step, 0] = offered - expired + done - refilled
        log[step, 1] = expired - start + refilled - offered
        log[step, 2] = hits
        if trace.control[TRACE_ON]:
            record_hits(scratch, trace, hits)


@hot_routine
def new_row(subscriptions, point, code, alpha, k, number, terms, weights, begin, end):
    """A row for a new subscription, with its terms and an empty buffer."""
    s = subscriptions
    row = s.control[C_FREE_ROW] - 1
    if row >= 0:
        s.control[C_FREE_ROW] = s.u32[row, S_NEXT]
    else:
        row = s.control[C_ROWS]
        s.control[C_ROWS] += 1
    s.control[C_LIVE] += 1
    n = end - begin
    size = power_class(n)
    first = take_chunk(s.free, 1, size, s.terms_flat, 4, 0, s.control, C_TERMS_USED, 1 << size, 1)
    for j in range(n):
        s.term_ids[first + j] = terms[begin + j]
        s.term_weights[first + j] = weights[begin + j]
    for c in range(3):
        s.f64[row, c] = point[c]
    s.code[row] = code
    s.f32[row, S_ALPHA] = alpha
    s.f32[row, S_THETA] = 0.0
    s.u32[row, S_K] = k
    s.u32[row, S_COUNT] = 0
    s.u32[row, S_CAPACITY] = 0
    s.u32[row, S_TERMS] = first
    s.u32[row, S_NTERMS] = n
    s.u32[row, S_NEXT] = UNLINKED
    s.u32[row, S_NUMBER] = number
    s.flag[row] = 0
    return row


@helper
def insert_postings(subscriptions, postings, world, row):
    """A posting in the list of each of a subscription's keywords."""
    first = np.int64(subscriptions.u32[row, S_TERMS])
    for at in range(first, first + np.int64(subscriptions.u32[row, S_NTERMS])):
        insert_posting(subscriptions, postings, world, row, at)


@hot_kernel
def register(
    subscriptions, postings, messages, index, policy, scratch, out, counters,
    points, codes, alphas, ks, numbers, offsets, terms, weights, chosen, first_live, newest, rows, pack_now,
):  # fmt: skip
    """Register the subscriptions `chosen` of a batch, each with its first list from the message index (paper 6.3)."""
    s = subscriptions
    for i in chosen:
        begin, end = offsets[i], offsets[i + 1]
        row = new_row(s, points[i], codes[i], alphas[i], ks[i], numbers[i], terms, weights, begin, end)
        rows[i] = row
        if newest >= first_live:
            s.f32[row, S_THETA] = fetch(s, messages, index, policy, scratch, row, first_live, newest, counters)
        insert_postings(s, postings, policy.world, row)
        if pack_now:
            pack_terms(s, postings, policy, row, counters)
        tell_list(s, out, row, newest, ENTERED, REGISTERED)


@hot_kernel
def adopt(
    subscriptions, postings, policy, scratch,
    points, codes, alphas, ks, numbers, offsets, terms, weights, chosen, newest, rows,
    thetas, entry_offsets, entry_scores, entry_seqs,
):  # fmt: skip
    """Take subscriptions over with their thresholds and buffers, as a snapshot holds them."""
    s = subscriptions
    for i in chosen:
        begin, end = offsets[i], offsets[i + 1]
        row = new_row(s, points[i], codes[i], alphas[i], ks[i], numbers[i], terms, weights, begin, end)
        rows[i] = row
        s.f32[row, S_THETA] = thetas[i]
        a, b = entry_offsets[i], entry_offsets[i + 1]
        for j in range(b - a):
            scratch.found_stamps[j] = np.uint32(entry_seqs[a + j] & 0xFFFFFFFF)
            scratch.found_scores[j] = entry_scores[a + j]
            scratch.order[j] = j
        if load_skyband(
            s, row, scratch.order, b - a, scratch.found_scores, scratch.found_stamps, 0, newest, scratch.sky
        ):
            link(s.due, s.u32, row, oldest(scratch.found_stamps, 0, b - a, newest))
        insert_postings(s, postings, policy.world, row)


@kernel
def pack_lists(subscriptions, postings, policy, terms, counters):
    """Pack every list with more than a few blocks out of order: after many subscriptions at once.

    It takes 0.2 seconds for a million postings, and a tail out of order would cost every message to come.
    """
    for term in range(terms):
        head = postings.lists[term]
        count, packed = np.int64(head[L_COUNT]), np.int64(head[L_PACKED])
        if (count > BLOCK and count - packed >= max(BLOCK, packed // 32)) or needs_packing(head):
            pack_list(subscriptions, postings, policy.world, term, policy.limits, counters)


@hot_routine
def tell_list(subscriptions, out, row, newest, kind, cause):
    """Report the whole list of a subscription, as it enters or leaves with it."""
    s = subscriptions
    scores = np.int64(s.u32[row, S_BUFFER]) * 4
    stamps = scores + np.int64(s.u32[row, S_CAPACITY])
    for j in range(list_length(s, row)):
        message = newest - age(newest, s.buffer_u32[stamps + j])
        emit(out, newest, row, s.u32[row, S_NUMBER], kind, cause, message, j + 1, s.buffer_f32[scores + j])


@hot_kernel
def unregister(subscriptions, postings, policy, out, counters, row, newest):
    """Take a subscription out of lists, calendar and memory; its list leaves with it."""
    s = subscriptions
    tell_list(s, out, row, newest, LEFT, UNSUBSCRIBED)
    first = np.int64(s.u32[row, S_TERMS])
    n = np.int64(s.u32[row, S_NTERMS])
    for at in range(first, first + n):
        remove_posting(s, postings, at)
        if needs_packing(postings.lists[s.term_ids[at]]):
            pack_list(s, postings, policy.world, s.term_ids[at], policy.limits, counters)
    free_buffer(s, row)
    give_chunk(s.free, 1, power_class(n), s.terms_flat, 4, 0, first)
    s.u32[row, S_NTERMS] = 0
    s.control[C_LIVE] -= 1
    if s.u32[row, S_NEXT] == UNLINKED:
        free_row(s, row)
    # otherwise the calendar frees the row when it comes to it
