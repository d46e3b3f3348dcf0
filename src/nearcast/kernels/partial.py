"""Re-evaluation in parts: each message partition answers from its share of the window, aggregation merges (paper 7.2).

A message partition numbers its messages densely, as the kernels of the window want them: message seq of the stream is
its own number seq // parts, if seq % parts is the partition.
"""

from __future__ import annotations

import numpy as np

from nearcast.kernels.buffers import age
from nearcast.kernels.jit import hot_kernel
from nearcast.kernels.refill import WORK_FIXED, search_work
from nearcast.kernels.search import order_found, search


@hot_kernel
def answer_batch(
    messages, index, policy, scratch, points, alphas, ranks, offsets, terms, weights, oldest, newest, parts, part,
    counters, out_offsets, out_works, out_scores, out_seqs,
):  # fmt: skip
    """For each request all own messages that score at least the rank-th best of them, in the order of lists."""
    used = 0
    for i in range(len(ranks)):
        before = search_work(counters)
        if newest >= oldest:
            found, _ = search(
                messages, index, policy, scratch, points[i], alphas[i], terms, weights, offsets[i], offsets[i + 1],
                ranks[i], oldest, newest, counters,
            )  # fmt: skip
            order_found(scratch, found, newest)
            for j in range(found):
                at = scratch.order[j]
                out_scores[used + j] = scratch.found_scores[at]
                out_seqs[used + j] = (newest - age(newest, scratch.found_stamps[at])) * parts + part
            used += found
        out_offsets[i + 1] = used
        out_works[i] = WORK_FIXED + search_work(counters) - before
    return used


@hot_kernel
def merge(heads, ends, scores, seqs, ranks, thetas, offsets, out_scores, out_seqs):
    """Merge the partial buffers of each request: theta, the rank-th best score, and all that reach it.

    Row i's part from source j is heads[j, i]..ends[j, i] - 1; `heads` is used up. With fewer than rank, theta is 0.
    """
    used = 0
    for i in range(len(ranks)):
        begin = used
        theta = np.float32(0.0)
        while True:
            best = -1
            for j in range(heads.shape[0]):
                at = heads[j, i]
                if at < ends[j, i]:
                    first = heads[best, i] if best >= 0 else at
                    newer = scores[at] == scores[first] and seqs[at] > seqs[first]
                    if best < 0 or scores[at] > scores[first] or newer:
                        best = j
            if best < 0 or scores[heads[best, i]] < theta:
                break
            at = heads[best, i]
            heads[best, i] = at + 1
            out_scores[used] = scores[at]
            out_seqs[used] = seqs[at]
            used += 1
            if used - begin == ranks[i]:
                theta = scores[at]
        thetas[i] = theta
        offsets[i + 1] = used
    return used
