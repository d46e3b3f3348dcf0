"""Our order of a list: blocks of postings that are alike in all that decides whether a message can affect them.

A posting is tested by `taste * w + rest * r >= need + far * reach` (see layout), so it is a point in the space of
taste, rest, need, far and place, and a block's header can rule out as much as its members are alike. A list is halved
again and again along the dimension whose spread costs most, measured in score: a k-d tree whose leaves are blocks.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.compact import VALUES, grid_step, values_of
from nearcast.kernels.jit import routine
from nearcast.kernels.layout import BLOCK, K_BOX, K_FAR, K_NEED, K_REST, K_TASTE

TYPICAL_WEIGHT = 0.5
"""Of a keyword in a message, and the length of its other keywords after it: what a spread of taste or rest costs."""
TYPICAL_DISTANCE = 0.1
"""Between a subscription and a message, in MaxDist: what a spread of alpha costs."""
ALONG_AN_AXIS = 0.5
"""Of a distance: what a spread along one axis costs."""


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
def costliest(values, order, begin, end, step):
    """The column of `values` whose spread over these postings costs most score, and that cost; a grid step is `step`
    of MaxDist.
    """
    sums = np.zeros(7)
    squares = np.zeros(7)
    for i in range(begin, end):
        for b in range(7):
            value = np.float64(values[order[i], b])
            sums[b] += value
            squares[b] += value * value
    n = end - begin
    best = K_NEED
    most = 0.0
    for b in range(7):
        cost = math.sqrt(max(0.0, squares[b] / n - (sums[b] / n) ** 2))
        if b == K_TASTE or b == K_REST:
            cost *= TYPICAL_WEIGHT
        elif b == K_FAR:
            cost *= TYPICAL_DISTANCE
        elif b >= K_BOX:
            cost *= sums[K_FAR] / n * step * ALONG_AN_AXIS
        if cost > most:
            best = b
            most = cost
    return best, most


@routine
def split_evenly(postings, world, start, live):
    """The postings at these places of a list in our order, as places."""
    n = len(live)
    values = np.empty((n, VALUES), np.float32)
    for i in range(n):
        values_of(postings, start + live[i], values[i])
    step = grid_step(world) / world.max_dist
    order = np.arange(n)
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
        dimension, cost = costliest(values, order, begin, end, step)
        if cost == 0.0:
            continue
        for i in range(begin, end):
            keys[i] = values[order[i], dimension]
        # halves of whole blocks, and a power of two of them on the left, so that runs of 32 blocks are subtrees too
        left = BLOCK
        while 2 * left < size:
            left *= 2
        select(keys, order, begin, end, begin + left)
        stack[depth, 0], stack[depth, 1] = begin, begin + left
        stack[depth + 1, 0], stack[depth + 1, 1] = begin + left, end
        depth += 2
    return live[order]
