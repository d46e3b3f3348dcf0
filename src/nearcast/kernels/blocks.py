"""Our order of a list: blocks of postings that are alike in all that decides whether a message can affect them.

A posting is tested by `taste * w + rest * r >= need + far * dist` (see layout), so it is a point in the space of taste,
rest, need, far and place, and a block's header can rule out as much as its members are alike. A list is halved again
and again along the dimension whose spread costs most, measured in score: a k-d tree whose leaves are blocks.
"""

from __future__ import annotations

import numpy as np

from nearcast.kernels.jit import routine
from nearcast.kernels.layout import B_FAR, B_NEED, B_REST, B_TASTE, B_X, BLOCK

TYPICAL_WEIGHT = np.float32(0.4)
"""Of a keyword in a message, and the length of its other keywords after it: what a spread of taste or rest costs."""
TYPICAL_DISTANCE = np.float32(0.2)
"""Between a subscription and a message, in MaxDist: what a spread of far costs."""


@routine
def select(keys, order, begin, end, middle):
    """Reorder keys[begin:end], and `order` with them, so that nothing before `middle` is greater than what follows."""
    low = begin
    high = end - 1
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i = low
        j = high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@routine
def costliest(bound, start, order, begin, end, max_dist):
    """The row of `bound` whose spread over these postings costs most score, and that cost."""
    low = np.full(7, np.float32(np.inf), np.float32)
    high = np.full(7, np.float32(-np.inf), np.float32)
    far = 0.0
    for i in range(begin, end):
        at = start + order[i]
        far += bound[at >> 5, B_FAR, at & 31]
        for b in range(7):
            value = bound[at >> 5, b, at & 31]
            low[b] = min(low[b], value)
            high[b] = max(high[b], value)
    far /= end - begin
    best = B_NEED
    most = 0.0
    for b in range(7):
        cost = np.float64(high[b] - low[b])
        if b == B_TASTE or b == B_REST:
            cost *= TYPICAL_WEIGHT
        elif b == B_FAR:
            cost *= TYPICAL_DISTANCE * max_dist
        elif b >= B_X:
            cost *= far
        if cost > most:
            best = b
            most = cost
    return best, most


@routine
def split_evenly(postings, start, order, max_dist):
    """Bring `order` (places in the list) into our order."""
    bound = postings.bound
    n = len(order)
    keys = np.empty(n, np.float32)
    stack = np.empty((64, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    depth = 1
    while depth > 0:
        depth -= 1
        begin, end = stack[depth, 0], stack[depth, 1]
        size = end - begin
        if size <= BLOCK:
            continue
        dimension, cost = costliest(bound, start, order, begin, end, max_dist)
        if cost == 0.0:
            continue
        for i in range(begin, end):
            at = start + order[i]
            keys[i] = bound[at >> 5, dimension, at & 31]
        # halves of whole blocks, and a power of two of them on the left, so that runs of 32 blocks are subtrees too
        left = BLOCK
        while 2 * left < size:
            left *= 2
        select(keys, order, begin, end, begin + left)
        stack[depth, 0], stack[depth, 1] = begin, begin + left
        stack[depth + 1, 0], stack[depth + 1, 1] = begin + left, end
        depth += 2
