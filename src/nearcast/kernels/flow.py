"""What happens around the shards: messages into the window, what is live when, changes of shards merged."""

from __future__ import annotations

from nearcast.kernels.jit import kernel
from nearcast.kernels.layout import A_FIRST, A_NEXT, SLOT_MASK
from nearcast.kernels.segments import add_message, keep_message


@kernel
def add_messages(messages, index, points, codes, times, offsets, terms, weights, begin, end):
    """Take rows begin..end-1 of a batch into the window and the message index."""
    for i in range(begin, end):
        add_message(messages, index, points[i], codes[i], times[i], terms, weights, offsets[i], offsets[i + 1])


@kernel
def keep_messages(messages, points, codes, times, offsets, terms, weights, begin, end):
    """Take rows begin..end-1 of a batch into the window alone: another index looks after them."""
    for i in range(begin, end):
        keep_message(messages, points[i], codes[i], times[i], terms, weights, offsets[i], offsets[i + 1])


@kernel
def live_after(messages, count, first_seq, count_window, duration, live):
    """live[0]: the oldest live message now; live[i + 1]: that once message first_seq + i has arrived."""
    first = messages.control[A_FIRST]
    live[0] = first
    for i in range(count):
        seq = first_seq + i
        if count_window > 0:
            first = max(first, seq + 1 - count_window)
        else:
            now = messages.time[seq & SLOT_MASK]
            while first < seq and messages.time[first & SLOT_MASK] <= now - duration:
                first += 1
        live[i + 1] = first


@kernel
def live_at(messages, now, duration):
    """The oldest message that is live at this time."""
    first = messages.control[A_FIRST]
    while first < messages.control[A_NEXT] and messages.time[first & SLOT_MASK] <= now - duration:
        first += 1
    return first
