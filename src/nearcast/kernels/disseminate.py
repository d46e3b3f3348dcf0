"""Message dissemination, term at a time, filter then verify (paper 5.4, Algorithm 1).

Keywords are visited rare first. A posting is tested as if its keyword were the first common one, which bounds what the
rest can add by the vectors' tails; whoever passes anywhere is verified by the exact score. So no candidate map of
partial scores is kept (the paper's R): a pair is decided at its first common keyword, whichever way the later ones go.

Every bound has the form alpha*S + (1-alpha)*T against theta, which needs no division and holds for alpha 0 and 1.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.clock import prefetch
from nearcast.kernels.geometry import box_chord
from nearcast.kernels.jit import helper, routine
from nearcast.kernels.layout import (
    B_ALPHA,
    B_REST,
    B_THETA,
    B_WEIGHT,
    B_X,
    B_Y,
    B_Z,
    BLOCK,
    C_EPOCH,
    C_ROWS,
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

ONES = np.uint64(0x0101010101010101)
ONE = np.float32(1.0)
ZERO = np.float32(0.0)


@helper
def count_bytes(word):
    """How many bytes of a word are 1, the others being 0."""
    return np.int64((word * ONES) >> np.uint64(56))


@helper
def best_of_group(stats, at, spatial, weight, rest, total, lengths):
    """The highest score a group could give this message, minus its least threshold (paper Theorem 'group lower bound').

    T is at most maxwt(G) * wtsum(m) as in the paper, and, with `lengths`, at most what Cauchy-Schwarz leaves for the
    tails; alpha*S + (1-alpha)*T is linear in alpha, so the group's least and greatest alpha bound it.
    """
    text = stats[at, G_MAX] * total
    if lengths:
        text = min(text, stats[at, G_WEIGHT] * weight + stats[at, G_REST] * rest)
    low = stats[at, G_LOW]
    high = stats[at, G_HIGH]
    return max(low * spatial + (ONE - low) * text, high * spatial + (ONE - high) * text) - stats[at, G_THETA]


@routine
def test_by_length(bound, mask, begin, end, spatial, x, y, z, inv_max, weight, rest, slack):
    """First test of postings begin..end, one vector pass: 0 = Cauchy-Schwarz for the later keywords and the cell's spatial
    bound say no, 1 = the subscription's own distance says no, 2 = neither does.
    """
    for i in range(end - begin):
        at = begin + i
        dx = bound[B_X, at] - x
        dy = bound[B_Y, at] - y
        dz = bound[B_Z, at] - z
        near = max(ZERO, ONE - np.float32(math.sqrt(dx * dx + dy * dy + dz * dz)) * inv_max)
        alpha = bound[B_ALPHA, at]
        text = (ONE - alpha) * (bound[B_WEIGHT, at] * weight + bound[B_REST, at] * rest) + slack - bound[B_THETA, at]
        mask[i] = np.uint8(alpha * spatial + text >= ZERO) + np.uint8(alpha * min(spatial, near) + text >= ZERO)


@routine
def test_by_keywords(bound, paper, mask, begin, end, spatial, inner, most, weight, total_after, most_after, slack, rules):
    """The same with the paper's bounds only: refined location-aware prefix, then the bound for unseen keywords, with the
    combined spatial bound. Returns how many each rule rejected.
    """
    by_prefix = 0
    by_unseen = 0
    for i in range(end - begin):
        at = begin + i
        alpha = bound[B_ALPHA, at]
        near = alpha * (spatial - inner * paper[P_INNER, at]) + slack - bound[B_THETA, at]
        taste = ONE - alpha
        own = bound[B_WEIGHT, at]
        fits = True
        if rules & 1:
            fits = near + taste * (most * (own + paper[P_SUM, at])) >= ZERO
            by_prefix += not fits
        if rules & 2 and fits:
            unseen = min(paper[P_SUM, at] * most_after, total_after * paper[P_MAX, at])
            fits = near + taste * (own * weight + unseen) >= ZERO
            by_unseen += not fits
        if not rules:
            fits = near + taste >= ZERO
        mask[i] = 2 if fits else 0
    return by_prefix, by_unseen


@routine
def filter_candidates(subscriptions, postings, scratch, policy, m_x, m_y, m_z, m_terms, m_weights, begin, end, counters):
    """Lines 1-18 of Algorithm 1: rows of the subscriptions that this message may affect, each once."""
    s, p = subscriptions, postings
    switches = policy.switches
    inv_max = np.float32(1.0 / policy.world.max_dist)
    slack = np.float32(policy.slack)
    margin = policy.margin
    x, y, z = np.float32(m_x), np.float32(m_y), np.float32(m_z)
    lengths = switches[W_LENGTH] != 0
    point_scale = inv_max if switches[W_POINT] else ZERO
    use_inner = switches[W_INNER] != 0
    rules = (1 if switches[W_PREFIX] else 0) | (2 if switches[W_UNSEEN] else 0)
    s.control[C_EPOCH] += 1
    if s.control[C_EPOCH] > 0xFFFFFFFF:  # the stamps wrap round: no old one may look new
        s.seen[: s.control[C_ROWS]] = 0
        s.control[C_EPOCH] = 1
    epoch = np.uint32(s.control[C_EPOCH])
    found = 0

    # maxwt, wtsum and length of the message's tail from each keyword on (Algorithm 1, line 3), from the last to the first
    n = end - begin
    total_from = np.zeros(n + 1, np.float32)
    most_from = np.zeros(n + 1, np.float32)
    length_from = np.zeros(n + 1, np.float32)
    squares = 0.0
    total = 0.0
    most = 0.0
    for j in range(n - 1, -1, -1):
        weight64 = np.float64(m_weights[begin + j])
        squares += weight64 * weight64
        total += weight64
        most = max(most, weight64)
        total_from[j] = total
        most_from[j] = most
        length_from[j] = math.sqrt(squares)

    for j in range(n):
        head = p.lists[m_terms[begin + j]]
        count = np.int64(head[L_COUNT])
        if count == 0:
            continue
        counters[N_LISTS] += 1
        start = np.int64(head[L_START])
        weight = m_weights[begin + j]
        rest = length_from[j + 1]
        cells = np.int64(head[L_CELLS])
        first = np.int64(head[L_ROWS])
        for cell in range(first, first + cells + 1):
            # the last round is the tail: no directory, no bound but the posting's own
            spatial = ONE
            inner = ZERO
            if cell < first + cells:
                counters[N_CELLS] += 1
                group = first + cells + np.int64(p.rows_u32[cell, D_FIRST])
                last_group = first + cells + np.int64(p.rows_u32[cell, D_END])
                if switches[W_OUTER]:
                    chord = box_chord(
                        x, y, z,
                        p.rows_f32[cell, 0], p.rows_f32[cell, 1], p.rows_f32[cell, 2],
                        p.rows_f32[cell, 3], p.rows_f32[cell, 4], p.rows_f32[cell, 5],
                    )  # fmt: skip
                    spatial = max(ZERO, ONE - np.float32(chord) * inv_max)
                    inner = ONE if use_inner and chord > margin else ZERO
                    if switches[W_CELL] and p.rows_f32[cell, D_SPATIAL] > spatial + slack:
                        # Lemma 'cell pruning'
                        counters[N_CELLS_SKIPPED] += 1
                        counters[N_POSTINGS_CELL] += np.int64(p.rows_u32[last_group - 1, G_END]) - np.int64(
                            p.rows_u32[group, G_FIRST]
                        )
                        continue
            else:
                group = 0
                last_group = 1
            while group < last_group:
                if cell < first + cells:
                    counters[N_GROUPS] += 1
                    a = np.int64(p.rows_u32[group, G_FIRST])
                    b = np.int64(p.rows_u32[group, G_END])
                    best = best_of_group(p.rows_f32, group, spatial, weight, rest, total_from[j], lengths)
                    if switches[W_GROUP] and best + slack < ZERO:
                        counters[N_GROUPS_SKIPPED] += 1
                        counters[N_POSTINGS_GROUP] += b - a
                        group += 1
                        continue
                    if switches[W_EARLY]:
                        # binary search for the first block from which on nobody can be affected (Theorem 'early termination')
                        low = (a + BLOCK - 1) // BLOCK
                        high = (b + BLOCK - 1) // BLOCK
                        base = start // BLOCK
                        while low < high:
                            middle = (low + high) // 2
                            best = best_of_group(
                                p.block, base + middle, spatial, weight, rest, total_from[j], lengths
                            )
                            if best + slack < ZERO:
                                high = middle
                            else:
                                low = middle + 1
                        stop = min(b, low * BLOCK)
                        counters[N_POSTINGS_EARLY] += b - stop
                        b = stop
                else:
                    a = np.int64(head[L_PACKED])
                    b = count
                group += 1
                counters[N_POSTINGS] += b - a
                for piece in range(start + a, start + b, CHUNK):
                    upto = min(piece + CHUNK, start + b)
                    size = upto - piece
                    if lengths:
                        test_by_length(
                            p.bound, scratch.mask, piece, upto, spatial, x, y, z, point_scale, weight, rest, slack
                        )
                    else:
                        by_prefix, by_unseen = test_by_keywords(
                            p.bound, p.paper, scratch.mask, piece, upto, spatial, inner, most_from[j], weight,
                            total_from[j + 1], most_from[j + 1], slack, rules,
                        )  # fmt: skip
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
                                alpha = p.bound[B_ALPHA, at]
                                own = p.bound[B_WEIGHT, at]
                                near = alpha * (spatial - inner * p.paper[P_INNER, at]) + slack - p.bound[B_THETA, at]
                                after = p.paper[P_SUM, at]
                                if rules & 1 and near + (ONE - alpha) * (most_from[j] * (own + after)) < ZERO:
                                    counters[N_PREFIX] += 1
                                    continue
                                if rules & 2:
                                    unseen = min(after * most_from[j + 1], total_from[j + 1] * p.paper[P_MAX, at])
                                    if near + (ONE - alpha) * (own * weight + unseen) < ZERO:
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
def verify(subscriptions, scratch, world, found, m_x, m_y, m_z, m_terms, m_weights, begin, end, counters):
    """Line 19 of Algorithm 1: the candidates whose exact score reaches their threshold, with their scores."""
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
