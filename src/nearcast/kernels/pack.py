"""The paper's order of a list: cells of a quadtree, alpha groups in a cell, threshold* in a group (paper 5.2, 5.3).

The paper hangs an inverted file on each quadtree leaf and visits every leaf for every message. Here each keyword has
its own cut through the same quadtree (Morton codes are its paths): a cell is a run of sibling quadrants with at most
`cell_limit` postings of this keyword, so a message opens one list a keyword and rare keywords have a single cell.
A leaf that overflows is split when its list is packed next.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.blocks import split_evenly
from nearcast.kernels.chunks import give_chunk, power_class, take_chunk
from nearcast.kernels.compact import copy_compact, is_dead
from nearcast.kernels.geometry import boundary_distance, patch_box
from nearcast.kernels.jit import routine
from nearcast.kernels.layout import (
    BLOCK,
    BLOCK_BYTES,
    C_DIRECTORY_USED,
    D_END,
    D_FIRST,
    D_SPATIAL,
    G_END,
    G_FIRST,
    G_HIGH,
    G_LOW,
    G_MAX,
    G_REST,
    G_THETA,
    G_WEIGHT,
    L_CAPACITY,
    L_CELLS,
    L_COUNT,
    L_DIRTY,
    L_GROUPS,
    L_PACKED,
    L_ROWS,
    L_START,
    N_PACKS,
    P_INNER,
    P_MAX,
    S_ALPHA,
    S_NTERMS,
    S_TERMS,
    S_THETA,
)
from nearcast.kernels.postings import T_PLACE, describe_list, spatial_threshold


@routine
def cut_cells(codes, limit):
    """Ends of the runs of sorted Morton codes that form cells: quadrants are split while they hold more than `limit`,
    and neighbouring siblings that fit together stay together.
    """
    n = len(codes)
    ends = np.empty(n, np.int64)
    found = 0
    stack = np.empty((80, 3), np.int64)  # from, to, level; at most 4 siblings wait on each of 16 levels
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, 0
    depth = 1
    while depth > 0:
        depth -= 1
        begin, end, level = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if end - begin <= limit or level == 16:
            ends[found] = end
            found += 1
            continue
        # children are pushed last first, so that the first comes off first
        shift = 30 - 2 * level
        to = end
        first = depth
        while to > begin:
            digit = (np.int64(codes[to - 1]) >> shift) & 3
            at = to - 1
            while at > begin and ((np.int64(codes[at - 1]) >> shift) & 3) == digit:
                at -= 1
            if depth > first and stack[depth - 1, 1] - at <= limit:
                stack[depth - 1, 0] = at
            else:
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = at, to, level + 1
                depth += 1
            to = at
    return ends[:found]


@routine
def order_list(postings, subscriptions, start, live, cell_limit, alpha_groups):
    """The packed order of these postings, and where cells and groups end in it."""
    p, s = postings, subscriptions
    n = len(live)
    codes = np.empty(n, np.uint32)
    for i in range(n):
        codes[i] = s.code[p.owner[start + live[i]]]
    by_code = np.argsort(codes)
    ends = cut_cells(codes[by_code], cell_limit)
    order = live[by_code]
    group_ends = np.empty(n // BLOCK + len(ends) + 1, np.int64)
    cell_groups = np.empty(len(ends), np.int64)
    groups = 0
    begin = 0
    for cell in range(len(ends)):
        end = ends[cell]
        size = end - begin
        alphas = np.empty(size, np.float32)
        for i in range(size):
            alphas[i] = s.f32[p.owner[start + order[begin + i]], S_ALPHA]
        by_alpha = order[begin:end][np.argsort(alphas)]
        classes = min(max(size // BLOCK, 1), alpha_groups)
        done = 0
        for c in range(classes):  # quantiles of alpha: equal shares
            upto = size * (c + 1) // classes
            keys = np.empty(upto - done, np.float32)
            for i in range(done, upto):
                row = p.owner[start + by_alpha[i]]
                keys[i - done] = s.f32[row, S_THETA] / max(np.float32(1.0) - s.f32[row, S_ALPHA], np.float32(1e-3))
            order[begin + done : begin + upto] = by_alpha[done:upto][np.argsort(keys)]
            group_ends[groups] = begin + upto
            groups += 1
            done = upto
        cell_groups[cell] = groups
        begin = end
    return order, ends, cell_groups, group_ends[:groups]


@routine
def rewrite(postings, subscriptions, term, start, order):
    """Bring the postings into this order and tell their subscriptions where they stand now."""
    p, s = postings, subscriptions
    n = len(order)
    kept = 2 if p.paper.size > 0 else 0
    paper = np.empty((kept, n), np.float32)
    owner = np.empty(n, np.uint32)
    eights = np.empty((n // BLOCK + 1, BLOCK_BYTES), np.uint8)
    halves, words = eights.view(np.uint16), eights.view(np.uint32)
    for i in range(n):
        at = start + order[i]
        copy_compact(p.eights, p.halves, p.words, at, eights, halves, words, i)
        for b in range(kept):
            paper[b, i] = p.paper[b, at]
        owner[i] = p.owner[at]
    for i in range(n):
        at = start + i
        copy_compact(eights, halves, words, i, p.eights, p.halves, p.words, at)
        for b in range(kept):
            p.paper[b, at] = paper[b, i]
        if kept > 0:
            p.paper[P_INNER, at] = 0.0
        p.owner[at] = owner[i]
        place = np.int64(s.u32[owner[i], S_TERMS])
        while s.term_ids[place] != term:
            place += 1
        s.terms[place, T_PLACE] = i


@routine
def unembed(world, x, y, z):
    """A point in the user's coordinates again, up to rounding."""
    if world.radius > 0.0:
        return math.degrees(math.atan2(y, x)), math.degrees(math.asin(min(1.0, max(-1.0, z / world.radius))))
    return x + world.xmin, y + world.ymin


@routine
def describe_cell(postings, subscriptions, world, start, begin, end, row):
    """A cell's box and spatial threshold, and each posting's distance from its boundary (inner spatial bound)."""
    p, s = postings, subscriptions
    n = end - begin
    xs = np.empty(n, np.float64)
    ys = np.empty(n, np.float64)
    low_x, low_y, high_x, high_y = np.inf, np.inf, -np.inf, -np.inf
    least = np.float32(np.inf)
    for i in range(n):
        owner = p.owner[start + begin + i]
        x, y = unembed(world, s.f64[owner, 0], s.f64[owner, 1], s.f64[owner, 2])
        xs[i], ys[i] = x, y
        low_x, low_y, high_x, high_y = min(low_x, x), min(low_y, y), max(high_x, x), max(high_y, y)
        least = min(least, spatial_threshold(s.f32[owner, S_THETA], s.f32[owner, S_ALPHA]))
    box = patch_box(world, low_x, low_y, high_x, high_y)
    for c in range(6):
        p.rows_f32[row, c] = box[c]
    p.rows_f32[row, D_SPATIAL] = least
    for i in range(n):
        inner = boundary_distance(world, xs[i], ys[i], low_x, low_y, high_x, high_y)
        p.paper[P_INNER, start + begin + i] = min(world.max_dist, inner * (1.0 - 1e-6))


@routine
def describe_group(postings, subscriptions, term, start, begin, end, row):
    """A group's statistics in its directory row, and those of the rest of the group at each block (paper 5.2.2)."""
    p, s = postings, subscriptions
    theta, low, high = np.float32(np.inf), np.float32(np.inf), np.float32(-np.inf)
    weight, rest, most = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for i in range(end - 1, begin - 1, -1):
        at = start + i
        owner = p.owner[at]
        place = np.int64(s.u32[owner, S_TERMS])
        last = place + np.int64(s.u32[owner, S_NTERMS])
        while s.term_ids[place] != term:
            place += 1
        squares = np.float32(0.0)
        for later in range(place + 1, last):
            squares += s.term_weights[later] * s.term_weights[later]
        theta = min(theta, s.f32[owner, S_THETA])
        low = min(low, s.f32[owner, S_ALPHA])
        high = max(high, s.f32[owner, S_ALPHA])
        weight = max(weight, s.term_weights[place])
        rest = max(rest, np.float32(math.sqrt(squares)))
        most = max(most, max(s.term_weights[place], p.paper[P_MAX, at]))
        if i % BLOCK == 0:
            block = at // BLOCK
            p.suffix[block, G_THETA] = theta
            p.suffix[block, G_LOW] = low
            p.suffix[block, G_HIGH] = high
            p.suffix[block, G_WEIGHT] = weight
            p.suffix[block, G_REST] = rest
            p.suffix[block, G_MAX] = most
    p.rows_f32[row, G_THETA] = theta
    p.rows_f32[row, G_LOW] = low
    p.rows_f32[row, G_HIGH] = high
    p.rows_f32[row, G_WEIGHT] = weight
    p.rows_f32[row, G_REST] = rest
    p.rows_f32[row, G_MAX] = most
    p.rows_u32[row, G_FIRST] = begin
    p.rows_u32[row, G_END] = end


@routine
def forget_order(postings, head):
    """Give back the directory of a list in the paper's order."""
    p = postings
    rows = np.int64(head[L_CELLS]) + np.int64(head[L_GROUPS])
    if rows > 0:
        give_chunk(p.free, 1, power_class(rows), p.rows_u32.reshape(-1), 16, 0, np.int64(head[L_ROWS]))
    head[L_CELLS] = 0
    head[L_GROUPS] = 0


@routine
def order_by_paper(subscriptions, postings, world, term, live, limits):
    """Bring the live postings of a list into the paper's order and describe its cells and groups."""
    s, p = subscriptions, postings
    head = p.lists[term]
    start = np.int64(head[L_START])
    order, ends, cell_groups, group_ends = order_list(p, s, start, live, limits[0], limits[1])
    rewrite(p, s, term, start, order)
    cells = len(ends)
    size = power_class(cells + len(group_ends))
    links = p.rows_u32.reshape(-1)
    base = take_chunk(p.free, 1, size, links, 16, 0, s.control, C_DIRECTORY_USED, 1 << size, 1)
    head[L_ROWS] = base
    head[L_CELLS] = cells
    head[L_GROUPS] = len(group_ends)
    begin = 0
    group = 0
    for cell in range(cells):
        describe_cell(p, s, world, start, begin, ends[cell], base + cell)
        p.rows_u32[base + cell, D_FIRST] = group
        p.rows_u32[base + cell, D_END] = cell_groups[cell]
        while group < cell_groups[cell]:
            describe_group(p, s, term, start, begin, group_ends[group], base + cells + group)
            begin = group_ends[group]
            group += 1


@routine
def pack_list(subscriptions, postings, world, term, limits, counters):
    """Order a whole list anew, without its dead postings."""
    s, p = subscriptions, postings
    head = p.lists[term]
    start = np.int64(head[L_START])
    count = np.int64(head[L_COUNT])
    forget_order(p, head)
    live = np.empty(count, np.int64)
    n = 0
    for i in range(count):
        if not is_dead(p, start + i):
            live[n] = i
            n += 1
    live = live[:n]
    counters[N_PACKS] += 1
    head[L_COUNT] = n
    head[L_DIRTY] = 0
    head[L_PACKED] = n
    if n > BLOCK and limits[1] > 0:
        order_by_paper(s, p, world, term, live, limits)
        return
    if n > BLOCK:
        live = split_evenly(p, world, start, live)
    rewrite(p, s, term, start, live)
    if np.int64(head[L_CAPACITY]) > BLOCK:
        describe_list(p, head)
