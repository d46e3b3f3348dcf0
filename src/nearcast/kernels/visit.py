"""Which postings of a long list a message has to test: whole cells, groups and blocks are skipped (paper 5.2, 5.4)."""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.clock import prefetch
from nearcast.kernels.compact import GRID_ERROR
from nearcast.kernels.geometry import box_chord
from nearcast.kernels.jit import helper, hot_routine
from nearcast.kernels.layout import (
    BLOCK,
    CELL,
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
    K_BOX,
    K_FAR,
    K_LATER,
    K_NEED,
    K_REST,
    K_SIZE,
    K_TASTE,
    L_CAPACITY,
    L_CELLS,
    L_COUNT,
    L_PACKED,
    L_ROWS,
    L_START,
    M_MOST_AFTER,
    M_REST,
    M_TOTAL,
    M_WEIGHT,
    N_CELLS,
    N_CELLS_SKIPPED,
    N_GROUPS,
    N_GROUPS_SKIPPED,
    N_POSTINGS_CELL,
    N_POSTINGS_EARLY,
    N_POSTINGS_GROUP,
    V_GRID,
    V_MAX_DIST,
    V_SLACK,
    V_STEP,
    V_X,
    W_CELL,
    W_EARLY,
    W_GROUP,
    W_INNER,
    W_LENGTH,
    W_OUTER,
)

ONE, HALF = np.float32(1.0), np.float32(0.5)
ZERO = np.float32(0.0)


@helper
def best_of_group(stats, at, spatial, keys, lengths):
    """The highest score a group could give this message, minus its least threshold (paper Theorem 3).

    T is at most maxwt(G) * wtsum(m) as in the paper, and, with `lengths`, at most what Cauchy-Schwarz leaves for the
    tails; alpha*S + (1-alpha)*T is linear in alpha, so the group's least and greatest alpha bound it.
    """
    text = stats[at, G_MAX] * keys[M_TOTAL]
    if lengths:
        text = min(text, stats[at, G_WEIGHT] * keys[M_WEIGHT] + stats[at, G_REST] * keys[M_REST])
    low = stats[at, G_LOW]
    high = stats[at, G_HIGH]
    return max(low * spatial + (ONE - low) * text, high * spatial + (ONE - high) * text) - stats[at, G_THETA]


@helper
def note_range(scratch, pieces, begin, end, keyword, outer, inner):
    """Put postings by to be scanned, cut where blocks end; the new number of pieces."""
    while begin < end:
        border = min(end, (begin // BLOCK + 1) * BLOCK)
        scratch.pieces[pieces, 0] = begin
        scratch.pieces[pieces, 1] = border
        scratch.pieces[pieces, 2] = keyword
        scratch.distances[pieces, 0] = outer
        scratch.distances[pieces, 1] = inner
        pieces += 1
        begin = border
    return pieces


@helper
def rest_of_few(after, most):
    """The most that `after` words can be long of which none weighs more than `most`: sqrt(after) <= (1 + after) / 2."""
    return HALF * (ONE + after) * most


@helper
def header_fits(header, row, view, keys, use_box):
    """Whether any posting under a header could pass the first test: extremes summed, against its box (see layout)."""
    reach = ZERO
    if use_box:
        chord = box_chord(
            view[V_GRID], view[V_GRID + 1], view[V_GRID + 2],
            header[row, K_BOX], header[row, K_BOX + 1], header[row, K_BOX + 2],
            header[row, K_BOX + 3], header[row, K_BOX + 4], header[row, K_BOX + 5],
        )  # fmt: skip
        reach = min(max(ZERO, chord - GRID_ERROR) * view[V_STEP], ONE)
    rest = min(keys[M_REST], rest_of_few(header[row, K_LATER], keys[M_MOST_AFTER]))
    brought = header[row, K_TASTE] * keys[M_WEIGHT] + header[row, K_REST] * rest + view[V_SLACK]
    return brought >= header[row, K_NEED] + header[row, K_FAR] * reach


@hot_routine
def test_headers(block, cell, mask, x, y, z, step, slack, keys):
    """The same for the headers of 32 blocks in one vector pass, whether or not all of them are in use.

    With a step of 0 boxes do not count.
    """
    weight, rest, most = keys[M_WEIGHT], keys[M_REST], keys[M_MOST_AFTER]
    for i in range(BLOCK):
        dx = max(ZERO, max(block[cell, K_BOX, i] - x, x - block[cell, K_BOX + 3, i]))
        dy = max(ZERO, max(block[cell, K_BOX + 1, i] - y, y - block[cell, K_BOX + 4, i]))
        dz = max(ZERO, max(block[cell, K_BOX + 2, i] - z, z - block[cell, K_BOX + 5, i]))
        chord = np.float32(math.sqrt(dx * dx + dy * dy + dz * dz))
        asked = block[cell, K_NEED, i] + block[cell, K_FAR, i] * min(max(ZERO, chord - GRID_ERROR) * step, ONE)
        more = block[cell, K_REST, i] * min(rest, rest_of_few(block[cell, K_LATER, i], most))
        mask[i] = np.uint8(block[cell, K_TASTE, i] * weight + more + slack >= asked)


@helper
def visit_blocks(p, scratch, switches, head, keyword, pieces, counters):
    """A long list in our order: cells of 32 blocks, then blocks."""
    view, keys = scratch.sight, scratch.word_keys[keyword]
    use_box = switches[W_OUTER] != 0
    lengths = switches[W_LENGTH] != 0
    start = np.int64(head[L_START])
    end = start + np.int64(head[L_COUNT])
    by_cell = lengths and switches[W_CELL] != 0 and np.int64(head[L_CAPACITY]) >= CELL
    by_block = lengths and switches[W_GROUP] != 0
    for cell in range(start // CELL, (end + CELL - 1) // CELL):
        if by_block and (cell + 1) * CELL < end:
            for line in range(2 * K_SIZE):
                prefetch(p.block_flat, (cell + 1) * K_SIZE * BLOCK + (line << 4))
        at = max(start, cell * CELL)
        stop = min(end, cell * CELL + CELL)
        if by_cell:
            counters[N_CELLS] += 1
            if not header_fits(p.cell, cell, view, keys, use_box):
                counters[N_CELLS_SKIPPED] += 1
                counters[N_POSTINGS_CELL] += stop - at
                continue
        if not by_block:
            pieces = note_range(scratch, pieces, at, stop, keyword, ZERO, ZERO)
            continue
        test_headers(
            p.block, cell, scratch.mask, view[V_GRID], view[V_GRID + 1], view[V_GRID + 2],
            view[V_STEP] if use_box else ZERO, view[V_SLACK], keys,
        )  # fmt: skip
        while at < stop:
            counters[N_GROUPS] += 1
            if scratch.mask[at // BLOCK % BLOCK] != 0:
                pieces = note_range(scratch, pieces, at, min(at + BLOCK, stop), keyword, ZERO, ZERO)
            else:
                counters[N_GROUPS_SKIPPED] += 1
                counters[N_POSTINGS_GROUP] += min(BLOCK, stop - at)
            at += BLOCK
    return pieces


@helper
def visit_cells(p, scratch, switches, margin, head, keyword, pieces, counters):
    """A long list in the paper's order: cells, groups, early termination; then the tail that is not in order yet."""
    view, keys = scratch.sight, scratch.word_keys[keyword]
    lengths = switches[W_LENGTH] != 0
    slack, max_dist = view[V_SLACK], view[V_MAX_DIST]
    start = np.int64(head[L_START])
    first = np.int64(head[L_ROWS])
    groups = first + np.int64(head[L_CELLS])
    for cell in range(first, groups):
        counters[N_CELLS] += 1
        group = groups + np.int64(p.rows_u32[cell, D_FIRST])
        last_group = groups + np.int64(p.rows_u32[cell, D_END])
        outer = ZERO
        inner = ZERO
        if switches[W_OUTER]:
            outer = box_chord(
                view[V_X], view[V_X + 1], view[V_X + 2],
                p.rows_f32[cell, 0], p.rows_f32[cell, 1], p.rows_f32[cell, 2],
                p.rows_f32[cell, 3], p.rows_f32[cell, 4], p.rows_f32[cell, 5],
            )  # fmt: skip
            inner = ONE / max_dist if switches[W_INNER] and outer > margin else ZERO
            outer /= max_dist
        spatial = max(ZERO, ONE - outer)
        if switches[W_CELL] and p.rows_f32[cell, D_SPATIAL] > spatial + slack:
            # Lemma 6
            counters[N_CELLS_SKIPPED] += 1
            counters[N_POSTINGS_CELL] += np.int64(p.rows_u32[last_group - 1, G_END])
            counters[N_POSTINGS_CELL] -= np.int64(p.rows_u32[group, G_FIRST])
            continue
        for row in range(group, last_group):
            counters[N_GROUPS] += 1
            a = np.int64(p.rows_u32[row, G_FIRST])
            b = np.int64(p.rows_u32[row, G_END])
            best = best_of_group(p.rows_f32, row, spatial, keys, lengths)
            if switches[W_GROUP] and best + slack < ZERO:
                counters[N_GROUPS_SKIPPED] += 1
                counters[N_POSTINGS_GROUP] += b - a
                continue
            if switches[W_EARLY]:
                # binary search for the first block from which on nobody can be affected (Theorem 4)
                low = (a + BLOCK - 1) // BLOCK
                high = (b + BLOCK - 1) // BLOCK
                base = start // BLOCK
                while low < high:
                    middle = (low + high) // 2
                    if best_of_group(p.suffix, base + middle, spatial, keys, lengths) + slack < ZERO:
                        high = middle
                    else:
                        low = middle + 1
                stop = min(b, low * BLOCK)
                counters[N_POSTINGS_EARLY] += b - stop
                b = stop
            pieces = note_range(scratch, pieces, start + a, start + b, keyword, outer, inner)
    tail = start + np.int64(head[L_PACKED])
    return note_range(scratch, pieces, tail, start + np.int64(head[L_COUNT]), keyword, ZERO, ZERO)
