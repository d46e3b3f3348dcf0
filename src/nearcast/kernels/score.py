"""The one score function (paper, equation 1) that every engine, the reference included, calls.

Two facts make a score the same bits wherever and in whatever order it is computed:
- keyword weights are multiples of 2**-24 (`text` rounds them so), so their products are multiples of 2**-48 and a sum
  of them up to 32 is exact in float64: any order of summation gives the same number;
- distance is computed in float64 from embedded points (see `space`), always as |subscription - message|.
Only the last step rounds, to float32.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.jit import helper
from nearcast.kernels.signatures import GOLDEN


@helper
def spatial_similarity(radius, max_dist, sx, sy, sz, mx, my, mz):
    """SSim = 1 - dist/MaxDist, at least 0; `radius` 0 is the plane, else the chord is turned into an arc."""
    dx = sx - mx
    dy = sy - my
    dz = sz - mz
    dist = math.sqrt(dx * dx + dy * dy + dz * dz)
    if radius > 0.0:
        dist = 2.0 * radius * math.asin(min(1.0, dist / (2.0 * radius)))
    return max(0.0, 1.0 - dist / max_dist)


@helper
def common_words(s_terms, s_weights, s_from, s_to, m_terms, m_weights, m_from, m_to):
    """TSim by merging two term vectors in descending order of term, and where the first common word stands in the
    message; -1 if no word is common.
    """
    total = 0.0
    first = np.int64(-1)
    i = s_from
    j = m_from
    while i < s_to and j < m_to:
        if s_terms[i] == m_terms[j]:
            total += np.float64(s_weights[i]) * np.float64(m_weights[j])
            if first < 0:
                first = np.int64(j)
            i += 1
            j += 1
        elif s_terms[i] > m_terms[j]:
            i += 1
        else:
            j += 1
    return total, first


@helper
def home_of(term, shift):
    """Where a word's search in the table of a message's words begins."""
    return ((np.int64(term) * GOLDEN) & 0xFFFFFFFF) >> shift


@helper
def enter_words(table, m_terms, begin, end):
    """A hash table of a message's words, four places a word and more; what it takes from a hash's 32 bits."""
    n = end - begin
    shift = 26
    while (1 << (32 - shift)) < 4 * n:
        shift -= 1
    size = 1 << (32 - shift)
    for at in range(size):
        table[at] = 0
    for j in range(n):
        at = home_of(m_terms[begin + j], shift)
        while table[at] != 0:
            at = (at + 1) & (size - 1)
        table[at] = j + 1
    return shift


@helper
def common_with(table, shift, terms, weights, first, last, m_terms, m_weights, begin, expected):
    """The same as `common_words` for one of many against the message in the table: TSim and the first common word.

    If that is not the `expected` one, the sum is of no interest and is not finished. Products are exact in float64, and
    so are their sums in any order.
    """
    mask = (1 << (32 - shift)) - 1
    text = 0.0
    earliest = np.int64(-1)
    i = first
    while i < last:
        at = home_of(terms[i], shift)
        while table[at] != 0:
            j = np.int64(table[at]) - 1
            if m_terms[begin + j] == terms[i]:
                text += np.float64(weights[i]) * np.float64(m_weights[begin + j])
                if earliest < 0:
                    earliest = j
                    last = last if j == expected else i
                break
            at = (at + 1) & mask
        i += 1
    return text, earliest


@helper
def textual_similarity(s_terms, s_weights, s_from, s_to, m_terms, m_weights, m_from, m_to):
    """TSim; -1 if no word is common."""
    total, first = common_words(s_terms, s_weights, s_from, s_to, m_terms, m_weights, m_from, m_to)
    return total if first >= 0 else -1.0


@helper
def blend(alpha, ssim, tsim):
    """Score = alpha * SSim + (1 - alpha) * TSim, rounded once."""
    a = np.float64(alpha)
    return np.float32(a * ssim + (1.0 - a) * tsim)
