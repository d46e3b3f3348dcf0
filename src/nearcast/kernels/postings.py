"""The subscription index's lists under change: insert, delete, a new threshold (paper 5.5).

A list is [packed part | tail]. The packed part is in order (blocks.py; in the paper's order with a directory of cells
and groups, pack.py), the tail takes new postings as they come. A posting's place is counted from its list's start, so
that a list can move.
"""

from __future__ import annotations

import numpy as np

from nearcast.kernels.chunks import give_chunk, power_class, take_chunk
from nearcast.kernels.compact import DEAD, VALUES, copy_compact, need_code, need_of, values_of, write_posting
from nearcast.kernels.jit import helper, hot_routine
from nearcast.kernels.layout import (
    BLOCK,
    C_POSTINGS_USED,
    CELL,
    D_END,
    D_SPATIAL,
    G_FIRST,
    G_MAX,
    G_THETA,
    H_NEED,
    K_BOX,
    K_FAR,
    K_LATER,
    K_NEED,
    K_REST,
    K_TASTE,
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
from nearcast.kernels.signatures import PRINTS, fingerprint

T_ID, T_WEIGHT, T_PLACE = 0, 1, 2  # columns of a subscription's terms

ROUNDING = 2e-6
"""Above all that float32 can take from a score."""


@helper
def spatial_threshold(theta, alpha):
    """The least SSim with which even TSim = 1 reaches theta (paper 5.2 'cell-based pruning'); -1 where alpha is ~0.

    Rounding is taken off before the division, which would magnify it.
    """
    if alpha < np.float32(1e-3):
        return np.float32(-1.0)
    return np.float32((np.float64(theta) - ROUNDING - (1.0 - np.float64(alpha))) / np.float64(alpha))


@helper
def copy_posting(postings, source, target):
    """Copy one posting."""
    p = postings
    copy_compact(p.eights, p.halves, p.words, source, p.eights, p.halves, p.words, target)
    if p.paper.size > 0:
        for b in range(3):
            p.paper[b, target] = p.paper[b, source]
    p.owner[target] = p.owner[source]


@helper
def widen(header, values):
    """Let a header hold for one posting more, given what the posting stands for."""
    header[K_TASTE] = max(header[K_TASTE], values[K_TASTE])
    header[K_REST] = max(header[K_REST], values[K_REST])
    header[K_LATER] = max(header[K_LATER], values[VALUES - 1])
    header[K_NEED] = min(header[K_NEED], values[K_NEED])
    header[K_FAR] = min(header[K_FAR], values[K_FAR])
    for c in range(3):
        header[K_BOX + c] = min(header[K_BOX + c], values[K_BOX + c])
        header[K_BOX + 3 + c] = max(header[K_BOX + 3 + c], values[K_BOX + c])


@helper
def clear(header):
    """A header that holds for nothing."""
    header[K_TASTE] = 0.0
    header[K_REST] = 0.0
    header[K_LATER] = 0.0
    header[K_NEED] = np.inf
    header[K_FAR] = np.inf
    for c in range(3):
        header[K_BOX + c] = np.inf
        header[K_BOX + 3 + c] = -np.inf


@helper
def describe_posting(postings, at, capacity, values):
    """The headers that a list of this capacity has learn of a posting; of one list's postings the first comes first."""
    p = postings
    values_of(p, at, values)
    block = p.block[at // CELL, :, at // BLOCK % BLOCK]
    if at % BLOCK == 0:
        clear(block)
    widen(block, values)
    if capacity >= CELL:
        if at % CELL == 0:
            clear(p.cell[at // CELL])
        widen(p.cell[at // CELL], values)


@hot_routine
def describe_list(postings, head):
    """All headers of a list anew."""
    start = np.int64(head[L_START])
    for at in range(start, start + np.int64(head[L_COUNT])):
        describe_posting(postings, at, np.int64(head[L_CAPACITY]), postings.values)


@hot_routine
def resize_list(postings, control, term, size_class):
    """Move a list to a chunk of another size class. A long list begins with a block, a very long one with a cell."""
    p = postings
    head = p.lists[term]
    count = np.int64(head[L_COUNT])
    capacity = np.int64(head[L_CAPACITY])
    room = 1 << size_class
    new = take_chunk(p.free, 0, size_class, p.owner, 1, 0, control, C_POSTINGS_USED, room, min(room, CELL))
    old = np.int64(head[L_START])
    for i in range(count):
        copy_posting(p, old + i, new + i)
    head[L_START] = new
    head[L_CAPACITY] = room
    if room > BLOCK and head[L_CELLS] == 0:
        describe_list(p, head)
    elif room > BLOCK:
        for b in range((count + BLOCK - 1) // BLOCK):
            for c in range(G_MAX + 1):
                p.suffix[new // BLOCK + b, c] = p.suffix[old // BLOCK + b, c]
    if capacity > 0:
        give_chunk(p.free, 0, power_class(capacity), p.owner, 1, 0, old)


@hot_routine
def insert_posting(subscriptions, postings, world, row, at):
    """Add the posting of the subscription's term in row `at` of the term table, at the end of the term's list."""
    s, p = subscriptions, postings
    term = s.term_ids[at]
    head = p.lists[term]
    if head[L_COUNT] == head[L_CAPACITY]:
        size = 0 if head[L_CAPACITY] == 0 else power_class(np.int64(head[L_CAPACITY])) + 1
        resize_list(p, s.control, term, size)
    place = np.int64(head[L_COUNT])
    to = np.int64(head[L_START]) + place
    squares = 0.0
    total = 0.0
    most = 0.0
    prints = np.uint32(0)
    last = np.int64(s.u32[row, S_TERMS]) + np.int64(s.u32[row, S_NTERMS])
    for i in range(at + 1, last):
        weight = np.float64(s.term_weights[i])
        squares += weight * weight
        total += weight
        most = max(most, weight)
        after = i - at - 1
        if after < PRINTS:
            prints |= fingerprint(s.term_ids[i]) << np.uint32(8 * after)
    for after in range(max(1, last - at - 1), PRINTS):
        prints |= (prints & np.uint32(255)) << np.uint32(8 * after)
    alpha = np.float64(s.f32[row, S_ALPHA])
    taste, rest = (1.0 - alpha) * np.float64(s.term_weights[at]), (1.0 - alpha) * np.sqrt(squares)
    write_posting(p, world, to, s.f64[row], taste, rest, s.f32[row, S_THETA], alpha, prints, last - at - 1)
    if p.paper.size > 0:
        p.paper[P_SUM, to] = total
        p.paper[P_MAX, to] = most
        p.paper[P_INNER, to] = 0.0
    p.owner[to] = row
    s.terms[at, T_PLACE] = place
    head[L_COUNT] = place + 1
    if np.int64(head[L_CAPACITY]) > BLOCK and head[L_CELLS] == 0:
        describe_posting(p, to, np.int64(head[L_CAPACITY]), p.values)


@helper
def needs_packing(head):
    """Whether the tail, or what has changed in the packed part, has grown past its share of the list."""
    count = np.int64(head[L_COUNT])
    packed = np.int64(head[L_PACKED])
    tail = count - packed
    return count > BLOCK and (tail > max(2 * BLOCK, packed // 8) or np.int64(head[L_DIRTY]) > max(64, count // 2))


@helper
def settle_need(postings, at, end, cells):
    """Bring the least need of a posting's block, and of its cell, up to date."""
    p = postings
    cell = at // CELL
    lane = at // BLOCK % BLOCK
    before = p.block[cell, K_NEED, lane]
    code = DEAD
    for i in range(min(BLOCK, end - (at - at % BLOCK))):
        code = min(code, p.halves[at // BLOCK, H_NEED + i])
    least = need_of(code)
    p.block[cell, K_NEED, lane] = least
    if cells and (least < p.cell[cell, K_NEED] or before <= p.cell[cell, K_NEED]):
        least = np.float32(np.inf)
        for i in range(min(BLOCK, (end - cell * CELL + BLOCK - 1) // BLOCK)):
            least = min(least, p.block[cell, K_NEED, i])
        p.cell[cell, K_NEED] = least


@hot_routine
def remove_posting(subscriptions, postings, at):
    """Take a posting out: of a short list at once, of a long one by a need that nothing meets."""
    s, p = subscriptions, postings
    term = s.term_ids[at]
    head = p.lists[term]
    start = np.int64(head[L_START])
    place = np.int64(s.terms[at, T_PLACE])
    if np.int64(head[L_CAPACITY]) > BLOCK:
        at = start + place
        p.halves[at >> 5, H_NEED + (at & 31)] = DEAD
        head[L_DIRTY] += np.uint32(1)
        if head[L_CELLS] == 0:
            settle_need(p, at, start + np.int64(head[L_COUNT]), np.int64(head[L_CAPACITY]) >= CELL)
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


@hot_routine
def lower_statistics(postings, head, place, theta, alpha):
    """A posting of the packed part now has a lower threshold: so have its group, the rest of the group, its cell."""
    p = postings
    cells = np.int64(head[L_CELLS])
    first = np.int64(head[L_ROWS])
    group = group_of(p, first + cells, np.int64(head[L_GROUPS]), place)
    p.rows_f32[group, G_THETA] = min(p.rows_f32[group, G_THETA], theta)
    begin = np.int64(p.rows_u32[group, G_FIRST])
    base = np.int64(head[L_START]) // BLOCK
    block = place // BLOCK
    while block * BLOCK >= begin:
        p.suffix[base + block, G_THETA] = min(p.suffix[base + block, G_THETA], theta)
        block -= 1
    cell = first
    while np.int64(p.rows_u32[cell, D_END]) <= group - first - cells:
        cell += 1
    p.rows_f32[cell, D_SPATIAL] = min(p.rows_f32[cell, D_SPATIAL], spatial_threshold(theta, alpha))


@hot_routine
def set_threshold(subscriptions, postings, row, theta):
    """Write a subscription's new threshold into its row and its postings: all that ever flows back (paper 6.3)."""
    s, p = subscriptions, postings
    lower = theta < s.f32[row, S_THETA]
    s.f32[row, S_THETA] = theta
    need = need_code(theta, s.f32[row, S_ALPHA])
    first = np.int64(s.u32[row, S_TERMS])
    for at in range(first, first + np.int64(s.u32[row, S_NTERMS])):
        head = p.lists[s.term_ids[at]]
        place = np.int64(s.terms[at, T_PLACE])
        to = np.int64(head[L_START]) + place
        p.halves[to >> 5, H_NEED + (to & 31)] = need
        if np.int64(head[L_CAPACITY]) <= BLOCK:
            continue
        head[L_DIRTY] += np.uint32(1)
        if head[L_CELLS] == 0:
            end = to - place + np.int64(head[L_COUNT])
            settle_need(p, to, end, np.int64(head[L_CAPACITY]) >= CELL)
        elif place < np.int64(head[L_PACKED]):
            if lower:
                lower_statistics(p, head, place, theta, s.f32[row, S_ALPHA])
