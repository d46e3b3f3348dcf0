"""The floor: what it costs to apply a run's buffer updates when the affected subscriptions are known beforehand.

The same expiry, offers, eviction and reports as in shard.py, on a copy of the shard; who is affected and what a
re-evaluation finds comes from a recording (trace.py). No index is read or written.
"""

from __future__ import annotations

import numpy as np

from nearcast.kernels.buffers import link_to, load_skyband, oldest, purge
from nearcast.kernels.clock import ticks
from nearcast.kernels.jit import hot_kernel
from nearcast.kernels.layout import F_PENDING, S_BUFFER, S_CAPACITY, S_COUNT, S_K, S_NEXT, S_THETA, UNLINKED
from nearcast.kernels.refill import raise_threshold
from nearcast.kernels.report import report
from nearcast.kernels.shard import expire, note_arrival


@hot_kernel
def apply_known(subscriptions, policy, scratch, out, counters, first_seq, first_live, trace, first_step, log):
    """Apply steps first_step, … of a recording; `log` receives the ticks of each."""
    s = subscriptions
    state = scratch.state
    for step in range(len(first_live) - 1):
        start = ticks()
        live = first_live[step + 1]
        seq = first_seq + step
        state[:] = 0
        for message in range(first_live[step], live):
            expire(s, scratch, message, state, counters)
        recorded = first_step + step
        begin = trace.steps[recorded - 1, 0] if recorded > 0 else 0
        for hit in range(begin, trace.steps[recorded, 0]):
            row = trace.rows[hit]
            note_arrival(s, scratch, row, trace.scores[hit], seq, state, counters)
            if np.int64(s.u32[row, S_COUNT]) > 2 * np.int64(policy.target_size[s.u32[row, S_K]]):
                s.f32[row, S_THETA] = raise_threshold(s, policy, row, counters)
        for i in range(state[2]):
            row = scratch.pending[i]
            s.flag[row] &= ~F_PENDING
            count = purge(s, row, seq, seq - live)
            if count >= np.int64(s.u32[row, S_K]):
                stamps = np.int64(s.u32[row, S_BUFFER]) * 4 + np.int64(s.u32[row, S_CAPACITY])
                if s.u32[row, S_NEXT] == UNLINKED:
                    link_to(s.due, s.u32, row, oldest(s.buffer_u32, stamps, count, seq))
        begin = trace.steps[recorded - 1, 1] if recorded > 0 else 0
        for refill in range(begin, trace.steps[recorded, 1]):
            row = trace.refill_rows[refill]
            a = trace.refill_ends[refill - 1] if refill > 0 else 0
            b = trace.refill_ends[refill]
            for i in range(b - a):
                scratch.order[i] = i
            if load_skyband(s, row, scratch.order, b - a, trace.entry_scores, trace.entry_stamps, a, seq, scratch.sky):
                if s.u32[row, S_NEXT] == UNLINKED:
                    link_to(s.due, s.u32, row, oldest(trace.entry_stamps, a, b - a, seq))
            s.f32[row, S_THETA] = trace.refill_thetas[refill]
        report(s, scratch, state[0], out, seq, seq, live, counters)
        log[step] = ticks() - start
