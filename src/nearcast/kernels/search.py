"""Re-evaluation of one subscription against the message index (paper Algorithm 2, line 5).

Finds every live message that scores at least theta, where theta is the score of the rank-th best. Short runs and the
head are scanned; blocks of long runs are opened in order of falling bound until no bound reaches theta. A message is
counted where it meets the subscription's first keyword that it has, so nothing is found twice and nothing need be
remembered.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.buffers import age
from nearcast.kernels.clock import prefetch
from nearcast.kernels.geometry import box_chord
from nearcast.kernels.jit import helper, hot_routine
from nearcast.kernels.layout import (
    BLOCK,
    I_HEAD_FIRST,
    I_SMALL_FIRST,
    N_SEARCH_BLOCKS,
    N_SEARCH_POSTINGS,
    N_SEARCH_SCORED,
    R_COUNT,
    R_FIRST,
    SLOT_MASK,
    SPAN_BITS,
)
from nearcast.kernels.score import blend, common_words, spatial_similarity
from nearcast.kernels.segments import head_posting, newest_run, previous_run, span_of
from nearcast.kernels.signatures import long_bit, short_bit
from nearcast.kernels.sorting import sort_order

BUCKETS = 512
HIGHEST = 1.25
"""Above any bound."""

LENGTH_SLACK = 1e-5
"""How far the squared length of a message's vector can be from 1: 2 * sqrt(4096 words) * 2**-24."""


@helper
def text_bound(own, rest, low, high):
    """The most that a weight x from low to high can bring: own*x + rest*sqrt(1-x^2), highest at own/|(own, rest)|."""
    length = math.sqrt(own * own + rest * rest)
    peak = own / length
    x = min(max(peak, low), high)
    return own * x + rest * math.sqrt(max(0.0, 1.0 + LENGTH_SLACK - x * x))


@helper
def push(heap, size, capacity, score):
    """Keep the `capacity` highest scores in a heap with the lowest on top; its new size."""
    if size < capacity:
        i = size
        heap[i] = score
        while i > 0 and heap[(i - 1) // 2] > heap[i]:
            heap[i], heap[(i - 1) // 2] = heap[(i - 1) // 2], heap[i]
            i = (i - 1) // 2
        return size + 1
    if score > heap[0]:
        heap[0] = score
        i = 0
        while True:
            child = 2 * i + 1
            if child >= size:
                break
            if child + 1 < size and heap[child + 1] < heap[child]:
                child += 1
            if heap[i] <= heap[child]:
                break
            heap[i], heap[child] = heap[child], heap[i]
            i = child
    return size


@helper
def rest_in(signature, query, bits, words, which):
    """Length of the subscription's keywords after `which` that a message with this signature may have."""
    squares = 0.0
    for i in range(which + 1, words):
        if signature & bits[i] != 0:
            squares += query[4 + words + i]
    return math.sqrt(squares)


@helper
def place_score(messages, world, query, slot):
    """SSim of a message."""
    return spatial_similarity(
        world.radius, world.max_dist, query[0], query[1], query[2],
        messages.place[slot, 0], messages.place[slot, 1], messages.place[slot, 2],
    )  # fmt: skip


@helper
def score_message(messages, near, alpha, which, slot, ids, weights, begin, end):
    """The exact score of a message that has the subscription's keyword `which`; -1 if it has an earlier one, too."""
    a, b = span_of(messages, slot)
    text, first = common_words(messages.term_ids, messages.term_weights, a, b, ids, weights, begin, end)
    return blend(np.float32(alpha), near, text) if first - begin == which else np.float32(-1.0)


@helper
def collect_run(index, policy, query, which, own, tier, first, count, theta, scratch, found, counters):
    """Note the blocks of a run whose bound reaches theta; a short run is one block without a bound."""
    alpha = query[3]
    if count <= BLOCK:
        scratch.block_bounds[found] = HIGHEST
        scratch.block_near[found] = 1.0
        scratch.blocks[found, 0] = 2 * first + tier
        scratch.blocks[found, 1] = (which << 8) | count
        found += 1
    else:
        for begin in range(first, first + count, BLOCK):
            row = begin // BLOCK
            chord = box_chord(
                query[0], query[1], query[2],
                index.block[tier, row, 0], index.block[tier, row, 1], index.block[tier, row, 2],
                index.block[tier, row, 3], index.block[tier, row, 4], index.block[tier, row, 5],
            )  # fmt: skip
            near = max(0.0, 1.0 - chord / policy.world.max_dist)
            low = np.float64(index.block[tier, row, 6])
            high = np.float64(index.block[tier, row, 7])
            text = text_bound(own, query[4 + which], low, high)
            bound = alpha * near + (1.0 - alpha) * text + policy.slack
            if bound >= theta:
                scratch.block_bounds[found] = bound
                scratch.block_near[found] = near
                scratch.blocks[found, 0] = 2 * begin + tier
                scratch.blocks[found, 1] = (which << 8) | min(BLOCK, first + count - begin)
                found += 1
        counters[N_SEARCH_BLOCKS] += (count + BLOCK - 1) // BLOCK
    return found


@hot_routine
def order_blocks(bounds, order, counts, blocks):
    """Blocks in order of falling bound, up to the width of a bucket: a counting sort."""
    counts[:] = 0
    scale = (BUCKETS - 1) / HIGHEST
    for i in range(blocks):
        counts[BUCKETS - min(BUCKETS - 1, int(bounds[i] * scale))] += 1
    for b in range(1, BUCKETS + 1):
        counts[b] += counts[b - 1]
    for i in range(blocks):
        b = BUCKETS - 1 - min(BUCKETS - 1, int(bounds[i] * scale))
        order[counts[b]] = i
        counts[b] += 1


@hot_routine
def search(messages, index, policy, scratch, point, alpha, ids, weights, begin, end, rank, oldest, newest, counters):
    """All messages oldest..newest with a common keyword and a score of at least theta; how many, and theta.

    theta is the score of the rank-th best, or 0 if there are fewer: then everything that matches has been found.
    `scratch.found_*` receive them in no order.
    """
    n = end - begin
    query = scratch.query  # point, alpha, length of the keywords after each, square of each weight
    bits = scratch.bits
    query[0], query[1], query[2] = point[0], point[1], point[2]
    query[3] = alpha
    rest = 0.0
    for i in range(n - 1, -1, -1):
        query[4 + i] = math.sqrt(rest)
        query[4 + n + i] = np.float64(weights[begin + i]) * np.float64(weights[begin + i])
        rest += query[4 + n + i]
        bits[i] = long_bit(ids[begin + i])
        scratch.short_bits[i] = short_bit(ids[begin + i])
    heap = scratch.heap
    size = 0
    theta = np.float32(0.0)
    found = 0
    blocks = 0
    work = 0
    last = index.control[I_HEAD_FIRST] - 1  # newest message in a segment
    span = newest - oldest
    for i in range(n):
        term = ids[begin + i]
        at = head_posting(index, term)
        while at >= 0:
            stamp = index.head[at, 1]
            back = age(newest, stamp)
            work += 1
            if back <= span:
                slot = np.int64(stamp) & SLOT_MASK
                w = np.float64(index.head_weights[at, 2])
                rest = rest_in(messages.signature[slot], query, bits, n, i)
                text = np.float64(weights[begin + i]) * w + rest * math.sqrt(max(0.0, 1.0 + LENGTH_SLACK - w * w))
                near = place_score(messages, policy.world, query, slot)
                score = np.float32(-1.0)
                if alpha * near + (1.0 - alpha) * text + 1e-6 >= theta:
                    counters[N_SEARCH_SCORED] += 1
                    score = score_message(messages, near, alpha, i, slot, ids, weights, begin, end)
                if score >= theta and score >= 0.0:
                    scratch.found_scores[found] = score
                    scratch.found_stamps[found] = stamp
                    found += 1
                    size = push(heap, size, rank, score)
                    if size == rank:
                        theta = heap[0]
            elif back < 1 << 31:  # older than the window, and so is all that follows; newer ones are of the same batch
                break
            at = np.int64(index.head[at, 0]) - 1
        for tier in range(2):
            edge = oldest if tier == 1 else max(oldest, index.control[I_SMALL_FIRST])
            run = newest_run(index, tier, term, last, edge) if last >= edge else -1
            while run >= 0:
                blocks = collect_run(
                    index, policy, query, i, np.float64(weights[begin + i]), tier,
                    np.int64(index.runs[tier, run, R_FIRST]), np.int64(index.runs[tier, run, R_COUNT]), theta,
                    scratch, blocks, counters,
                )  # fmt: skip
                work += 1
                run = previous_run(index, tier, run, last, edge)
    order_blocks(scratch.block_bounds, scratch.block_order, scratch.buckets, blocks)
    for position in range(blocks):
        block = scratch.block_order[position]
        if scratch.block_bounds[block] < theta:
            if scratch.block_bounds[block] < theta - 2.0 * HIGHEST / (BUCKETS - 1):
                break  # the order is exact up to a bucket
            continue
        tier = scratch.blocks[block, 0] & 1
        first = scratch.blocks[block, 0] >> 1
        which = scratch.blocks[block, 1] >> 8
        count = scratch.blocks[block, 1] & 255
        work += count
        own = np.float64(weights[begin + which])
        near = alpha * np.float64(scratch.block_near[block]) + policy.slack
        later = np.uint32(0)
        for i in range(which + 1, n):
            later |= scratch.short_bits[i]
        # Three passes over the block, each asking memory for what the next one reads: words, place, exact score
        passed = 0
        for posting in range(first, first + count):
            stamp = index.postings[tier, posting, 0]
            w = np.float64(index.weights[tier, posting, 1])
            text = own * w
            signature = index.postings[tier, posting, 2]
            if signature & later != 0:
                rest = rest_in(signature, query, scratch.short_bits, n, which)
                text += rest * math.sqrt(max(0.0, 1.0 + LENGTH_SLACK - w * w))
            if near + (1.0 - alpha) * text >= theta and age(newest, stamp) <= span:
                slot = np.int64(stamp) & SLOT_MASK
                prefetch(messages.span, slot)
                scratch.passed[passed, 0] = stamp
                scratch.passed[passed, 1] = slot
                scratch.passed_text[passed] = text
                passed += 1
        kept = 0
        for i in range(passed):
            slot = scratch.passed[i, 1]
            own_near = place_score(messages, policy.world, query, slot)
            if alpha * own_near + (1.0 - alpha) * scratch.passed_text[i] + 1e-6 >= theta:
                prefetch(messages.term_ids, messages.span[slot] >> SPAN_BITS)
                scratch.passed[kept, 0] = scratch.passed[i, 0]
                scratch.passed[kept, 1] = slot
                scratch.passed_near[kept] = own_near
                kept += 1
        counters[N_SEARCH_SCORED] += kept
        for i in range(kept):
            slot = scratch.passed[i, 1]
            score = score_message(messages, scratch.passed_near[i], alpha, which, slot, ids, weights, begin, end)
            if score >= theta and score >= 0.0:
                scratch.found_scores[found] = score
                scratch.found_stamps[found] = np.uint32(scratch.passed[i, 0])
                found += 1
                size = push(heap, size, rank, score)
                if size == rank:
                    theta = heap[0]
    counters[N_SEARCH_POSTINGS] += work
    if size < rank:
        theta = np.float32(0.0)
    kept = 0
    for i in range(found):
        if scratch.found_scores[i] >= theta:
            scratch.found_scores[kept] = scratch.found_scores[i]
            scratch.found_stamps[kept] = scratch.found_stamps[i]
            kept += 1
    return kept, theta


@hot_routine
def order_found(scratch, found, newest):
    """Put what was found in the order of lists: higher score first, of equal scores the newer message."""
    for i in range(found):
        # scores are not negative, so their bits order them
        back = age(newest, scratch.found_stamps[i])
        scratch.keys[i] = -((np.int64(scratch.found_bits[i]) << 32) | (0xFFFFFFFF - back))
    sort_order(scratch.keys, scratch.order, found)
