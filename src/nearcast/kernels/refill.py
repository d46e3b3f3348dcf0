"""Top-k re-evaluation on underflow, and raising a threshold without any search (paper Algorithm 2, 6.2, 6.3)."""

from __future__ import annotations

import numpy as np

from nearcast.kernels.buffers import cut, link_to, load_skyband, oldest
from nearcast.kernels.jit import helper, hot_routine
from nearcast.kernels.layout import (
    N_RAISED,
    N_REFILL_WORK,
    N_REFILLS,
    N_SEARCH_BLOCKS,
    N_SEARCH_POSTINGS,
    N_SEARCH_SCORED,
    S_ALPHA,
    S_BUFFER,
    S_CAPACITY,
    S_COUNT,
    S_K,
    S_NEXT,
    S_NTERMS,
    S_TERMS,
    S_THETA,
    UNLINKED,
)
from nearcast.kernels.search import order_found, search

WORK_POSTING, WORK_BLOCK, WORK_SCORED, WORK_FIXED = 24, 8, 72, 1000
"""What a re-evaluation costs, counted, not timed, so that the engine stays deterministic. A unit is about 1 ns: fitted
to searches of 235 microseconds (tweets) and 915 (WOF) in a window of a million, most of which waits for memory."""


@helper
def load_found(subscriptions, scratch, row, found, newest, counters):
    """Fill a buffer with the skyband of the `found` messages in `scratch.found_*`, and enter it in the calendar."""
    s = subscriptions
    order_found(scratch, found, newest)
    kept = load_skyband(
        s, row, scratch.order, found, scratch.found_scores, scratch.found_stamps, 0, newest, scratch.sky
    )
    if kept > 0 and s.u32[row, S_NEXT] == UNLINKED:
        stamps = np.int64(s.u32[row, S_BUFFER]) * 4 + np.int64(s.u32[row, S_CAPACITY])
        link_to(s.due, s.u32, row, oldest(s.buffer_u32, stamps, kept, newest))
    counters[N_REFILLS] += 1


@helper
def search_work(counters):
    """What all searches have cost so far, but for the fixed part of each."""
    return (
        WORK_POSTING * counters[N_SEARCH_POSTINGS]
        + WORK_BLOCK * counters[N_SEARCH_BLOCKS]
        + WORK_SCORED * counters[N_SEARCH_SCORED]
    )


@hot_routine
def fetch(subscriptions, messages, index, policy, scratch, row, first_seq, last_seq, counters):
    """Fill a buffer anew from messages first_seq..last_seq; the threshold that it then stands for."""
    s = subscriptions
    begin = np.int64(s.u32[row, S_TERMS])
    end = begin + np.int64(s.u32[row, S_NTERMS])
    before = search_work(counters)
    rank = np.int64(policy.target_rank[s.u32[row, S_K]])
    found, theta = search(
        messages, index, policy, scratch, s.f64[row], s.f32[row, S_ALPHA], s.term_ids, s.term_weights, begin, end,
        rank, first_seq, last_seq, counters,
    )  # fmt: skip
    load_found(s, scratch, row, found, last_seq, counters)
    counters[N_REFILL_WORK] += WORK_FIXED + search_work(counters) - before
    return theta


@hot_routine
def raise_threshold(subscriptions, policy, row, counters):
    """A buffer that has grown past twice its target already holds the scores for a higher threshold: cut it there.

    Returns that threshold, which is still to be written, or the old one.
    """
    s = subscriptions
    size = np.int64(policy.target_size[s.u32[row, S_K]])
    count = np.int64(s.u32[row, S_COUNT])
    theta = s.buffer_f32[np.int64(s.u32[row, S_BUFFER]) * 4 + size - 1]
    if size >= count or theta <= s.f32[row, S_THETA]:
        return s.f32[row, S_THETA]  # ties at the threshold: nothing to drop
    cut(s, row, theta)
    counters[N_RAISED] += 1
    return theta
