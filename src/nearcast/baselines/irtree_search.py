"""The best-first search of the IR-tree: nodes in order of the best score possible below them.

A node's inverted file gives, for each child that has one of the words, its bound on TSim (in a leaf TSim itself: the
sum of the same exact products); the child's box gives its bound on SSim. Bounds carry SLACK, far above the rounding of
a score to float32, and a node is dropped only if its bound is below the rank-th best score: equal scores are all found.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

import numpy as np

from nearcast.baselines.irtree_inverted import home
from nearcast.baselines.irtree_state import EMPTY, ROOT
from nearcast.kernels.jit import helper, kernel, routine
from nearcast.kernels.score import blend, spatial_similarity

SLACK = 1e-6


@helper
def sink(heap, count, value):
    """Replace the least of a min-heap by a value that is not less."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= count:
            break
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = value


@helper
def swim(heap, count, value):
    """Add a value to a min-heap of `count`."""
    i = count
    while i > 0 and heap[(i - 1) // 2] > value:
        heap[i] = heap[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i] = value


@routine
def push(bounds, queue, count, bound, node):
    """Add a node to the max-heap of `count` nodes by bound."""
    i = count
    while i > 0 and bounds[(i - 1) // 2] < bound:
        bounds[i] = bounds[(i - 1) // 2]
        queue[i] = queue[(i - 1) // 2]
        i = (i - 1) // 2
    bounds[i] = bound
    queue[i] = node


@routine
def pop(bounds, queue, count):
    """Remove the node with the highest bound from the max-heap of `count` nodes."""
    bound = bounds[count - 1]
    node = queue[count - 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= count - 1:
            break
        if child + 1 < count - 1 and bounds[child + 1] > bounds[child]:
            child += 1
        if bounds[child] <= bound:
            break
        bounds[i] = bounds[child]
        queue[i] = queue[child]
        i = child
    bounds[i] = bound
    queue[i] = node


@routine
def twice(array):
    """The array with room for twice as many."""
    result = np.empty(2 * array.shape[0], array.dtype)
    result[: array.shape[0]] = array
    return result


@helper
def gather(nodes, postings, node, terms, weights, tsim):
    """For each child the sum over the words of query weight times maximum weight; 0 if it has none of them."""
    tsim[:] = 0.0
    table = nodes.table[node]
    bits = nodes.bits[node]
    mask = (1 << bits) - 1
    for w in range(terms.shape[0]):
        i = home(terms[w], bits)
        while postings.term[table + i] != EMPTY:
            if postings.term[table + i] == terms[w]:
                tsim[postings.slot[table + i]] += np.float64(weights[w]) * np.float64(postings.weight[table + i])
            i = (i + 1) & mask


@kernel
def search(state, radius, max_dist, point, terms, weights, alpha, rank, first_seq, last_seq):
    """Messages that may be among the best, in no order: seqs, scores, the rank-th best score; nodes, messages seen."""
    nodes, postings, messages = state.nodes, state.postings, state.messages
    x, y, z = point[0], point[1], point[2]
    a = np.float64(alpha)
    tsim = np.empty(nodes.child.shape[1])
    bounds = np.empty(64)
    queue = np.empty(64, np.int64)
    waiting = 0
    seqs = np.empty(64, np.int64)
    scores = np.empty(64, np.float32)
    found = 0
    rank = min(rank, messages.leaf.shape[0])
    best = np.empty(rank, np.float32)
    theta = np.float32(-math.inf)
    visited = 0
    scored = 0
    if state.meta[ROOT] >= 0:
        push(bounds, queue, 0, math.inf, state.meta[ROOT])
        waiting = 1
    while waiting > 0 and bounds[0] >= theta:
        node = queue[0]
        pop(bounds, queue, waiting)
        waiting -= 1
        visited += 1
        gather(nodes, postings, node, terms, weights, tsim)
        for slot in range(tsim.shape[0]):
            if tsim[slot] == 0.0:
                continue
            child = nodes.child[node, slot]
            if nodes.level[node] > 0:
                nx = min(max(x, nodes.box[child, 0]), nodes.box[child, 3])
                ny = min(max(y, nodes.box[child, 1]), nodes.box[child, 4])
                nz = min(max(z, nodes.box[child, 2]), nodes.box[child, 5])
                ssim = spatial_similarity(radius, max_dist, x, y, z, nx, ny, nz)
                bound = a * ssim + (1.0 - a) * tsim[slot] + SLACK
                if bound >= theta:
                    if waiting == bounds.shape[0]:
                        bounds = twice(bounds)
                        queue = twice(queue)
                    push(bounds, queue, waiting, bound, child)
                    waiting += 1
                continue
            if child < first_seq or child > last_seq:
                continue
            place = child & (messages.leaf.shape[0] - 1)
            mx, my, mz = messages.point[place, 0], messages.point[place, 1], messages.point[place, 2]
            score = blend(alpha, spatial_similarity(radius, max_dist, x, y, z, mx, my, mz), tsim[slot])
            scored += 1
            if score < theta:
                continue
            if found == seqs.shape[0]:
                seqs = twice(seqs)
                scores = twice(scores)
            seqs[found] = child
            scores[found] = score
            if found < rank:
                swim(best, found, score)
            else:
                sink(best, rank, score)
            found += 1
            if found >= rank:
                theta = best[0]
    return seqs[:found], scores[:found], theta, visited, scored
