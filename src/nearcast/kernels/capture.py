"""Reading the state out into plain columns and checking such columns: the snapshot's side of the memory layout."""

from __future__ import annotations

import numpy as np

from nearcast.kernels.buffers import age
from nearcast.kernels.jit import kernel
from nearcast.kernels.layout import S_BUFFER, S_CAPACITY, S_COUNT, S_NTERMS, S_TERMS, SLOT_MASK, SPAN_BITS
from nearcast.kernels.segments import span_of


@kernel
def message_spans(messages, first, end, offsets):
    """Where each message's terms will stand; offsets[0] is 0."""
    for seq in range(first, end):
        offsets[seq - first + 1] = offsets[seq - first] + (messages.span[seq & SLOT_MASK] & ((1 << SPAN_BITS) - 1))


@kernel
def read_messages(messages, first, end, offsets, points, times, codes, terms, weights):
    """Points, times, codes and vectors of messages first..end-1."""
    for seq in range(first, end):
        i = seq - first
        slot = seq & SLOT_MASK
        for c in range(3):
            points[i, c] = messages.place[slot, c]
        times[i] = messages.time[slot]
        codes[i] = messages.code[slot]
        a, b = span_of(messages, seq)
        for at in range(a, b):
            terms[offsets[i] + at - a] = messages.term_ids[at]
            weights[offsets[i] + at - a] = messages.term_weights[at]


@kernel
def subscription_spans(subscriptions, rows, chosen, offsets, entry_offsets):
    """Number of terms and buffer entries of subscription i, at i + 1."""
    for i in chosen:
        offsets[i + 1] = subscriptions.u32[rows[i], S_NTERMS]
        entry_offsets[i + 1] = subscriptions.u32[rows[i], S_COUNT]


@kernel
def read_subscriptions(
    subscriptions, rows, chosen, newest, offsets, terms, weights, entry_offsets, entry_scores, entry_seqs
):
    """Vectors and buffers of the chosen subscriptions."""
    s = subscriptions
    for i in chosen:
        row = rows[i]
        first = np.int64(s.u32[row, S_TERMS])
        for j in range(offsets[i + 1] - offsets[i]):
            terms[offsets[i] + j] = s.term_ids[first + j]
            weights[offsets[i] + j] = s.term_weights[first + j]
        scores = np.int64(s.u32[row, S_BUFFER]) * 4
        stamps = scores + np.int64(s.u32[row, S_CAPACITY])
        for j in range(entry_offsets[i + 1] - entry_offsets[i]):
            entry_scores[entry_offsets[i] + j] = s.buffer_f32[scores + j]
            entry_seqs[entry_offsets[i] + j] = newest - age(newest, s.buffer_u32[stamps + j])


@kernel
def sound_vectors(offsets, terms, weights, vocabulary):
    """Whether vectors are as the text layer makes them: known terms in descending order, weights in (0, 1]."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(terms) or len(terms) != len(weights):
        return False
    for i in range(len(offsets) - 1):
        if offsets[i] > offsets[i + 1]:
            return False
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            if terms[j] >= vocabulary or not 0.0 < weights[j] <= 1.0:
                return False
            if j > offsets[i] and terms[j - 1] <= terms[j]:
                return False
    return True


@kernel
def sound_buffers(offsets, scores, seqs, thetas, first, newest):
    """Whether buffers are sorted, live and above their thresholds."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(scores) or len(scores) != len(seqs):
        return False
    for i in range(len(offsets) - 1):
        if offsets[i] > offsets[i + 1]:
            return False
    for i in range(len(offsets) - 1):
        if not 0.0 <= thetas[i] < np.inf:
            return False
        for j in range(offsets[i], offsets[i + 1]):
            if not thetas[i] <= scores[j] < np.inf or not first <= seqs[j] <= newest:
                return False
            if j > offsets[i]:
                if scores[j - 1] < scores[j] or (scores[j - 1] == scores[j] and seqs[j - 1] <= seqs[j]):
                    return False
    return True
