"""Message dissemination, term at a time, filter then verify (paper 5.4, Algorithm 1).

Keywords are visited rare first. A posting is tested as if its keyword were the first common one, which bounds what the
rest can add by the vectors' tails; whoever passes anywhere is verified by the exact score. So no candidate map of
partial scores is kept (the paper's R): a pair is decided at its first common keyword, whichever way the later ones go.

Every bound compares alpha*S + (1-alpha)*T with theta, which needs no division and holds for alpha 0 and 1 (see layout).
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.clock import prefetch
from nearcast.kernels.geometry import box_chord
from nearcast.kernels.jit import helper, hot_routine
from nearcast.kernels.layout import (
    B_FAR,
    B_LATER,
    B_NEED,
    B_REST,
    B_TASTE,
    B_X,
    B_Y,
    B_Z,
    BLOCK,
    C_EPOCH,
    C_ROWS,
    CELL,
    CHUNK,
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
    K_NEED,
    K_REST,
    K_TASTE,
    L_CAPACITY,
    L_CELLS,
    L_COUNT,
    L_PACKED,
    L_ROWS,
    L_START,
    N_AFFECTED,
    N_CELLS,
    N_CELLS_SKIPPED,
    N_GROUPS,
    N_GROUPS_SKIPPED,
    N_LENGTH,
    N_LISTS,
    N_POINT,
    N_POSTINGS,
    N_POSTINGS_CELL,
    N_POSTINGS_EARLY,
    N_POSTINGS_GROUP,
    N_PREFIX,
    N_REPEATED,
    N_UNSEEN,
    N_VERIFIED,
    P_INNER,
    P_MAX,
    P_SUM,
    S_ALPHA,
    S_BUFFER,
    S_CAPACITY,
    S_NTERMS,
    S_TERMS,
    S_THETA,
    S_X,
    S_Y,
    S_Z,
    W_CELL,
    W_EARLY,
    W_GROUP,
    W_INNER,
    W_LENGTH,
    W_OUTER,
    W_POINT,
    W_PREFIX,
    W_UNSEEN,
)
from nearcast.kernels.score import blend, spatial_similarity, textual_similarity
from nearcast.kernels.signatures import short_bit

ONES = np.uint64(0x0101010101010101)
ONE = np.float32(1.0)
ZERO = np.float32(0.0)


@helper
def count_bytes(word):
    """How many bytes of a word are 1, the others being 0."""
    count = np.int64(0)
    while word != 0:
        word &= word - np.uint64(1)
        count += 1
    return count


@helper
def best_of_group(stats, at, spatial, keys, lengths):
    """The highest score a group could give this message, minus its least threshold (paper Theorem 3).

    T is at most maxwt(G) * wtsum(m) as in the paper, and, with `lengths`, at most what Cauchy-Schwarz leaves for the
    tails; alpha*S + (1-alpha)*T is linear in alpha, so the group's least and greatest alpha bound it.
    """
    text = stats[at, G_MAX] * keys[5]
    if lengths:
        text = min(text, stats[at, G_WEIGHT] * keys[1] + stats[at, G_REST] * keys[4])
    low = stats[at, G_LOW]
    high = stats[at, G_HIGH]
    return max(low * spatial + (ONE - low) * text, high * spatial + (ONE - high) * text) - stats[at, G_THETA]


@helper
def test_posting(bound, later, block, lane, outer, farthest, use_point, x, y, z, weight, rest, words, slack):
    """First test of a posting: 0 = the keywords cannot bring enough (Cauchy-Schwarz for those still to come, if there
    can be any), 1 = they could, but the subscription is too far away, 2 = neither.
    """
    dx = bound[block, B_X, lane] - x
    dy = bound[block, B_Y, lane] - y
    dz = bound[block, B_Z, lane] - z
    own = np.float32(math.sqrt(dx * dx + dy * dy + dz * dz)) * use_point
    more = bound[block, B_REST, lane] * rest if later[block, B_LATER, lane] & words != 0 else ZERO
    left = bound[block, B_TASTE, lane] * weight + more + slack - bound[block, B_NEED, lane]
    far = bound[block, B_FAR, lane] * min(max(own, outer), farthest)
    return np.uint8(left >= ZERO) + np.uint8(left >= far)


@hot_routine
def test_by_length(bound, later, mask, begin, end, outer, farthest, use_point, x, y, z, weight, rest, words, slack):
    """First test of postings begin..end-1; whole blocks in one vector pass each."""
    at = begin
    while at < end:
        block = at >> 5
        lane = at & 31
        to = at - begin
        if lane == 0 and end - at >= BLOCK:
            for i in range(BLOCK):
                mask[to + i] = test_posting(
                    bound, later, block, i, outer, farthest, use_point, x, y, z, weight, rest, words, slack
                )
            at += BLOCK
        else:
            count = min(BLOCK - lane, end - at)
            for i in range(count):
                mask[to + i] = test_posting(
                    bound, later, block, lane + i, outer, farthest, use_point, x, y, z, weight, rest, words, slack
                )
            at += count


@helper
def left_by_prefix(bound, paper, at, taste, most):
    """What the refined location-aware prefix leaves to the keywords: maxwt(m.w) * wtsum(s.w) (paper Theorem 1)."""
    return most * (bound[at >> 5, B_TASTE, at & 31] + taste * paper[P_SUM, at])


@helper
def left_by_unseen(bound, paper, at, taste, weight, total_after, most_after):
    """What this keyword and the unseen ones can bring (paper Theorem 2)."""
    unseen = min(paper[P_SUM, at] * most_after, total_after * paper[P_MAX, at])
    return bound[at >> 5, B_TASTE, at & 31] * weight + taste * unseen


@hot_routine
def test_by_keywords(bound, paper, mask, begin, end, outer, inner, farthest, keys, slack, rules):
    """The same with the paper's bounds only: refined location-aware prefix, then the bound for unseen keywords, with
    the combined spatial bound. `keys` is the message's side: maxwt, weight, wtsum and maxwt of what comes after.
    Returns how many each rule rejected.
    """
    by_prefix = 0
    by_unseen = 0
    for i in range(end - begin):
        at = begin + i
        taste = ONE - bound[at >> 5, B_FAR, at & 31] * farthest
        far = bound[at >> 5, B_FAR, at & 31] * min(outer + inner * paper[P_INNER, at], farthest)
        lack = bound[at >> 5, B_NEED, at & 31] + far - slack
        fits = taste >= lack
        if rules & 1 and fits:
            fits = left_by_prefix(bound, paper, at, taste, keys[0]) >= lack
            by_prefix += not fits
        if rules & 2 and fits:
            fits = left_by_unseen(bound, paper, at, taste, keys[1], keys[2], keys[3]) >= lack
            by_unseen += not fits
        mask[i] = 2 if fits else 0
    return by_prefix, by_unseen


@helper
def scan(s, p, scratch, lengths, rules, view, keys, words, epoch, begin, end, outer, inner, found, counters):
    """Test postings begin..end-1 and note who passes; the new number of candidates.

    `view` is the message's place and the settings of the first test, `keys` and `words` the keyword's side.
    """
    farthest, slack = view[3], view[4]
    counters[N_POSTINGS] += end - begin
    for piece in range(begin, end, CHUNK):
        upto = min(piece + CHUNK, end)
        size = upto - piece
        if lengths:
            test_by_length(
                p.bound, p.later, scratch.mask, piece, upto, outer, farthest, view[5], view[0], view[1], view[2],
                keys[1], keys[4], words, slack,
            )  # fmt: skip
        else:
            by_prefix, by_unseen = test_by_keywords(
                p.bound, p.paper, scratch.mask, piece, upto, outer, inner, farthest, keys, slack, rules
            )
            counters[N_PREFIX] += by_prefix
            counters[N_UNSEEN] += by_unseen
        for i in range(size, (size + 7) // 8 * 8):
            scratch.mask[i] = 0
        ones = 0
        twos = 0
        for eight in range((size + 7) // 8):
            word = scratch.words[eight]
            if word == 0:
                continue
            ones += count_bytes(word & ONES)
            passed = (word >> np.uint64(1)) & ONES
            if passed == 0:
                continue
            twos += count_bytes(passed)
            for at in range(piece + 8 * eight, min(piece + 8 * eight + 8, upto)):
                if scratch.mask[at - piece] != 2:
                    continue
                if lengths and rules:
                    taste = ONE - p.bound[at >> 5, B_FAR, at & 31] * farthest
                    far = p.bound[at >> 5, B_FAR, at & 31] * min(outer + inner * p.paper[P_INNER, at], farthest)
                    lack = p.bound[at >> 5, B_NEED, at & 31] + far - slack
                    if rules & 1 and left_by_prefix(p.bound, p.paper, at, taste, keys[0]) < lack:
                        counters[N_PREFIX] += 1
                        continue
                    if rules & 2 and left_by_unseen(p.bound, p.paper, at, taste, keys[1], keys[2], keys[3]) < lack:
                        counters[N_UNSEEN] += 1
                        continue
                row = p.owner[at]
                if s.seen[row] == epoch:
                    counters[N_REPEATED] += 1
                    continue
                s.seen[row] = epoch
                prefetch(s.flat, np.int64(row) * 16)
                scratch.candidates[found] = row
                found += 1
        if lengths:
            counters[N_POINT] += ones
            counters[N_LENGTH] += size - ones - twos
    return found


@helper
def note_range(scratch, ranges, begin, end, keyword, outer, inner):
    """Put postings by to be scanned; the new number of ranges."""
    if begin >= end:
        return ranges
    scratch.ranges[ranges, 0] = begin
    scratch.ranges[ranges, 1] = end
    scratch.ranges[ranges, 2] = keyword
    scratch.distances[ranges, 0] = outer
    scratch.distances[ranges, 1] = inner
    return ranges + 1


@helper
def header_fits(header, row, view, keys, use_box):
    """Whether any posting under a header could pass the first test: extremes summed, against its box (see layout)."""
    chord = ZERO
    if use_box:
        chord = box_chord(
            view[0], view[1], view[2],
            header[row, K_BOX], header[row, K_BOX + 1], header[row, K_BOX + 2],
            header[row, K_BOX + 3], header[row, K_BOX + 4], header[row, K_BOX + 5],
        )  # fmt: skip
    far = header[row, K_FAR] * min(chord, view[3])
    return header[row, K_TASTE] * keys[1] + header[row, K_REST] * keys[4] + view[4] >= header[row, K_NEED] + far


@helper
def visit_blocks(p, scratch, switches, view, keys, head, keyword, ranges, counters):
    """A long list in our order: cells of 32 blocks, then blocks; blocks in a row that fit are one range."""
    use_box = switches[W_OUTER] != 0
    lengths = switches[W_LENGTH] != 0
    start = np.int64(head[L_START])
    end = start + np.int64(head[L_COUNT])
    by_cell = lengths and switches[W_CELL] != 0 and np.int64(head[L_CAPACITY]) >= CELL
    by_block = lengths and switches[W_GROUP] != 0
    run = start  # postings run..at-1 fit and wait for what comes after them
    at = start
    while at < end:
        size = BLOCK
        fits = True
        if by_cell and at % CELL == 0:
            counters[N_CELLS] += 1
            if not header_fits(p.cell, at // CELL, view, keys, use_box):
                counters[N_CELLS_SKIPPED] += 1
                counters[N_POSTINGS_CELL] += min(CELL, end - at)
                size = CELL
                fits = False
        if fits and by_block:
            counters[N_GROUPS] += 1
            if not header_fits(p.block, at // BLOCK, view, keys, use_box):
                counters[N_GROUPS_SKIPPED] += 1
                counters[N_POSTINGS_GROUP] += min(BLOCK, end - at)
                fits = False
        if fits:
            for line in range(16):
                prefetch(p.bound_flat, ((at >> 5) << 8) + (line << 4))
        else:
            ranges = note_range(scratch, ranges, run, at, keyword, ZERO, ZERO)
            run = at + size
        at += size
    return note_range(scratch, ranges, run, end, keyword, ZERO, ZERO)


@helper
def visit_cells(p, scratch, switches, margin, view, keys, head, keyword, ranges, counters):
    """A long list in the paper's order: cells, groups, early termination; then the tail that is not in order yet."""
    lengths = switches[W_LENGTH] != 0
    slack = view[4]
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
                view[0], view[1], view[2],
                p.rows_f32[cell, 0], p.rows_f32[cell, 1], p.rows_f32[cell, 2],
                p.rows_f32[cell, 3], p.rows_f32[cell, 4], p.rows_f32[cell, 5],
            )  # fmt: skip
            inner = ONE if switches[W_INNER] and outer > margin else ZERO
        spatial = max(ZERO, ONE - outer / view[3])
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
                    if best_of_group(p.block, base + middle, spatial, keys, lengths) + slack < ZERO:
                        high = middle
                    else:
                        low = middle + 1
                stop = min(b, low * BLOCK)
                counters[N_POSTINGS_EARLY] += b - stop
                b = stop
            ranges = note_range(scratch, ranges, start + a, start + b, keyword, outer, inner)
    tail = start + np.int64(head[L_PACKED])
    return note_range(scratch, ranges, tail, start + np.int64(head[L_COUNT]), keyword, ZERO, ZERO)


@hot_routine
def filter_candidates(
    subscriptions, postings, scratch, policy, m_x, m_y, m_z, m_terms, m_weights, begin, end, counters
):
    """Algorithm 1 up to its last line: rows of the subscriptions that this message may affect, each once."""
    s, p = subscriptions, postings
    s.control[C_EPOCH] += 1
    if s.control[C_EPOCH] > 0xFFFFFFFF:  # the stamps wrap round: no old one may look new
        s.seen[: s.control[C_ROWS]] = 0
        s.control[C_EPOCH] = 1
    epoch = np.uint32(s.control[C_EPOCH])
    view = scratch.sight
    view[0], view[1], view[2] = m_x, m_y, m_z
    view[3] = policy.world.max_dist
    view[4] = policy.slack
    view[5] = ONE if policy.switches[W_POINT] else ZERO

    # maxwt, wtsum and length of the message's tail from each keyword on (Algorithm 1's first loop), last to first
    n = end - begin
    tails = scratch.tails
    words = scratch.word_bits
    tails[n] = 0.0
    words[n] = 0
    squares = 0.0
    total = 0.0
    most = 0.0
    for j in range(n - 1, -1, -1):
        weight = np.float64(m_weights[begin + j])
        squares += weight * weight
        total += weight
        most = max(most, weight)
        tails[j, 0] = most
        tails[j, 1] = total
        tails[j, 2] = math.sqrt(squares)
        words[j] = words[j + 1] | short_bit(m_terms[begin + j])
        prefetch(p.starts, np.int64(m_terms[begin + j]))
    all_keys = scratch.word_keys
    for j in range(n):
        all_keys[j, 0] = tails[j, 0]  # maxwt(m.w)
        all_keys[j, 1] = m_weights[begin + j]
        all_keys[j, 2] = tails[j + 1, 1]  # wtsum and maxwt of what comes after
        all_keys[j, 3] = tails[j + 1, 0]
        all_keys[j, 4] = tails[j + 1, 2]  # and its length
        all_keys[j, 5] = tails[j, 1]  # wtsum(m.w)

    ranges = 0
    for j in range(n):
        head = p.lists[m_terms[begin + j]]
        count = np.int64(head[L_COUNT])
        if count == 0:
            continue
        counters[N_LISTS] += 1
        keys = all_keys[j]
        if head[L_CELLS] > 0:
            ranges = visit_cells(p, scratch, policy.switches, policy.margin, view, keys, head, j, ranges, counters)
        elif np.int64(head[L_CAPACITY]) > BLOCK:
            ranges = visit_blocks(p, scratch, policy.switches, view, keys, head, j, ranges, counters)
        else:
            start = np.int64(head[L_START])
            ranges = note_range(scratch, ranges, start, start + count, j, ZERO, ZERO)

    lengths = policy.switches[W_LENGTH] != 0
    rules = (1 if policy.switches[W_PREFIX] else 0) | (2 if policy.switches[W_UNSEEN] else 0)
    found = 0
    for r in range(ranges):
        j = scratch.ranges[r, 2]
        found = scan(
            s, p, scratch, lengths, rules, view, all_keys[j], words[j + 1], epoch, scratch.ranges[r, 0],
            scratch.ranges[r, 1], scratch.distances[r, 0], scratch.distances[r, 1], found, counters,
        )  # fmt: skip
    return found


@helper
def verify(subscriptions, scratch, world, found, m_x, m_y, m_z, m_terms, m_weights, begin, end, counters):
    """The last line of Algorithm 1: the candidates whose exact score reaches their threshold, with their scores."""
    s = subscriptions
    hits = 0
    for i in range(found):
        if i + 4 < found:
            prefetch(s.term_ids, np.int64(s.u32[scratch.candidates[i + 4], S_TERMS]))
        row = scratch.candidates[i]
        first = np.int64(s.u32[row, S_TERMS])
        last = first + np.int64(s.u32[row, S_NTERMS])
        text = textual_similarity(s.term_ids, s.term_weights, first, last, m_terms, m_weights, begin, end)
        near = spatial_similarity(
            world.radius, world.max_dist, s.f64[row, S_X], s.f64[row, S_Y], s.f64[row, S_Z], m_x, m_y, m_z
        )
        score = blend(s.f32[row, S_ALPHA], near, text)
        if score >= s.f32[row, S_THETA]:
            at = np.int64(s.u32[row, S_BUFFER]) * 4
            for line in range(0, np.int64(s.u32[row, S_CAPACITY]) * 5 // 2, 16):
                prefetch(s.buffer_u32, at + line)
            scratch.hit_rows[hits] = row
            scratch.hit_scores[hits] = score
            hits += 1
    counters[N_VERIFIED] += found
    counters[N_AFFECTED] += hits
    return hits
