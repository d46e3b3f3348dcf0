"""The first test of postings: what each can be told by itself, from its block alone (paper 5.1, 5.4).

A posting is tested as if its keyword were the first common one. Whoever passes is a candidate, whose exact score
decides. Every bound compares alpha*S + (1-alpha)*T with theta, without a division, so it holds for alpha 0 and 1.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.clock import prefetch
from nearcast.kernels.compact import GRID_ERROR, need_of, share
from nearcast.kernels.jit import helper, hot_routine
from nearcast.kernels.layout import (
    BLOCK,
    H_NEED,
    H_X,
    H_Y,
    H_Z,
    M_LIGHT,
    M_MOST,
    M_MOST_AFTER,
    M_REST,
    M_TOTAL_AFTER,
    M_WEIGHT,
    N_LENGTH,
    N_POINT,
    N_POSTINGS,
    N_PREFIX,
    N_SIGNATURE,
    N_UNSEEN,
    O_LATER,
    P_INNER,
    P_MAX,
    P_SUM,
    Q_FAR,
    Q_LATER,
    Q_REST,
    Q_TASTE,
    V_DEPTH,
    V_GRID,
    V_POINT,
    V_SLACK,
    V_STEP,
    W_LENGTH,
    W_PREFIX,
    W_SIGNATURE,
    W_UNSEEN,
)
from nearcast.kernels.signatures import PRINTS, bits_of
from nearcast.kernels.visit import rest_of_few

ONES = np.uint64(0x0101010101010101)
EVERY_BYTE = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE = np.float32(1.0)
ZERO = np.float32(0.0)
BY_PREFIX, BY_UNSEEN = 1, 2
ROOM, EVERY_BIT = np.float32(PRINTS), np.uint32(0xFFFFFFFF)


@helper
def count_bytes(word):
    """How many bytes of a word are 1, the others being 0."""
    word += word >> np.uint64(32)
    word += word >> np.uint64(16)
    word += word >> np.uint64(8)
    return np.int64(word & np.uint64(255))


@helper
def rest_of(after, prints, words, heavy, most, light, rest):
    """The most that the message's later keywords can be long where they meet a posting's `after` later ones.

    They meet in no more words than the subscription has, and in light ones only if no heavy one's bit is common.
    """
    bits = bits_of(prints) if after <= ROOM else EVERY_BIT
    met = min(rest, rest_of_few(after, most))
    met = met if bits & heavy != 0 else min(met, light)
    return met if bits & words != 0 else ZERO


@helper
def reach_of(halves, block, lane, x, y, z, depth, third_axis, step):
    """How far the message is from the subscription itself, in MaxDist, at least; x, y and z are on the grid."""
    dx = np.float32(halves[block, H_X + lane]) - x
    dy = np.float32(halves[block, H_Y + lane]) - y
    dz = (np.float32(halves[block, third_axis + lane]) - z) * depth
    return max(ZERO, np.float32(math.sqrt(dx * dx + dy * dy + dz * dz)) - GRID_ERROR) * step


@helper
def test_posting(
    eights, halves, later, block, lane, outer, x, y, z, depth, third_axis, step, slack,
    weight, rest, most, light, words, heavy,
):  # fmt: skip
    """First test of a posting: 0 = the keywords cannot bring enough (Cauchy-Schwarz for those still to come, if there
    can be any), 1 = they could, but the subscription is too far away, 2 = neither.
    """
    more = rest_of(
        np.float32(eights[block, Q_LATER + lane]), later[block, O_LATER + lane], words, heavy, most, light, rest
    )
    brought = share(eights[block, Q_TASTE + lane]) * weight + share(eights[block, Q_REST + lane]) * more + slack
    left = brought - need_of(halves[block, H_NEED + lane])
    reach = min(max(reach_of(halves, block, lane, x, y, z, depth, third_axis, step), outer), ONE)
    return np.uint8(left >= ZERO) + np.uint8(left >= share(eights[block, Q_FAR + lane]) * reach)


@hot_routine
def test_by_length(eights, halves, later, mask, block, outer, view, keys, words, heavy):
    """First test of a block's 32 postings in one vector pass, whether or not all of them are in use."""
    x, y, z = view[V_GRID], view[V_GRID + 1], view[V_GRID + 2]
    depth, step, slack = view[V_DEPTH], view[V_STEP] * view[V_POINT], view[V_SLACK]
    third_axis = H_Z if depth != ZERO else H_X  # a plane's third coordinates need not be fetched
    weight, rest, most, light = keys[M_WEIGHT], keys[M_REST], keys[M_MOST_AFTER], keys[M_LIGHT]
    for i in range(BLOCK):
        mask[i] = test_posting(
            eights, halves, later, block, i, outer, x, y, z, depth, third_axis, step, slack,
            weight, rest, most, light, words, heavy,
        )  # fmt: skip


@helper
def left_by_prefix(taste, share_of_text, after, most):
    """What the refined location-aware prefix leaves to the keywords: maxwt(m.w) * wtsum(s.w) (paper Theorem 1)."""
    return most * (taste + share_of_text * after)


@helper
def left_by_unseen(taste, share_of_text, after, most_after, weight, m_after, m_most_after):
    """What this keyword and the unseen ones can bring (paper Theorem 2)."""
    return taste * weight + share_of_text * min(after * m_most_after, m_after * most_after)


@helper
def lacking(postings, at, outer, inner, slack):
    """What the keywords have to bring, by the combined spatial bound (paper Definition 8)."""
    block, lane = at >> 5, at & 31
    reach = outer
    if inner > ZERO:
        reach += inner * postings.paper[P_INNER, at]
    return (
        need_of(postings.halves[block, H_NEED + lane])
        + share(postings.eights[block, Q_FAR + lane]) * min(reach, ONE)
        - slack
    )


@helper
def rejected_by(postings, at, lack, keys, rules):
    """Which of the paper's two rules for single postings rejects it; 0 = neither.

    `keys` is the message's side, the columns M_*.
    """
    p = postings
    block, lane = at >> 5, at & 31
    taste = share(p.eights[block, Q_TASTE + lane])
    of_text = ONE - share(p.eights[block, Q_FAR + lane])
    rule = 0
    if rules & BY_PREFIX and left_by_prefix(taste, of_text, p.paper[P_SUM, at], keys[M_MOST]) < lack:
        rule = BY_PREFIX
    elif rules & BY_UNSEEN:
        left = left_by_unseen(
            taste, of_text, p.paper[P_SUM, at], p.paper[P_MAX, at],
            keys[M_WEIGHT], keys[M_TOTAL_AFTER], keys[M_MOST_AFTER],
        )  # fmt: skip
        if left < lack:
            rule = BY_UNSEEN
    return rule


@hot_routine
def test_by_keywords(postings, mask, begin, end, outer, inner, keys, slack, rules, counters):
    """The same for some postings of a block with the paper's bounds only: refined location-aware prefix, then the bound
    for unseen keywords.
    """
    p = postings
    for at in range(begin, end):
        lack = lacking(p, at, outer, inner, slack)
        fits = ONE - share(p.eights[at >> 5, Q_FAR + (at & 31)]) >= lack
        if fits:
            rule = rejected_by(p, at, lack, keys, rules)
            counters[N_PREFIX] += rule == BY_PREFIX
            counters[N_UNSEEN] += rule == BY_UNSEEN
            fits = rule == 0
        mask[at & 31] = 2 if fits else 0


@helper
def shared_rest(prints, after, scratch, j):
    """Length of the message's keywords after j that have the fingerprint of one of `after` later keywords."""
    squares = ZERO
    for i in range(after):
        word = scratch.print_heads[(prints >> np.uint32(8 * i)) & np.uint32(255)]
        while word > j + 1:
            weight = scratch.word_keys[word - 1, M_WEIGHT]
            squares += weight * weight
            word = scratch.print_next[word - 1]
    return np.float32(math.sqrt(squares))


@helper
def signature_fits(postings, scratch, at, j, outer):
    """The first test again, with those later keywords only whose fingerprints both have."""
    p, view = postings, scratch.sight
    block, lane = at >> 5, at & 31
    after = np.int64(p.eights[block, Q_LATER + lane])
    if after > PRINTS:
        return True
    rest = share(p.eights[block, Q_REST + lane]) * shared_rest(p.words[block, O_LATER + lane], after, scratch, j)
    brought = share(p.eights[block, Q_TASTE + lane]) * scratch.word_keys[j, M_WEIGHT] + rest + view[V_SLACK]
    reach = reach_of(
        p.halves, block, lane, view[V_GRID], view[V_GRID + 1], view[V_GRID + 2], view[V_DEPTH],
        H_Z if view[V_DEPTH] != ZERO else H_X, view[V_STEP] * view[V_POINT],
    )  # fmt: skip
    reach = min(max(reach, outer), ONE)
    return brought >= need_of(p.halves[block, H_NEED + lane]) + share(p.eights[block, Q_FAR + lane]) * reach


@helper
def within(word, first, end):
    """Bytes first..end-1 of a word, the others 0; both may lie outside of 0..8."""
    if first > 0:
        word &= EVERY_BYTE << np.uint64(8 * min(first, 7))
    if end < 8:
        word &= (np.uint64(1) << np.uint64(8 * max(end, 0))) - np.uint64(1)
    return word if first < 8 else np.uint64(0)


@helper
def scan(p, scratch, switches, j, begin, end, outer, inner, found, counters):
    """Test postings begin..end-1 of a block for the message's keyword j and note who passes; the new number of
    candidates.
    """
    view, keys = scratch.sight, scratch.word_keys[j]
    slack = view[V_SLACK]
    lengths = switches[W_LENGTH] != 0
    by_signature = lengths and switches[W_SIGNATURE] != 0
    rules = 0
    if p.paper.size > 0:
        rules = (BY_PREFIX if switches[W_PREFIX] else 0) | (BY_UNSEEN if switches[W_UNSEEN] else 0)
    block = begin // BLOCK
    if lengths:
        words, heavy = scratch.word_bits[j + 1], scratch.heavy_bits[j + 1]
        test_by_length(p.eights, p.halves, p.words, scratch.mask, block, outer, view, keys, words, heavy)
    else:
        test_by_keywords(p, scratch.mask, begin, end, outer, inner, keys, slack, rules, counters)
    ones = 0
    twos = 0
    for eight in range(BLOCK // 8):
        word = scratch.mask_words[eight]
        if word == 0:
            continue
        base = block * BLOCK + 8 * eight
        word = within(word, begin - base, end - base)
        ones += count_bytes(word & ONES)
        passed = (word >> np.uint64(1)) & ONES
        twos += count_bytes(passed)
        while passed != 0:
            lowest = passed & (~passed + np.uint64(1))
            at = base + count_bytes((lowest - np.uint64(1)) & ONES)
            passed ^= lowest
            if by_signature and p.eights[at >> 5, Q_LATER + (at & 31)] > 0:
                if not signature_fits(p, scratch, at, j, outer):
                    counters[N_SIGNATURE] += 1
                    continue
            if lengths and rules:
                lack = lacking(p, at, outer, inner, slack)
                rule = rejected_by(p, at, lack, keys, rules)
                counters[N_PREFIX] += rule == BY_PREFIX
                counters[N_UNSEEN] += rule == BY_UNSEEN
                if rule > 0:
                    continue
            prefetch(p.owner, at)
            scratch.candidates[found, 0] = at
            scratch.candidates[found, 1] = j
            found += 1
    counters[N_POSTINGS] += end - begin
    if lengths:
        counters[N_POINT] += ones
        counters[N_LENGTH] += end - begin - ones - twos
    return found
