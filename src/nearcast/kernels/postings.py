"""The subscription index's lists under change: insert, delete, a new threshold (paper 5.5).

A list is [packed part | tail]. The packed part is ordered in cells and groups (pack.py) and has a directory; the tail
takes new postings as they come. A posting's place is counted from its list's start, so that a list can move.
"""

from __future__ import annotations

import numpy as np

from nearcast.kernels.chunks import give_chunk, power_class, take_chunk
from nearcast.kernels.jit import helper, routine
from nearcast.kernels.layout import (
    B_ALPHA,
    B_REST,
    B_THETA,
    B_WEIGHT,
    B_X,
    BLOCK,
    C_POSTINGS_USED,
    D_SPATIAL,
    G_FIRST,
    G_THETA,
    L_CAPACITY,
    L_CELLS,
    L_COUNT,
    L_DIRTY,
    L_GROUPS,
    L_PACKED,
    L_ROWS,
    L_START,
    P_INNER,
    P_MAX,
    P_SUM,
    S_ALPHA,
    S_NTERMS,
    S_TERMS,
    S_THETA,
)

T_ID, T_WEIGHT, T_PLACE = 0, 1, 2  # columns of a subscription's terms


@helper
def spatial_threshold(theta, alpha):
    """The least SSim with which even TSim = 1 reaches theta (paper 5.2 'cell-based pruning'); -1 where alpha is ~0."""
    if alpha < np.float32(1e-3):
        return np.float32(-1.0)
    return (theta - (np.float32(1.0) - alpha)) / alpha


@helper
def copy_posting(postings, source, target):
    """Copy one posting."""
    p = postings
    for b in range(7):
        p.bound[b, target] = p.bound[b, source]
    for b in range(3):
        p.paper[b, target] = p.paper[b, source]
    p.owner[target] = p.owner[source]


@routine
def resize_list(postings, control, term, size_class):
    """Move a list to a chunk of another size class."""
    p = postings
    head = p.lists[term]
    count = np.int64(head[L_COUNT])
    capacity = np.int64(head[L_CAPACITY])
    room = 1 << size_class
    new = take_chunk(p.free, 0, size_class, p.owner, 1, 0, control, C_POSTINGS_USED, room, min(room, BLOCK))
    old = np.int64(head[L_START])
    for i in range(count):
        copy_posting(p, old + i, new + i)
    for b in range((np.int64(head[L_PACKED]) + BLOCK - 1) // BLOCK):
        p.block[new // BLOCK + b] = p.block[old // BLOCK + b]
    if capacity > 0:
        give_chunk(p.free, 0, power_class(capacity), p.owner, 1, 0, old)
    head[L_START] = new
    head[L_CAPACITY] = room


@routine
def insert_posting(subscriptions, postings, row, at):
    """Add the posting of the subscription's term in row `at` of the term table, at the end of the term's list."""
    s, p = subscriptions, postings
    term = s.term_ids[at]
    head = p.lists[term]
    if head[L_COUNT] == head[L_CAPACITY]:
        size = 0 if head[L_CAPACITY] == 0 else power_class(np.int64(head[L_CAPACITY])) + 1
        resize_list(p, s.control, term, size)
    place = np.int64(head[L_COUNT])
    to = np.int64(head[L_START]) + place
    rest = 0.0
    total = 0.0
    most = 0.0
    last = np.int64(s.u32[row, S_TERMS]) + np.int64(s.u32[row, S_NTERMS])
    for i in range(at + 1, last):
        weight = np.float64(s.term_weights[i])
        rest += weight * weight
        total += weight
        most = max(most, weight)
    p.bound[B_THETA, to] = s.f32[row, S_THETA]
    p.bound[B_ALPHA, to] = s.f32[row, S_ALPHA]
    p.bound[B_WEIGHT, to] = s.term_weights[at]
    p.bound[B_REST, to] = np.sqrt(rest)
    for c in range(3):
        p.bound[B_X + c, to] = s.f64[row, c]
    p.paper[P_SUM, to] = total
    p.paper[P_MAX, to] = most
    p.paper[P_INNER, to] = 0.0
    p.owner[to] = row
    s.terms[at, T_PLACE] = place
    head[L_COUNT] = place + 1


@helper
def needs_packing(head):
    """Whether the tail, or what has changed in the packed part, has grown past its share of the list."""
    count = np.int64(head[L_COUNT])
    packed = np.int64(head[L_PACKED])
    return count > BLOCK and (count - packed > max(BLOCK, packed // 4) or np.int64(head[L_DIRTY]) > max(64, packed // 2))


@routine
def remove_posting(subscriptions, postings, at):
    """Take a posting out: from the tail at once, in the packed part by a threshold that nothing reaches."""
    s, p = subscriptions, postings
    term = s.term_ids[at]
    head = p.lists[term]
    start = np.int64(head[L_START])
    place = np.int64(s.terms[at, T_PLACE])
    if place < np.int64(head[L_PACKED]):
        p.bound[B_THETA, start + place] = np.inf
        head[L_DIRTY] += np.uint32(1)
        return
    end = np.int64(head[L_COUNT]) - 1
    if place != end:
        copy_posting(p, start + end, start + place)
        owner = np.int64(p.owner[start + place])
        i = np.int64(s.u32[owner, S_TERMS])
        while s.term_ids[i] != term:
            i += 1
        s.terms[i, T_PLACE] = place
    head[L_COUNT] = end
    if end == 0:
        give_chunk(p.free, 0, power_class(np.int64(head[L_CAPACITY])), p.owner, 1, 0, start)
        head[L_CAPACITY] = 0


@helper
def group_of(postings, first, count, place):
    """The directory row of the group that holds this place of the packed part."""
    low = first
    high = first + count - 1
    while low < high:
        middle = (low + high + 1) // 2
        if np.int64(postings.rows_u32[middle, G_FIRST]) <= place:
            low = middle
        else:
            high = middle - 1
    return low


@routine
def lower_statistics(postings, head, place, theta, alpha):
    """A posting of the packed part now has a lower threshold: what was said of its group, rest of group and cell follows."""
    p = postings
    cells = np.int64(head[L_CELLS])
    first = np.int64(head[L_ROWS])
    group = group_of(p, first + cells, np.int64(head[L_GROUPS]), place)
    p.rows_f32[group, G_THETA] = min(p.rows_f32[group, G_THETA], theta)
    begin = np.int64(p.rows_u32[group, G_FIRST])
    base = np.int64(head[L_START]) // BLOCK
    block = place // BLOCK
    while block * BLOCK >= begin:
        p.block[base + block, G_THETA] = min(p.block[base + block, G_THETA], theta)
        block -= 1
    cell = first
    while np.int64(p.rows_u32[cell, 8]) <= group - first - cells:
        cell += 1
    p.rows_f32[cell, D_SPATIAL] = min(p.rows_f32[cell, D_SPATIAL], spatial_threshold(theta, alpha))


@routine
def set_threshold(subscriptions, postings, row, theta):
    """Write a subscription's new threshold into its row and its postings: the only thing that flows back (paper 6.3)."""
    s, p = subscriptions, postings
    lower = theta < s.f32[row, S_THETA]
    s.f32[row, S_THETA] = theta
    first = np.int64(s.u32[row, S_TERMS])
    for at in range(first, first + np.int64(s.u32[row, S_NTERMS])):
        head = p.lists[s.term_ids[at]]
        place = np.int64(s.terms[at, T_PLACE])
        p.bound[B_THETA, np.int64(head[L_START]) + place] = theta
        if place < np.int64(head[L_PACKED]):
            head[L_DIRTY] += np.uint32(1)
            if lower:
                lower_statistics(p, head, place, theta, s.f32[row, S_ALPHA])
