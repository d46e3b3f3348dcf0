"""Recording what a run did to the buffers, so that the same updates can be applied without finding them: the floor."""

from __future__ import annotations

import numpy as np

from nearcast.kernels.jit import hot_routine
from nearcast.kernels.layout import S_BUFFER, S_CAPACITY, S_COUNT, S_THETA, Trace

TRACE_ON, TRACE_HITS, TRACE_STEPS, TRACE_REFILLS, TRACE_ENTRIES = 0, 1, 2, 3, 4


@hot_routine
def record_hits(scratch, trace, hits):
    """The affected subscriptions of one step, and where the step's refills end."""
    at = trace.control[TRACE_HITS]
    for i in range(hits):
        trace.rows[at + i] = scratch.hit_rows[i]
        trace.scores[at + i] = scratch.hit_scores[i]
    trace.control[TRACE_HITS] = at + hits
    step = trace.control[TRACE_STEPS]
    trace.steps[step, 0] = at + hits
    trace.steps[step, 1] = trace.control[TRACE_REFILLS]
    trace.control[TRACE_STEPS] = step + 1


@hot_routine
def record_refill(subscriptions, trace, row):
    """The buffer of a subscription after its re-evaluation."""
    s = subscriptions
    n = trace.control[TRACE_REFILLS]
    at = trace.control[TRACE_ENTRIES]
    count = np.int64(s.u32[row, S_COUNT])
    scores = np.int64(s.u32[row, S_BUFFER]) * 4
    stamps = scores + np.int64(s.u32[row, S_CAPACITY])
    for i in range(count):
        trace.entry_scores[at + i] = s.buffer_f32[scores + i]
        trace.entry_stamps[at + i] = s.buffer_u32[stamps + i]
    trace.refill_rows[n] = row
    trace.refill_thetas[n] = s.f32[row, S_THETA]
    trace.refill_ends[n] = at + count
    trace.control[TRACE_REFILLS] = n + 1
    trace.control[TRACE_ENTRIES] = at + count


def no_trace() -> Trace:
    """A recorder that is off."""
    return Trace(
        control=np.zeros(5, np.int64),
        rows=np.zeros(0, np.uint32),
        scores=np.zeros(0, np.float32),
        steps=np.zeros((0, 2), np.int64),
        refill_rows=np.zeros(0, np.uint32),
        refill_thetas=np.zeros(0, np.float32),
        refill_ends=np.zeros(0, np.int64),
        entry_scores=np.zeros(0, np.float32),
        entry_stamps=np.zeros(0, np.uint32),
    )
