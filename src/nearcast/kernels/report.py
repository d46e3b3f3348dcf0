"""Net changes of the lists: what differs after an operation from before it, in the order of `model.Change`."""

from __future__ import annotations

import numpy as np

from nearcast.kernels.buffers import age
from nearcast.kernels.jit import helper, hot_routine
from nearcast.kernels.layout import N_CHANGES, S_BUFFER, S_CAPACITY, S_COUNT, S_K, S_NUMBER
from nearcast.kernels.sorting import sort_order

LEFT, ENTERED = 0, 1
ARRIVED, DISPLACED, EXPIRED, REFILLED, REGISTERED, UNSUBSCRIBED = 0, 1, 2, 3, 4, 5

# Columns of `scratch.touched`. An arrival in an otherwise untouched list is told by its place and whom it displaced;
# any other subscription by its list before the operation.
E_NUMBER, E_ROW, E_ARRIVAL, E_PLACE, E_LEFT, E_STAMP, E_LEFT_BITS, E_BITS = 0, 1, 2, 3, 4, 5, 6, 7
E_BEFORE, E_COUNT = 3, 4


@helper
def list_length(subscriptions, row):
    """How long the top-k list is."""
    return min(np.int64(subscriptions.u32[row, S_K]), np.int64(subscriptions.u32[row, S_COUNT]))


@helper
def emit(out, seq, row, number, kind, cause, message, rank, score):
    """Write one change."""
    n = out.count[0]
    out.seq[n] = seq
    out.row[n] = row
    out.number[n] = number
    out.kind[n] = kind
    out.cause[n] = cause
    out.message[n] = message
    out.rank[n] = rank
    out.score[n] = score
    out.count[0] = n + 1


@hot_routine
def remember(subscriptions, scratch, events, used, row):
    """Keep a subscription's list as it is before the operation touches it; the new end of `scratch.before_*`."""
    s = subscriptions
    length = list_length(s, row)
    scores = np.int64(s.u32[row, S_BUFFER]) * 4
    stamps = scores + np.int64(s.u32[row, S_CAPACITY])
    for i in range(length):
        scratch.before_scores[used + i] = s.buffer_f32[scores + i]
        scratch.before_stamps[used + i] = s.buffer_u32[stamps + i]
    event = scratch.touched[events]
    event[E_NUMBER] = s.u32[row, S_NUMBER]
    event[E_ROW] = row
    event[E_ARRIVAL] = 0
    event[E_BEFORE] = used
    event[E_COUNT] = length
    return used + length


@helper
def emit_arrival(scratch, at, out, seq):
    """An arrival pushed out the last of the list, or not, and stands at its place. Scores come as their bits."""
    event = scratch.touched
    row, number = event[at, E_ROW], event[at, E_NUMBER]
    if event[at, E_LEFT] != 0:
        scratch.score_bits[0] = event[at, E_LEFT_BITS]
        message = seq - age(seq, event[at, E_STAMP])
        emit(out, seq, row, number, LEFT, DISPLACED, message, event[at, E_LEFT], scratch.score[0])
    scratch.score_bits[0] = event[at, E_BITS]
    emit(out, seq, row, number, ENTERED, ARRIVED, seq, event[at, E_PLACE] + 1, scratch.score[0])


@hot_routine
def emit_difference(subscriptions, scratch, event, out, seq, fresh, first_live):
    """Walk both lists, before and after: first who left, then who entered. From `fresh` on messages are new."""
    s = subscriptions
    row, number = event[E_ROW], event[E_NUMBER]
    length = list_length(s, row)
    before = np.int64(event[E_BEFORE])
    count = np.int64(event[E_COUNT])
    scores = np.int64(s.u32[row, S_BUFFER]) * 4
    stamps = scores + np.int64(s.u32[row, S_CAPACITY])
    for entered in range(2):
        i = 0
        j = 0
        while i < count or j < length:
            old_first = j >= length
            if i < count and j < length:
                a = scratch.before_scores[before + i]
                b = s.buffer_f32[scores + j]
                back_a = age(seq, scratch.before_stamps[before + i])
                back_b = age(seq, s.buffer_u32[stamps + j])
                if back_a == back_b:
                    i += 1
                    j += 1
                    continue
                old_first = a > b or (a == b and back_a < back_b)
            if old_first:
                if entered == 0:
                    message = seq - age(seq, scratch.before_stamps[before + i])
                    cause = EXPIRED if message < first_live else DISPLACED
                    emit(out, seq, row, number, LEFT, cause, message, i + 1, scratch.before_scores[before + i])
                i += 1
            else:
                if entered == 1:
                    message = seq - age(seq, s.buffer_u32[stamps + j])
                    cause = ARRIVED if message >= fresh else REFILLED
                    emit(out, seq, row, number, ENTERED, cause, message, j + 1, s.buffer_f32[scores + j])
                j += 1


@hot_routine
def report(subscriptions, scratch, events, out, seq, fresh, first_live, counters):
    """Write the changes of all touched subscriptions in order of registration."""
    before = out.count[0]
    for i in range(events):
        scratch.keys[i] = scratch.touched[i, E_NUMBER]
    sort_order(scratch.keys, scratch.order, events)
    for i in range(events):
        at = scratch.order[i]
        if scratch.touched[at, E_ARRIVAL] != 0:
            emit_arrival(scratch, at, out, seq)
        else:
            emit_difference(subscriptions, scratch, scratch.touched[at], out, seq, fresh, first_live)
            subscriptions.flag[scratch.touched[at, E_ROW]] = 0
    counters[N_CHANGES] += out.count[0] - before
