"""The message index over the window: a chained head, small sealed segments, large sealed segments (paper 4).

The window is first in, first out, so nothing is ever deleted from an index: a run of postings is dead when its newest
message is, and a term's runs are chained from the newest back, so a search stops at the first dead one. In a sealed run
of more than a block, postings are ordered by layer of weight, then by place; blocks of 32 have a box and a range of
weights, so both a subscription that wants near messages and one that wants relevant ones can skip most blocks.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.buffers import age
from nearcast.kernels.jit import helper, routine
from nearcast.kernels.layout import (
    A_FIRST,
    A_NEXT,
    A_TERMS,
    BLOCK,
    I_HEAD_FIRST,
    I_HEAD_SIZE,
    I_HEAD_USED,
    I_LARGE_SIZE,
    I_POSTINGS,
    I_RUNS,
    I_SMALL_FIRST,
    POSTING_RING,
    R_COUNT,
    R_FIRST,
    R_NEWEST,
    R_PREVIOUS,
    R_TERM,
    RUN_RING,
    SLOT_MASK,
    SPAN_BITS,
    TERM_RING,
)
from nearcast.kernels.radix import radix_argsort
from nearcast.kernels.signatures import long_bit, short_bit


@helper
def span_of(messages, seq):
    """First and end place of a message's terms in the ring."""
    span = messages.span[seq & SLOT_MASK]
    first = span >> SPAN_BITS
    return first, first + (span & ((1 << SPAN_BITS) - 1))


@helper
def head_posting(index, term):
    """The newest posting of a term in the head, or -1. What an emptied head left behind does not count."""
    at = np.int64(index.last[term, 0]) - 1
    if at < 0 or at >= index.control[I_HEAD_USED] or index.head[at, 3] != term:
        return -1
    return at


@helper
def newest_run(index, tier, term, now, oldest):
    """The newest run of a term in a tier whose newest message is `oldest` or younger, or -1."""
    at = np.int64(index.last[term, 1 + tier]) - 1
    if at < 0 or index.runs[tier, at, R_TERM] != term or age(now, index.runs[tier, at, R_NEWEST]) > now - oldest:
        return -1
    return at


@helper
def previous_run(index, tier, at, now, oldest):
    """The next older run of the same term, or -1."""
    term = index.runs[tier, at, R_TERM]
    newest = age(now, index.runs[tier, at, R_NEWEST])
    before = np.int64(index.runs[tier, at, R_PREVIOUS]) - 1
    if before < 0 or index.runs[tier, before, R_TERM] != term:
        return -1
    then = age(now, index.runs[tier, before, R_NEWEST])
    return before if newest < then <= now - oldest else -1


@routine
def collect(messages, first, end):
    """Terms, stamps, weights and signatures of all postings of messages first..end-1."""
    total = 0
    for seq in range(first, end):
        total += messages.span[seq & SLOT_MASK] & ((1 << SPAN_BITS) - 1)
    terms = np.empty(total, np.uint32)
    stamps = np.empty(total, np.uint32)
    weights = np.empty(total, np.float32)
    signatures = np.empty(total, np.uint32)
    n = 0
    for seq in range(first, end):
        a, b = span_of(messages, seq)
        signature = np.uint32(0)
        for i in range(a, b):
            signature |= short_bit(messages.term_ids[i])
        for i in range(a, b):
            signatures[n] = signature
            terms[n] = messages.term_ids[i]
            stamps[n] = np.uint32(seq & 0xFFFFFFFF)
            weights[n] = messages.term_weights[i]
            n += 1
    return terms, stamps, weights, signatures


@routine
def layer_and_place(messages, stamps, weights):
    """Order of a long run: layers of falling weight, inside a layer along the Morton curve."""
    n = len(stamps)
    layers = max(1, int(math.sqrt(n / BLOCK / 2.0)))
    keys = np.empty(n, np.uint32)
    for i in range(n):
        keys[i] = np.uint32((1.0 - np.float64(weights[i])) * 16777216.0)
    order = radix_argsort(keys)
    done = 0
    for layer in range(layers):
        upto = n * (layer + 1) // layers
        codes = np.empty(upto - done, np.uint32)
        for i in range(done, upto):
            codes[i - done] = messages.code[np.int64(stamps[order[i]]) & SLOT_MASK]
        order[done:upto] = order[done:upto][radix_argsort(codes)]
        done = upto
    return order


@routine
def describe_blocks(messages, index, tier, first, count):
    """Box and range of weights of each block of a run."""
    for begin in range(first, first + count, BLOCK):
        row = index.block[tier, begin // BLOCK]
        row[0:3] = np.inf
        row[3:6] = -np.inf
        row[6] = np.inf
        row[7] = -np.inf
        for at in range(begin, min(begin + BLOCK, first + count)):
            place = messages.place[np.int64(index.postings[tier, at, 0]) & SLOT_MASK]
            for c in range(3):
                row[c] = min(row[c], np.float32(place[c]))
                row[3 + c] = max(row[3 + c], np.float32(place[c]))
            row[6] = min(row[6], index.weights[tier, at, 1])
            row[7] = max(row[7], index.weights[tier, at, 1])


@routine
def seal(messages, index, tier, first, end):
    """Write the runs of messages first..end-1 into a tier."""
    terms, stamps, weights, signatures = collect(messages, first, end)
    order = radix_argsort(terms)
    n = len(terms)
    now = end - 1
    oldest = messages.control[A_FIRST]
    if tier == 0:  # small runs from before the last merge stand in a large segment now
        oldest = max(oldest, index.control[I_SMALL_FIRST])
    begin = 0
    used = index.control[I_POSTINGS + tier]
    if used % POSTING_RING + 2 * n + BLOCK > POSTING_RING:  # a segment lies in one piece
        used += POSTING_RING - used % POSTING_RING
    while begin < n:
        term = terms[order[begin]]
        stop = begin
        while stop < n and terms[order[stop]] == term:
            stop += 1
        members = order[begin:stop]
        count = stop - begin
        newest = stamps[members[count - 1]]  # the sort is stable, so members stand in order of arrival
        if count > BLOCK:
            used = (used + BLOCK - 1) // BLOCK * BLOCK
            members = members[layer_and_place(messages, stamps[members], weights[members])]
        at = used % POSTING_RING
        for i in range(count):
            index.postings[tier, at + i, 0] = stamps[members[i]]
            index.weights[tier, at + i, 1] = weights[members[i]]
            index.postings[tier, at + i, 2] = signatures[members[i]]
        if count > BLOCK:
            describe_blocks(messages, index, tier, at, count)
        previous = newest_run(index, tier, term, now, oldest)
        run = index.control[I_RUNS + tier] % RUN_RING
        row = index.runs[tier, run]
        row[R_PREVIOUS] = previous + 1
        row[R_FIRST] = at
        row[R_COUNT] = count
        row[R_NEWEST] = newest
        row[R_TERM] = term
        index.last[term, 1 + tier] = run + 1
        index.control[I_RUNS + tier] += 1
        used += count
        begin = stop
    index.control[I_POSTINGS + tier] = used


@routine
def seal_head(messages, index):
    """Turn the full head into a small segment, and enough small segments into a large one."""
    end = messages.control[A_NEXT]
    control = index.control
    seal(messages, index, 0, max(control[I_HEAD_FIRST], messages.control[A_FIRST]), end)
    control[I_HEAD_USED] = 0
    control[I_HEAD_FIRST] = end
    if end - control[I_SMALL_FIRST] >= control[I_LARGE_SIZE]:
        seal(messages, index, 1, max(control[I_SMALL_FIRST], messages.control[A_FIRST]), end)
        control[I_SMALL_FIRST] = end
        control[I_RUNS] = 0
        control[I_POSTINGS] = 0


@helper
def keep_message(messages, point, code, time, terms, weights, begin, end):
    """Take one message into the window; its seq."""
    seq = messages.control[A_NEXT]
    slot = seq & SLOT_MASK
    for c in range(3):
        messages.place[slot, c] = point[c]
    messages.time[slot] = time
    signature = np.uint64(0)
    for i in range(begin, end):
        signature |= long_bit(terms[i])
    messages.signature[slot] = signature
    messages.code[slot] = code
    count = end - begin
    at = messages.control[A_TERMS]
    if at % TERM_RING + count > TERM_RING:  # a vector lies in one piece
        at += TERM_RING - at % TERM_RING
    messages.control[A_TERMS] = at + count
    at %= TERM_RING
    messages.span[slot] = (at << SPAN_BITS) | count
    for i in range(count):
        messages.term_ids[at + i] = terms[begin + i]
        messages.term_weights[at + i] = weights[begin + i]
    messages.control[A_NEXT] = seq + 1
    return seq


@routine
def add_message(messages, index, point, code, time, terms, weights, begin, end):
    """Take one message into the window and the head of the index; its seq."""
    if messages.control[A_NEXT] - index.control[I_HEAD_FIRST] >= index.control[I_HEAD_SIZE]:
        seal_head(messages, index)
    seq = keep_message(messages, point, code, time, terms, weights, begin, end)
    for i in range(begin, end):
        term = terms[i]
        place = index.control[I_HEAD_USED]
        index.head[place, 0] = head_posting(index, term) + 1
        index.head[place, 1] = np.uint32(seq & 0xFFFFFFFF)
        index.head_weights[place, 2] = weights[i]
        index.head[place, 3] = term
        index.control[I_HEAD_USED] = place + 1
        index.last[term, 0] = place + 1
    return seq
